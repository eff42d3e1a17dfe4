//! The stand-in upstream is held against real clients, so that the other tests can trust it.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http::Version;
use serde_json::{Value, json};
use tokio_tungstenite::{client_async, tungstenite::Message};
use wiretape_tests::{
    clients,
    sandbox::{Invocation, Outcome, Sandbox},
    secret::Secret,
    tunnel::Tunnel,
    upstream::{Upstream, Wire},
};

#[test]
fn a_chat_completion_is_fresh_every_time() {
    let upstream = Upstream::start();
    let body = json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "ping"}]}).to_string();
    let chat = || json_of(curl(&upstream, ["--json", &body, "https://api.openai.com/v1/chat/completions"]));

    let (first, second) = (chat(), chat());
    for pointer in ["/id", "/created", "/choices/0/message/content"] {
        assert_ne!(first.pointer(pointer).unwrap(), second.pointer(pointer).unwrap(), "{pointer}");
    }
    assert!(upstream.minted().contains(&first["id"].as_str().unwrap().to_owned()));
}

#[test]
fn what_was_asked_is_seen() {
    let upstream = Upstream::start();
    curl(&upstream, ["--http1.1", "-H", "x-mark: 7", "-d", "a=b", "https://api.openai.com/v1/nothing?q=1"]);
    curl(&upstream, ["--http2", "http://api.github.com/user"]);

    let seen = upstream.seen();
    let [first, second] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!((first.wire, first.version, first.method.as_str()), (Wire::Tls, Version::HTTP_11, "POST"));
    assert_eq!((first.host.as_str(), first.path.as_str()), ("api.openai.com", "/v1/nothing?q=1"));
    assert_eq!((first.header("x-mark"), first.body.as_ref()), (Some("7"), b"a=b".as_slice()));
    assert_eq!((second.wire, second.host.as_str()), (Wire::Plain, "api.github.com"));
}

#[test]
fn a_streamed_chat_ends_with_done() {
    let upstream = Upstream::start();
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "two words"}]})
        .to_string();
    let out =
        curl(&upstream, ["-D", "-", "--json", &body, "https://api.openai.com/v1/chat/completions"]).exits(0);
    assert!(out.stdout().contains("content-type: text/event-stream"), "{out}");
    // The role, five words, the finish reason and the end.
    assert_eq!(out.stdout().matches("data: ").count(), 8, "{out}");
    assert!(out.stdout().ends_with("data: [DONE]\n\n"), "{out}");
}

#[test]
fn an_anthropic_stream_names_its_events() {
    let upstream = Upstream::start();
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "x"}]}).to_string();
    let out = curl(&upstream, ["--json", &body, "https://api.anthropic.com/v1/messages"]).exits(0);
    assert!(out.stdout().starts_with("event: message_start\ndata: {"), "{out}");
    assert!(out.stdout().ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"), "{out}");
}

#[test]
fn gemini_indents_a_whole_answer_and_streams_with_crlf() {
    let upstream = Upstream::start();
    let ask = |verb: &str| {
        let url = format!("https://generativelanguage.googleapis.com/v1beta/models/g:{verb}");
        curl(&upstream, ["--json", "{}", &url]).exits(0)
    };
    assert!(ask("generateContent").stdout().starts_with("{\n  \"candidates\": [\n"));
    assert!(ask("streamGenerateContent?alt=sse").stdout().ends_with("}\r\n\r\n"));
}

#[test]
fn github_pages_tags_and_compresses() {
    let upstream = Upstream::start();
    let url = "https://api.github.com/repos/o/r/issues?per_page=2";
    let first = curl(&upstream, ["--compressed", "-i", url]).exits(0);
    assert!(first.stdout().contains("content-encoding: gzip"), "{first}");
    let next =
        first.stdout().split(['<', '>']).find(|part| part.ends_with("per_page=2&page=2")).unwrap().to_owned();
    let page = json_of(curl(&upstream, [&next]));
    assert_eq!(page.as_array().unwrap().iter().map(|issue| &issue["number"]).collect::<Vec<_>>(), [3, 2]);

    let etag = first.stdout().lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let known = format!("if-none-match: {etag}");
    let again = curl(&upstream, ["-w", "%{http_code} %{size_download}", "-H", &known, url]).exits(0);
    assert_eq!(again.stdout(), "304 0");
}

