//! HTTP archives.

use std::time::Duration;

use exchange::{Coding, Peer, Piece};
use wiretape_cassettes::import::{Format, Repair};

use crate::{asked, body, import, only, response};

fn archive(entries: &[String]) -> String {
    format!("{{\"log\": {{\"version\": \"1.2\", \"creator\": {{}}, \"entries\": [{}]}}}}", entries.join(","))
}

fn entry(at: &str, request: &str, response: &str) -> String {
    format!(
        "{{\"startedDateTime\": \"2024-05-01T10:00:{at}Z\", \"timings\": {{\"wait\": 12.7}}, \"request\": {{\"method\": \
         \"POST\", \"url\": \"https://a.test/{at}\", \"headers\": [{{\"name\": \":authority\", \"value\": \"a.test\"}}]\
         {request}}}, \"response\": {{\"status\": 200, \"statusText\": \"Fine\", {response}}}}}"
    )
}

#[test]
fn an_entry_keeps_its_time_and_its_wait() {
    let response_ = "\"headers\": [], \"content\": {\"mimeType\": \"text/plain\", \"text\": \"hi\"}";
    let imported = import(&archive(&[entry("02.500", "", response_), entry("01.000", "", response_)]));
    assert_eq!((imported.format, &imported.cassette.policy), (Format::Har, &None));
    let [first, second] = imported.cassette.exchanges.as_slice() else { panic!() };
    assert_eq!(first.request.url.path, "/01.000", "entries come in the order of their time");
    assert_eq!((first.at, second.at), (Duration::ZERO, Duration::from_millis(1500)));
    assert_eq!(response(first).after, Duration::from_millis(12));
    assert_eq!(response(first).reason.as_deref(), Some("Fine"));
    assert!(first.request.headers.is_empty(), "pseudo-headers are in the URL");
    assert_eq!(response(first).headers.text("content-type"), Some("text/plain"));
}

#[test]
fn content_has_lost_its_coding_and_gets_it_back() {
    let gzip = "\"headers\": [{\"name\": \"content-encoding\", \"value\": \"gzip\"}], \"content\": {\"text\": \"hi\"}";
    let imported = import(&archive(&[entry("01", "", gzip)]));
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(
        (body(exchange), response(exchange).body.codings.as_slice()),
        (b"hi".as_slice(), [Coding::Gzip].as_slice())
    );
    assert_eq!(imported.repairs, [(Repair::CodingRestored, 1)]);
}

#[test]
fn base64_and_the_pieces_of_polly_are_bytes() {
    let plain = "\"headers\": [], \"content\": {\"encoding\": \"base64\", \"text\": \"AP8=\"}";
    assert_eq!(body(&only(&archive(&[entry("01", "", plain)]))), [0, 0xff]);
    let pieces = "\"headers\": [{\"name\": \"content-encoding\", \"value\": \"gzip\"}], \"content\": {\"encoding\": \
                  \"base64\", \"text\": \"[\\\"H4sIAAAAAAAA\\\",\\\"A8tIzcnJBwCGphA2BQAAAA==\\\"]\"}";
    let exchange = only(&archive(&[entry("01", "", pieces)]));
    assert_eq!(
        (body(&exchange), response(&exchange).body.codings.as_slice()),
        (b"hello".as_slice(), [Coding::Gzip].as_slice())
    );
}

#[test]
fn a_request_body_is_text_structure_or_a_form() {
    let none = "\"headers\": [], \"content\": {}";
    for (data, expected) in [
        (r#"{"mimeType": "a/b", "text": "x"}"#, "x"),
        (r#"{"mimeType": "a/b", "textJSON": {"a": [1]}}"#, r#"{"a":[1]}"#),
        (
            r#"{"mimeType": "a/b", "params": [{"name": "a b", "value": "ü&"}, {"name": "c"}]}"#,
            "a+b=%C3%BC%26&c=",
        ),
        (r#"{"mimeType": "a/b", "encoding": "base64", "text": "eA=="}"#, "x"),
    ] {
        let exchange = only(&archive(&[entry("01", &format!(", \"postData\": {data}"), none)]));
        assert_eq!(asked(&exchange), expected.as_bytes(), "{data}");
    }
}

#[test]
fn an_entry_without_a_response_is_left_out_with_the_reason() {
    let entry = entry("01", "", "\"headers\": []")
        .replace("\"status\": 200", "\"status\": 0, \"_error\": \"net::ERR\"");
    let imported = import(&archive(&[entry]));
    assert_eq!(imported.cassette.exchanges, []);
    assert_eq!(imported.skipped[0].reason, "no response came (net::ERR)");
}

#[test]
fn websocket_messages_are_a_conversation() {
    let entry = entry("01", "", "\"headers\": []").replace(
        "{\"startedDateTime\"",
        "{\"_webSocketMessages\": [{\"type\": \"send\", \"time\": 10.0, \"opcode\": 1, \"data\": \"hi\"}, {\"type\": \
         \"receive\", \"time\": 10.25, \"opcode\": 2, \"data\": \"AP8=\"}], \"startedDateTime\"",
    );
    let exchange = only(&archive(&[entry]));
    assert_eq!(response(&exchange).status, 101);
    let said: Vec<_> =
        response(&exchange).messages.iter().map(|m| (m.from, m.after.as_millis(), m.piece.clone())).collect();
    assert_eq!(
        said,
        [
            (Peer::Client, 0, Piece::Text("hi".into())),
            (Peer::Server, 250, Piece::Binary(vec![0, 0xff].into())),
        ]
    );
}
