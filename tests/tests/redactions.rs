//! What is taken out of real traffic that holds hardly a secret any more: nothing that is none.

use std::collections::BTreeMap;

use wiretape_tests::{corpus, sandbox::Sandbox};

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
