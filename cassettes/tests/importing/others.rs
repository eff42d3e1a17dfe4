//! go-vcr, Azure's test proxy, buffr, mitmproxy's flows, and realtime messages.

use exchange::{Coding, Peer, Piece};
use matchers::Compare;
use wiretape_cassettes::import::{Format, Imported, Options, Refusal, Repair, Source};

use crate::{asked, body, import, import_as, nothing_beside, only, pairs, refusal, response};

const GO: &str = "\
version: 2
interactions:
- id: 0
  request:
    host: a.test
    body: ''
    form: {}
    headers: {Accept: [x/y]}
    url: https://a.test/p
    method: POST
  response:
    trailer: {X-End: [z]}
    uncompressed: false
    body: hello
    headers: {Content-Type: [text/plain]}
    status: 201 Made
    code: 201
    duration: 1.25s
";

#[test]
fn a_go_interaction_is_an_exchange() {
    let imported = import(GO);
    assert_eq!(
        (imported.format, imported.cassette.policy.as_ref().unwrap().compare),
        (Format::GoVcr, Compare::Uri)
    );
    let exchange = &imported.cassette.exchanges[0];
    let response = response(exchange);
    assert_eq!(
        (response.status, response.reason.as_deref(), response.after.as_millis()),
        (201, Some("Made"), 1250)
    );
    assert_eq!((body(exchange), pairs(&response.trailers)), (b"hello".as_slice(), vec![("x-end", "z")]));
}

#[test]
fn a_coding_that_go_undid_was_on_the_wire() {
    let imported = import(&GO.replace("uncompressed: false", "uncompressed: true"));
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(response(exchange).headers.text("content-encoding"), Some("gzip"));
    assert_eq!(
        (body(exchange), response(exchange).body.codings.as_slice()),
        (b"hello".as_slice(), [Coding::Gzip].as_slice())
    );
    assert!(imported.repairs.contains(&(Repair::CodingHeaderRestored, 1)));
}

#[test]
fn a_form_that_go_read_is_written_again_and_version_one_has_no_duration() {
    let text = GO
        .replace("form: {}", "form: {a: ['1 2', '3'], b: ['']}")
        .replace("    duration: 1.25s\n", "    duration: ''\n");
    let exchange = only(&text.replace("version: 2", "version: 1"));
    assert_eq!((asked(&exchange), response(&exchange).after.as_millis()), (b"a=1+2&a=3&b=".as_slice(), 0));
}

fn azure(content_type: &str, body: &str) -> String {
    format!(
        "{{\"Entries\": [{{\"RequestUri\": \"https://a.test/\", \"RequestMethod\": \"GET\", \"RequestHeaders\": {{}}, \
         \"RequestBody\": null, \"StatusCode\": 200, \"ResponseHeaders\": {{\"Content-Type\": \"{content_type}\"}}, \
         \"ResponseBody\": {body}}}], \"Variables\": {{}}}}"
    )
}

#[test]
fn a_body_of_azure_is_read_by_its_type() {
    for (media, kept, expected) in [
        ("application/json", "{\"a\": [1, 2]}", "{\"a\":[1,2]}"),
        ("application/json", "[1, 2]", "[1,2]"),
        ("application/json; charset=utf-8", "[\"[\\n\", \"  1\\n]\"]", "[\n  1\n]"),
        ("text/plain", "\"plain\"", "plain"),
        ("application/octet-stream", "\"aGk=\"", "hi"),
        (
            "multipart/mixed; boundary=x",
            "[\"--x\\r\\n\", \"b64:aGk=\", \"\\r\\n--x--\"]",
            "--x\r\nhi\r\n--x--",
        ),
        ("text/plain", "[]", ""),
        ("application/json", "true", "true"),
    ] {
        let exchange = only(&azure(media, kept));
        assert_eq!(String::from_utf8_lossy(body(&exchange)), expected, "{media} {kept}");
    }
    assert_eq!(import(&azure("a/b", "null")).format, Format::Azure);
}

#[test]
fn buffr_keeps_the_times_of_its_pieces() {
    let text = "{\"version\": 1, \"interactions\": [{\"type\": \"http\", \"http\": {\"request\": {\"method\": \"POST\", \
                \"host\": \"a.test\", \"path\": \"/p\", \"query\": {\"a\": \"b\"}, \"headers\": {}, \"body\": \"x\"}, \
                \"response\": {\"status\": 200, \"headers\": {\"content-type\": \"text/event-stream\"}, \"body_chunks\": \
                [{\"delay_ms\": 5, \"data\": \"data: a\\n\\n\"}, {\"delay_ms\": 7, \"data_b64\": \"ZGF0YTogYgoK\"}]}}}]}";
    let exchange = only(text);
    assert_eq!(exchange.request.url.to_string(), "https://a.test/p?a=b");
    let frames: Vec<_> =
        response(&exchange).body.frames.iter().map(|f| (f.len, f.after.as_millis())).collect();
    assert_eq!((body(&exchange), frames), (b"data: a\n\ndata: b\n\n".as_slice(), vec![(9, 5), (9, 7)]));
}

