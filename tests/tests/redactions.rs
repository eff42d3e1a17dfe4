//! What is taken out of real traffic that holds hardly a secret any more: nothing that is none.

use std::collections::BTreeMap;

use wiretape_tests::{
    corpus,
    sandbox::{Sandbox, Stream},
    secret::Secret,
    shell::shell,
    traces::journals,
    upstream::Upstream,
};

/// Two thousand exchanges of a dozen APIs, from which their owners took the secrets. What is still taken out of bodies was
/// looked at one by one: six tokens of private feeds in GitHub's answers, and the API key of a metrics service.
#[test]
fn of_real_bodies_only_what_is_secret_is_taken_out() {
    let Some(corpus) = corpus::folder() else { return };
    let sandbox = Sandbox::new();
    let outcome = sandbox.wiretape("import").arg(&corpus).arg("-o").arg(sandbox.path("new")).arg("-v");
    let stderr = outcome.run().stderr();
    let mut table: BTreeMap<&str, usize> = BTreeMap::new();
    for line in stderr.lines() {
        if let Some((what, _)) = line.trim().strip_prefix("redacted: ").and_then(|line| line.split_once(','))
        {
            *table.entry(what).or_default() += 1;
        }
    }
    for (what, count) in &table {
        println!("{count:6} {what}");
    }
    let in_bodies: BTreeMap<&str, usize> =
        table.into_iter().filter(|(what, _)| what.ends_with("body") || what.ends_with("message")).collect();
    assert_eq!(in_bodies, BTreeMap::from([("query in response body", 6), ("secret in response body", 1)]));
}

/// A cassette that says nothing of how it was scrubbed, with a secret in a body.
fn written_by_hand(secret: &str) -> String {
    format!(
        "wiretape: cassette/1\nexchanges:\n  - id: 1\n    request:\n      method: GET\n      url: https://api.github.com/one\n    \
         response:\n      status: 200\n      headers:\n        content-type: application/json\n      body:\n        json:\n          \
         note: the key is {secret}\n"
    )
}

#[test]
fn a_cassette_of_older_rules_is_scrubbed_in_memory_and_the_person_is_told() {
    let sandbox = Sandbox::new();
    let secret = Secret::openai();
    let text = written_by_hand(secret.reveal());
    sandbox.write("old.yaml", &text);
    let curl = ["curl", "-sS", "https://api.github.com/one"];
    let outcome = sandbox.replay().cassette("old.yaml").child(curl).run().exits(0);
    assert!(!outcome.stdout().contains(secret.reveal()), "the client gets a dummy");
    assert!(outcome.stdout().contains("the key is sk-proj-"), "and a well-formed one: {}", outcome.stdout());
    assert!(
        outcome.stderr().contains(
            "warning: old.yaml holds secrets in 1 exchange: they are taken out in memory, and stay in the file until it is \
             recorded again\nhelp: `wiretape scan old.yaml` says where\n"
        ),
        "{outcome}"
    );
    assert_eq!(sandbox.read("old.yaml"), text);
    let found = sandbox.wiretape("scan").arg("old.yaml").run().exits(1);
    assert!(found.stdout().contains("old.yaml:13:"), "{found}");
    // One that is marked is believed.
    sandbox.write("new.yaml", text.replace("exchanges:", "redaction:\n  ruleset: 1\nexchanges:"));
    let outcome = sandbox.replay().cassette("new.yaml").child(curl).run().exits(0);
    assert!(!outcome.stderr().contains("holds secrets"), "{outcome}");
}

#[test]
fn a_cassette_of_older_rules_keeps_the_headers_that_are_compared() {
    let cassette = |policy: &str| {
        format!(
            "wiretape: cassette/1\n{policy}exchanges:\n  - id: 1\n    request:\n      method: GET\n      url: \
             https://api.github.com/one\n      headers:\n        x-tenant: acme\n        x-odd: some-text\n    response:\n      \
             status: 200\n      body:\n        text: answered\n"
        )
    };
    let policy = "match:\n  headers:\n    - x-tenant\n";
    let curl = ["curl", "-sS", "-H", "x-tenant: acme", "https://api.github.com/one"];
    for (own, project) in [(policy, ""), ("", policy)] {
        let sandbox = Sandbox::new();
        sandbox.write("old.yaml", cassette(own));
        sandbox.write("wiretape.yaml", project);
        let outcome = sandbox.replay().cassette("old.yaml").child(curl).run().exits(0);
        assert_eq!(outcome.stdout(), "answered");
        assert!(!outcome.stderr().contains("holds secrets"), "an unknown header is none: {outcome}");
    }
}

#[test]
fn what_an_older_cassette_tells_late_is_taken_out_early_and_gets_a_number_of_its_own() {
    let sandbox = Sandbox::new();
    let secret = Secret::shapeless();
    let first = written_by_hand(secret.reveal())
        .replace("      url: https://api.github.com/one\n", "      url: https://api.github.com/one\n      headers:\n        authorization: Bearer {{redacted:token:1}}\n");
    let second = format!(
        "  - id: 2\n    request:\n      method: GET\n      url: https://api.github.com/two\n      headers:\n        authorization: \
         Bearer {}\n    response:\n      status: 200\n",
        secret.reveal()
    );
    sandbox.write("old.yaml", first + &second);
    let shown = |id: &str| sandbox.wiretape("show").args(["old.yaml", id]).run().exits(0);
    let (first, second) = (shown("1"), shown("2"));
    assert!(first.stdout().contains("the key is {{redacted:token:2}}"), "{first}");
    assert!(second.stdout().contains("Bearer {{redacted:token:2}}"), "{second}");
    assert!(first.stderr().contains("old.yaml holds secrets in 2 exchanges"), "{first}");
}

#[test]
fn what_a_killed_recording_left_is_taken_in_by_the_rules_of_the_project() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    sandbox.write("wiretape.yaml", "match:\n  headers: [x-tenant]\nkeep:\n  headers: [x-kept]\n");
    let secret = Secret::shapeless();
    let headers = "-H 'x-tenant: acme' -H 'x-kept: some-text' -H \"authorization: Bearer $SOME_TOKEN\"";
    let call = &format!("curl -sS {headers} https://faults.test/echo");
    let script = format!("{call}; echo; echo ready; exec sleep 60");
    let running =
        shell(sandbox.record(&upstream), "new.yaml", &script).env("SOME_TOKEN", secret.reveal()).spawn();
    running.wait_for(Stream::Stdout, |line| (line == "ready").then_some(()));
    running.kill();
    running.finish();
    assert_eq!(journals(&sandbox).len(), 1);
    // Where the variable is not set, the replay sets it.
    shell(sandbox.replay(), "new.yaml", call).run().exits(0);
    let cassette = sandbox.read("new.yaml");
    for line in ["x-tenant: acme", "x-kept: some-text", "SOME_TOKEN: '{{redacted:secret:1}}'"] {
        assert!(cassette.contains(line), "{cassette}");
    }
}
