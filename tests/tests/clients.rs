//! Real clients, recorded against the stand-in upstream and replayed without it, on "another machine"
//! and with another key.

use std::{ffi::OsString, fs};

use wiretape_tests::{
    clients,
    sandbox::{Outcome, Sandbox},
    secret::Secret,
    transcript,
    upstream::Upstream,
};

#[test]
fn curl_over_http1_replays() {
    record_and_replay(&shell(CURL, "--http1.1"), GITHUB);
}

#[test]
fn curl_over_http2_replays() {
    record_and_replay(&shell(CURL, "--http2"), GITHUB);
}

#[test]
fn git_clone_replays() {
    record_and_replay(&shell(GIT_CLONE, "https://github.com/o/r.git"), GITHUB);
}

#[test]
fn gh_api_replays() {
    record_and_replay(&gh(&["api", "user"]), GITHUB);
}

#[test]
fn gh_issue_list_replays() {
    record_and_replay(&gh(&["issue", "list", "-R", "o/r"]), GITHUB);
}

#[test]
fn python_openai_replays() {
    record_and_replay(&python("openai_chat.py"), Key { variable: "OPENAI_API_KEY", make: Secret::openai });
}

#[test]
fn python_anthropic_replays() {
    record_and_replay(
        &python("anthropic_messages.py"),
        Key { variable: "ANTHROPIC_API_KEY", make: Secret::anthropic },
    );
}

#[test]
fn python_google_genai_replays() {
    record_and_replay(&python("genai.py"), Key { variable: "GEMINI_API_KEY", make: Secret::google });
}

#[test]
fn python_requests_replays() {
    record_and_replay(&python("requests_get.py"), GITHUB);
}

#[test]
fn python_httpx_replays() {
    record_and_replay(&python("httpx_get.py"), GITHUB);
}

#[test]
fn python_aiohttp_replays() {
    record_and_replay(&python("aiohttp_get.py"), GITHUB);
}

#[test]
fn python_pygithub_replays() {
    record_and_replay(&python("pygithub.py"), GITHUB);
}

#[test]
fn node_fetch_replays() {
    record_and_replay(&node("fetch.mjs"), GITHUB);
}

#[test]
fn node_octokit_replays() {
    record_and_replay(&node("octokit.mjs"), GITHUB);
}

#[test]
fn node_openai_replays() {
    record_and_replay(&node("openai_node.mjs"), Key { variable: "OPENAI_API_KEY", make: Secret::openai });
}

/// The law of this file: what was recorded is replayed offline to the same program, which has no key then, all
/// the same but for the names of server-made ids, twice the same to the byte, and without a trace of the key.
fn record_and_replay(client: &dyn Fn(&Sandbox) -> Vec<OsString>, key: Key) {
    let (home, upstream) = (Sandbox::new(), Upstream::start());
    let secret = (key.make)();
    let recording = home.record(&upstream).cassette(CASSETTE).env(key.variable, secret.reveal());
    let recorded = recording.child(client(&home)).run().exits(0);

    let sent = upstream.seen();
    let carries = |value: &http::HeaderValue| secret.is_in(value.as_bytes());
    assert!(sent.iter().any(|seen| seen.headers.values().any(carries)), "the real key went upstream");
    assert!(fs::metadata(home.path(CASSETTE)).is_ok_and(|file| file.len() > 0), "no cassette: {recorded}");
    assert_no_trace(&secret, &home, &recorded);
    let minted = upstream.minted();
    drop(upstream);

    let [first, second] = [(); 2].map(|()| {
        let away = home.elsewhere();
        // Without the key: what the program needs to start, it is given.
        let replay = away.replay().arg("--strict").cassette(CASSETTE);
        let replayed = replay.child(client(&away)).run().exits(0);
        assert_no_trace(&secret, &away, &replayed);
        replayed
    });
    if let Err(difference) = transcript::compare(recorded.stdout(), first.stdout(), &minted) {
        panic!("{difference}\n=== recorded\n{recorded}\n=== replayed\n{first}");
    }
    assert_eq!(first.stdout(), second.stdout(), "two replays of one cassette");
}

fn assert_no_trace(secret: &Secret, sandbox: &Sandbox, outcome: &Outcome) {
    let none: [std::path::PathBuf; 0] = [];
    assert_eq!(secret.files_with(sandbox.root()), none, "files that hold the key");
    assert!(!secret.is_in(&outcome.stderr), "the key was said on stderr");
}

/// Which credential a client takes, and from which variable.
#[derive(Clone, Copy)]
struct Key {
    variable: &'static str,
    make: fn() -> Secret,
}

/// A script with one parameter.
fn shell(script: &'static str, parameter: &'static str) -> impl Fn(&Sandbox) -> Vec<OsString> {
    clients::command("curl");
    clients::command("git");
    move |_| ["sh", "-euc", script, "sh", parameter].map(Into::into).into()
}

fn gh(args: &'static [&'static str]) -> impl Fn(&Sandbox) -> Vec<OsString> {
    let gh = clients::command("gh");
    move |_| [gh.clone().into()].into_iter().chain(args.iter().map(Into::into)).collect()
}

fn python(program: &'static str) -> impl Fn(&Sandbox) -> Vec<OsString> {
    move |_| vec![clients::python().into(), clients::program(program).into()]
}

fn node(program: &'static str) -> impl Fn(&Sandbox) -> Vec<OsString> {
    let node = clients::command("node");
    move |sandbox| vec![node.clone().into(), clients::install_node_program(program, &sandbox.path("")).into()]
}

/// `gh` reads this variable too.
const GITHUB: Key = Key { variable: "GITHUB_TOKEN", make: Secret::github };
const CASSETTE: &str = "cassettes/client.yaml";

const CURL: &str = r#"
get() { curl "$version" -sS -w '\n%{http_code} %{http_version} %{content_type}\n' "$@"; }
version=$1
get -H "authorization: Bearer $GITHUB_TOKEN" https://api.github.com/user
get --compressed -H "authorization: Bearer $GITHUB_TOKEN" 'https://api.github.com/repos/o/r/issues?per_page=2'
get --json '{"model":"m","messages":[{"role":"user","content":"ping"}]}' https://api.openai.com/v1/chat/completions
get --json '{"model":"m","stream":true,"messages":[]}' https://api.openai.com/v1/chat/completions
get --data-binary 'a=1&b=2' https://faults.test/upload
get -F part=one -F 'file=two;type=text/plain;filename=two.txt' https://faults.test/upload
get --compressed https://faults.test/zstd
get -L http://faults.test/redirect
get https://faults.test/status/204
get 'https://faults.test/big?bytes=200000'
"#;

const GIT_CLONE: &str = r#"
credentials=$(printf 'x-access-token:%s' "$GITHUB_TOKEN" | base64 -w0)
git -c http.extraHeader="authorization: Basic $credentials" clone --quiet "$1" r
cat r/README.md
git -C r log --format='%H %an %s'
"#;