#[test]
fn buffr_keeps_conversations_and_needs_a_host() {
    let text = "{\"version\": 1, \"interactions\": [{\"type\": \"websocket\", \"websocket\": {\"request\": {\"path\": \"/w\", \
                \"headers\": {}}, \"frames\": [{\"direction\": \"server\", \"opcode\": \"text\", \"data\": \"hi\", \
                \"delay_ms\": 3}, {\"direction\": \"client\", \"opcode\": \"ping\"}, {\"direction\": \"client\", \"opcode\": \
                \"binary\", \"data_b64\": \"AP8=\"}, {\"direction\": \"server\", \"opcode\": \"close\", \"close_code\": 1000}]}}]}";
    assert_eq!(refusal(text), "the recording does not say which host it was");
    let options = Options { origin: exchange::Url::parse("https://a.test/").ok(), ..Options::default() };
    let imported = import_as("a.json", text, &options).unwrap();
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(
        (exchange.request.url.to_string().as_str(), response(exchange).status),
        ("https://a.test/w", 101)
    );
    let said: Vec<_> = response(exchange).messages.iter().map(|m| (m.from, m.piece.clone())).collect();
    assert_eq!(
        said,
        [
            (Peer::Server, Piece::Text("hi".into())),
            (Peer::Client, Piece::Binary(vec![0, 0xff].into())),
            (Peer::Server, Piece::Close(Some((1000, String::new())))),
        ]
    );
}

#[test]
fn realtime_messages_need_a_url_and_a_close_starts_the_next_conversation() {
    let text = "interactions:\n- {kind: message, direction: sent, data: {a: 1}}\n- {kind: close, code: 1011, reason: x}\n- {kind: message, direction: received, data: {b: 2}}\nversion: 1\n";
    assert_eq!(refusal(text), "2:1: the recording does not say which URL the WebSocket had");
    let options = Options { origin: exchange::Url::parse("https://a.test/ws").ok(), ..Options::default() };
    let imported = import_as("a.yaml", text, &options).unwrap();
    assert_eq!(imported.format, Format::Realtime);
    let said: Vec<Vec<Piece>> = imported
        .cassette
        .exchanges
        .iter()
        .map(|e| response(e).messages.iter().map(|m| m.piece.clone()).collect())
        .collect();
    assert_eq!(
        said,
        [
            vec![Piece::Text("{\"a\":1}".into()), Piece::Close(Some((1011, "x".into())))],
            vec![Piece::Text("{\"b\":2}".into())],
        ]
    );
}

/// Tnetstrings, written from what they hold.
fn bytes(payload: &[u8]) -> Vec<u8> {
    tagged(payload, b',')
}

fn tagged(payload: &[u8], tag: u8) -> Vec<u8> {
    [payload.len().to_string().as_bytes(), b":", payload, &[tag]].concat()
}

fn text(payload: &str) -> Vec<u8> {
    tagged(payload.as_bytes(), b';')
}

fn dictionary(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let all: Vec<u8> = entries.iter().flat_map(|(key, value)| [text(key), value.clone()].concat()).collect();
    tagged(&all, b'}')
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    tagged(&items.concat(), b']')
}

fn flow(version: &str, response: Vec<u8>, websocket: Vec<u8>) -> Vec<u8> {
    let header = list(&[list(&[bytes(b"Accept"), bytes(b"x/y")])]);
    let request = dictionary(&[
        ("headers", header),
        ("content", bytes(b"asked")),
        ("timestamp_start", tagged(b"100.5", b'^')),
        ("host", text("a.test")),
        ("port", tagged(b"8443", b'#')),
        ("method", bytes(b"POST")),
        ("scheme", bytes(b"https")),
        ("path", bytes(b"/p?q")),
    ]);
    dictionary(&[
        ("version", tagged(version.as_bytes(), b'#')),
        ("type", text("http")),
        ("error", dictionary(&[("msg", text("refused"))])),
        ("request", request),
        ("response", response),
        ("websocket", websocket),
    ])
}

fn null() -> Vec<u8> {
    tagged(b"", b'~')
}

