//! The exact words that a person reads: errors with their place and their help, summaries, tables, and what a
//! terminal is shown.

use std::{
    fs::{self, Permissions},
    iter,
    net::TcpListener,
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
};

use wiretape_tests::{
    sandbox::{Invocation, Outcome, Sandbox, Stream},
    shell::{binary, calls, shell, wrapped},
    terminal::on_a_terminal,
    traces::{files, journals, timeless, urls},
    upstream::Upstream,
};

#[test]
fn a_cassette_that_ends_too_early_says_where() {
    refused(
        &format!("{ONE}  - id: 2\n    request:\n      method: GE"),
        "\
error: missing key `url` in the request
  --> c.yaml:11:7
   |
11 |       method: GE
   |       ^^^^^^
",
    );
    refused(
        &format!("{ONE}  - id: 2\n    request:\n      method: 'GE"),
        "\
error: unclosed quote
  --> c.yaml:11:15
   |
11 |       method: 'GE
   |               ^
   |
   = help: close the quote
",
    );
}

#[test]
fn an_unknown_key_is_named_with_the_one_that_was_meant() {
    refused(
        &format!("{ONE}    reponse:\n      status: 200\n"),
        "\
error: unknown key `reponse` in the exchange
 --> c.yaml:9:5
  |
9 |     reponse:
  |     ^^^^^^^
  |
  = help: did you mean `response`?
",
    );
}

#[test]
fn a_value_of_the_wrong_type_says_what_was_expected() {
    refused(
        &ONE.replace("200", "two hundred"),
        "\
error: expected the status as a whole number, found text
 --> c.yaml:8:15
  |
8 |       status: two hundred
  |               ^^^^^^^^^^^
",
    );
}

#[test]
fn a_key_that_stands_twice_shows_both() {
    refused(
        &format!("{ONE}      status: 201\n"),
        "\
error: the key `status` is defined twice
 --> c.yaml:9:7
  |
8 |       status: 200
  |       ------ first defined here
9 |       status: 201
  |       ^^^^^^
  |
  = help: remove one of the two, or rename it
",
    );
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    refused(
        "wiretape: cassette/2\nexchanges: []\n",
        "\
error: this cassette has format 2; this wiretape reads up to format 1
 --> c.yaml:1:11
  |
1 | wiretape: cassette/2
  |           ^^^^^^^^^^
  |
  = help: upgrade wiretape
",
    );
}

#[test]
fn what_is_no_cassette_is_said_to_be_none() {
    refused(
        "services:\n  web: {}\n",
        "\
error: not a wiretape cassette
 --> c.yaml:1:1
  |
1 | services:
  | ^
  |
  = help: a cassette has the key `wiretape: cassette/1`
",
    );
    refused(
        "",
        "\
error: not a wiretape cassette
 --> c.yaml:1:1
  |
1 |
  | ^
  |
  = help: a cassette has the key `wiretape: cassette/1`
",
    );
}

#[test]
fn a_bomb_of_aliases_does_not_go_off() {
    refused(
        "wiretape: cassette/1\na: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nexchanges: [*b,*b]\n",
        "\
error: the anchor `&a` is not allowed
 --> c.yaml:2:4
  |
2 | a: &a [x,x,x,x]
  |    ^^
  |
  = help: write the value out wherever it is needed, or put it in quotes if it is text
",
    );
}

#[test]
fn a_blob_that_is_missing_or_changed_is_named() {
    let body = format!("      body:\n        blob: {SHA256_OF_X}\n        size: 1\n");
    let place = format!(
        "  --> c.yaml:10:15\n   |\n10 |         blob: {SHA256_OF_X}\n   |               {}\n   |\n   = help: restore the \
         `.blobs` folder beside the cassette from where the cassette came from, or record again\n",
        "^".repeat(64)
    );
    refused(&format!("{ONE}{body}"), &format!("error: the blob is missing\n{place}"));

    let sandbox = Sandbox::new();
    sandbox.write(format!("c.yaml.blobs/{SHA256_OF_X}"), "y");
    refused_in(
        &sandbox,
        format!("{ONE}{body}").as_bytes(),
        &format!("error: the blob was changed: its hash is not its name\n{place}"),
    );
}

#[test]
fn a_header_value_cannot_bring_another_header() {
    refused(
        &format!("{ONE}      headers:\n        x-a: \"one\\r\\nset-cookie: two\"\n"),
        "\
error: value of header `x-a` holds a line break or a control character
  --> c.yaml:10:14
   |
10 |         x-a: \"one\\r\\nset-cookie: two\"
   |              ^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = help: write the value on one line; another header needs a key of its own
",
    );
}

#[test]
fn a_file_that_is_not_text_is_refused_with_the_place() {
    refused_in(
        &Sandbox::new(),
        b"wiretape: cassette/1\nexchanges: \xff\n",
        "error: c.yaml:2:12: the file is not UTF-8 text\n",
    );
}

#[test]
fn a_folder_is_no_cassette() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("c.yaml")).unwrap();
    for run in on_cassette(&sandbox) {
        let outcome = run.run().exits(2);
        assert_eq!(
            outcome.stderr(),
            "error: cannot read c.yaml: Is a directory (os error 21)\n",
            "{outcome}"
        );
    }
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn a_cassette_that_is_not_there_says_how_to_get_it() {
    let sandbox = Sandbox::new();
    let missing = sandbox.replay().cassette("c.yaml").child(["touch", "ran"]).run().exits(2);
    assert_eq!(
        missing.stderr(),
        "error: cannot read c.yaml: No such file or directory (os error 2)\n\
         help: record it first with `wiretape record -- CMD`, or name another with -c\n"
    );
    assert!(!sandbox.path("ran").exists());
    let missing = sandbox.wiretape("show").arg("c.yaml").run().exits(2).stderr();
    assert!(
        missing.starts_with("error: cannot read c.yaml: No such file or directory (os error 2)\nhelp: "),
        "{missing}"
    );
    assert!(!missing.contains("-c"), "`show` has no -c: {missing}");
}

