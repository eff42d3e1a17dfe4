//! Canaries: secrets that are made up for each place and each outcome, and are looked for afterwards in every byte that
//! the run left on disk or printed. None may be found.

// A test may panic: that is how it fails.
#![allow(clippy::unwrap_used)]

mod places;
mod search;
mod upstream;
mod wire;

use std::{collections::BTreeMap, fmt::Write};

use places::{Known, PLACES, Place};
use search::{Finds, Search, proofs};
use serde_json::json;
use upstream::{Answer, Upstream};
use wire::{Exchange, HOST};
use wiretape_tests::{
    clients,
    sandbox::{Invocation, Outcome as Ended, Sandbox, Stream},
    secret::Secret,
    traces::journals,
};

/// How the calls of a run go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Success,
    /// The service answers with an error and says the same.
    Failure,
    /// The client leaves in the middle of the reply.
    ClientAbort,
    /// SIGTERM after the calls, and while they run.
    Terminated(State),
    /// SIGKILL after the calls, and while they run.
    Killed(State),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Done,
    Open,
}

struct Canary {
    place: &'static Place,
    outcome: Outcome,
    text: String,
    /// All of it but a well-known beginning.
    drawn: String,
}

#[test]
fn a_canary_is_found_in_every_spelling() {
    let (canary, other) = (drawn(), drawn());
    let search = Search::of([other.as_str(), &canary]);
    let proofs = proofs(&canary);
    assert!(proofs.len() >= 12);
    for (name, spelling) in &proofs {
        let mut finds = Finds::new();
        search.bytes(
            &[b"some text before ", spelling.as_slice(), b" and behind"].concat(),
            "here",
            &mut finds,
        );
        assert!(finds.contains_key(&1), "not found in {name}");
        assert!(!finds.contains_key(&0), "another one was found in {name}");
    }
    for start in [0, 5, canary.len() - search::PIECE] {
        let mut finds = Finds::new();
        search.bytes(&canary.as_bytes()[start..start + search::PIECE], "here", &mut finds);
        assert!(finds.contains_key(&1), "the piece at {start} was not found");
    }
    println!("a canary is found in {} spellings", proofs.len());
}

