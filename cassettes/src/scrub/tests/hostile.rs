//! Bodies that were made to hide something, to break something, or to take long.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use exchange::{Body, End, Message, Peer, Piece};
use flate2::{Compression, write::GzEncoder};

use super::{super::shapes::tests::*, *};

fn answered(media: &str, body: impl Into<Vec<u8>>) -> Exchange {
    Exchange {
        id: 1,
        at: Duration::ZERO,
        request: request("https://a.test/", &[]),
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: headers(&[("content-type", media)]),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::from_bytes(body.into()),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    }
}

fn said(from: Peer, piece: Piece) -> Message {
    Message { from, after: Duration::ZERO, piece }
}

fn conversation(messages: Vec<Message>) -> Exchange {
    let mut exchange = answered("text/plain", "");
    let Reply::Response(response) = &mut exchange.reply else { unreachable!() };
    response.messages = messages;
    exchange
}

fn scrubbed(media: &str, body: impl Into<Vec<u8>>) -> String {
    let scrubbed = Scrubber::new().exchange(answered(media, body)).unwrap();
    String::from_utf8_lossy(scrubbed.reply.response().unwrap().body.bytes().unwrap()).into_owned()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn github_token(seed: u64) -> String {
    token(25, &mut Draw::new(seed)).1
}

#[test]
fn files_packed_in_files_without_end_come_to_one() {
    let packed = (0..2_000).fold(b"deep".to_vec(), |inner, _| gzip(&inner));
    let exchange = Scrubber::new().exchange(answered("application/octet-stream", packed)).unwrap();
    assert_eq!(found_in(&exchange), []);
    let mut renumbered = exchange.into_inner();
    Placeholders::new().renumber(&mut renumbered);
}

#[test]
fn a_secret_over_two_messages_is_replaced_in_the_first_and_gone_from_the_second() {
    let token = github_token(1);
    let (a, b) = token.split_at(20);
    let texts = [format!("your key is {a}"), format!("{b} ok")];
    let talk = texts.map(|text| said(Peer::Server, Piece::Text(text))).to_vec();
    let scrubbed = Scrubber::new().exchange(conversation(talk)).unwrap();
    let pieces: Vec<_> =
        scrubbed.reply.response().unwrap().messages.iter().map(|m| m.piece.clone()).collect();
    let expected = ["your key is {{redacted:github_token:1}}", " ok"];
    assert_eq!(pieces, expected.map(|text| Piece::Text(text.to_owned())));
}

#[test]
fn packed_messages_are_each_a_file_of_their_own() {
    let texts = ["hello there", &format!("token {}", github_token(2)), "bye bye"];
    let talk = texts.map(|text| said(Peer::Server, Piece::Binary(gzip(text.as_bytes()).into()))).to_vec();
    let scrubbed = Scrubber::new().exchange(conversation(talk)).unwrap();
    let mut unpacked = Vec::new();
    for message in &scrubbed.reply.response().unwrap().messages {
        let Piece::Binary(bytes) = &message.piece else { unreachable!() };
        super::super::encoded::in_compressed(bytes, 1_000, &mut |content| {
            unpacked.push(String::from_utf8(content.to_vec()).unwrap());
            None
        });
    }
    assert_eq!(unpacked, ["hello there", "token {{redacted:github_token:1}}", "bye bye"]);
}

#[test]
fn several_secrets_under_one_name_stay_several() {
    let line = |n: u32, key: &str| format!("{{\"user\":\"u{n}\",\"api_key\":\"{key}\"}}\n");
    let body: String = (1..4).map(|n| line(n, &format!("Zk8{n}-xTTw0-aB7{n}"))).collect();
    let expected: String = (1..4).map(|n| line(n, &format!("{{{{redacted:secret:{n}}}}}"))).collect();
    assert_eq!(scrubbed("application/x-ndjson", body), expected);
    let word = |t: &str| format!("data: {{\"logprobs\":{{\"content\":[{{\"token\":\"{t}\"}}]}}}}\n\n");
    let answer: String = ["6fa4", "59ea-ee", "8a-3ca4-894e-", "db77e160355e"].map(word).concat();
    assert_eq!(scrubbed("text/event-stream", answer.clone()), answer);
}

#[test]
fn choices_of_one_stream_do_not_run_into_each_other() {
    let token = github_token(3);
    let delta = |index: u8, text: &str| {
        format!("data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let body =
        [delta(0, &token[..20]), delta(1, "hello"), delta(0, &format!("{} done", &token[20..]))].concat();
    let expected = [delta(0, "{{redacted:github_token:1}}"), delta(1, "hello"), delta(0, " done")].concat();
    assert_eq!(scrubbed("text/event-stream", body), expected);
}

#[test]
fn what_stands_around_the_parts_of_a_body_is_looked_at_too() {
    let token = github_token(4);
    for body in [
        format!("{token}\r\n--b\r\n\r\nhi\r\n--b--\r\n"),
        format!("--b\r\n\r\nhi\r\n--b--\r\n{token}"),
        format!("--b\r\n\r\n--b--1\r\n\r\n{token}\r\n--b--1--\r\n--b--\r\n"),
    ] {
        let left = scrubbed("multipart/mixed; boundary=b", body.clone());
        assert_eq!(left, body.replace(&token, "{{redacted:github_token:1}}"));
    }
}

#[test]
fn lines_that_are_no_text_are_unpacked_first() {
    let mut packed = gzip(format!("{{\"a\":\"{}\"}}\n", github_token(5)).as_bytes());
    packed.truncate(packed.len() - 6);
    let mut exchange = answered("application/x-ndjson", packed);
    let Reply::Response(response) = &mut exchange.reply else { unreachable!() };
    response.headers.push(Header::new("content-encoding", "gzip").unwrap());
    let scrubbed = Scrubber::new().exchange(exchange).unwrap();
    let found = found_in(&scrubbed);
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn names_count_in_documents_that_are_cut_or_only_look_like_one_or_follow_another() {
    for (body, left) in [
        (r#"{"password":"[Tr0ub4dor&3x]"}"#, r#"{"password":"{{redacted:secret:1}}"}"#),
        (
            "{\n  \"password\": \"hunter2\",\n  \"x\": \"",
            "{\n  \"password\": \"{{redacted:secret:1}}\",\n  \"x\": \"",
        ),
        (r#"{"a":1,"api_key":"abcd1234"#, r#"{"a":1,"api_key":"{{redacted:secret:1}}"#),
        ("{\"a\":1}\n{\"password\":\"hunter2\"}", "{\"a\":1}\n{\"password\":\"{{redacted:secret:1}}\"}"),
    ] {
        assert_eq!(scrubbed("application/json", body), left);
    }
}

#[test]
fn the_beginning_of_a_key_in_one_value_hides_nothing_in_the_next() {
    let token = github_token(6);
    let (begin, end) = (["-----BEGIN PRIVATE", " KEY"].concat(), ["-----END PRIVATE", " KEY-----"].concat());
    let body = |middle: &str| format!("{{\"a\":\"{begin}\",\"b\":\"{middle}\",\"c\":\"{end}\"}}");
    assert_eq!(scrubbed("application/json", body(&token)), body("{{redacted:github_token:1}}"));
}

#[test]
fn the_text_of_an_error_is_not_looked_for_elsewhere() {
    let mut scrubber = Scrubber::new();
    scrubber
        .exchange(answered(
            "application/json",
            r#"{"errors":{"password":["is too short"],"secret":"optional"}}"#,
        ))
        .unwrap();
    let body = r#"{"note":"this is too short, and optional"}"#;
    let later = scrubber.exchange(answered("application/json", body)).unwrap();
    assert_eq!(later.reply.response().unwrap().body.bytes().unwrap().as_ref(), body.as_bytes());
}

#[test]
fn prose_with_dots_is_no_masked_key() {
    let mut scrubber = Scrubber::new().knowing([("A_TOKEN", b"test-Pw-2024".as_slice())]);
    let text = "in the latest... we see, this is a test... ok";
    let scrubbed = scrubber.exchange(answered("text/plain", text)).unwrap();
    assert_eq!(scrubbed.reply.response().unwrap().body.bytes().unwrap().as_ref(), text.as_bytes());
}

#[test]
fn a_header_that_names_a_thing_is_the_same_thing_in_the_next_url() {
    let mut scrubber = Scrubber::new();
    let job = "job9f8e7d6c5b4a39281706f5e4";
    let mut exchange = answered("text/plain", "");
    let Reply::Response(response) = &mut exchange.reply else { unreachable!() };
    response.headers.push(Header::new("x-job-ref", job).unwrap());
    let first = scrubber.exchange(exchange).unwrap();
    assert_eq!(first.reply.response().unwrap().headers.text("x-job-ref"), Some("{{redacted:opaque:1}}"));
    let second = scrubber.request(request(&format!("https://a.test/jobs/{job}"), &[]));
    assert_eq!(second.url.path, "/jobs/{{redacted:opaque:1}}");
}

/// Two hundred times what it takes on a slow machine. What is quadratic takes thousands of times as long.
#[test]
fn no_body_takes_for_ever() {
    let many = |kind: usize| -> String {
        let mut draw = Draw::new(9);
        (0..4_000).map(|_| token(kind, &mut draw).1 + " ").collect()
    };
    let event = |n: usize| format!("data: {{\"a\":\"Zk81-xTTw0-aB77 {n}\"}}\n\n");
    for (name, media, body) in [
        ("addresses", "text/plain", "://a".repeat(40_000)),
        ("queries", "text/plain", "://?key=a&".repeat(20_000)),
        ("tokens that begin alike", "text/plain", many(47)),
        ("other tokens", "text/plain", many(25)),
        ("keys without an end", "text/plain", ["-----BEGIN RSA PRIVATE", " KEY "].concat().repeat(6_000)),
        ("a known value in every event", "text/event-stream", (0..5_000).map(event).collect()),
        ("masks", "text/plain", "*** ".repeat(40_000)),
        ("escapes", "text/plain", "%25252541&amp;amp;\\\\".repeat(8_000)),
        ("brackets", "application/json", "[".repeat(200_000)),
    ] {
        let mut scrubber = Scrubber::new().knowing([("A_TOKEN", b"Zk81-xTTw0-aB77".as_slice())]);
        let began = Instant::now();
        scrubber.exchange(answered(media, body)).unwrap();
        assert!(began.elapsed() < Duration::from_secs(20), "{name}: {:?}", began.elapsed());
    }
}