#[test]
fn a_mistake_in_the_configuration_is_shown_in_its_place() {
    let cases = [
        (
            "casettes: x\n",
            "unknown key `casettes` in wiretape.yaml",
            "1:1",
            "casettes: x",
            "^^^^^^^^",
            Some("did you mean `cassettes`?"),
        ),
        (
            "pace: fast\n",
            "unknown value `fast` for `pace`",
            "1:7",
            "pace: fast",
            "      ^^^^",
            Some("known here: `instant`, `recorded`"),
        ),
        (
            "max_body: 64 Mi\n",
            "\"64 Mi\" is not a size; write it like 64MiB, 500kB or 4096",
            "1:11",
            "max_body: 64 Mi",
            "          ^^^^^",
            None,
        ),
        (
            "hosts: [a]\n",
            "expected the host rules as a mapping, found a list",
            "1:8",
            "hosts: [a]",
            "       ^^^",
            None,
        ),
        (
            "hosts: {a b: live}\n",
            "not a host name",
            "1:9",
            "hosts: {a b: live}",
            "        ^^^",
            Some("write it like api.github.com, '*.github.com', '*' or an address"),
        ),
        (
            "hosts: {a: lively}\n",
            "unknown value `lively` for a host rule",
            "1:12",
            "hosts: {a: lively}",
            "           ^^^^^^",
            Some("did you mean `live`?"),
        ),
        (
            "connect_to: ['a:1']\n",
            "\"a:1\" is not HOST:PORT:ADDR:PORT, such as api.openai.com:443:127.0.0.1:8443",
            "1:14",
            "connect_to: ['a:1']",
            "             ^^^^^",
            None,
        ),
        (
            "match: {volatile: [body..x]}\n",
            "not a field path",
            "1:20",
            "match: {volatile: [body..x]}",
            "                   ^^^^^^^",
            Some("write it like body.messages[0].content, query.page or headers.x-trace"),
        ),
        (
            "match: urii\n",
            "unknown value `urii` for the match policy",
            "1:8",
            "match: urii",
            "       ^^^^",
            Some("did you mean `uri`?"),
        ),
        (
            "redact: {patterns: {customer: 'CUST-('}}\n",
            "the pattern is not a regular expression: unclosed group",
            "1:31",
            "redact: {patterns: {customer: 'CUST-('}}",
            "                              ^^^^^^^^",
            None,
        ),
        (
            "keep: {headers: [x-api-key]}\n",
            "`x-api-key` names a credential, and can never be kept",
            "1:18",
            "keep: {headers: [x-api-key]}",
            "                 ^^^^^^^^^",
            Some("remove it: its value is a placeholder on every cassette"),
        ),
        ("- a\n", "expected wiretape.yaml as a mapping, found a list", "1:1", "- a", "^^^", None),
    ];
    for (text, what, place, line, carets, help) in cases {
        let sandbox = Sandbox::new();
        let file = sandbox.write("wiretape.yaml", text);
        let outcome = sandbox.wiretape("record").child(["touch", "ran"]).run().exits(2);
        let help = help.map_or(String::new(), |help| format!("  |\n  = help: {help}\n"));
        let file = fs::canonicalize(file).unwrap();
        let expected =
            format!("error: {what}\n --> {}:{place}\n  |\n1 | {line}\n  | {carets}\n{help}", file.display());
        assert_eq!(outcome.stderr(), expected);
        assert!(!sandbox.path("ran").exists());
        assert_eq!(sandbox.read("wiretape.yaml"), text);
        assert_eq!(journals(&sandbox), NO_FILES);
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_named() {
    let sandbox = Sandbox::new();
    let run = |config: &str| {
        let words = ["--config", config, "--", "touch", "ran"];
        sandbox.wiretape("record").args(words).run().exits(2).stderr()
    };
    assert_eq!(run("none.yaml"), "error: cannot read none.yaml: No such file or directory (os error 2)\n");
    assert_eq!(run("."), "error: cannot read .: Is a directory (os error 21)\n");
    sandbox.write("latin.yaml", b"pace: \xff\n");
    assert_eq!(run("latin.yaml"), "error: latin.yaml:1:7: the file is not UTF-8 text\n");
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn a_port_that_is_taken_is_bad_input_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let words = ["--mode", "record", "-c", "c.yaml", "--listen", &address];
    let outcome = sandbox.wiretape("proxy").args(words).run().exits(2);
    assert_eq!(
        outcome.stderr(),
        format!(
            "error: cannot listen on {address}: Address already in use (os error 98)\n\
             help: another program may use that port; --listen 127.0.0.1:0 takes a free one\n"
        )
    );
    assert_eq!(outcome.stdout(), "");
    assert_eq!(files(&sandbox.path("")), NO_FILES);
}

#[test]
fn a_ca_file_that_is_no_use_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("garbled.pem", "nothing of the kind\n");
    sandbox.write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let cases = [
        ("none.pem", "cannot read the CA file none.pem: No such file or directory (os error 2)"),
        (".", "cannot read the CA file .: Is a directory (os error 21)"),
    ];
    for (file, expected) in cases {
        let outcome = with_option(&sandbox, "--upstream-ca", file);
        assert_eq!(outcome.stderr(), format!("error: {expected}\n"));
    }
    for file in ["garbled.pem", "broken.pem"] {
        let outcome = with_option(&sandbox, "--upstream-ca", file);
        assert!(outcome.stderr().contains(file), "{outcome}");
    }
}

#[test]
fn an_option_that_means_nothing_in_a_mode_is_refused_there() {
    let sandbox = Sandbox::new();
    let refused = |mode: &str, options: &[&str]| {
        sandbox.wiretape("proxy").args(["--mode", mode]).args(options).run().exits(2).stderr()
    };
    assert_eq!(refused("replay", &["--refresh"]), "error: --refresh belongs to --mode record\n");
    assert_eq!(refused("auto", &["--strict"]), "error: --strict belongs to --mode replay\n");
    let pace = ["--pace", "recorded"];
    assert_eq!(refused("record", &pace), "error: --pace belongs to --mode replay or auto\n");
}

#[test]
fn an_option_that_makes_no_sense_is_explained() {
    let sandbox = Sandbox::new();
    let cases = [
        (
            "--connect-to",
            "a:b",
            "for '--connect-to <HOST:PORT:ADDR:PORT>': \"a:b\" is not HOST:PORT:ADDR:PORT, such as api.openai.com:443:127.0.0.1:8443",
        ),
        (
            "--reverse",
            "openai",
            "for '--reverse <NAME=URL>': \"openai\" is not NAME=URL, such as openai=https://api.openai.com",
        ),
        (
            "--reverse",
            "x=ftp://x",
            "for '--reverse <NAME=URL>': \"x=ftp://x\" is not NAME=URL, such as openai=https://api.openai.com",
        ),
        (
            "--max-body",
            "64Mi",
            "for '--max-body <SIZE>': \"64Mi\" is not a size; write it like 64MiB, 500kB or 4096",
        ),
    ];
    for (option, value, expected) in cases {
        let outcome = with_option(&sandbox, option, value);
        let expected =
            format!("error: invalid value '{value}' {expected}\n\nFor more information, try '--help'.\n");
        assert_eq!(outcome.stderr(), expected);
    }
    let cases = [
        ("socks5://proxy.test", "the upstream proxy speaks socks5, and only http:// proxies are supported"),
        ("http://", "the upstream proxy must be http://HOST:PORT"),
        ("http://user:word@a b", "the upstream proxy must be http://HOST:PORT"),
    ];
    for (value, expected) in cases {
        let outcome = with_option(&sandbox, "--upstream-proxy", value);
        assert_eq!(outcome.stderr(), format!("error: {expected}\n"));
    }
}

#[test]
fn a_command_that_does_not_exist_is_corrected() {
    let outcome = Sandbox::new().wiretape("recrod").arg("--").arg("true").run().exits(2);
    assert_eq!(
        outcome.stderr(),
        "error: unrecognized subcommand 'recrod'\n\n  tip: a similar subcommand exists: 'record'\n\n\
         Usage: wiretape [OPTIONS] <COMMAND>\n\nFor more information, try '--help'.\n"
    );
    assert_eq!(outcome.stdout(), "");
}

#[test]
fn a_run_ends_in_one_line_that_says_what_it_came_to() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let two = calls(&["echo?1", "echo?2"]);
    let said = |run: Invocation<'_>, script: &str, code: i32| {
        timeless(&shell(run, "c.yaml", script).run().exits(code).stderr())
    };
    assert_eq!(said(sandbox.record(&upstream), &two, 0), "wiretape recorded 2 exchanges in c.yaml (…)\n");
    assert_eq!(
        said(sandbox.record(&upstream), &two, 0),
        "wiretape recorded 2 exchanges in c.yaml, all as before (…)\n"
    );
    assert_eq!(
        said(sandbox.auto(&upstream), &calls(&["echo?1", "echo?3"]), 0),
        "wiretape replayed 1 call and recorded 1 exchange in c.yaml, 3 in all (…)\n"
    );
    assert_eq!(
        said(sandbox.auto(&upstream), &two, 0),
        "wiretape replayed 2 calls and recorded nothing; c.yaml stays as it was (…)\n"
    );
    drop(upstream);
    assert_eq!(
        said(sandbox.replay(), &calls(&["echo?1", "echo?2", "echo?3"]), 0),
        "wiretape replayed 3 calls from c.yaml: 3 exchanges, 0 misses, 0 unplayed (…)\n"
    );
    assert_eq!(
        said(sandbox.replay(), &calls(&["echo?1"]), 0),
        "wiretape replayed 1 call from c.yaml: 3 exchanges, 0 misses, 2 unplayed (…)\n         unplayed: 2, 3\n"
    );
    assert_eq!(
        said(sandbox.replay().arg("--strict"), &calls(&["echo?1"]), 1),
        "wiretape replayed 1 call from c.yaml: 3 exchanges, 0 misses, 2 unplayed (…)\nerror: unplayed: 2, 3\n"
    );
}

