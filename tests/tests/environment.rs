//! The environment that a program runs in: all of its caller's while it is recorded, and no secret of it when it is
//! replayed.

use std::collections::BTreeMap;

use wiretape_tests::{
    sandbox::{Invocation, Outcome, Sandbox, Stream},
    secret::Secret,
    upstream::Upstream,
};

#[test]
fn a_replayed_program_gets_none_of_200_secrets() {
    let sandbox = replayable();
    let (canaries, variables) = planted();
    assert_eq!(canaries.len(), 200);
    let replay = variables.iter().fold(sandbox.replay(), |run, (name, value)| run.env(name, value));
    let outcome =
        printing_env(replay.env("CI", "true").env("GITHUB_REPOSITORY", "octo/hello")).run().exits(0);
    let leaked: Vec<&String> = canaries
        .iter()
        .filter(|(_, secret)| secret.is_in(&outcome.stdout) || secret.is_in(&outcome.stderr))
        .map(|(name, _)| name)
        .collect();
    println!("canaries planted: {}, found in the replayed program: {}", canaries.len(), leaked.len());
    assert_eq!(leaked, [] as [&String; 0]);
    let given = variables_of(&outcome);
    for name in ["HTTPS_PROXY", "SSL_CERT_FILE", "NODE_OPTIONS", "PATH", "HOME", "LANG", "TZ"] {
        assert!(given.contains_key(name), "{name} is missing in {given:#?}");
    }
    assert_eq!(
        (given["WIRETAPE"], given["CI"], given["GITHUB_REPOSITORY"]),
        ("replay", "true", "octo/hello")
    );
}

/// The variable that each secret was planted in.
type Canaries = Vec<(String, Secret)>;

/// Under names that speak of a credential, under names that nobody knows, and, where the value tells, under names that
/// pass.
fn planted() -> (Canaries, Vec<(String, String)>) {
    let mut canaries = Vec::new();
    let mut variables = Vec::new();
    let mut plant = |name: String, secret: Secret, around: &dyn Fn(&str) -> String| {
        variables.push((name.clone(), around(secret.reveal())));
        canaries.push((name, secret));
    };
    let bare = |secret: &str| secret.to_owned();
    for word in
        ["TOKEN", "API_KEY", "SECRET", "PASSWORD", "DB_PASS", "AUTH", "COOKIE", "SESSION_ID", "DSN", "PAT"]
    {
        for prefix in ["CI_A", "GITHUB_A", "CARGO_A", "npm_config_a", "ACME", "PIP_A", "BUILD_A", "XDG_A"] {
            plant(format!("{prefix}_{word}"), Secret::shapeless(), &bare);
        }
    }
    for number in 0..60 {
        plant(format!("ACME_SETTING_{number}"), Secret::shapeless(), &bare);
    }
    let shapes = [Secret::openai, Secret::anthropic, Secret::google, Secret::github];
    for (number, shape) in (0..40).zip(shapes.iter().cycle()) {
        plant(format!("CI_VALUE_{number}"), shape(), &bare);
    }
    for number in 0..10 {
        let url = |secret: &str| format!("https://user:{secret}@pypi.test/simple");
        plant(format!("UV_INDEX_{number}"), Secret::shapeless(), &url);
    }
    for (number, name) in ["OPENAI_API_KEY", "GH_TOKEN", "ACME_LICENSE"].into_iter().enumerate() {
        plant(name.to_owned(), Secret::shapeless(), &bare);
        plant(format!("RUNNER_NOTE_{number}"), Secret::github(), &|secret| format!("see {secret} for more"));
    }
    for number in 0..4 {
        plant(format!("GITLAB_{number}"), Secret::shapeless(), &bare);
    }
    // What is a secret under one name is one in another variable too.
    let (_, secret) = &canaries[0];
    variables.push(("BUILD_NOTES".to_owned(), format!("https://ci.test/?note={}", secret.reveal())));
    (canaries, variables)
}

#[test]
fn the_variables_that_a_recording_used_hold_dummies() {
    let sandbox = replayable();
    let real = Secret::openai();
    let outcome = printing_env(sandbox.replay().env("OPENAI_API_KEY", real.reveal())).run().exits(0);
    let given = variables_of(&outcome);
    assert!(given["OPENAI_API_KEY"].starts_with("sk-proj-DUMMY"), "{outcome}");
    // It need not be set at all.
    assert!(given["GH_TOKEN"].starts_with("ghp_DUMMY"), "{outcome}");
    assert_eq!(given["ACME_LICENSE"], "redacted-secret-000001");
    assert!(!given.contains_key("GITHUB_TOKEN"), "{outcome}");
}

#[test]
fn a_cassette_has_no_say_in_where_programs_look_for_code() {
    let sandbox = replayable();
    let outcome = printing_env(sandbox.replay()).run().exits(0);
    let given = variables_of(&outcome);
    assert!(!given.contains_key("BASH_ENV") && given["PATH"] != "redacted-secret-000002", "{outcome}");
}

#[test]
fn a_variable_that_is_asked_for_passes_and_is_told_of_where_it_may_be_a_secret() {
    let sandbox = replayable();
    let real = Secret::openai();
    let replay = sandbox.replay().args(["--keep-env", "OPENAI_API_KEY", "--keep-env", "ACME_*"]);
    let replay = replay.env("OPENAI_API_KEY", real.reveal()).env("ACME_REGION", "north").env("OTHER", "x");
    let outcome = printing_env(replay).run().exits(0);
    let given = variables_of(&outcome);
    assert_eq!((given["OPENAI_API_KEY"], given["ACME_REGION"]), (real.reveal(), "north"));
    assert!(!given.contains_key("OTHER"), "{outcome}");
    let warning = "warning: the program gets what may be a secret, as it was asked for: OPENAI_API_KEY\n";
    assert_eq!(outcome.stderr().matches(warning).count(), 1, "{outcome}");
    assert!(!real.is_in(&outcome.stderr), "the value was said on stderr");
}

