//! Heads, trailers and framing: what HTTP has besides a status and a body.

use std::io::Write;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::{
    gate::{Gate, Lab},
    h2,
    raw::{Answer, Raw},
    scripted::{Scripted, read_head},
};

#[test]
fn trailers_reach_an_http1_client_that_asks_for_them() {
    let both = Lab::new().both(|gate| https(gate, "/trailers", "te: trailers\r\nconnection: te\r\n"));
    assert!(both.recorded.text().starts_with("before the trailers "), "{both:?}");
    let names: Vec<&str> = both.recorded.trailers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x-checksum", "grpc-status"]);
    assert_eq!(both.recorded.trailers[1].1, b"0");
    assert_eq!(both.replayed.trailers, both.recorded.trailers);
    assert_eq!(both.replayed.body, both.recorded.body);
    both.cassette_says("trailers:");
}

#[test]
fn trailers_reach_an_http2_client() {
    let both = Lab::new().both(|gate| {
        h2::speak(gate, "faults.test", async |mut sender| {
            let request = Request::get("https://faults.test/trailers")
                .header("te", "trailers")
                .body(http_body_util::Empty::new().boxed_unsync());
            let response = sender.send_request(request.unwrap()).await.unwrap();
            let body = response.into_body().collect().await.unwrap();
            (body.trailers().cloned(), body.to_bytes())
        })
    });
    let trailers = both.recorded.0.as_ref().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
    assert_eq!(trailers.len(), 2);
    assert_eq!(both.replayed, both.recorded);
}

#[test]
fn trailers_of_a_request_go_upstream_and_on_the_cassette() {
    let both = Lab::new().both(|gate| {
        h2::speak(gate, "faults.test", async |mut sender| {
            let mut trailers = HeaderMap::new();
            trailers.insert("x-digest", "abc".parse().unwrap());
            let frames = [Ok(Frame::data(Bytes::from_static(b"sent"))), Ok(Frame::trailers(trailers))];
            let body = StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync();
            let request = Request::post("https://faults.test/echo").body(body).unwrap();
            let response = sender.send_request(request).await.unwrap();
            response.into_body().collect().await.unwrap().to_bytes()
        })
    });
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("trailers:");
}

#[test]
fn early_hints_are_kept_apart_from_the_answer() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        stream
            .write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone")
            .unwrap();
    });
    let both = Lab::new().map("hints.test:80", upstream.addr).both(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get("hints.test", "http://hints.test/", "");
        let mut answer = raw.answer().unwrap();
        // A proxy may forward them or not.
        if answer.status() == 103 {
            answer = raw.answer().unwrap();
        }
        (answer.status(), answer.text().to_owned())
    });
    assert_eq!(both.recorded, (200, "done".to_owned()));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("informational:")
        .cassette_says("status: 103")
        .cassette_says("link: '</style.css>; rel=preload'");
}

#[test]
fn a_client_that_waits_to_continue_is_told_to() {
    let body = "x".repeat(1_200_000);
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        let length = body.len();
        raw.send(format!(
            "POST /continue HTTP/1.1\r\nhost: faults.test\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
        ));
        let interim = raw.head().unwrap().line;
        raw.send(&body);
        (interim, raw.answer().unwrap())
    });
    assert_eq!(both.recorded.0, "HTTP/1.1 100 Continue");
    assert!(both.recorded.1.text().contains("\"length\":1200000"), "{:?}", both.recorded.1);
    assert_eq!(both.replayed, both.recorded);
}

#[test]
fn a_reply_to_head_keeps_the_length_of_what_get_would_bring() {
    // In the clear, so over HTTP/1.1: the stand-in sends a body to HEAD over HTTP/2.
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.send(
            "HEAD http://faults.test/big?bytes=12345&length=known HTTP/1.1\r\nhost: faults.test\r\n\r\n",
        );
        let head = raw.head().unwrap();
        // Another request on the same connection shows that no body came.
        raw.get("faults.test", "http://faults.test/repeat", "");
        (head, raw.answer().unwrap())
    });
    assert_eq!(both.recorded.0.header("content-length"), Some("12345"));
    assert_eq!(both.recorded.1.text(), "call 1");
    assert_eq!(both.replayed, both.recorded);
}

