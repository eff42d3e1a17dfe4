//! `wiretape import` as a person uses it: files and folders, words, exit codes, and what it must not do.

use std::{fs, os::unix::fs::symlink};

use wiretape_tests::{
    sandbox::{Outcome, Sandbox},
    secret::Secret,
};

fn vcrpy(url: &str, body: &str) -> String {
    format!(
        "interactions:\n- request: {{method: GET, uri: '{url}', headers: {{}}, body: null}}\n  response:\n    status: \
         {{code: 200, message: OK}}\n    headers: {{Content-Type: [text/plain]}}\n    body: {{string: \"{body}\"}}\nversion: 1\n"
    )
}

fn import(sandbox: &Sandbox, words: &[&str]) -> Outcome {
    sandbox.wiretape("import").args(words).run()
}

/// The last line without its time.
fn last_line(outcome: &Outcome) -> String {
    let stderr = outcome.stderr();
    let line = stderr.lines().last().unwrap_or_default().to_owned();
    line.rsplit_once(" (").map_or(line.clone(), |(words, _)| words.to_owned())
}

#[test]
fn a_folder_keeps_its_layout_and_its_cassettes_play() {
    let sandbox = Sandbox::new();
    sandbox.write("old/a/one.yaml", vcrpy("https://a.test/1", "one"));
    sandbox.write("old/b/two.json", "{\"http_interactions\": [], \"recorded_with\": \"VCR 6.1\"}");
    sandbox.write("old/same.yaml", vcrpy("https://a.test/2", "two"));
    sandbox.write("old/same.yml", vcrpy("https://a.test/3", "three"));
    sandbox.write("old/package.json", "{\"name\": \"x\"}");
    sandbox.write("old/README.md", "text");
    sandbox.write("old/.hidden/x.yaml", vcrpy("https://a.test/4", "four"));
    let outcome = import(&sandbox, &["old", "-o", "new"]).exits(0);
    assert_eq!(
        last_line(&outcome),
        "wiretape imported 4 recordings (vcrpy 3, ruby-vcr 1), 3 exchanges, into new; passed over 2 other files"
    );
    for path in ["new/a/one.yaml", "new/b/two.yaml", "new/same.yaml.yaml", "new/same.yml.yaml"] {
        assert!(sandbox.path(path).is_file(), "{path}");
    }
    assert!(!sandbox.path("new/.hidden").exists());
    let played = sandbox
        .wiretape("replay")
        .args(["--strict", "-c", "new/a/one.yaml", "--", "curl", "-sS", "https://a.test/1"])
        .run()
        .exits(0);
    assert_eq!(played.stdout(), "one");
}

#[test]
fn importing_again_gives_the_same_bytes() {
    let sandbox = Sandbox::new();
    sandbox.write("old/one.yaml", vcrpy("https://a.test/1", "one"));
    import(&sandbox, &["old", "-o", "new"]).exits(0);
    let first = sandbox.read("new/one.yaml");
    import(&sandbox, &["old", "-o", "new"]).exits(0);
    assert_eq!(sandbox.read("new/one.yaml"), first);
    assert!(first.contains("match: uri\n"), "{first}");
}

#[test]
fn show_and_the_summary_warn_of_bodies_that_are_not_compared() {
    let sandbox = Sandbox::new();
    sandbox.write("one.yaml", vcrpy("https://a.test/1", "one"));
    let outcome = import(&sandbox, &["one.yaml", "-o", "new.yaml"]).exits(0);
    assert!(outcome.stderr().contains("warning: 1 cassette says `match: uri`"), "{outcome}");
    let shown = sandbox.wiretape("show").arg("new.yaml").run().exits(0);
    assert!(shown.stderr().contains("warning: this cassette says `match: uri`"), "{shown}");
    let outcome = import(&sandbox, &["one.yaml", "-o", "full.yaml", "--match", "full"]).exits(0);
    assert!(!outcome.stderr().contains("match: uri"), "{outcome}");
    assert!(!sandbox.read("full.yaml").contains("match"), "{}", sandbox.read("full.yaml"));
}