#[test]
fn no_canary_is_left_on_disk_or_printed() {
    let runs = [
        vec![Outcome::Success],
        vec![Outcome::Failure],
        vec![Outcome::ClientAbort],
        vec![Outcome::Terminated(State::Done), Outcome::Terminated(State::Open)],
        vec![Outcome::Killed(State::Done), Outcome::Killed(State::Open)],
    ];
    let outcomes: Vec<Outcome> = runs.iter().flatten().copied().collect();
    let (mut planted, mut found) = (BTreeMap::new(), Vec::new());
    for run in &runs {
        let canaries = planted_in(run);
        for canary in &canaries {
            *planted.entry((canary.place.name, column(canary.outcome))).or_insert(0) += 1;
        }
        for (canary, places) in recorded(run, &canaries) {
            found.push((&PLACES[canary % PLACES.len()], canaries[canary].outcome, places));
        }
    }
    println!("{}", table(&outcomes, &planted, &found));
    let leaks: Vec<_> = found.iter().map(|(place, outcome, where_)| (place.name, outcome, where_)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

fn planted_in(outcomes: &[Outcome]) -> Vec<Canary> {
    let each = |outcome: &Outcome| {
        let outcome = *outcome;
        PLACES.iter().map(move |place| {
            let drawn = drawn();
            let text = match place.known {
                Known::Shape(prefix) => shaped(prefix, &drawn),
                Known::Environment | Known::Position => drawn.clone(),
            };
            Canary { place, outcome, text, drawn }
        })
    };
    outcomes.iter().flat_map(each).collect()
}

/// Records the calls of all the canaries, and gives what is found of them afterwards.
fn recorded(outcomes: &[Outcome], canaries: &[Canary]) -> Finds {
    let sandbox = Sandbox::new();
    let search = Search::of(canaries.iter().map(|canary| canary.drawn.as_str()));
    let mut finds = Finds::new();

    let (mut answers, mut steps, mut held) = (Vec::new(), Vec::new(), Vec::new());
    for canary in canaries {
        for exchange in (canary.place.calls)(&canary.text) {
            let exchange = match canary.outcome {
                Outcome::Failure => failing(exchange, answers.len()),
                _ => exchange,
            };
            let breaks_off = matches!(
                canary.outcome,
                Outcome::ClientAbort | Outcome::Terminated(State::Open) | Outcome::Killed(State::Open)
            );
            let step = exchange.step(answers.len(), canary.place.name, breaks_off);
            match breaks_off && canary.outcome != Outcome::ClientAbort {
                true => held.push(step),
                false => steps.push(step),
            }
            answers.push(Answer { reply: exchange.reply, breaks_off });
        }
    }
    let upstream = Upstream::start(answers);
    let say: Vec<&str> = canaries.iter().map(|canary| canary.text.as_str()).collect();
    let plan = json!({ "steps": steps, "held": held, "say": say, "replayed": false });
    let record = with_environment(sandbox.wiretape("record"), canaries);
    let client = clients::program("raw_calls.py");
    let running = record
        .cassette(CASSETTE)
        .arg("--connect-to")
        .arg(format!("{HOST}:80:{}:{}", upstream.addr.ip(), upstream.addr.port()))
        .stdin(plan.to_string())
        // A word of the command line is a place too.
        .child([clients::python(), client, canaries[0].text.clone().into()])
        .spawn();
    let ended = match outcomes[0] {
        Outcome::Terminated(_) => {
            running.wait_for(Stream::Stdout, |line| (line == "held").then_some(()));
            running.terminate();
            running.finish().exits(143)
        }
        Outcome::Killed(_) => {
            running.wait_for(Stream::Stdout, |line| (line == "held").then_some(()));
            running.kill();
            let ended = running.finish();
            assert_eq!(ended.code(), None, "{}", ended.stderr());
            assert_eq!(journals(&sandbox).len(), 1);
            search.folder(sandbox.root(), &mut finds);
            ended
        }
        Outcome::Success | Outcome::Failure | Outcome::ClientAbort => succeeded(running.finish()),
    };
    drop(upstream);
    search.bytes(&ended.stderr, "the recorder's stderr", &mut finds);
    // Else a search of what was printed would prove nothing.
    let mut passed = Finds::new();
    search.bytes(&ended.stdout, "", &mut passed);
    assert_eq!(passed.len(), canaries.len(), "what the program prints is its own");

    for command in commands(&sandbox) {
        let said = succeeded(command.run());
        search.bytes(&said.stdout, "what a later command printed", &mut finds);
        search.bytes(&said.stderr, "what a later command said", &mut finds);
    }
    search.folder(sandbox.root(), &mut finds);
    // What was left out whole would not be found either.
    let calls =
        steps.len() + if outcomes.contains(&Outcome::Terminated(State::Open)) { held.len() } else { 0 };
    let kept = sandbox.read(CASSETTE).matches("\n      url: ").count();
    // A conversation that its server ends is whole before anybody is killed.
    let more = if outcomes.contains(&Outcome::Killed(State::Open)) { 1 } else { 0 };
    assert_eq!(kept, calls + more, "{}", ended.stderr());
    finds
}

#[test]
fn canaries_of_another_run_play_what_was_recorded_and_are_not_printed() {
    let sandbox = Sandbox::new();
    let [old, new] = [planted_in(&[Outcome::Success]), planted_in(&[Outcome::Success])];
    let exchanges = |canaries: &[Canary]| -> Vec<(&'static str, Exchange)> {
        let of = |canary: &Canary| {
            let name = canary.place.name;
            (canary.place.calls)(&canary.text).into_iter().map(move |exchange| (name, exchange))
        };
        canaries.iter().flat_map(of).collect()
    };
    let plan = |canaries: &[Canary], replayed: bool| {
        let steps: Vec<_> =
            exchanges(canaries).iter().enumerate().map(|(n, (p, e))| e.step(n, p, false)).collect();
        json!({ "steps": steps, "held": [], "say": [], "replayed": replayed }).to_string()
    };
    let answers = exchanges(&old).into_iter().map(|(_, e)| Answer { reply: e.reply, breaks_off: false });
    let upstream = Upstream::start(answers.collect());
    let client = [clients::python(), clients::program("raw_calls.py")];
    let connect_to = format!("{HOST}:80:{}:{}", upstream.addr.ip(), upstream.addr.port());
    let record = with_environment(sandbox.wiretape("record"), &old).cassette(CASSETTE);
    let record = record.args(["--connect-to", &connect_to]).stdin(plan(&old, false));
    succeeded(record.child(&client).run());
    drop(upstream);
    let replay = with_environment(sandbox.replay(), &new).cassette(CASSETTE);
    let ended = replay.stdin(plan(&new, true)).child(&client).run();
    let search = Search::of(new.iter().map(|canary| canary.drawn.as_str()));
    let mut finds = Finds::new();
    search.bytes(&ended.stderr, "stderr", &mut finds);
    search.folder(sandbox.root(), &mut finds);
    let mut found: Vec<_> = finds.into_iter().map(|(n, places)| (new[n].place.name, places)).collect();
    // In a replay the service gives no secrets but dummies.
    found.retain(|(name, _)| !GIVEN_BY_THE_SERVICE.contains(name));
    assert!(found.is_empty(), "{found:#?}");
    // What nobody can know to be a secret yet does not match, nor does what hangs together with it.
    let said = ended.stdout().lines().filter_map(|line| line.strip_prefix("424 "));
    let known = |name: &&str| PLACES.iter().any(|p| p.name == *name && p.known != Known::Position);
    let missed: Vec<&str> = said.filter(known).collect();
    assert_eq!(missed, ["request: path, base64url"], "{}", ended.stderr());
}

fn with_environment<'s>(run: Invocation<'s>, canaries: &[Canary]) -> Invocation<'s> {
    let in_environment = canaries.iter().filter(|canary| canary.place.known == Known::Environment);
    in_environment.enumerate().fold(run, |run, (number, canary)| {
        let name = NAMES[number % NAMES.len()];
        run.env(format!("CANARY_{number}_{name}"), &canary.text)
    })
}

