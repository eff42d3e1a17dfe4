//! Stable ids: what a server makes up is new in every run and the same on every cassette.

use std::{ffi::OsString, fs, sync::Arc, time::Duration};

use cassettes::{Decision, Delivery, Index, Pace, Player, Scrubber, stabilize, store};
use matchers::Policy;
use wiretape_tests::{
    clients, corpus,
    sandbox::{Invocation, Outcome, Sandbox},
    secret::Secret,
    transcript,
    upstream::{Upstream, Words},
};

#[test]
fn python_s_second_turns_are_recorded_twice_the_same_and_replay() {
    law(&|_| vec![clients::python().into(), clients::program("second_turns.py").into()]);
}

#[test]
fn octokit_s_second_turns_are_recorded_twice_the_same_and_replay() {
    law(&|sandbox| {
        let program = clients::install_node_program("second_turns.mjs", &sandbox.path(""));
        vec![clients::command("node").into(), program.into()]
    });
}

#[test]
fn gh_s_second_turns_are_recorded_twice_the_same_and_replay() {
    clients::command("gh");
    law(&|_| ["sh", "-euc", GH].map(Into::into).into());
}

#[test]
fn a_call_more_at_the_start_renames_nothing_that_comes_after_it() {
    let (home, upstream) = (Sandbox::new(), Upstream::saying(Words::Same));
    record(&home, &upstream, SAME, &shell(&chat("one two"))).exits(0);
    let before = home.read(SAME);
    assert!(before.contains("chatcmpl-000001") && before.contains("chatcmpl-000002"), "{before}");
    record(&home, &upstream, SAME, &shell(&chat("zero one two"))).exits(0);
    let after = home.read(SAME);
    let names: Vec<&str> = after.split("id: chatcmpl-").skip(1).map(|rest| &rest[..6]).collect();
    assert_eq!(names, ["000003", "000001", "000002"]);
    let outcome = replay(&home, SAME, &shell(&chat("zero one two")));
    assert!(outcome.exits(0).stdout().contains("chatcmpl-000002"));
}

#[test]
fn auto_counts_on_where_the_cassette_ended() {
    let (home, upstream) = (Sandbox::new(), Upstream::saying(Words::Same));
    record(&home, &upstream, SAME, &shell(&chat("one"))).exits(0);
    home.auto(&upstream).cassette(SAME).child(shell(&chat("one two"))(&home)).run().exits(0);
    let said = replay(&home, SAME, &shell(&chat("one two"))).exits(0);
    let ids: Vec<&str> = said.stdout().split("\"id\":\"").skip(1).map(|rest| &rest[..15]).collect();
    assert_eq!(ids, ["chatcmpl-000001", "chatcmpl-000002"]);
}

#[test]
fn real_recordings_made_stable_are_played_whole_and_stay_as_they_are() {
    let Some(corpus) = corpus::folder() else { return };
    let home = Sandbox::new();
    let import = home.wiretape("import").arg(corpus).args(["-o", "out", "--stabilize", "--origin"]);
    let import = import.args(["https://api.github.com", "--substitute", "<AWS_REGION>=us-east-1"]);
    import.limit(Duration::from_secs(300)).run().exits(0);
    let (mut exchanges, mut files) = (0, vec![home.path("out")]);
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let cassette = store::load(&path).unwrap();
        let again = stabilize(cassette.exchanges.clone(), &[]);
        assert_eq!(again, cassette.exchanges, "{}", path.display());
        let index = Arc::new(Index::new(cassette, &Policy::default()));
        let mut player = Player::new(Arc::clone(&index), Pace::Instant);
        for (call, asked) in (1..).zip(index.exchanges()) {
            let request = Scrubber::new().request(asked.request.clone());
            match player.decide(call, &request) {
                Decision::Play { exchange, ticket, .. } => {
                    player.settle(ticket, Delivery::Whole);
                    assert_eq!(exchange, asked.id, "{}", path.display());
                }
                Decision::Miss(miss) => panic!("{}, exchange {}: {miss:?}", path.display(), asked.id),
            }
            exchanges += 1;
        }
    }
    println!("{exchanges} real exchanges were made stable and played");
    assert!(exchanges > 2_000);
}