#[test]
fn a_recording_of_another_tool_is_never_overwritten() {
    let sandbox = Sandbox::new();
    let original = vcrpy("https://a.test/1", "one");
    sandbox.write("old/one.yaml", &original);
    let outcome = import(&sandbox, &["old", "-o", "old"]).exits(2);
    assert!(
        outcome.stderr().contains("one.yaml is there already, and is no cassette of wiretape's"),
        "{outcome}"
    );
    assert_eq!(sandbox.read("old/one.yaml"), original);
    import(&sandbox, &["old/one.yaml", "-o", "old/one.yaml"]).exits(2);
    assert_eq!(sandbox.read("old/one.yaml"), original);
}

#[test]
fn a_broken_recording_is_refused_with_its_place_and_the_others_are_imported() {
    let sandbox = Sandbox::new();
    sandbox.write("old/bad.yaml", vcrpy("https://a.test/1", "one").replace("code: 200", "code: many"));
    sandbox.write("old/good.yaml", vcrpy("https://a.test/1", "one"));
    let outcome = import(&sandbox, &["old", "-o", "new"]).exits(2);
    assert!(
        outcome.stderr().contains("expected the status as a number from 100 to 999, found `many`"),
        "{outcome}"
    );
    assert!(outcome.stderr().contains("old/bad.yaml:4:20"), "{outcome}");
    assert!(last_line(&outcome).ends_with("into new; refused 1"), "{outcome}");
    assert!(sandbox.path("new/good.yaml").is_file() && !sandbox.path("new/bad.yaml").exists());
}

#[test]
fn what_is_no_recording_is_refused_when_it_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("package.json", "{\"name\": \"x\"}");
    let outcome = import(&sandbox, &["package.json", "-o", "new.yaml"]).exits(2);
    assert!(outcome.stderr().contains("package.json is not a recording in any format"), "{outcome}");
    assert!(outcome.stderr().contains("--from: vcrpy, ruby-vcr"), "{outcome}");
    let outcome = import(&sandbox, &["nowhere", "-o", "new.yaml"]).exits(2);
    assert!(outcome.stderr().contains("cannot read nowhere"), "{outcome}");
    fs::create_dir(sandbox.path("empty")).unwrap();
    let outcome = import(&sandbox, &["empty", "-o", "new"]).exits(2);
    assert!(outcome.stderr().contains("empty holds no file that could be a recording"), "{outcome}");
    let outcome = import(&sandbox, &["package.json", "-o", "new.yaml", "--from", "cassette"]).exits(2);
    assert!(outcome.stderr().contains("the formats are vcrpy"), "{outcome}");
}

#[test]
fn secrets_are_told_by_kind_and_place_and_never_shown() {
    let sandbox = Sandbox::new();
    let secret = Secret::openai().reveal().to_owned();
    let text = vcrpy(&format!("https://a.test/1?api_key={secret}"), "one")
        .replace("headers: {}", &format!("headers: {{Authorization: [Bearer {secret}]}}"));
    sandbox.write("old/one.yaml", text);
    for words in [&["old", "-o", "new"][..], &["old", "-o", "new", "--verbose"]] {
        let outcome = import(&sandbox, words).exits(0);
        assert!(!outcome.stderr().contains(&secret), "{outcome}");
        assert!(outcome.stderr().contains("in request header authorization"), "{outcome}");
        assert!(outcome.stderr().contains("redacted: openai_key in query api_key"), "{outcome}");
    }
    assert!(!sandbox.read("new/one.yaml").contains(&secret));
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.write("secret.txt", "private");
    sandbox.write(
        "old/mappings/one.json",
        "{\"request\": {\"url\": \"/\", \"method\": \"GET\"}, \"response\": {\"status\": 200, \"bodyFileName\": \"link\"}}",
    );
    fs::create_dir_all(sandbox.path("old/__files")).unwrap();
    symlink("../../secret.txt", sandbox.path("old/__files/link")).unwrap();
    symlink("..", sandbox.path("old/loop")).unwrap();
    let outcome = import(&sandbox, &["old", "-o", "new", "--origin", "https://a.test"]).exits(2);
    assert!(outcome.stderr().contains("a link leads out of the recording's own folder"), "{outcome}");
    assert!(!sandbox.path("new").exists());
}