#[test]
fn a_miss_says_which_field_differs_and_what_to_do() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), "c.yaml", &calls(&["echo?page=1"])).run().exits(0);
    drop(upstream);
    let missed = shell(sandbox.replay(), "c.yaml", &calls(&["echo?page=2"])).run().exits(1);
    assert_eq!(
        timeless(&missed.stderr()),
        "\
error: no recorded exchange for GET https://faults.test/echo?page=2
  near: exchange 1
    query.page
      expected  1
      actual    2
help: record what is missing with `wiretape auto`, or name a field that may differ under `match: volatile:` in wiretape.yaml
wiretape replayed 0 calls from c.yaml: 1 exchange, 1 miss, 1 unplayed (…)
"
    );
}

#[test]
fn a_proxy_says_where_it_is_and_what_passes() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let words = ["--mode", "record", "-c", "c.yaml", "--reverse", "openai=https://api.openai.com"];
    let running = sandbox.wiretape("proxy").args(words).upstream(&upstream).spawn();
    let proxy = running.wait_for(Stream::Stdout, |line| Some(line.to_owned()));
    let port = proxy.rsplit(':').next().unwrap();
    running.wait_for(Stream::Stderr, |line| line.contains("eval").then_some(()));
    sandbox
        .program("curl")
        .args(["-sSk", "-o", "/dev/null", "-x", &proxy, "https://faults.test/status/404?token=word"])
        .run()
        .exits(0);
    running.terminate();
    let outcome = running.finish().exits(0);
    assert_eq!(outcome.stdout(), format!("{proxy}\n"));
    let said = outcome.stderr();
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some(&*format!("wiretape proxy: record on {proxy}, cassette c.yaml")));
    for variable in ["OPENAI_BASE_URL", "OPENAI_API_BASE"] {
        let line = lines.next().unwrap();
        assert!(
            line.starts_with(&format!("  {variable}=http://127.0.0.1:")) && line.ends_with("/v1"),
            "{line}"
        );
    }
    let control = lines.next().unwrap();
    assert!(control.starts_with("  control: unix:/") && control.ends_with("/control.sock"), "{control}");
    assert_eq!(lines.next(), Some(&*format!("  in another shell: eval \"$(wiretape env --port {port})\"")));
    let call = lines.next().unwrap();
    let expected = "   1  GET https://faults.test/status/404?token={{redacted:query:1}} 404 ";
    assert!(call.starts_with(expected), "{call}");
    assert_eq!(
        timeless(&format!("{}\n", lines.next().unwrap())),
        "wiretape recorded 1 exchange in c.yaml (…)\n"
    );
    assert_eq!(lines.next(), None);
}