fn answer(content: Vec<u8>) -> Vec<u8> {
    dictionary(&[
        ("headers", list(&[])),
        ("content", content),
        ("timestamp_start", tagged(b"100.75", b'^')),
        ("status_code", tagged(b"200", b'#')),
        ("reason", bytes(b"OK")),
        ("trailers", null()),
    ])
}

fn import_flows(file: &[u8]) -> Result<Imported, Refusal> {
    let source = Source { name: "flows.mitm", bytes: file, beside: &nothing_beside };
    import::import(source, None, &Options::default())
}

#[test]
fn a_flow_is_an_exchange_with_its_times() {
    let imported = import_flows(&flow("21", answer(bytes(b"\x00came")), null())).unwrap();
    assert_eq!(imported.format, Format::Mitmproxy);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(exchange.request.url.to_string(), "https://a.test:8443/p?q");
    assert_eq!((asked(exchange), body(exchange)), (b"asked".as_slice(), b"\x00came".as_slice()));
    assert_eq!(
        (pairs(&exchange.request.headers), response(exchange).after.as_millis()),
        (vec![("accept", "x/y")], 250)
    );
}

#[test]
fn flows_without_an_answer_or_without_their_body_are_left_out() {
    let file = [flow("20", null(), null()), flow("20", answer(null()), null())].concat();
    let reasons: Vec<String> = import_flows(&file).unwrap().skipped.into_iter().map(|s| s.reason).collect();
    assert_eq!(reasons, ["no response came (refused)", "mitmproxy passed a body on without keeping it"]);
}

#[test]
fn a_conversation_in_a_flow_keeps_its_messages() {
    let message = |kind: &[u8], client: &[u8], content: &[u8], at: &[u8]| {
        list(&[
            tagged(kind, b'#'),
            tagged(client, b'!'),
            bytes(content),
            tagged(at, b'^'),
            tagged(b"false", b'!'),
            tagged(b"false", b'!'),
        ])
    };
    let messages =
        list(&[message(b"1", b"true", b"hi", b"101.0"), message(b"2", b"false", b"\xff", b"101.5")]);
    let socket = dictionary(&[
        ("messages", messages),
        ("close_code", tagged(b"1000", b'#')),
        ("close_reason", text("done")),
        ("closed_by_client", tagged(b"true", b'!')),
        ("timestamp_end", tagged(b"102.0", b'^')),
    ]);
    let file = flow("21", answer(bytes(b"")), socket).to_vec();
    // The status of a handshake.
    let file = String::from_utf8_lossy(&file).contains("status_code").then_some(file).unwrap();
    let imported = import_flows(&file).unwrap();
    let said: Vec<_> = response(&imported.cassette.exchanges[0])
        .messages
        .iter()
        .map(|m| (m.from, m.after.as_millis(), m.piece.clone()))
        .collect();
    assert_eq!(
        said,
        [
            (Peer::Client, 250, Piece::Text("hi".into())),
            (Peer::Server, 500, Piece::Binary(vec![0xff].into())),
            (Peer::Client, 500, Piece::Close(Some((1000, "done".into())))),
        ]
    );
}

#[test]
fn a_flow_file_that_is_wrong_is_refused_with_its_byte() {
    let old = import_flows(&flow("9", null(), null())).unwrap_err().to_string();
    assert_eq!(old, "flow format 9 is not read; 20 and 21 are");
    let good = flow("21", answer(bytes(b"x")), null());
    let cut = [good.clone(), good[..good.len() - 5].to_vec()].concat();
    let refused = import_flows(&cut).unwrap_err().to_string();
    assert!(refused.starts_with(&format!("at byte {}: ", good.len())), "{refused}");
    assert!(refused.ends_with("bytes are announced, and fewer are there"), "{refused}");
}

#[test]
fn hostile_flow_files_are_refused_within_bounds() {
    let mark = text("version");
    let as_flows = |file: &[u8]| {
        let source = Source { name: "a.mitm", bytes: file, beside: &nothing_beside };
        import::import(source, Some(Format::Mitmproxy), &Options::default()).unwrap_err().to_string()
    };
    assert!(as_flows(b"999999999999:x}").ends_with("bytes are announced, and fewer are there"));
    assert!(as_flows(b"99999999999999999999:x}").ends_with("expected a length and a colon"));
    let deep = (0..1000).fold(mark, |inner, _| list(&[inner]));
    assert!(as_flows(&deep).ends_with("nested more than 40 levels deep"));
    let many = tagged(&b"0:~".repeat(5_000_000), b']');
    assert!(as_flows(&many).ends_with("more than the 4000000 values allowed in one file"));
}