#[test]
fn exchanges_that_cannot_be_asked_for_are_left_out_and_named() {
    let sandbox = Sandbox::new();
    sandbox.write("one.yaml", vcrpy("<BASE>/x", "one"));
    let outcome = import(&sandbox, &["one.yaml", "-o", "new.yaml"]).exits(0);
    assert!(
        outcome
            .stderr()
            .contains("warning: one.yaml:2:31: exchange 1 is left out: no client can ask for \"<BASE>/x\""),
        "{outcome}"
    );
    let outcome =
        import(&sandbox, &["one.yaml", "-o", "new.yaml", "--substitute", "<BASE>=https://a.test"]).exits(0);
    assert_eq!(last_line(&outcome), "wiretape imported 1 recording (vcrpy 1), 1 exchange, into new.yaml");
}

fn mapping(url: &str, body: &str) -> String {
    format!(
        "{{\"request\": {{\"url\": \"{url}\", \"method\": \"GET\"}}, \"response\": {{\"status\": 200, \"body\": \"{body}\"}}}}"
    )
}

/// What a client is told that asks for each URL in turn.
fn replayed(sandbox: &Sandbox, cassette: &str, urls: &[&str]) -> String {
    let words = ["--strict", "-c", cassette, "--", "curl", "-sS"];
    sandbox.wiretape("replay").args(words).args(urls).run().exits(0).stdout().to_owned()
}

#[test]
fn stubs_of_a_scenario_in_files_of_their_own_answer_in_their_order() {
    let sandbox = Sandbox::new();
    for (file, state, next, body) in [
        ("x-aaaa", "scenario-1-x-3", "", "third"),
        ("x-bbbb", "Started", "scenario-1-x-2", "first"),
        ("x-cccc", "scenario-1-x-2", "scenario-1-x-3", "second"),
    ] {
        let next =
            if next.is_empty() { String::new() } else { format!("\"newScenarioState\": \"{next}\", ") };
        let states =
            format!("{{\"scenarioName\": \"scenario-1-x\", \"requiredScenarioState\": \"{state}\", {next}");
        sandbox.write(format!("old/mappings/{file}.json"), mapping("/x", body).replacen('{', &states, 1));
    }
    import(&sandbox, &["old", "-o", "new", "--origin", "https://a.test"]).exits(0);
    assert_eq!(replayed(&sandbox, "new/mappings.yaml", &["https://a.test/x"; 3]), "firstsecondthird");
}

#[test]
fn a_broken_mapping_refuses_its_whole_set_and_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("old/mappings/a.json", "{\"request\": {\"url\": \"/u\", \"method\": ");
    sandbox.write("old/mappings/b.json", mapping("/u", "u"));
    sandbox.write("old/one.yaml", vcrpy("https://a.test/1", "one"));
    let outcome = import(&sandbox, &["old", "-o", "new", "--origin", "https://a.test"]).exits(2);
    assert!(outcome.stderr().contains("old/mappings/a.json:1:"), "{outcome}");
    assert!(last_line(&outcome).ends_with("into new; refused 1"), "{outcome}");
    assert!(sandbox.path("new/one.yaml").is_file() && !sandbox.path("new/mappings.yaml").exists());
    // One that stands alone is told by its opening.
    sandbox.write("alone/a.json", sandbox.read("old/mappings/a.json"));
    let outcome = import(&sandbox, &["alone", "-o", "new"]).exits(2);
    assert!(outcome.stderr().contains("alone/a.json:1:"), "{outcome}");
}

#[test]
fn what_is_said_of_a_set_names_the_file_it_is_about() {
    let sandbox = Sandbox::new();
    let secret = Secret::openai().reveal().to_owned();
    sandbox.write("old/mappings/a.json", mapping("/a", "a"));
    sandbox.write("old/mappings/b.json", mapping("/b", "b").replace("\"url\"", "\"urlPattern\""));
    sandbox.write("old/mappings/c.json", mapping(&format!("/c?api_key={secret}"), "c"));
    let words = ["old", "-o", "new", "--origin", "https://a.test", "--verbose"];
    let outcome = import(&sandbox, &words).exits(0);
    assert!(outcome.stderr().contains("old/mappings/b.json:1:1: exchange 1 is left out"), "{outcome}");
    assert!(
        outcome.stderr().contains("redacted: openai_key in query api_key, old/mappings/c.json exchange 1\n"),
        "{outcome}"
    );
}