#[test]
fn env_prints_what_leads_through_the_proxy_that_runs() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let nothing = sandbox.wiretape("env").run().exits(2);
    assert_eq!(
        nothing.stderr(),
        "error: no wiretape proxy is running\n\
         help: start one with `wiretape proxy --mode record`, or run a program at once with `wiretape record -- CMD`\n"
    );
    assert_eq!(nothing.stdout(), "");

    let start = || {
        let running = sandbox.wiretape("proxy").args(["--mode", "passthrough"]).upstream(&upstream).spawn();
        let url = running.wait_for(Stream::Stdout, |line| Some(line.to_owned()));
        (running, url)
    };
    let (first, url) = start();
    let env = |format: &str| sandbox.wiretape("env").args(["--format", format]).run().exits(0);
    assert!(env("sh").stdout().contains(&format!("export HTTPS_PROXY='{url}'\n")), "{}", env("sh"));
    assert!(env("fish").stdout().contains(&format!("set -gx HTTPS_PROXY '{url}'\n")), "{}", env("fish"));
    let json: serde_json::Value = serde_json::from_str(env("json").stdout()).unwrap();
    assert_eq!(json["set"]["HTTPS_PROXY"], url.as_str());
    let script = "eval \"$(\"$0\" env)\"; curl -sS https://faults.test/repeat";
    let wiretape = binary(&sandbox);
    let through = sandbox.program("sh").args(["-c", script]).arg(wiretape).run().exits(0);
    assert_eq!(through.stdout(), "call 1");

    let (second, _) = start();
    let several = sandbox.wiretape("env").run().exits(2).stderr();
    assert!(several.starts_with("error: several proxies are running, on ports "), "{several}");
    assert!(several.ends_with("\nhelp: name one with --port\n"), "{several}");
    let port = url.rsplit(':').next().unwrap();
    let one = sandbox.wiretape("env").args(["--port", port]).run().exits(0);
    assert!(one.stdout().contains(&url), "{one}");
    first.kill();
    first.finish();
    second.terminate();
    second.finish().exits(0);
    sandbox.wiretape("env").run().exits(2);
}

#[test]
fn show_is_a_table() {
    let sandbox = Sandbox::new();
    sandbox.write("c.yaml", TWO);
    let shown = sandbox.wiretape("show").arg("c.yaml").run().exits(0);
    assert_eq!(
        shown.stdout(),
        "\
#   time  request                                  status  size   took  events
1   0 ms  GET api.github.com/repos/o/r/issues      200     13 B  12 ms
2  1.5 s  POST api.openai.com/v1/chat/completions  reset    0 B   0 ms
c.yaml: 2 exchanges (api.github.com 1, api.openai.com 1)
"
    );
    assert_eq!(shown.stderr(), "");
}

#[test]
fn show_prints_one_exchange_as_it_stands() {
    let sandbox = Sandbox::new();
    sandbox.write("c.yaml", TWO);
    let shown = sandbox.wiretape("show").args(["c.yaml", "2"]).run().exits(0);
    let start = TWO.find("  - id: 2").unwrap();
    assert_eq!(shown.stdout(), &TWO[start..]);
    let none = sandbox.wiretape("show").args(["c.yaml", "3"]).run().exits(2);
    assert_eq!(none.stderr(), "error: there is no exchange 3; the cassette has 2 exchanges\n");
}

#[test]
fn diff_says_what_changed() {
    let sandbox = Sandbox::new();
    let diff = |left: &str, right: &str, code: i32| {
        sandbox.write("a.yaml", left);
        sandbox.write("b.yaml", right);
        let outcome = sandbox.wiretape("diff").args(["a.yaml", "b.yaml"]).run().exits(code);
        assert_eq!(outcome.stderr(), "");
        outcome.stdout().to_owned()
    };
    assert_eq!(diff(TWO, TWO, 0), "2 exchanges the same, 0 different: a.yaml against b.yaml\n");
    // Timing and numbers are no difference.
    let later = TWO.replace("after: 12ms", "after: 99ms");
    assert_eq!(diff(TWO, &later, 0), "2 exchanges the same, 0 different: a.yaml against b.yaml\n");
    assert_eq!(
        diff(TWO, &TWO.replace("status: 200", "status: 404"), 1),
        "\
~ 1 → 1 GET https://api.github.com/repos/o/r/issues
    response.status
      - 200
      + 404
1 exchange the same, 1 different: a.yaml against b.yaml
"
    );
    assert_eq!(
        diff(TWO, &TWO.replace("title: x", "title: y"), 1),
        "\
~ 1 → 1 GET https://api.github.com/repos/o/r/issues
    response.body.title
      - \"x\"
      + \"y\"
1 exchange the same, 1 different: a.yaml against b.yaml
"
    );
    assert_eq!(
        diff(TWO, &TWO.replace("x-page: one", "x-page: two"), 1),
        "\
~ 1 → 1 GET https://api.github.com/repos/o/r/issues
    response.headers.x-page
      - one
      + two
1 exchange the same, 1 different: a.yaml against b.yaml
"
    );
    let first = &TWO[..TWO.find("  - id: 2").unwrap()];
    assert_eq!(
        diff(first, TWO, 1),
        "+ 2 POST https://api.openai.com/v1/chat/completions\n\
         1 exchange the same, 1 different: a.yaml against b.yaml\n"
    );
    assert_eq!(
        diff(TWO, first, 1),
        "- 2 POST https://api.openai.com/v1/chat/completions\n\
         1 exchange the same, 1 different: a.yaml against b.yaml\n"
    );
}

