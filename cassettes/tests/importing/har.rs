//! HTTP archives.

use std::time::Duration;

use bytes::Bytes;
use exchange::{Coding, Peer, Piece};
use wiretape_cassettes::import::{Format, Options, Repair, Source, import as take_in};

use crate::{asked, body, import, only, pairs, response};

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

fn skipped(entry: String) -> String {
    let imported = import(&archive(&[entry]));
    assert_eq!(imported.cassette.exchanges, []);
    imported.skipped[0].reason.clone()
}

#[test]
fn a_body_that_the_archive_has_not_kept_leaves_its_exchange_out() {
    let length = "{\"name\": \"Content-Length\", \"value\": \"44\"}";
    for (response, size) in [
        ("\"headers\": [], \"content\": {\"size\": 12, \"mimeType\": \"text/plain\"}".to_owned(), 12),
        (format!("\"headers\": [{length}], \"content\": {{\"size\": -1}}"), 44),
        ("\"headers\": [], \"bodySize\": 7, \"content\": {}".to_owned(), 7),
    ] {
        let why = format!("the archive has not kept the {size} bytes of its response");
        assert_eq!(skipped(entry("01", "", &response)), why);
    }
    let request = ", \"bodySize\": 900";
    let none = "\"headers\": [], \"content\": {}";
    assert_eq!(skipped(entry("01", request, none)), "the archive has not kept the 900 bytes that were sent");
    let request = ", \"bodySize\": 900, \"postData\": {\"mimeType\": \"image/png\", \"params\": []}";
    assert_eq!(skipped(entry("01", request, none)), "the archive has not kept the 900 bytes that were sent");
}

#[test]
fn a_response_that_had_no_body_is_complete_without_one() {
    let length = "{\"name\": \"content-length\", \"value\": \"44\"}";
    let gzip = "{\"name\": \"content-encoding\", \"value\": \"gzip\"}";
    for (method, status, response) in [
        ("HEAD", 200, format!("\"headers\": [{length}], \"content\": {{\"size\": 0}}")),
        ("GET", 304, format!("\"headers\": [{length}], \"content\": {{\"size\": 0}}")),
        ("GET", 200, format!("\"headers\": [{gzip}], \"bodySize\": 20, \"content\": {{\"size\": 0}}")),
        ("GET", 200, "\"headers\": [], \"bodySize\": -1, \"content\": {\"size\": 0}".to_owned()),
    ] {
        let entry = entry("01", ", \"bodySize\": -1", &response)
            .replace("POST", method)
            .replace("\"status\": 200", &format!("\"status\": {status}"));
        assert_eq!(body(&only(&archive(&[entry]))), b"", "{method} {status}");
    }
}

#[test]
fn a_redirect_plays_without_the_page_that_browsers_drop() {
    let fields = "\"headers\": [{\"name\": \"Location\", \"value\": \"/b\"}, {\"name\": \"Content-Length\", \"value\": \
                    \"154\"}], \"content\": {\"size\": 0}";
    let entry = entry("01", "", fields).replace("\"status\": 200", "\"status\": 302");
    let imported = import(&archive(&[entry]));
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(pairs(&response(exchange).headers), [("location", "/b")]);
    assert_eq!(imported.repairs, [(Repair::RedirectEmptied, 1)]);
}

#[test]
fn bodies_beside_the_archive_are_read_and_no_others() {
    let beside = |name: &str| Ok((name == "abc.html").then(|| Bytes::from_static(b"from beside")));
    let with = |name: &str| {
        let request =
            format!(", \"bodySize\": 11, \"postData\": {{\"mimeType\": \"a/b\", \"_file\": \"{name}\"}}");
        let response = format!("\"headers\": [], \"content\": {{\"size\": 11, \"_file\": \"{name}\"}}");
        let text = archive(&[entry("01", &request, &response)]);
        let source = Source { name: "a.har", bytes: text.as_bytes(), beside: &beside };
        take_in(source, None, &Options::default()).map_err(|refusal| refusal.to_string())
    };
    let imported = with("abc.html").unwrap();
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!((asked(exchange), body(exchange)), (b"from beside".as_slice(), b"from beside".as_slice()));
    for (name, why) in [
        ("../abc.html", "this name leads out of the recording's own folder"),
        ("none.html", "the file \"none.html\" that this names is not there"),
    ] {
        assert!(with(name).unwrap_err().ends_with(why), "{name}");
    }
}

#[test]
fn fields_that_a_browser_joined_are_several_again() {
    let fields =
        "\"headers\": [{\"name\": \"set-cookie\", \"value\": \"a=1\\nb=2\"}], \"content\": {\"text\": \"x\"}";
    let exchange = only(&archive(&[entry("01", "", fields)]));
    let names: Vec<&str> = pairs(&response(&exchange).headers).iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["set-cookie", "set-cookie"]);
}

#[test]
fn a_conversation_can_be_asked_for_even_if_its_handshake_is_not_listed() {
    let messages =
        "{\"_webSocketMessages\": [{\"type\": \"send\", \"time\": 1, \"opcode\": 1, \"data\": \"hi\"}], ";
    for (method, status) in [("GET", 101), ("CONNECT", 200)] {
        let entry = entry("01", "", "\"headers\": []")
            .replacen('{', messages, 1)
            .replace("POST", method)
            .replace("\"status\": 200", &format!("\"status\": {status}"));
        let exchange = only(&archive(&[entry]));
        assert!(exchange.request.is_websocket(), "{method}");
        assert_eq!((exchange.request.method.as_str(), response(&exchange).status), ("GET", 101));
    }
}