#[test]
fn a_folder_named_mappings_is_wiremocks_only_where_mappings_are_in_it() {
    let sandbox = Sandbox::new();
    sandbox.write("old/mappings/one.yaml", vcrpy("https://a.test/1", "one"));
    sandbox.write("old/mappings/deep/two.yaml", vcrpy("https://a.test/1", "two"));
    import(&sandbox, &["old", "-o", "new"]).exits(0);
    assert_eq!(replayed(&sandbox, "new/mappings/one.yaml", &["https://a.test/1"]), "one");
    assert_eq!(replayed(&sandbox, "new/mappings/deep/two.yaml", &["https://a.test/1"]), "two");
    // Beside mappings, other recordings stay what they are.
    sandbox.write("old/mappings/three.json", mapping("/3", "three"));
    sandbox.write("old/mappings/a-config.json", "{\"name\": \"x\"}");
    let outcome = import(&sandbox, &["old", "-o", "newer", "--origin", "https://a.test"]).exits(0);
    assert_eq!(
        last_line(&outcome),
        "wiretape imported 3 recordings (vcrpy 2, wiremock 1), 3 exchanges, into newer; passed over 1 other file"
    );
    assert_eq!(replayed(&sandbox, "newer/mappings.yaml", &["https://a.test/3"]), "three");
    assert_eq!(replayed(&sandbox, "newer/mappings/one.yaml", &["https://a.test/1"]), "one");
}

#[test]
fn mappings_and_a_file_of_that_name_are_two_cassettes() {
    let sandbox = Sandbox::new();
    sandbox.write("old/mappings/b.json", mapping("/u", "u"));
    sandbox.write("old/mappings.json", format!("{{\"mappings\": [{}]}}", mapping("/v", "v")));
    import(&sandbox, &["old", "-o", "new", "--origin", "https://a.test"]).exits(0);
    assert_eq!(replayed(&sandbox, "new/mappings.yaml", &["https://a.test/u"]), "u");
    assert_eq!(replayed(&sandbox, "new/mappings.json.yaml", &["https://a.test/v"]), "v");
}

#[test]
fn the_mappings_folder_itself_is_one_cassette_too() {
    let sandbox = Sandbox::new();
    for name in ["a", "b"] {
        let text =
            mapping(&format!("/{name}"), "").replace("\"body\": \"\"", "\"bodyFileName\": \"body.txt\"");
        sandbox.write(format!("old/mappings/{name}.json"), text);
    }
    sandbox.write("old/__files/body.txt", "from a file\n");
    import(&sandbox, &["old/mappings", "-o", "new", "--origin", "https://a.test"]).exits(0);
    let said = replayed(&sandbox, "new/mappings.yaml", &["https://a.test/a", "https://a.test/b"]);
    assert_eq!(said, "from a file\nfrom a file\n");
}

#[test]
fn a_recording_is_found_in_a_folder_whatever_its_ending_and_the_rest_is_named() {
    let sandbox = Sandbox::new();
    let flow = include_bytes!("../../fuzz/seeds/mitmproxy/one.flow");
    for name in ["a.flow", "flows.dump", "noending"] {
        sandbox.write(format!("old/{name}"), flow);
    }
    let packed = |text: &str| {
        let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut coder, text.as_bytes()).unwrap();
        coder.finish().unwrap()
    };
    let har = "{\"log\": {\"version\": \"1.2\", \"entries\": []}}";
    sandbox.write("old/b.har.gz", packed(har));
    sandbox.write("old/c.gz", packed(&vcrpy("https://a.test/1", "one")));
    sandbox.write("old/d.gz", packed("some text"));
    sandbox.write("old/e.json", "{\"name\": \"x\"}");
    sandbox.write("old/f.png", "picture");
    let outcome = import(&sandbox, &["old", "-o", "new", "--verbose"]).exits(0);
    assert!(
        last_line(&outcome).starts_with("wiretape imported 5 recordings (vcrpy 1, har 1, mitmproxy 3)"),
        "{outcome}"
    );
    assert!(last_line(&outcome).ends_with("; passed over 3 other files"), "{outcome}");
    for (file, why) in [
        ("d.gz", "neither its name nor its first bytes are those of a recording"),
        ("e.json", "it is not a recording in any format that wiretape reads"),
        ("f.png", "neither its name nor its first bytes are those of a recording"),
    ] {
        assert!(outcome.stderr().contains(&format!("  passed over: old/{file}: {why}\n")), "{outcome}");
    }
    for name in ["a", "flows.dump", "noending", "b", "c"] {
        assert!(sandbox.path(format!("new/{name}.yaml")).is_file(), "{name}");
    }
}