#[test]
fn the_kept_ca_is_made_shown_and_replaced_only_when_asked() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join("state/wiretape/ca");
    let ca = |words: &[&str]| sandbox.wiretape("ca").args(words).run();
    let nothing = format!("error: no CA in {}: make one with `wiretape ca init`\n", folder.display());
    assert_eq!(ca(&["path"]).exits(2).stderr(), nothing);
    assert_eq!(ca(&["env"]).exits(2).stderr(), nothing);

    let made = ca(&["init"]).exits(0);
    assert_eq!(made.stdout(), format!("{}/ca.pem\n", folder.display()));
    let said = made.stderr();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("wiretape: made a CA, valid until 20"), "{said}");
    assert!(lines[1].starts_with("  SHA-256 ") && lines[1].len() == 10 + 95, "{said}");
    assert_eq!(
        lines[2],
        format!("  `wiretape proxy` uses it from now on; its key stays in {}", folder.display())
    );
    assert_eq!(ca(&["path"]).exits(0).stdout(), made.stdout());
    let certificate = fs::read(folder.join("ca.pem")).unwrap();
    assert_eq!(
        ca(&["init"]).exits(2).stderr(),
        format!(
            "error: {}/ca.key is there already: use `wiretape ca init --renew` to replace the CA\n",
            folder.display()
        )
    );
    assert_eq!(fs::read(folder.join("ca.pem")).unwrap(), certificate);
    let env = ca(&["env"]).exits(0);
    let expected = format!("export SSL_CERT_FILE='{}/trust/bundle.pem'\n", folder.display());
    assert!(env.stdout().contains(&expected), "{env}");
    ca(&["init", "--renew"]).exits(0);
    assert_ne!(fs::read(folder.join("ca.pem")).unwrap(), certificate);
}

#[test]
fn completions_for_bash_are_read_by_bash() {
    let sandbox = Sandbox::new();
    let script = sandbox.wiretape("completions").arg("bash").run().exits(0);
    let check = "source /dev/stdin; COMP_WORDS=(wiretape rec); COMP_CWORD=1; _wiretape wiretape rec wiretape; \
                 echo \"${COMPREPLY[@]}\"";
    let completed = sandbox.program("bash").args(["-c", check]).stdin(script.stdout).run().exits(0);
    assert_eq!(completed.stdout(), "record\n");
}

#[test]
fn doctor_says_what_it_found() {
    let sandbox = Sandbox::new();
    let well = sandbox.wiretape("doctor").env("HTTPS_PROXY", "http://user:word@127.0.0.1:1").run().exits(0);
    let state = sandbox.root().join("state/wiretape");
    let expected = format!(
        "ok    can listen on loopback\n\
         ok    journals go to {}\n\
         ok    found the system's root certificates\n\
         ok    no kept CA: each run makes its own, in memory\n\
         ok    no wiretape.yaml here or above: defaults apply\n\
         note  HTTPS_PROXY is set: recording reaches real hosts through that proxy\n",
        state.display()
    );
    assert!(well.stdout().starts_with(&expected), "{well}");
    assert!(!well.stdout().contains("word"), "{well}");
    assert_eq!(well.stderr(), "");

    let file = sandbox.write("file", "");
    let ill = sandbox.wiretape("doctor").env("XDG_STATE_HOME", &file).run().exits(1);
    let expected =
        format!("bad   cannot write to {}/wiretape: Not a directory (os error 20)\n", file.display());
    assert!(ill.stdout().contains(&expected), "{ill}");
}

