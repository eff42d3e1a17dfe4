//! What is taken out of real traffic that holds hardly a secret any more: nothing that is none.

use std::collections::BTreeMap;

use wiretape_tests::{corpus, sandbox::Sandbox, secret::Secret};

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