#[test]
fn git_clones_with_protocol_2() {
    let (upstream, sandbox) = (Upstream::start(), Sandbox::new());
    let tunnel = Tunnel::start(&upstream);
    let git = || sandbox.program(clients::command("git"));
    let clone =
        tunneled(git(), &tunnel, &upstream).args(["clone", "--quiet", "https://github.com/o/r.git", "r"]);
    clone.run().exits(0);

    assert!(sandbox.read("r/README.md").starts_with("# r\n\nabout "));
    let ours = git().args(["-C", "r", "rev-parse", "HEAD"]).run().exits(0);
    let theirs = git().arg("-C").arg(upstream.repository()).args(["rev-parse", "main"]).run().exits(0);
    assert_eq!(ours.stdout(), theirs.stdout());
    assert_eq!(upstream.seen()[0].header("git-protocol"), Some("version=2"));
}

#[test]
fn git_pushes() {
    let (upstream, sandbox) = (Upstream::start(), Sandbox::new());
    let tunnel = Tunnel::start(&upstream);
    let script = "git clone --quiet https://github.com/o/r r && cd r && git checkout --quiet -b next \
         && git -c user.name=n -c user.email=e commit --quiet --allow-empty -m next && git push --quiet origin next";
    tunneled(sandbox.program("sh").args(["-c", script]), &tunnel, &upstream).run().exits(0);
    let log = sandbox.program("git").arg("-C").arg(upstream.repository()).args([
        "log",
        "-1",
        "--format=%s",
        "next",
    ]);
    assert_eq!(log.run().exits(0).stdout(), "next\n");
}

#[test]
fn the_python_clients_are_served_to_their_end() {
    let (upstream, sandbox) = (Upstream::start(), Sandbox::new());
    let tunnel = Tunnel::start(&upstream);
    for (program, variable, requests) in [
        ("openai_chat.py", "OPENAI_API_KEY", 7),
        ("anthropic_messages.py", "ANTHROPIC_API_KEY", 4),
        ("genai.py", "GEMINI_API_KEY", 2),
        ("requests_get.py", "GITHUB_TOKEN", 7),
        ("httpx_get.py", "GITHUB_TOKEN", 9),
        ("aiohttp_get.py", "GITHUB_TOKEN", 3),
        ("pygithub.py", "GITHUB_TOKEN", 6),
    ] {
        let before = upstream.seen().len();
        let python = sandbox.program(clients::python()).arg(clients::program(program));
        let out =
            tunneled(python, &tunnel, &upstream).env(variable, Secret::shapeless().reveal()).run().exits(0);
        assert_eq!(upstream.seen().len() - before, requests, "{out}");
    }
}

#[test]
fn gh_lists_issues() {
    let (upstream, sandbox) = (Upstream::start(), Sandbox::new());
    let tunnel = Tunnel::start(&upstream);
    let gh = sandbox.program(clients::command("gh")).args(["issue", "list", "-R", "o/r"]);
    let out = tunneled(gh, &tunnel, &upstream).env("GH_TOKEN", Secret::github().reveal()).run().exits(0);
    assert_eq!(out.stdout().lines().count(), 5, "{out}");
    assert!(out.stdout().starts_with("5\tOPEN\tabout "), "{out}");
}

#[test]
fn broken_connections_break_as_they_say() {
    let upstream = Upstream::start();
    let broken = |url: &str| curl(&upstream, ["--http1.1", "--max-time", "2", url]);
    // curl's own codes: 7 refused, 18 partial, 28 timeout, 52 empty reply, 56 receive error, 60 certificate.
    broken("https://refused.test/").exits(7);
    broken("https://bad-cert.test/").exits(60);
    broken("http://faults.test/reset").exits(56);
    broken("http://faults.test/close").exits(52);
    broken("https://faults.test/reset").exits(56);
    assert_eq!(broken("http://faults.test/half").exits(18).stdout(), "half of ");
    let cut = broken("http://faults.test/half-sse?events=2&gap=1").exits(56);
    assert_eq!(cut.stdout().matches("data: ").count(), 2, "{cut}");
    assert_eq!(broken("https://faults.test/stall?before=head").exits(28).stdout(), "");
    assert!(broken("https://faults.test/stall").exits(28).stdout().starts_with("id: 1\n"));
}

#[test]
fn trailers_follow_the_body_on_both_versions() {
    let upstream = Upstream::start();
    for version in ["--http1.1", "--http2"] {
        let args = [version, "--raw", "-i", "-H", "te: trailers", "https://faults.test/trailers"];
        let out = curl(&upstream, args).exits(0);
        let (_, after) = out.stdout().split_once("before the trailers").unwrap();
        assert!(after.contains("grpc-status: 0") && after.contains("x-checksum: "), "{version}: {out}");
    }
}

#[test]
fn early_hints_come_before_the_answer() {
    let upstream = Upstream::start();
    let out = curl(&upstream, ["--http1.1", "-i", "https://faults.test/early-hints"]).exits(0);
    assert!(out.stdout().starts_with("HTTP/1.1 103 Early Hints\r\nlink: "), "{out}");
    assert!(out.stdout().contains("\r\n\r\nHTTP/1.1 200 OK\r\n"), "{out}");
}