#[test]
fn doctor_names_every_rule_that_was_never_hit() {
    let sandbox = Sandbox::new();
    let said = || {
        let doctor = sandbox.wiretape("doctor").env("ACME_REGION", "north").run().exits(0);
        let lines = doctor.stdout().lines().filter(|line| line.contains("rule"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(said(), [] as [&str; 0]);
    sandbox.write(
        "wiretape.yaml",
        "\
redact:
  headers: [x-a, x-internal-id]
  query: [q, ticket]
  json_paths: [body.a, body.customer.email]
  patterns: {customer: 'CUST-[0-9]+', account: 'ACC-[0-9]+'}
  env: [ACME_LICENSE, ACME_LICENCE]
keep:
  headers: [x-b, x-build-number]
  query: [r, token]
  json_paths: [body.b, body.session.token]
  patterns: ['doc_[a-z]+', 'nod_[a-z]+']
  env: [ACME_REGION, ACME_ZONE]
",
    );
    let zone = "note  rule never hit: keep.env: ACME_ZONE (no such variable is set)";
    assert_eq!(said(), [zone, "note  no cassette in cassettes yet: rules cannot be judged"]);
    let cassette = |number: u32| {
        format!(
            "\
wiretape: cassette/1
redaction: {{ruleset: 1, env: {{ACME_LICENSE: '{{{{redacted:secret:1}}}}'}}}}
exchanges:
  - id: 1
    request:
      method: POST
      url: https://a.test/{number}?q=1&r=2
      headers: {{x-a: '{{{{redacted:rule:1}}}}', x-b: '1'}}
    response:
      status: 200
      body:
        json: {{a: '{{{{redacted:customer:1}}}}', b: doc_example}}
"
        )
    };
    sandbox.write("cassettes/one.yaml", cassette(1));
    let never = |rule: &str, place: &str| format!("note  rule never hit: {rule} (in {place})");
    let rules = [
        "redact.headers: x-internal-id",
        "redact.query: ticket",
        "redact.json_paths: body.customer.email",
        "redact.patterns: account",
        "redact.env: ACME_LICENCE",
        "keep.headers: x-build-number",
        "keep.query: token",
        "keep.json_paths: body.session.token",
        "keep.patterns: nod_[a-z]+",
    ];
    let expected = |place| [vec![zone.to_owned()], rules.map(|rule| never(rule, place)).to_vec()].concat();
    assert_eq!(said(), expected("1 cassette"));
    sandbox.write("cassettes/deep/two.yaml", cassette(2));
    assert_eq!(said(), expected("2 cassettes"));
    sandbox.write("wiretape.yaml", "redact: {headers: [x-a]}\n");
    assert_eq!(said(), ["ok    every rule was hit (in 2 cassettes)"]);
}

#[test]
fn the_demo_works_with_nothing_set_up() {
    let sandbox = Sandbox::new();
    let shown = sandbox.wiretape("demo").run().exits(0);
    assert!(shown.stdout().starts_with("issue #7: "), "{shown}");
    let said = timeless(&shown.stderr());
    assert!(
        said.starts_with(
            "wiretape: running a Python program that calls api.github.com and api.openai.com, offline\n\n"
        ),
        "{said}"
    );
    assert!(said.contains("/agent.yaml: 3 exchanges, 0 misses, 0 unplayed (…)\n"), "{said}");
    assert!(
        said.ends_with(
            "\nEvery byte came from a cassette; nothing left this machine. With a program of your own:\n  \
             wiretape record -- python agent.py    once, with your keys and the network\n  \
             wiretape replay -- python agent.py    ever after, with neither\n"
        ),
        "{said}"
    );
    assert_eq!(files(sandbox.root()), NO_FILES);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let sandbox = Sandbox::new();
    let exchange = |id: u32| {
        format!(
            "  - id: {id}\n    request:\n      method: GET\n      url: https://a.test/{id}\n    response:\n      status: 200\n"
        )
    };
    let long: String = (1..=3000).map(exchange).collect();
    sandbox.write("c.yaml", format!("wiretape: cassette/1\nexchanges:\n{long}"));
    sandbox.write("d.yaml", "wiretape: cassette/1\nexchanges: []\n");
    for words in ["show c.yaml", "diff c.yaml d.yaml", "diff d.yaml c.yaml"] {
        let script = format!("\"$0\" {words} | head -n 1 >first; echo ${{PIPESTATUS[0]}}");
        let wiretape = binary(&sandbox);
        let outcome = sandbox.program("bash").args(["-c", &script]).arg(wiretape).run().exits(0);
        assert_eq!(outcome.stderr(), "", "{words}");
        assert!(["0\n", "1\n", "141\n"].contains(&outcome.stdout()), "{words}: {outcome}");
        assert_eq!(sandbox.read("first").lines().count(), 1, "{words}");
    }
}

#[test]
fn a_run_ends_as_its_child_did_though_nobody_hears_the_summary() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    // Its stderr is a pipe that nobody reads from any more.
    let deaf = "{ until [ -e gone ]; do sleep 0.01; done; \"$@\"; echo $? >code; } 2>&1 \
                | { exec <&-; touch gone; }; \
                until [ -e code ]; do sleep 0.01; done";
    let run = wrapped(&sandbox, deaf, "record").upstream(&upstream);
    shell(run, "c.yaml", &format!("{}; exit 7", calls(&["echo"]))).run().exits(0);
    assert_eq!(sandbox.read("code"), "7\n");
    assert!(sandbox.read("c.yaml").contains("url: https://faults.test/echo\n"));
}

#[test]
fn a_proxy_goes_on_though_nobody_hears_it() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let deaf = "{ until [ -e gone ]; do sleep 0.01; done; \
                \"$@\" >address & echo $! >pid; wait $!; echo $? >code; } 2>&1 \
                | { exec <&-; touch gone; } & \
                until [ -s address ]; do sleep 0.01; done; \
                for n in 1 2 3; do \
                curl -sSk -o /dev/null -w '%{http_code} ' -x \"$(cat address)\" https://faults.test/echo?$n; done; \
                kill $(cat pid); until [ -s code ]; do sleep 0.01; done; cat code";
    let run = wrapped(&sandbox, deaf, "proxy").upstream(&upstream);
    let outcome = run.args(["--mode", "record", "-c", "c.yaml"]).run();
    assert_eq!(outcome.stdout(), "200 200 200 0\n", "{outcome}");
    assert_eq!(urls(&sandbox.read("c.yaml")).len(), 3);
}

#[test]
fn nothing_is_colored_where_there_is_no_terminal() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    sandbox.write("bad.yaml", "pace: fast\n");
    let plain = |run: Invocation<'_>| {
        let outcome = run.env("NO_COLOR", "").env("TERM", "xterm").run();
        assert!(!outcome.stdout.contains(&ESCAPE) && !outcome.stderr.contains(&ESCAPE), "{outcome}");
    };
    plain(shell(sandbox.record(&upstream), "c.yaml", &calls(&["echo?1"])));
    plain(shell(sandbox.replay(), "c.yaml", &calls(&["echo?2"])));
    plain(sandbox.wiretape("show").arg("c.yaml"));
    plain(sandbox.wiretape("show").arg("bad.yaml"));
    plain(sandbox.wiretape("doctor"));
    plain(sandbox.wiretape("recrod"));
}

#[test]
fn a_terminal_gets_colors_and_a_status_line_that_goes_away() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let wiretape = binary(&sandbox);
    // The child waits for a key that is typed once both calls are on the status line.
    let script = format!("{}; read key; echo hello from the child", calls(&["echo?1", "echo?2"]));
    let record = |seen: &str| {
        let run = on_a_terminal(&sandbox, (seen, "\n")).arg(&wiretape).arg("record").upstream(&upstream);
        shell(run, "c.yaml", &script)
    };
    let outcome = record("record  2 calls  ").run().exits(0);
    let shown = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let set = shown.find("\x1b[1;23r").expect("the last row is kept out of the scrolling");
    let status = shown.find("\x1b[24;1H\x1b[2K\x1b[2mwiretape record  ").expect("the status stands there");
    let hello = shown.find("hello from the child").unwrap();
    let reset = shown.rfind("\x1b[r").expect("the whole screen scrolls again");
    let end =
        shown.find("\x1b[32mwiretape\x1b[0m recorded 2 exchanges in c.yaml").expect("the summary is colored");
    assert!(set < status && status < hello && hello < reset && reset < end, "{shown:?}");
    assert!(shown.contains("  GET https://faults.test/echo?2 200 "), "{shown:?}");

    let outcome = record("2 calls").env("NO_COLOR", "1").run().exits(0);
    let shown = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert!(!shown.contains("\x1b[32m") && !shown.contains("\x1b[2m"), "{shown:?}");
    for (name, value) in [("TERM", "dumb"), ("CI", "true")] {
        let ready = script.replace("read key", "echo ready; read key");
        let run = on_a_terminal(&sandbox, ("ready", "\n")).arg(&wiretape).arg("record").upstream(&upstream);
        let outcome = shell(run, "c.yaml", &ready).env(name, value).run().exits(0);
        let shown = String::from_utf8_lossy(&outcome.stdout).into_owned();
        assert!(!shown.contains("\x1b[24;1H") && !shown.contains("\x1b[1;23r"), "{name}: {shown:?}");
    }
    let outcome = on_a_terminal(&sandbox, ("", "")).arg(&wiretape).args(["show", "c.yaml"]).run().exits(0);
    assert!(String::from_utf8_lossy(&outcome.stdout).contains("\x1b[32m200"), "{outcome}");
}

