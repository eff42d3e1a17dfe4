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
        "wiretape imported 4 recordings (vcrpy 3, ruby-vcr 1), 3 exchanges, into new; passed over 1 other file"
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