#[test]
fn an_upload_is_digested_and_may_be_declined() {
    let upstream = Upstream::start();
    let send = |url: &str| {
        let args =
            ["--http1.1", "-v", "--expect100-timeout", "30", "-H", "expect: 100-continue", "-d", "abc", url];
        curl(&upstream, args).exits(0)
    };
    let sent = send("https://faults.test/upload");
    assert!(sent.stderr().contains("< HTTP/1.1 100 Continue"), "{sent}");
    let digest = json_of(sent);
    assert_eq!(digest["length"], 3);
    assert_eq!(digest["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(send("https://faults.test/continue?decline").stdout(), "declined");
}

#[test]
fn bodies_come_coded() {
    let upstream = Upstream::start();
    for coding in ["gzip", "br", "zstd", "deflate"] {
        let body = json_of(curl(&upstream, ["--compressed", &format!("https://faults.test/{coding}")]));
        assert_eq!(body["coding"], coding);
    }
}

#[test]
fn odd_answers_are_as_odd_as_they_say() {
    let upstream = Upstream::start();
    let get = |url: &str| curl(&upstream, ["-i", "-L", "-b", "seen=1", url]).exits(0);
    assert!(get("https://faults.test/latin1").stdout.windows(5).any(|bytes| bytes == b"caf\xe9 "));
    assert!(get("https://faults.test/cookie").stdout().ends_with("cookie was seen=1"));
    assert_eq!(get("https://faults.test/cookie").stdout().matches("set-cookie: ").count(), 2);
    assert!(get("https://faults.test/redirect").stdout().contains("redirected "));
    assert!(get("https://faults.test/status/503").stdout().starts_with("HTTP/2 503"));
    assert!(get("https://faults.test/repeat?a").stdout().ends_with("call 1"));
    assert!(get("https://faults.test/repeat?a").stdout().ends_with("call 2"));
    assert!(get("https://faults.test/repeat?b").stdout().ends_with("call 1"));
    let size = curl(
        &upstream,
        ["-o", "/dev/null", "-w", "%{size_download}", "https://faults.test/big?bytes=3000001"],
    );
    assert_eq!(size.exits(0).stdout(), "3000001");
    let echo =
        json_of(curl(&upstream, ["--json", r#"{"request_id":"r-1"}"#, "https://faults.test/uuid-echo"]));
    assert_eq!((&echo["echo"], &echo["text"]), (&json!("r-1"), &json!("seen r-1")));
}

#[tokio::test]
async fn the_websocket_greets_echoes_and_pushes() {
    let upstream = Upstream::start();
    let stream = tokio::net::TcpStream::connect(upstream.plain_addr()).await.unwrap();
    let (mut socket, _) = client_async("ws://faults.test/ws", stream).await.unwrap();
    let mut heard = Vec::new();
    for (said, answers) in [(None, 1), (Some("hi"), 1), (Some("push 2"), 2), (Some("bye"), 1)] {
        if let Some(said) = said {
            socket.send(Message::text(said)).await.unwrap();
        }
        for _ in 0..answers {
            heard.push(socket.next().await.unwrap().unwrap());
        }
    }
    assert!(heard[0].to_text().unwrap().starts_with("hello "));
    assert_eq!(heard[1..4], ["echo hi", "pushed 1", "pushed 2"].map(Message::text));
    let Message::Close(Some(frame)) = &heard[4] else { panic!("{heard:?}") };
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1000, "goodbye"));
}

#[test]
fn a_stopped_upstream_refuses() {
    let upstream = Upstream::start();
    let url = format!("http://{}/", upstream.plain_addr());
    drop(upstream);
    Sandbox::new().program("curl").args(["-sS", &url]).run().exits(7);
}

fn curl<const N: usize>(upstream: &Upstream, args: [&str; N]) -> Outcome {
    let sandbox = Sandbox::new();
    let curl = sandbox.program(clients::command("curl")).args(["-sS", "--cacert"]).arg(upstream.ca_file());
    let mapped = upstream.connect_to().into_iter().fold(curl, |curl, map| curl.arg("--connect-to").arg(map));
    mapped.args(args).limit(Duration::from_secs(30)).run()
}

fn tunneled<'a>(run: Invocation<'a>, tunnel: &Tunnel, upstream: &Upstream) -> Invocation<'a> {
    let ca = upstream.ca_file();
    let proxied = ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];
    let trusting =
        ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS"];
    let run = proxied.into_iter().fold(run, |run, name| run.env(name, tunnel.url()));
    trusting.into_iter().fold(run, |run, name| run.env(name, &ca))
}

fn json_of(outcome: Outcome) -> Value {
    let outcome = outcome.exits(0);
    serde_json::from_slice(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}
