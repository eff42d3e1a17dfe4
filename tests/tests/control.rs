//! The control API: what it tells, what it does, and whom it lets in.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
};

use serde_json::{Value, json};
use wiretape_tests::{
    clients,
    sandbox::Sandbox,
    served::{Served, cassette},
    upstream::Upstream,
};

#[test]
fn a_session_is_made_watched_judged_and_ended_from_a_shell() {
    let sandbox = Sandbox::new();
    sandbox.write("a.yaml", cassette(&[("/1", "one"), ("/2", "two")]));
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes"]);
    let made = proxy.told(&["create", "case", "-c", "a.yaml"]);
    let cassette = sandbox.path("a.yaml").display().to_string();
    assert_eq!(
        made,
        json!({
            "name": "case", "mode": "replay", "cassette": cassette, "proxy": proxy.url("case"),
            "calls": 0, "played": 0, "missed": 0, "unplayed": 2,
        })
    );
    assert_eq!(proxy.get("case", "https://api.test/1"), "one 200");
    assert!(proxy.get("case", "https://api.test/3").ends_with(" 424"));
    let mut calls = proxy.told(&["calls", "case"])["calls"].take();
    for call in calls.as_array_mut().unwrap() {
        for key in ["at_ms", "took_ms"] {
            assert!(call[key].is_u64(), "{call}");
            call.as_object_mut().unwrap().remove(key);
        }
    }
    let second = json!({
        "seq": 2, "provenance": "miss", "exchange": null, "method": "GET", "url": "https://api.test/3", "status": 424,
    });
    assert_eq!(
        calls,
        json!([
            {"seq": 1, "provenance": "cassette", "exchange": 1, "method": "GET", "url": "https://api.test/1", "status": 200},
            second,
        ])
    );
    assert_eq!(proxy.told(&["calls", "case", "--since", "1"])["calls"].as_array().unwrap().len(), 1);
    let verdict = proxy.ctl(&["verdict", "case"]).exits(1);
    let verdict: Value = serde_json::from_str(verdict.stdout()).unwrap();
    assert_eq!(verdict["passed"], false);
    assert_eq!(verdict["unplayed"], json!([{"exchange": 2, "method": "GET", "url": "https://api.test/2"}]));
    let miss = &verdict["misses"][0];
    assert_eq!((&miss["call"], &miss["url"]), (&json!(2), &json!("https://api.test/3")));
    assert!(miss["explanation"].as_str().unwrap().contains("/3"), "{miss}");
    let ended = proxy.ctl(&["end", "case"]).exits(1);
    assert_eq!(serde_json::from_str::<Value>(ended.stdout()).unwrap(), verdict);
    proxy.stop().exits(1);
}

#[test]
fn unplayed_exchanges_fail_a_strict_verdict_only() {
    let sandbox = Sandbox::new();
    sandbox.write("a.yaml", cassette(&[("/1", "one")]));
    let proxy = Served::replaying(&sandbox, &["-c", "a.yaml"]);
    proxy.ctl(&["verdict", "default"]).exits(0);
    proxy.ctl(&["verdict", "default", "--strict"]).exits(1);
    assert_eq!(proxy.get("", "https://api.test/1"), "one 200");
    proxy.ctl(&["verdict", "default", "--strict"]).exits(0);
    proxy.stop().exits(0);
}

#[test]
fn a_loaded_cassette_is_played_from_its_start_and_the_calls_stay() {
    let sandbox = Sandbox::new();
    sandbox.write("a.yaml", cassette(&[("/", "before")]));
    sandbox.write("b.yaml", cassette(&[("/", "after")]));
    sandbox.write("bad.yaml", "---\nwiretape: cassette/1\nexchanges:\n  - id: x\n...\n");
    let proxy = Served::replaying(&sandbox, &["-c", "a.yaml"]);
    assert_eq!(proxy.get("case", "https://api.test/"), "before 200");
    let loaded = proxy.told(&["load", "case", "b.yaml"]);
    assert_eq!((&loaded["calls"], &loaded["unplayed"]), (&json!(1), &json!(1)));
    assert_eq!(proxy.get("case", "https://api.test/"), "after 200");
    let bad = proxy.ctl(&["load", "case", "bad.yaml"]).exits(2);
    assert!(bad.stderr().contains("bad.yaml:4:9: "), "{bad}");
    let missing = proxy.ctl(&["load", "case", "none.yaml"]).exits(2);
    assert!(missing.stderr().contains("none.yaml"), "{missing}");
    // What could not be loaded changed nothing.
    assert_eq!(proxy.told(&["show", "case"])["cassette"], sandbox.path("b.yaml").display().to_string());
    proxy.stop().exits(0);
}