#[test]
fn the_terminal_is_given_back_however_the_run_ends() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let wiretape = binary(&sandbox);
    // The key reaches the child and wiretape alike, however early; the child must be told once.
    let told = "trap 'echo told; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    let ends = iter::once(("exit 7", "", 7)).chain(iter::repeat_n((told, "ready", 5), 8));
    for (script, awaited, code) in ends {
        let run = on_a_terminal(&sandbox, (awaited, "\x03")).arg(&wiretape).arg("record").upstream(&upstream);
        let outcome = shell(run, "c.yaml", script).run().exits(code);
        let shown = String::from_utf8_lossy(&outcome.stdout).into_owned();
        assert!(shown.rfind("\x1b[r") > shown.rfind("\x1b[1;23r"), "{shown:?}");
        assert_eq!(shown.matches("told").count(), usize::from(code == 5), "{shown:?}");
    }
    let run = on_a_terminal(&sandbox, ("", "")).arg(&wiretape).arg("record").upstream(&upstream);
    let outcome = run.cassette("c.yaml").child(["no-such-command"]).run().exits(2);
    let shown = String::from_utf8_lossy(&outcome.stdout).into_owned();
    let error = shown.find("there is no command").unwrap();
    assert!(shown.rfind("\x1b[r").is_none_or(|reset| reset < error), "{shown:?}");
    assert_eq!(shown.matches("\x1b[r").count(), shown.matches("\x1b[1;23r").count(), "{shown:?}");
}

#[test]
fn a_configuration_that_another_user_can_change_is_used_only_when_it_is_named() {
    let sandbox = Sandbox::new();
    let file = sandbox.write("wiretape.yaml", "cassettes: elsewhere\n");
    give_away(&file);
    fs::create_dir(sandbox.path("deep")).unwrap();
    let real = fs::canonicalize(&file).unwrap();
    for command in ["record", "replay", "auto"] {
        let script = "cd deep && exec \"$@\"";
        let run = wrapped(&sandbox, script, command).child(["touch", "ran"]);
        let refused = run.run().exits(2);
        assert_eq!(
            refused.stderr(),
            format!(
                "error: {} belongs to another user, or another user can change it\n\
                 help: it could send your keys elsewhere: name it with --config if you trust it, or make one of your \
                 own here\n",
                real.display()
            )
        );
        assert!(!sandbox.path("deep/ran").exists());
    }
    let named = sandbox.replay().args(["--config", "wiretape.yaml"]).child(["touch", "ran"]).run().exits(2);
    assert!(named.stderr().starts_with("error: cannot read elsewhere/touch.yaml: "), "{named}");
}

#[test]
fn a_state_folder_that_another_user_can_change_is_not_written_to_and_not_read() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), "c.yaml", &calls(&["echo"])).run().exits(0);
    // What a killed run left is taken in by the next one, unless somebody else could have put it there.
    let running =
        shell(sandbox.record(&upstream), "c.yaml", &format!("{}; echo ready; sleep 60", calls(&["repeat"])))
            .spawn();
    running.wait_for(Stream::Stdout, |line| (line == "ready").then_some(()));
    running.kill();
    running.finish();
    let old = sandbox.read("c.yaml");
    let journal = journals(&sandbox);
    assert_eq!(journal.len(), 1);
    let state = sandbox.root().join("state/wiretape");
    give_away(&state);
    let before = files(&state);

    let refusal = format!(
        "error: {} is not a folder that only you can write to\n\
         help: run `chmod 700` on it, or set XDG_STATE_HOME to a folder of your own\n",
        state.display()
    );
    let on = |command: &str| sandbox.wiretape(command).cassette("c.yaml");
    for run in [
        on("record").child(["touch", "ran"]),
        on("auto").child(["touch", "ran"]),
        on("proxy").args(["--mode", "record"]),
        on("proxy").args(["--mode", "replay"]),
        sandbox.wiretape("env"),
    ] {
        let refused = run.run().exits(2);
        assert_eq!(refused.stderr(), refusal, "{refused}");
        assert_eq!(refused.stdout(), "");
    }
    assert!(!sandbox.path("ran").exists());
    assert_eq!(files(&state), before);

    drop(upstream);
    let replayed = shell(sandbox.replay(), "c.yaml", &calls(&["echo"])).run().exits(0);
    let expected = "wiretape replayed 1 call from c.yaml: 1 exchange, 0 misses, 0 unplayed (";
    assert!(replayed.stderr().starts_with(expected), "{replayed}");
    assert_eq!(sandbox.read("c.yaml"), old);
    assert_eq!(journals(&sandbox), journal);
}

#[test]
fn a_hostile_key_of_a_cassette_cannot_drive_the_terminal() {
    for padding in ["", &"x".repeat(500)] {
        let cassette = format!("{ONE}    \"{HOSTILE_YAML}{padding}\": 1\n");
        for outcome in on_hostile_cassette("c.yaml", &cassette) {
            let outcome = outcome.exits(2);
            assert!(outcome.stderr().starts_with("error: unknown key `"), "{outcome}");
        }
    }
}

#[test]
fn a_raw_escape_in_a_cassette_cannot_drive_the_terminal() {
    for padding in ["", &"x".repeat(500)] {
        let cassette = format!("{ONE}    {HOSTILE}{padding}: 1\n");
        for outcome in on_hostile_cassette("c.yaml", &cassette) {
            outcome.exits(2);
        }
    }
}

#[test]
fn a_hostile_header_name_cannot_drive_the_terminal() {
    for padding in ["", &"x".repeat(500)] {
        let cassette = format!("{ONE}      headers:\n        \"x-{HOSTILE_YAML}{padding}\": one\n");
        for outcome in on_hostile_cassette("c.yaml", &cassette) {
            let outcome = outcome.exits(2);
            assert!(outcome.stderr().starts_with("error: header name \"x-"), "{outcome}");
        }
    }
}

