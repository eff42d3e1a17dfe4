//! Bodies of requests and replies on the cassette: whole whatever the upstream reads of them, and readable.

use std::{fs, io, io::Write};

use wiretape_tests::{
    sandbox::{Invocation, Sandbox},
    shell::shell,
    traces::files,
};

use super::{
    gate::{Gate, Lab},
    raw::{Ending, Raw},
    scripted::{Scripted, read_head},
};

#[test]
fn an_upload_that_is_answered_before_it_is_read_is_recorded_whole() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 7\r\n\r\nwho are").unwrap();
        // As servers do, so that the answer is not lost with the connection.
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    early_answer(&upstream, "401 who are");
}

#[test]
fn an_upload_that_is_answered_without_a_body_before_it_is_read_is_recorded_whole() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").unwrap();
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    early_answer(&upstream, "401 ");
}

#[test]
fn a_client_that_sends_on_after_an_early_answer_is_recorded_whole() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 7\r\n\r\nwho are").unwrap();
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    let body = "all of it ".repeat(800_000);
    let lab = Lab::new().map("early.test:80", upstream.addr);
    let both = lab.both(|gate| {
        let mut raw = Raw::open(gate.addr);
        let length = body.len();
        raw.send(format!(
            "POST http://early.test/ HTTP/1.1\r\nhost: early.test\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
        let answer = raw.answer().unwrap();
        (answer.status(), answer.text().to_owned())
    });
    assert_eq!(both.recorded, (401, "who are".to_owned()));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("size: 8000000");
}

#[test]
fn a_request_that_never_ends_is_waited_for_and_told_of_once() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 7\r\n\r\nwho are").unwrap();
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    let sandbox = Sandbox::new();
    let script = "import os, socket, urllib.parse as u
proxy = u.urlsplit(os.environ['HTTP_PROXY'])
s = socket.create_connection((proxy.hostname, proxy.port))
s.sendall(b'POST http://early.test/ HTTP/1.1\\r\\nhost: early.test\\r\\ncontent-length: 99\\r\\n\\r\\nabc')
got = b''
while not got.endswith(b'who are'):
    got += s.recv(999)
print(got.decode().split()[1])";
    let map = format!("early.test:80:{}", upstream.addr);
    let run = sandbox.wiretape("record").args(["--connect-to", &map]).cassette(CASSETTE);
    let outcome = run.child(["python3", "-c", script]).run().exits(0);
    assert_eq!(outcome.stdout(), "401\n");
    assert_eq!(outcome.stderr().matches("is kept in part").count(), 1, "{outcome}");
    assert!(sandbox.read(CASSETTE).contains("text: abc\n"), "{}", sandbox.read(CASSETTE));
}

/// Uploads 8 MB to an upstream that answers at once, and again on replay.
#[track_caller]
fn early_answer(upstream: &Scripted, answer: &str) {
    let sandbox = Sandbox::new();
    let body: Vec<u8> = (0..8_000_000_u32).map(|n| b'a' + (n / 7 % 23) as u8).collect();
    sandbox.write("body.txt", &body);
    let run = |run| -> Invocation<'_> {
        let script = "curl -sS -H 'expect:' -H 'content-type: text/plain' --data-binary @body.txt -o answer \
                      -w '%{http_code} ' http://early.test/; cat answer";
        shell(run, CASSETTE, script)
    };
    let map = format!("early.test:80:{}", upstream.addr);
    let recorded = run(sandbox.wiretape("record").args(["--connect-to", &map])).run().exits(0);
    assert_eq!(recorded.stdout(), answer);
    let blobs = files(&sandbox.path(format!("{CASSETTE}.blobs")));
    assert_eq!(blobs.len(), 1, "{}", sandbox.read(CASSETTE));
    assert!(fs::read(&blobs[0]).unwrap() == body, "the blob is not the body that was sent");

    let replayed = run(sandbox.replay().arg("--strict")).run().exits(0);
    assert_eq!(replayed.stdout(), answer);
}

#[test]
fn an_empty_post_keeps_its_length_of_zero() {
    let lab = Lab::new();
    lab.record(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.send("POST /echo HTTP/1.1\r\nhost: faults.test\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(raw.answer().unwrap().status(), 200);
        let mut raw = Raw::open(gate.addr);
        raw.send("POST http://faults.test/echo HTTP/1.1\r\nhost: faults.test\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(raw.answer().unwrap().status(), 200);
        // Nothing is made up where none was said.
        raw.get("faults.test", "http://faults.test/echo", "");
        assert_eq!(raw.answer().unwrap().status(), 200);
    });
    let seen = lab.upstream().seen();
    let lengths: Vec<Option<&str>> = seen.iter().map(|request| request.header("content-length")).collect();
    assert_eq!(lengths, [Some("0"), Some("0"), None]);
}

#[test]
fn a_post_that_is_refused_is_recorded_with_its_body() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::https(gate, "refused.test");
        raw.send("POST /jobs HTTP/1.1\r\nhost: refused.test\r\ncontent-type: text/plain\r\ncontent-length: 9\r\n\r\nthe order");
        raw.rest()
    });
    assert_eq!(both.recorded, (Vec::new(), Ending::Reset));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("text: the order").cassette_says("fault: refused");
}

#[test]
fn compact_json_is_shown_as_json_even_with_punctuation_in_its_texts() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        let length = JSON.len();
        stream
            .write_all(format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{JSON}").as_bytes())
            .unwrap();
    });
    let both = Lab::new().map("json.test:80", upstream.addr).both(|gate| post_json(gate, JSON));
    assert_eq!(both.recorded, JSON);
    assert_eq!(both.replayed, JSON);
    assert_eq!(both.cassette.matches("        json:\n").count(), 2, "{}", both.cassette);
    assert!(!both.cassette.contains("text:"), "{}", both.cassette);
    assert!(!both.cassette.contains("json_style:"), "{}", both.cassette);
}

fn post_json(gate: &Gate, body: &str) -> String {
    let mut raw = Raw::open(gate.addr);
    let length = body.len();
    raw.send(format!("POST http://json.test/ HTTP/1.1\r\nhost: json.test\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"));
    raw.answer().unwrap().text().to_owned()
}

/// Compact, but as spaced JSON would look to a search for its separators.
const JSON: &str = r#"{"note":"first, then: last","list":["a, b","c: d"],"quote":"say \"x\", \"y\": z"}"#;
const CASSETTE: &str = "cassettes/bodies.yaml";