/// The first of them takes in what a killed recording left.
fn commands(sandbox: &Sandbox) -> Vec<Invocation<'_>> {
    vec![
        sandbox.wiretape("show").arg(CASSETTE),
        sandbox.wiretape("show").arg(CASSETTE).arg("3"),
        // Its own eyes: it knows none of the values, and what they look like.
        sandbox.wiretape("scan").arg("cassettes"),
        sandbox.wiretape("export").arg(CASSETTE).args(["--to", "har"]),
        sandbox.wiretape("export").arg(CASSETTE).args(["--to", "vcrpy"]),
        sandbox.wiretape("export").arg(CASSETTE).args(["--to", "curl"]),
    ]
}

fn succeeded(ended: Ended) -> Ended {
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr());
    ended
}

fn failing(exchange: Exchange, number: usize) -> Exchange {
    let status = STATUSES[number % STATUSES.len()];
    Exchange { reply: exchange.reply.failing(status), ..exchange }
}

/// Place by outcome: how many were planted, and how many of them found.
fn table(
    outcomes: &[Outcome],
    planted: &BTreeMap<(&str, &str), usize>,
    found: &[(&Place, Outcome, std::collections::BTreeSet<String>)],
) -> String {
    let mut out = String::from("canaries planted/found");
    let width = PLACES.iter().map(|place| place.name.len()).max().unwrap_or_default();
    let columns: Vec<&str> = outcomes.iter().map(|outcome| column(*outcome)).collect();
    let _ = write!(out, "\n{:width$}", "");
    columns.iter().for_each(|column| out.push_str(&format!(" {column:>13}")));
    for place in PLACES {
        let _ = write!(out, "\n{:width$}", place.name);
        for column_name in &columns {
            let planted = planted[&(place.name, *column_name)];
            let found = found
                .iter()
                .filter(|(p, outcome, _)| p.name == place.name && column(*outcome) == *column_name)
                .count();
            let _ = write!(out, " {:>13}", format!("{planted}/{found}"));
        }
    }
    let _ = write!(out, "\nall: {} planted, {} found", planted.values().sum::<usize>(), found.len());
    out
}

fn column(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "success",
        Outcome::Failure => "4xx/5xx",
        Outcome::ClientAbort => "client abort",
        Outcome::Terminated(State::Done) => "SIGTERM",
        Outcome::Terminated(State::Open) => "SIGTERM, open",
        Outcome::Killed(State::Done) => "kill -9",
        Outcome::Killed(State::Open) => "kill -9, open",
    }
}

/// Letters, and digits between them: no cookie and no token looks like a word.
fn drawn() -> String {
    let random = [Secret::shapeless(), Secret::shapeless()].map(|secret| secret.reveal().to_owned()).concat();
    let digits = random.bytes().map(|b| b % 10);
    random
        .chars()
        .zip(digits)
        .take(16)
        .flat_map(|(letter, digit)| [letter, char::from(b'0' + digit)])
        .collect()
}

/// As long as tokens with that beginning are.
fn shaped(prefix: &str, drawn: &str) -> String {
    let more = |count: usize| drawn.chars().cycle().skip(3).take(count).collect::<String>();
    match prefix {
        "ghp_" => format!("{prefix}{drawn}{}", more(4)),
        "xai-" => format!("{prefix}{drawn}{}", more(48)),
        "gsk_" => format!("{prefix}{drawn}{}", more(20)),
        "lin_api_" => format!("{prefix}{drawn}{}", more(8)),
        "nvapi-" => format!("{prefix}{drawn}{}", more(32)),
        "sk-ant-api03-" => format!("{prefix}{drawn}{}AA", more(61)),
        "glpat-" => format!("{prefix}{drawn}"),
        _ => format!("{prefix}{drawn}{}", more(26)),
    }
}

const GIVEN_BY_THE_SERVICE: &[&str] = &[
    "set-cookie",
    "JSON: OAuth reply",
    "JSON: refresh token, gzip",
    "redirect: access_token",
    "SSE: password in pieces",
];
/// What such a variable is called.
const NAMES: &[&str] =
    &["API_KEY", "TOKEN", "PASSWORD", "SECRET", "AUTH", "DB_PASS", "PAT", "SESSION_COOKIE"];
const STATUSES: &[&str] = &[
    "400 Bad Request",
    "401 Unauthorized",
    "403 Forbidden",
    "404 Not Found",
    "422 Unprocessable Content",
    "429 Too Many Requests",
    "500 Internal Server Error",
    "503 Service Unavailable",
];
const CASSETTE: &str = "cassettes/run.yaml";