#[test]
fn a_hostile_file_name_cannot_drive_the_terminal() {
    let name = format!("c{HOSTILE}.yaml");
    for outcome in on_hostile_cassette(&name, "exchanges: []\n") {
        let outcome = outcome.exits(2);
        assert!(outcome.stderr().starts_with("error: not a wiretape cassette\n"), "{outcome}");
    }
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    // Absent, recorded, left by a killed run, replayed, and not changed by a run that failed.
    let absent = shell(sandbox.replay(), &name, "true").run().exits(2);
    let recorded = shell(sandbox.record(&upstream), &name, &calls(&["echo"])).run().exits(0);
    let running =
        shell(sandbox.record(&upstream), &name, &format!("{}; echo ready; sleep 60", calls(&["repeat"])))
            .spawn();
    running.wait_for(Stream::Stdout, |line| (line == "ready").then_some(()));
    let second = shell(sandbox.record(&upstream), &name, "true").run().exits(2);
    running.kill();
    running.finish();
    let replayed = shell(sandbox.replay(), &name, &calls(&["echo"])).run().exits(0);
    let failed =
        shell(sandbox.record(&upstream), &name, "curl -sS https://refused.test/; true").run().exits(0);
    let proxy = sandbox.wiretape("proxy").args(["--mode", "replay"]).cassette(&name).spawn();
    proxy.wait_for(Stream::Stdout, |line| line.starts_with("http://").then_some(()));
    proxy.terminate();
    let shown = sandbox.wiretape("show").arg(&name).run().exits(0);
    let compared = sandbox.wiretape("diff").args([&name, &name]).run().exits(0);
    for outcome in [absent, recorded, second, replayed, failed, proxy.finish(), shown, compared] {
        assert_tame(&outcome);
    }
}

#[test]
fn a_body_limit_above_what_a_cassette_can_hold_is_refused() {
    let refused = with_option(&Sandbox::new(), "--max-body", "600MiB");
    assert_eq!(
        refused.stderr(),
        "error: bodies above 512MiB cannot be kept: give a smaller --max-body or max_body\n"
    );
    let sandbox = Sandbox::new();
    sandbox.write("wiretape.yaml", "max_body: 600MiB\n");
    let run = sandbox.wiretape("record").cassette("c.yaml").child(["touch", "ran"]);
    assert_eq!(run.run().exits(2).stderr(), refused.stderr());
    assert!(!sandbox.path("ran").exists());
}

/// Every command that reads a cassette, on one that somebody else wrote; none may show its bytes as they are.
#[track_caller]
fn on_hostile_cassette(name: &str, cassette: &str) -> Vec<Outcome> {
    let sandbox = Sandbox::new();
    sandbox.write(name, cassette);
    let run = |command: &str| sandbox.wiretape(command).cassette(name).child(["touch", "ran"]);
    let runs = [
        run("record"),
        run("replay"),
        run("auto"),
        sandbox.wiretape("show").arg(name),
        sandbox.wiretape("diff").args([name, name]),
    ];
    let outcomes: Vec<Outcome> = runs.into_iter().map(Invocation::run).collect();
    outcomes.iter().for_each(assert_tame);
    assert!(!sandbox.path("ran").exists());
    outcomes
}

/// Fails if anything that was said could drive a terminal, or hide.
#[track_caller]
fn assert_tame(outcome: &Outcome) {
    let harmful = |c: &char| {
        (c.is_control() && *c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    for said in [&outcome.stderr, &outcome.stdout] {
        let said = String::from_utf8_lossy(said);
        let found: Vec<char> = said.chars().filter(harmful).collect();
        assert_eq!(found, Vec::<char>::new(), "{said:?}");
    }
}

/// Puts a file or folder into another user's hands, as far as this user can.
fn give_away(path: &Path) {
    if chown(path, Some(NOBODY), Some(NOBODY)).is_err() {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        fs::set_permissions(path, Permissions::from_mode(mode | 0o022)).unwrap();
    }
}

/// Every command that reads this cassette refuses it with these words, and leaves it alone.
#[track_caller]
fn refused(cassette: &str, expected: &str) {
    refused_in(&Sandbox::new(), cassette.as_bytes(), expected);
}

#[track_caller]
fn refused_in(sandbox: &Sandbox, cassette: &[u8], expected: &str) {
    sandbox.write("c.yaml", cassette);
    for run in on_cassette(sandbox) {
        let outcome = run.run().exits(2);
        assert_eq!(outcome.stderr(), expected, "{outcome}");
        assert_eq!(outcome.stdout(), "");
        assert_eq!(fs::read(sandbox.path("c.yaml")).unwrap(), cassette);
    }
    assert!(!sandbox.path("ran").exists());
}

fn on_cassette(sandbox: &Sandbox) -> Vec<Invocation<'_>> {
    let run = |command| sandbox.wiretape(command).cassette("c.yaml").child(["touch", "ran"]);
    vec![
        run("record"),
        run("replay"),
        run("auto"),
        sandbox.wiretape("show").arg("c.yaml"),
        sandbox.wiretape("diff").args(["c.yaml", "c.yaml"]),
    ]
}

/// `wiretape record` with a bad option, which does not run its child.
fn with_option(sandbox: &Sandbox, option: &str, value: &str) -> Outcome {
    let run = sandbox.wiretape("record").arg(option).arg(value);
    let outcome = run.cassette("c.yaml").child(["touch", "ran"]).run().exits(2);
    assert!(!sandbox.path("ran").exists());
    outcome
}

const ONE: &str = "\
wiretape: cassette/1
exchanges:
  - id: 1
    request:
      method: GET
      url: https://a.test/
    response:
      status: 200
";

const TWO: &str = "\
wiretape: cassette/1
exchanges:
  - id: 1
    request:
      method: GET
      url: https://api.github.com/repos/o/r/issues
    response:
      status: 200
      after: 12ms
      headers:
        content-type: application/json
        x-page: one
      body:
        json:
          title: x
  - id: 2
    at: 1500ms
    request:
      method: POST
      url: https://api.openai.com/v1/chat/completions
    fault: reset
";

const SHA256_OF_X: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
const ESCAPE: u8 = 0x1b;
const NO_FILES: [&Path; 0] = [];
const NOBODY: u32 = 65534;
/// Escape, bell, an 8-bit control sequence and a change of writing direction.
const HOSTILE: &str = "\x1b]0;owned\x07\u{9b}31m\u{202e}";
const HOSTILE_YAML: &str = r"\e]0;owned\a\u009b31m\u202e";