#[test]
fn a_name_that_no_variable_has_is_refused() {
    let sandbox = replayable();
    for name in ["*", "A=B", ""] {
        let outcome = printing_env(sandbox.replay().args(["--keep-env", name])).run().exits(2);
        assert!(
            outcome.stderr().contains("write it like ACME_REGION, or ACME_* for all that begin so"),
            "{outcome}"
        );
    }
}

#[test]
fn the_configuration_keeps_and_withholds_variables_too() {
    let sandbox = replayable();
    sandbox.write("wiretape.yaml", "redact: {env: [CI_REGION]}\nkeep: {env: [ACME_REGION, GH_TOKEN]}\n");
    let replay = sandbox.replay().env("CI_REGION", "north").env("CI_ZONE", "a").env("ACME_REGION", "south");
    let outcome = printing_env(replay).run().exits(0);
    let given = variables_of(&outcome);
    assert_eq!((given["ACME_REGION"], given["CI_ZONE"]), ("south", "a"));
    assert!(!given.contains_key("CI_REGION"), "{outcome}");
    // Kept, and not there: a dummy is better than nothing.
    assert!(given["GH_TOKEN"].starts_with("ghp_DUMMY"), "{outcome}");
}

#[test]
fn a_program_that_fails_is_told_what_it_was_not_given() {
    let sandbox = replayable();
    let run = |code: &str| {
        let replay =
            sandbox.replay().env("ACME_REGION", "north").env("OPENAI_API_KEY", "x").env("ACME_ZONE", "a");
        replay.cassette(CASSETTE).child(["sh", "-c", code]).run()
    };
    let help = "help: 2 environment variables were not passed on: ACME_REGION, ACME_ZONE (--keep-env NAME passes one on)\n";
    let failed = run("exit 7").exits(7);
    assert!(failed.stderr().ends_with(help), "{failed}");
    let fine = run("exit 0").exits(0);
    assert!(!fine.stderr().contains("not passed on"), "{fine}");
    let killed = run("kill -9 $$").exits(137);
    assert!(!killed.stderr().contains("not passed on"), "{killed}");
}

#[test]
fn a_program_that_talks_to_real_hosts_has_all_that_its_caller_has() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let secret = Secret::openai();
    for run in [sandbox.record(&upstream), sandbox.auto(&upstream)] {
        let run = run.env("OPENAI_API_KEY", secret.reveal()).env("ACME_REGION", "north");
        let outcome = printing_env(run).run().exits(0);
        let given = variables_of(&outcome);
        assert_eq!((given["OPENAI_API_KEY"], given["ACME_REGION"]), (secret.reveal(), "north"));
    }
}

#[test]
fn a_shell_in_replay_has_its_own_variables_and_dummies() {
    let sandbox = replayable();
    let shell =
        sandbox.wiretape("shell").args(["--mode", "replay"]).cassette(CASSETTE).env("SHELL", "/usr/bin/env");
    let real = Secret::openai();
    let outcome = shell.env("OPENAI_API_KEY", real.reveal()).env("ACME_REGION", "north").run().exits(0);
    let given = variables_of(&outcome);
    assert!(given["OPENAI_API_KEY"].starts_with("sk-proj-DUMMY"), "{outcome}");
    assert_eq!(given["ACME_REGION"], "north");
}

#[test]
fn env_prints_the_dummies_of_a_proxy_that_replays() {
    let sandbox = replayable();
    let proxy = sandbox.wiretape("proxy").args(["--mode", "replay"]).cassette(CASSETTE).spawn();
    proxy.wait_for(Stream::Stdout, |line| line.starts_with("http://").then_some(()));
    let printed = sandbox.wiretape("env").run().exits(0);
    assert!(printed.stdout().contains("export ACME_LICENSE='redacted-secret-000001'\n"), "{printed}");
    assert!(printed.stdout().contains("export OPENAI_API_KEY='sk-proj-DUMMY"), "{printed}");
    assert!(!printed.stdout().contains("BASH_ENV"), "{printed}");
    proxy.terminate();
    proxy.finish().exits(0);
}

/// A sandbox with a cassette whose recording used three secrets, and claims two more that nobody should believe.
fn replayable() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        CASSETTE,
        "\
wiretape: cassette/1
redaction:
  ruleset: 1
  env:
    ACME_LICENSE: '{{redacted:secret:1}}'
    BASH_ENV: '{{redacted:secret:3}}'
    GH_TOKEN: '{{redacted:github_token:1}}'
    OPENAI_API_KEY: '{{redacted:openai_key:1}}'
    PATH: '{{redacted:secret:2}}'
exchanges: []
",
    );
    sandbox
}

fn printing_env(run: Invocation<'_>) -> Invocation<'_> {
    run.cassette(CASSETTE).child(["env"])
}

fn variables_of(outcome: &Outcome) -> BTreeMap<&str, &str> {
    outcome.stdout().lines().filter_map(|line| line.split_once('=')).collect()
}

const CASSETTE: &str = "cassettes/env.yaml";