#[test]
fn answers_without_a_body_have_none() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        ["/status/204", "/status/304", "/repeat"].map(|path| {
            raw.get("faults.test", path, "");
            raw.answer().unwrap()
        })
    });
    let lines: Vec<&str> = both.recorded.iter().map(|answer| answer.line.as_str()).collect();
    assert_eq!(lines, ["HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified", "HTTP/1.1 200 OK"]);
    assert_eq!(both.recorded[0].header("content-length"), None);
    assert_eq!(both.replayed, both.recorded);
}

#[test]
fn a_chunked_upload_arrives_and_replays_whatever_its_chunks() {
    let mut lab = Lab::new();
    let upload = |gate: &Gate, chunks: &str| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.send(format!(
            "POST /echo HTTP/1.1\r\nhost: faults.test\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
        ));
        raw.answer().unwrap()
    };
    let recorded = lab.record(|gate| upload(gate, "5\r\nhello\r\n6\r\n world\r\n"));
    assert_eq!(lab.upstream().seen()[0].body, "hello world");
    let (replayed, outcome) = lab.replay(|gate| upload(gate, "b\r\nhello world\r\n"));
    outcome.exits(0);
    assert_eq!(replayed, recorded);
}

#[test]
fn a_repeated_header_stays_repeated_and_in_order() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nx-first: 1\r\nx-many: a\r\nx-between: 2\r\nx-many: b\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
    });
    let both = Lab::new().map("many.test:80", upstream.addr).both(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get("many.test", "http://many.test/", "");
        let answer = raw.answer().unwrap();
        let own = answer.headers.into_iter().filter(|(name, _)| name.starts_with("x-"));
        own.map(|(name, value)| format!("{name}: {}", String::from_utf8(value).unwrap())).collect::<Vec<_>>()
    });
    let values: Vec<&str> = both.recorded.iter().filter_map(|h| h.strip_prefix("x-many: ")).collect();
    assert_eq!(values, ["a", "b"]);
    assert_eq!(both.replayed, both.recorded);
}

#[test]
fn two_cookies_are_set_by_two_headers() {
    let both = Lab::new().both(|gate| {
        let answer = https(gate, "/cookie", "");
        let cookies = answer.headers.into_iter().filter(|(name, _)| name == "set-cookie");
        cookies
            .map(|(_, value)| String::from_utf8(value).unwrap().split('=').next().unwrap().to_owned())
            .collect::<Vec<_>>()
    });
    assert_eq!(both.recorded, ["session", "theme"]);
    assert_eq!(both.replayed, both.recorded);
}

#[test]
fn bytes_that_are_not_utf8_survive_in_headers_bodies_and_reasons() {
    let upstream = Scripted::start(|mut stream| {
        read_head(&stream);
        stream
            .write_all(
                b"HTTP/1.1 299 Quite Fine\r\nx-name: caf\xe9\r\ncontent-length: 4\r\n\r\n\xe9\x00\xff\n",
            )
            .unwrap();
    });
    let both = Lab::new().map("odd.test:80", upstream.addr).both(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get("odd.test", "http://odd.test/", "");
        raw.answer().unwrap()
    });
    let name = both.recorded.headers.iter().find(|(name, _)| name == "x-name").unwrap();
    assert_eq!(name.1, b"caf\xe9");
    assert_eq!(both.recorded.body, b"\xe9\x00\xff\n");
    assert_eq!(both.recorded.line, "HTTP/1.1 299 Quite Fine");
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("reason: Quite Fine");
}

#[test]
fn a_body_in_latin1_survives() {
    let both = Lab::new().both(|gate| https(gate, "/latin1", ""));
    assert!(both.recorded.body.starts_with(b"caf\xe9 "), "{both:?}");
    assert_eq!(both.replayed, both.recorded);
}

fn https(gate: &Gate, path: &str, more: &str) -> Answer {
    let mut raw = Raw::https(gate, "faults.test");
    raw.get("faults.test", path, more);
    raw.answer().unwrap()
}
