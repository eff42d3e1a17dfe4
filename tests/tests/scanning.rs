//! `wiretape scan` as a person uses it: what it finds and where, its exit codes, a commit hook, and what it must never
//! print.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::Value;
use wiretape_tests::{
    corpus,
    sandbox::{Outcome, Sandbox},
    secret::Secret,
};

fn scan(sandbox: &Sandbox, words: &[&str]) -> Outcome {
    sandbox.wiretape("scan").args(words).run()
}

/// Nothing that was printed holds any eight characters of the secret in a row.
fn is_untold(secret: &Secret, outcome: &Outcome) {
    let told = format!("{}{}", outcome.stdout(), outcome.stderr());
    let body = &secret.reveal()[7..];
    for start in 0..body.len() - 8 {
        assert!(!told.contains(&body[start..start + 8]), "a part of the secret was printed");
    }
}

fn cassette(header: &str, text: &str) -> String {
    format!(
        "wiretape: cassette/1\nredaction:\n  ruleset: 1\nexchanges:\n  - id: 1\n    request:\n      method: GET\n      \
         url: https://api.openai.com/v1/models\n      headers:\n        authorization: {header}\n    response:\n      \
         status: 200\n      body:\n        text: {text}\n"
    )
}

#[test]
fn a_secret_is_told_by_kind_and_place_and_never_by_value() {
    let sandbox = Sandbox::new();
    let secret = Secret::openai();
    sandbox
        .write("c.yaml", cassette("Bearer {{redacted:openai_key:1}}", &format!("see {}", secret.reveal())));
    let outcome = scan(&sandbox, &["c.yaml"]).exits(1);
    assert_eq!(outcome.stdout(), "c.yaml:14:19: openai_key\n");
    assert!(outcome.stderr().starts_with("wiretape: scanned 1 file ("), "{outcome}");
    assert!(outcome.stderr().ends_with("): 1 secret in 1 file\n"), "{outcome}");
    is_untold(&secret, &outcome);
}

#[test]
fn a_clean_cassette_is_fine() {
    let sandbox = Sandbox::new();
    sandbox.write("c.yaml", cassette("Bearer {{redacted:openai_key:1}}", "'{\"id\":\"chatcmpl-000001\"}'"));
    let outcome = scan(&sandbox, &["c.yaml"]).exits(0);
    assert_eq!(outcome.stdout(), "");
    assert!(outcome.stderr().ends_with("): no secrets\n"), "{outcome}");
}

#[test]
fn what_cannot_be_scanned_is_bad_input() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("empty")).unwrap();
    assert_eq!(scan(&sandbox, &["nowhere.yaml"]).exits(2).stderr(), "error: there is no nowhere.yaml\n");
    let outcome = scan(&sandbox, &["empty"]).exits(2);
    assert!(outcome.stderr().starts_with("error: there is nothing to scan\n"), "{outcome}");
    scan(&sandbox, &[]).exits(2);
    let outcome = scan(&sandbox, &["--staged"]).exits(2);
    assert!(outcome.stderr().starts_with("error: git cannot tell what is staged: "), "{outcome}");
}

#[test]
fn a_file_that_is_too_large_is_named_and_the_others_are_scanned() {
    let sandbox = Sandbox::new();
    let secret = Secret::github();
    sandbox.write("d/a.log", "nothing");
    fs::File::create(sandbox.path("d/huge.log")).unwrap().set_len((256 << 20) + 1).unwrap();
    let outcome = scan(&sandbox, &["d"]).exits(2);
    assert!(
        outcome.stderr().contains("error: d/huge.log is larger than the 256 MiB that are scanned\n"),
        "{outcome}"
    );
    assert!(outcome.stderr().contains("scanned 1 file ("), "{outcome}");
    sandbox.write("d/b.log", secret.reveal());
    scan(&sandbox, &["d"]).exits(1);
}

#[test]
fn folders_are_walked_in_order_without_git_and_links() {
    let sandbox = Sandbox::new();
    let secret = Secret::github();
    for name in ["d/b/x.yaml", "d/a.yaml", "d/.git/config", "d/.hidden/env", "elsewhere/linked"] {
        sandbox.write(name, secret.reveal());
    }
    symlink(sandbox.path("elsewhere"), sandbox.path("d/link")).unwrap();
    symlink(sandbox.path("elsewhere/linked"), sandbox.path("d/link.yaml")).unwrap();
    let outcome = scan(&sandbox, &["d"]).exits(1);
    assert_eq!(
        outcome.stdout(),
        "d/.hidden/env:1:1: github_token\nd/a.yaml:1:1: github_token\nd/b/x.yaml:1:1: github_token\n"
    );
    scan(&sandbox, &["d", "d/a.yaml"]).exits(1).stdout().lines().nth(2).unwrap();
}

#[test]
fn the_blobs_of_a_named_cassette_are_scanned_with_it() {
    let sandbox = Sandbox::new();
    let secret = Secret::google();
    sandbox.write("c.yaml", cassette("Bearer {{redacted:google_key:1}}", "x"));
    sandbox.write("c.yaml.blobs/0123", format!("{{\"key\":\"{}\"}}", secret.reveal()));
    let outcome = scan(&sandbox, &["c.yaml"]).exits(1);
    assert_eq!(outcome.stdout(), "c.yaml.blobs/0123:1:9: google_key\n");
}