#[test]
fn an_import_into_a_folder_below_can_be_done_again() {
    let sandbox = Sandbox::new();
    sandbox.write("one.yaml", vcrpy("https://a.test/1", "one"));
    import(&sandbox, &[".", "-o", "cassettes"]).exits(0);
    let first = sandbox.read("cassettes/one.yaml");
    let outcome = import(&sandbox, &[".", "-o", "cassettes", "--verbose"]).exits(0);
    let line = "passed over: ./cassettes/one.yaml: it is a wiretape cassette already\n";
    assert!(outcome.stderr().contains(line), "{outcome}");
    assert_eq!(sandbox.read("cassettes/one.yaml"), first);
    // One that a person names is refused all the same.
    let outcome = import(&sandbox, &["cassettes/one.yaml", "-o", "two.yaml"]).exits(2);
    assert!(outcome.stderr().contains("this is a wiretape cassette already"), "{outcome}");
}

#[test]
fn a_recording_without_its_host_is_refused_until_it_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("old/mappings/a.json", mapping("/a", "a"));
    let outcome = import(&sandbox, &["old", "-o", "new"]).exits(2);
    assert!(outcome.stderr().contains("the recording does not say which host it was"), "{outcome}");
    assert!(outcome.stderr().contains("name it with --origin https://HOST"), "{outcome}");
    assert!(!sandbox.path("new").exists());
}

#[test]
fn a_form_whose_type_was_not_recorded_is_found_by_the_live_one() {
    let sandbox = Sandbox::new();
    let body = "grant_type=client_credentials&scope=x";
    let exact = |value: &str| format!("[{{\"matcher\": \"exact\", \"value\": \"{value}\"}}]");
    sandbox.write(
        "old/nock.json",
        format!(
            "[{{\"scope\": \"https://a.test:443\", \"method\": \"POST\", \"path\": \"/token\", \"body\": \"{body}\", \"status\": 200, \
             \"response\": \"nock\", \"rawHeaders\": []}}]"
        ),
    );
    sandbox.write(
        "old/hoverfly.json",
        format!(
            "{{\"data\": {{\"pairs\": [{{\"request\": {{\"method\": {}, \"scheme\": {}, \"destination\": {}, \"path\": {}, \"body\": \
             {}}}, \"response\": {{\"status\": 200, \"body\": \"hoverfly\"}}}}]}}, \"meta\": {{\"schemaVersion\": \"v5.2\"}}}}",
            exact("POST"),
            exact("https"),
            exact("a.test"),
            exact("/token"),
            exact(body)
        ),
    );
    sandbox.write(
        "old/wiremock.json",
        format!(
            "{{\"request\": {{\"url\": \"/token\", \"method\": \"POST\", \"bodyPatterns\": [{{\"equalTo\": \"{body}\"}}]}}, \
             \"response\": {{\"status\": 200, \"body\": \"wiremock\"}}}}"
        ),
    );
    import(&sandbox, &["old", "-o", "new", "--origin", "https://a.test"]).exits(0);
    for name in ["nock", "hoverfly", "wiremock"] {
        let cassette = format!("new/{name}.yaml");
        assert_eq!(replayed(&sandbox, &cassette, &["-d", body, "https://a.test/token"]), name);
        // The recorded type is absent, and stays so.
        assert!(!sandbox.read(&cassette).contains("urlencoded"), "{}", sandbox.read(&cassette));
    }
}

#[test]
fn a_file_above_the_limit_is_refused_without_being_read() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("old")).unwrap();
    // It has that length, and takes no room.
    fs::File::create(sandbox.path("old/one.yaml")).unwrap().set_len((256 << 20) + 1).unwrap();
    let outcome = import(&sandbox, &["old", "-o", "new"]).exits(2);
    assert!(outcome.stderr().contains("old/one.yaml is larger than the 256 MiB that are read"), "{outcome}");
}