#[test]
fn only_a_session_that_replays_can_be_given_another_cassette() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    sandbox.write("a.yaml", cassette(&[("/", "a")]));
    let run = sandbox.wiretape("proxy").args(["--mode", "record", "--sessions", "tapes"]).upstream(&upstream);
    let proxy = Served::start(&sandbox, run);
    proxy.told(&["create", "case"]);
    let refused = proxy.ctl(&["load", "case", "a.yaml"]).exits(2);
    assert!(refused.stderr().contains("session `case` is in mode record"), "{refused}");
    // A proxy that has a way out can replay beside its recordings.
    proxy.told(&["create", "other", "--mode", "replay", "-c", "a.yaml"]);
    assert_eq!(proxy.get("other", "https://api.test/"), "a 200");
    proxy.stop().exits(0);
    let replaying = Served::replaying(&sandbox, &["--sessions", "tapes"]);
    let refused = replaying.ctl(&["create", "case", "--mode", "record"]).exits(2);
    assert!(refused.stderr().contains("nothing leaves it"), "{refused}");
    replaying.stop().exits(0);
}

#[test]
fn waiting_ends_with_the_call_that_fits() {
    let sandbox = Sandbox::new();
    sandbox.write("a.yaml", cassette(&[("/1", "one"), ("/2", "two")]));
    let proxy = Served::replaying(&sandbox, &["-c", "a.yaml"]);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| proxy.told(&["wait", "default", "--url", "/2", "--timeout", "30s"]));
        assert_eq!(proxy.get("", "https://api.test/1"), "one 200");
        assert_eq!(proxy.get("", "https://api.test/2"), "two 200");
        assert_eq!(waiting.join().unwrap()["seq"], 2);
    });
    let seq = |words: &[&str]| proxy.told(&[&["wait", "default"], words].concat())["seq"].clone();
    assert_eq!([seq(&[]), seq(&["--since", "1"])], [1, 2]);
    assert_eq!(seq(&["--method", "get", "--status", "200"]), 1);
    let late = proxy.ctl(&["wait", "default", "--status", "500", "--timeout", "50ms"]).exits(1);
    assert_eq!(late.stderr(), "no such call within 50ms; 2 others have ended after call 0\n");
    let nonsense = proxy.ctl(&["wait", "default", "--timeout", "soon"]).exits(2);
    assert!(nonsense.stderr().contains("`timeout` must be a number and a unit"), "{nonsense}");
    proxy.stop().exits(0);
}

#[test]
fn ctl_says_when_there_is_nobody_to_ask() {
    let sandbox = Sandbox::new();
    let alone = sandbox.wiretape("ctl").arg("sessions").run().exits(2);
    assert!(alone.stderr().contains("no wiretape proxy is running"), "{alone}");
    let gone = sandbox.wiretape("ctl").args(["--control", "unix:/nowhere.sock", "sessions"]).run().exits(3);
    assert!(gone.stderr().contains("cannot reach the proxy"), "{gone}");
    let unnamed =
        sandbox.wiretape("ctl").args(["--control", "http://127.0.0.1:1", "sessions"]).run().exits(2);
    assert!(unnamed.stderr().contains("WIRETAPE_CONTROL_TOKEN"), "{unnamed}");
}

#[test]
fn ctl_speaks_to_an_address_with_its_token() {
    let sandbox = Sandbox::new();
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes", "--control", "127.0.0.1:0"]);
    let ctl = |token: &str| {
        let run = sandbox.wiretape("ctl").arg("sessions");
        run.env("WIRETAPE_CONTROL", proxy.variable("WIRETAPE_CONTROL"))
            .env("WIRETAPE_CONTROL_TOKEN", token)
            .run()
    };
    assert_eq!(ctl(proxy.variable("WIRETAPE_CONTROL_TOKEN")).exits(0).stdout(), "{\n  \"sessions\": []\n}\n");
    assert!(ctl("wrong").exits(2).stderr().contains("a token is needed"));
    proxy.stop().exits(0);
}