#[test]
fn every_encoding_is_looked_through_and_named() {
    let sandbox = Sandbox::new();
    let secret = Secret::openai();
    let (plain, half) = (secret.reveal(), secret.reveal().len() / 2);
    let events = format!(
        "        events:\n          - text: 'data: {{\"d\":\"{}\"}}'\n          - text: 'data: {{\"d\":\"{}\"}}'\n",
        &plain[..half],
        &plain[half..]
    );
    let percent: String = plain.bytes().map(|b| format!("%{b:02x}")).collect();
    let unicode: String = plain.bytes().map(|b| format!("\\u{b:04x}")).collect();
    let packed = zstd::encode_all(plain.as_bytes(), 1).unwrap();
    for (text, through) in [
        (events.as_str(), "split over 2 events"),
        (&format!("q={percent}"), "percent-encoded"),
        (&format!("\"{unicode}\""), "in string escapes"),
        (&BASE64.encode(format!("user {plain}")), "in base64"),
        (&format!("base64: {}", BASE64.encode(packed)), "in base64, in zstd"),
    ] {
        sandbox.write("c.log", text);
        let outcome = scan(&sandbox, &["c.log"]).exits(1);
        assert!(
            outcome.stdout().ends_with(&format!(": openai_key ({through})\n")),
            "{through}: {}",
            outcome.stdout()
        );
        is_untold(&secret, &outcome);
    }
}

#[test]
fn the_json_format_is_an_array_of_findings() {
    let sandbox = Sandbox::new();
    let secret = Secret::anthropic();
    sandbox.write("a.log", format!("\n  {}\n", BASE64.encode(format!(" {} ", secret.reveal()))));
    let outcome = scan(&sandbox, &["--format", "json", "a.log"]).exits(1);
    let found: Value = serde_json::from_str(outcome.stdout()).unwrap();
    let expected = serde_json::json!([{
        "file": "a.log", "line": 2, "column": 4, "kind": "anthropic_key", "through": ["in base64"],
    }]);
    assert_eq!(found, expected);
    is_untold(&secret, &outcome);
    sandbox.write("a.log", "nothing");
    assert_eq!(scan(&sandbox, &["--format", "json", "a.log"]).exits(0).stdout(), "[]\n");
}

#[test]
fn a_cassette_that_names_no_rules_gets_a_warning() {
    let sandbox = Sandbox::new();
    sandbox.write("c.yaml", "wiretape: cassette/1\nexchanges: []\n");
    let outcome = scan(&sandbox, &["c.yaml"]).exits(0);
    assert!(
        outcome
            .stderr()
            .starts_with("warning: not scrubbed by this ruleset: c.yaml has no `redaction:` at its top\n"),
        "{outcome}"
    );
    assert!(outcome.stderr().ends_with("no secrets, 1 warning\n"), "{outcome}");
}

#[test]
fn a_random_value_under_a_name_that_sounds_secret_is_a_warning_only() {
    let sandbox = Sandbox::new();
    let value = Secret::shapeless();
    sandbox.write("c.yaml", format!("routing_key: {}{}\n", value.reveal(), Secret::shapeless().reveal()));
    let outcome = scan(&sandbox, &["c.yaml"]).exits(0);
    assert!(
        outcome.stderr().starts_with("warning: c.yaml:1:14: a random-looking value under a name"),
        "{outcome}"
    );
    is_untold(&value, &outcome);
}

#[test]
fn a_file_name_cannot_drive_the_terminal_or_forge_a_line() {
    let sandbox = Sandbox::new();
    let secret = Secret::github();
    let name = OsStr::from_bytes(b"d/a\x1b[2J\nb.yaml:1:1: jwt\xff");
    sandbox.write(Path::new(name), secret.reveal());
    let outcome = scan(&sandbox, &["d"]).exits(1);
    assert_eq!(outcome.stdout(), "d/a\u{fffd}[2J\u{fffd}b.yaml:1:1: jwt\u{fffd}:1:1: github_token\n");
}

#[test]
fn a_huge_line_binary_bytes_and_broken_text_are_scanned() {
    let sandbox = Sandbox::new();
    let secret = Secret::github();
    let line = "x".repeat(5_000_000);
    sandbox.write("line.json", format!("\"{line} {} {line}\"", secret.reveal()));
    sandbox
        .write("z.bin", [&[0, 159, 146, 150, 10, 0xff, 0][..], secret.reveal().as_bytes(), &[0, 1]].concat());
    let outcome = scan(&sandbox, &["."]).exits(1);
    assert_eq!(outcome.stdout(), "./line.json:1:5000003: github_token\n./z.bin:2:3: github_token\n");
    is_untold(&secret, &outcome);
}