/// Recorded over itself by a server that makes everything up anew, a cassette stays the same to the byte; recorded
/// beside itself it is the same but for delays and what is left of rate limits; and it replays, twice the same.
fn law(client: &dyn Fn(&Sandbox) -> Vec<OsString>) {
    let (home, upstream) = (Sandbox::new(), Upstream::saying(Words::Same));
    let first = record(&home, &upstream, SAME, client).exits(0);
    let cassette = home.read(SAME);
    let second = record(&home, &upstream, SAME, client).exits(0);
    assert_ne!(first.stdout(), second.stdout(), "a live client gets the server's own values");
    assert_eq!(home.read(SAME), cassette, "recorded over itself");
    record(&home, &upstream, BESIDE, client).exits(0);
    let beside = home.read(BESIDE);
    let (beside, lines) = (without_moments(&beside), without_moments(&cassette));
    let differ: Vec<_> = lines.iter().zip(&beside).filter(|(one, other)| one != other).collect();
    assert!(differ.is_empty() && lines.len() == beside.len(), "recorded beside itself: {differ:#?}");
    let minted = upstream.minted();
    drop(upstream);

    // Another server, with other things of another age in it.
    let other = Upstream::saying(Words::Same);
    record(&home, &other, SAME, client).exits(0);
    assert_eq!(home.read(SAME), cassette, "recorded over itself from another server");
    drop(other);

    let [replayed, again] = [(); 2].map(|()| replay(&home.elsewhere(), SAME, client).exits(0));
    assert_eq!(replayed.stdout(), again.stdout(), "two replays of one cassette");
    if let Err(difference) = transcript::compare(first.stdout(), replayed.stdout(), &minted) {
        panic!("{difference}\n=== recorded\n{first}\n=== replayed\n{replayed}");
    }
    let left: Vec<&String> = minted.iter().filter(|value| value.len() > 9 && !is_old(value)).collect();
    let left: Vec<&&String> = left.iter().filter(|value| cassette.contains(value.as_str())).collect();
    assert!(left.is_empty(), "still on the cassette: {left:?}");
}

fn record(home: &Sandbox, upstream: &Upstream, cassette: &str, client: Client<'_>) -> Outcome {
    keyed(home.record(upstream)).cassette(cassette).child(client(home)).run()
}

fn replay(home: &Sandbox, cassette: &str, client: Client<'_>) -> Outcome {
    keyed(home.replay()).arg("--strict").cassette(cassette).child(client(home)).run()
}

type Client<'a> = &'a dyn Fn(&Sandbox) -> Vec<OsString>;

fn keyed(run: Invocation<'_>) -> Invocation<'_> {
    run.env("OPENAI_API_KEY", Secret::openai().reveal())
        .env("ANTHROPIC_API_KEY", Secret::anthropic().reveal())
        .env("GITHUB_TOKEN", Secret::github().reveal())
}

fn shell(script: &str) -> impl Fn(&Sandbox) -> Vec<OsString> {
    move |_| ["sh", "-euc", script].map(Into::into).into()
}

/// One question after the other.
fn chat(questions: &str) -> String {
    format!(
        r#"for word in {questions}; do
             curl -sS --json '{{"model":"m","messages":[{{"role":"user","content":"'$word'"}}]}}' \
               https://api.openai.com/v1/chat/completions
           done"#
    )
}

/// A cassette without its delays, without what is left of a rate limit, and without what the client made up.
fn without_moments(cassette: &str) -> Vec<&str> {
    let is_moment = |line: &&str| {
        let line = line.trim_start().trim_start_matches("- ");
        ["at: ", "after: ", "run: "].iter().any(|key| line.starts_with(key))
            || line.contains("ratelimit-") && line.contains("remaining")
    };
    let mut lines: Vec<&str> = cassette.lines().filter(|line| !is_moment(line)).collect();
    // Go sends headers in another order every time.
    lines.sort_unstable();
    lines
}

/// A time from before the recording, which it keeps.
fn is_old(value: &str) -> bool {
    value.as_bytes()[4] == b'-' && value.starts_with("20")
}

const SAME: &str = "cassettes/same.yaml";
const BESIDE: &str = "cassettes/beside.yaml";

const GH: &str = r#"
id=$(gh api -X POST repos/o/r/issues/3/comments -f body=thanks -q .id)
gh api "repos/o/r/issues/comments/$id"
gh issue list -R o/r --json number,createdAt,title
"#;