#[test]
fn every_published_route_asks_for_the_token_before_anything_else() {
    let sandbox = Sandbox::new();
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes", "--control", "127.0.0.1:0"]);
    let host = proxy.variable("WIRETAPE_CONTROL").trim_start_matches("http://").to_owned();
    let routes = published_routes();
    assert!(routes.len() >= 9, "{routes:?}");
    let unknown = [("GET".to_owned(), "/".to_owned()), ("BREW".to_owned(), "/v1/tea".to_owned())];
    for (method, path) in routes.iter().chain(&unknown) {
        for token in ["", "authorization: Bearer 0\r\n", "authorization: Basic Og==\r\n"] {
            let request =
                format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{token}content-length: 1\r\n\r\n{{");
            let (status, answer) = proxy.raw(&request);
            assert_eq!(status, 401, "{method} {path}: {answer}");
            assert!(answer.contains("www-authenticate: Bearer"), "{answer}");
        }
    }
    proxy.stop().exits(0);
}

fn published_routes() -> Vec<(String, String)> {
    let file = clients::workspace().join("docs/reference/control.openapi.yaml");
    let text = std::fs::read_to_string(file).unwrap();
    let mut path = String::new();
    let mut routes = Vec::new();
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("  /").and_then(|line| line.strip_suffix(':')) {
            path = format!("/{}", named.replace("{name}", "case"));
        }
        let method = line.strip_prefix("    ").and_then(|line| line.strip_suffix(':')).unwrap_or_default();
        if ["get", "put", "post", "delete"].contains(&method) {
            routes.push((method.to_uppercase(), path.clone()));
        }
    }
    routes
}

#[test]
fn a_web_page_gets_nothing_even_with_the_token() {
    let sandbox = Sandbox::new();
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes", "--control", "127.0.0.1:0"]);
    let token = proxy.variable("WIRETAPE_CONTROL_TOKEN");
    let host = proxy.variable("WIRETAPE_CONTROL").trim_start_matches("http://");
    let port = host.rsplit(':').next().unwrap();
    let ask = |head: &str| {
        proxy.raw(&format!("GET /v1/health HTTP/1.1\r\n{head}\r\nauthorization: Bearer {token}\r\n\r\n")).0
    };
    assert_eq!(ask(&format!("host: {host}")), 200);
    assert_eq!(ask(&format!("host: localhost:{port}")), 200);
    // A name that somebody else made to point here.
    assert_eq!(ask(&format!("host: rebound.test:{port}")), 400);
    assert_eq!(ask(&format!("host: {host}\r\norigin: http://{host}")), 400);
    proxy.stop().exits(0);
}

#[test]
fn bodies_and_heads_are_bounded() {
    let sandbox = Sandbox::new();
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes"]);
    let large = "x".repeat((1 << 20) + 1);
    let head = "POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\n";
    let (told, _) = proxy.raw_local(&format!("{head}content-length: {}\r\n\r\n{large}", large.len()));
    assert_eq!(told, 413);
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    assert_eq!(proxy.raw_local(&format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}")).0, 413);
    let (status, _) =
        proxy.raw_local(&format!("GET /v1/health HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1 << 17)));
    assert_eq!(status, 431);
    // A client that stops in the middle of its head keeps nobody else from being served.
    let path = proxy.variable("WIRETAPE_CONTROL").strip_prefix("unix:").unwrap();
    let mut slow = std::os::unix::net::UnixStream::connect(path).unwrap();
    slow.write_all(b"GET /v1/health HTTP/1.1\r\nhost:").unwrap();
    assert_eq!(proxy.raw_local("GET /v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n").0, 200);
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).unwrap();
    proxy.stop().exits(0);
}

#[test]
fn what_makes_no_sense_is_refused_by_its_name() {
    let sandbox = Sandbox::new();
    sandbox.write("a.yaml", cassette(&[("/", "a")]));
    let proxy = Served::replaying(&sandbox, &["-c", "a.yaml", "--control", "127.0.0.1:0"]);
    for (method, path, body, status, message) in [
        ("POST", "/v1/sessions", "[]", 400, "the body must be a JSON object"),
        ("POST", "/v1/sessions", "{\"nam\": \"x\"}", 400, "`nam` is no key of this request"),
        ("POST", "/v1/sessions", "{\"name\": 7}", 400, "`name` must be text"),
        (
            "POST",
            "/v1/sessions",
            "{\"mode\": \"play\"}",
            400,
            "`mode` must be one of record, replay, auto, passthrough",
        ),
        ("POST", "/v1/sessions", "{\"name\": \"default\"}", 409, "there is a session `default` already"),
        ("GET", "/v1/sessions/none", "", 404, "there is no session `none`"),
        (
            "GET",
            "/v1/sessions/default/calls?since=x",
            "",
            400,
            "`since` must be a whole number that is not negative",
        ),
        ("GET", "/v1/sessions/default/calls?until=1", "", 400, "`until` is no key of this request"),
        ("PUT", "/v1/sessions/default/cassette", "{}", 400, "`path` is missing"),
        ("PATCH", "/v1/sessions/default", "", 405, "this path takes GET, DELETE"),
        ("GET", "/v2/sessions", "", 404, "there is nothing at this path"),
    ] {
        let (got, answer) = proxy.asked(method, path, body);
        assert_eq!(
            (got, answer["error"]["message"].as_str()),
            (status, Some(message)),
            "{method} {path} {body}"
        );
    }
    let (status, made) = proxy.asked("POST", "/v1/sessions", "");
    assert_eq!((status, &made["name"]), (201, &json!("session-1")));
    proxy.stop().exits(0);
}

#[test]
fn nothing_reaches_the_control_api_through_the_proxy() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    // A name that leads to our own door, known only once the proxy runs: given on a second start.
    let spare = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = sandbox
        .wiretape("proxy")
        .args(["--mode", "passthrough", "--loopback", "--control", &spare.to_string()])
        .args(["--connect-to", &format!("inside.test:80:{spare}")])
        .upstream(&upstream);
    let proxy = Served::start(&sandbox, run);
    let token = format!("authorization: Bearer {}", proxy.variable("WIRETAPE_CONTROL_TOKEN"));
    let port = spare.port();
    for host in [
        "inside.test".to_owned(),
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("0.0.0.0:{port}"),
    ] {
        let url = format!("http://{host}/v1/health");
        let words =
            ["curl", "-sS", "--noproxy", "", "--max-time", "20", "-H", &token, "-w", " %{http_code}", &url];
        let got = proxy.program("", &words).run();
        assert!(!got.stdout().ends_with(" 200") && !got.stdout().contains("\"pid\""), "{host}: {got}");
        assert!(got.stdout().contains("this proxy itself"), "{host}: {got}");
    }
    proxy.stop();
}

#[test]
fn control_is_for_this_machine_alone() {
    let sandbox = Sandbox::new();
    let words = ["--mode", "replay", "--sessions", "tapes", "--control", "0.0.0.0:0"];
    let refused = sandbox.wiretape("proxy").args(words).run().exits(2);
    assert!(refused.stderr().contains("0.0.0.0:0 is not a loopback address"), "{refused}");
}

#[test]
fn the_token_lies_where_only_its_owner_can_read_it_and_goes_with_the_proxy() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let proxy = Served::replaying(&sandbox, &["--sessions", "tapes", "--control", "127.0.0.1:0"]);
    let token = proxy.variable("WIRETAPE_CONTROL_TOKEN").to_owned();
    let files = wiretape_tests::traces::files(sandbox.root());
    let with: Vec<_> = files
        .iter()
        .filter(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains(&token)))
        .collect();
    assert_eq!(with.len(), 1, "{with:?}");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(with[0]), 0o600);
    assert_eq!(mode(&with[0].with_file_name("control.sock")), 0o600);
    let said = proxy.stop().exits(0);
    assert!(!said.stderr().contains(&token), "{said}");
    assert!(!with[0].exists());
}

#[test]
fn a_client_that_hangs_up_while_waiting_harms_nobody() {
    let sandbox = Sandbox::new();
    sandbox.write("a.yaml", cassette(&[("/", "a")]));
    let proxy = Served::replaying(&sandbox, &["-c", "a.yaml", "--control", "127.0.0.1:0"]);
    let address = proxy.variable("WIRETAPE_CONTROL").trim_start_matches("http://").to_owned();
    let token = proxy.variable("WIRETAPE_CONTROL_TOKEN");
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&address).unwrap();
        let body = "{\"timeout\": \"10m\"}";
        let head = format!(
            "POST /v1/sessions/default/wait HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
    }
    assert_eq!(proxy.get("", "https://api.test/"), "a 200");
    assert_eq!(proxy.told(&["wait", "default"])["seq"], 1);
    proxy.stop().exits(0);
}