/// In the recordings of ten projects, whose authors took the keys out: what is left are cookies, accounts, and secrets that
/// nobody saw because they lie in gzip in base64.
#[test]
fn what_is_found_in_the_corpus_is_really_there() {
    let Some(corpus) = corpus::folder() else { return };
    let sandbox = Sandbox::new();
    let outcome = sandbox.wiretape("scan").args(["--format", "json"]).arg(corpus).run().exits(1);
    let found: Vec<Value> = serde_json::from_str(outcome.stdout()).unwrap();
    let count = |kind: &str| found.iter().filter(|finding| finding["kind"] == kind).count();
    let counts = ["cookie", "account_id", "credential", "url_credential"].map(|kind| (kind, count(kind)));
    assert_eq!(counts, [("cookie", 594), ("account_id", 514), ("credential", 1), ("url_credential", 1)]);
    assert_eq!(found.len(), 594 + 514 + 2);
}

mod staged {
    use super::*;

    fn git(sandbox: &Sandbox, words: &[&str]) -> Outcome {
        let set = ["-c", "user.name=a", "-c", "user.email=a@a.test", "-c", "init.defaultBranch=main"];
        sandbox.program("git").args(set).args(words).run().exits(0)
    }

    fn repository() -> Sandbox {
        let sandbox = Sandbox::new();
        git(&sandbox, &["init", "-q"]);
        sandbox
    }

    #[test]
    fn what_is_staged_is_scanned_and_not_what_lies_there() {
        let sandbox = repository();
        let (staged, later) = (Secret::openai(), Secret::github());
        sandbox.write("a.yaml", format!("x: {}", staged.reveal()));
        git(&sandbox, &["add", "a.yaml"]);
        sandbox.write("a.yaml", "clean");
        sandbox.write("b.yaml", later.reveal());
        let outcome = scan(&sandbox, &["--staged"]).exits(1);
        assert_eq!(outcome.stdout(), "a.yaml:1:4: openai_key\n");
        is_untold(&staged, &outcome);
        git(&sandbox, &["add", "a.yaml"]);
        scan(&sandbox, &["--staged"]).exits(0);
    }

    #[test]
    fn nothing_staged_is_fine_and_so_is_a_file_that_is_removed() {
        let sandbox = repository();
        scan(&sandbox, &["--staged"]).exits(0);
        sandbox.write("a.yaml", Secret::openai().reveal());
        git(&sandbox, &["add", "a.yaml"]);
        git(&sandbox, &["commit", "-qm", "A secret of old"]);
        git(&sandbox, &["rm", "-q", "a.yaml"]);
        let outcome = scan(&sandbox, &["--staged"]).exits(0);
        assert_eq!(outcome.stderr(), "wiretape: scanned 0 files (0 B): no secrets\n");
    }

    #[test]
    fn odd_names_links_and_paths_are_told_apart() {
        let sandbox = repository();
        let secret = Secret::github();
        for name in ["0:a b", "*", "d/new\nline", "d/é.yaml"] {
            sandbox.write(name, secret.reveal());
        }
        symlink(secret.reveal(), sandbox.path("link")).unwrap();
        git(&sandbox, &["add", "."]);
        let outcome = scan(&sandbox, &["--staged"]).exits(1);
        assert_eq!(
            outcome.stdout(),
            "*:1:1: github_token\n0:a b:1:1: github_token\nd/new\u{fffd}line:1:1: github_token\nd/é.yaml:1:1: github_token\n"
        );
        let outcome = scan(&sandbox, &["--staged", "*"]).exits(1);
        assert_eq!(outcome.stdout(), "*:1:1: github_token\n");
        let outcome = scan(&sandbox, &["--staged", "d"]).exits(1);
        assert_eq!(outcome.stdout().lines().count(), 2, "{outcome}");
    }

    #[test]
    fn names_are_told_as_seen_from_a_subfolder() {
        let sandbox = repository();
        let secret = Secret::github();
        sandbox.write("d/e/a.yaml", secret.reveal());
        sandbox.write("top.yaml", secret.reveal());
        git(&sandbox, &["add", "."]);
        let binary = wiretape_tests::sandbox::binary();
        let script = format!("cd d/e && {} scan --staged", binary.display());
        let outcome = sandbox.program("sh").args(["-c", &script]).run().exits(1);
        assert_eq!(outcome.stdout(), "a.yaml:1:1: github_token\n../../top.yaml:1:1: github_token\n");
    }

    #[test]
    fn as_a_hook_it_stops_the_commit() {
        let sandbox = repository();
        let binary = wiretape_tests::sandbox::binary();
        let hook = sandbox
            .write(".git/hooks/pre-commit", format!("#!/bin/sh\nexec {} scan --staged\n", binary.display()));
        fs::set_permissions(hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        sandbox.write("a.yaml", Secret::openai().reveal());
        git(&sandbox, &["add", "a.yaml"]);
        let set = ["-c", "user.name=a", "-c", "user.email=a@a.test", "commit", "-qm", "x"];
        let outcome = sandbox.program("git").args(set).run().exits(1);
        assert!(format!("{outcome}").contains("a.yaml:1:1: openai_key"), "{outcome}");
        sandbox.write("a.yaml", "clean");
        git(&sandbox, &["add", "a.yaml"]);
        git(&sandbox, &["commit", "-qm", "x"]);
    }
}
