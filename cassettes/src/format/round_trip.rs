//! What is written is read back as it was, and writes the same bytes again.

use std::time::{Duration, Instant};

use ::exchange::{
    Body, Coding, Content, End, Escapes, Fault, Frame, Header, Headers, Informational, JsonStyle, Layout,
    Message, Peer, Piece, Reply, Request, Response, Url, codings_of,
};
use matchers::{Compare, OnRepeat, Shapes};
use proptest::prelude::*;

use super::*;

fn write(policy: Option<&Policy>, exchanges: &[Scrubbed<Exchange>], threshold: usize) -> (String, Blobs) {
    let (policy, exchanges) = (policy.cloned(), exchanges.to_vec());
    write_whole(&Cassette { redaction: None, policy, exchanges }, threshold)
}

fn write_whole(cassette: &Cassette, threshold: usize) -> (String, Blobs) {
    let mut blobs = Blobs::new();
    let mut text = header(cassette.redaction.as_ref(), cassette.policy.as_ref());
    for exchange in &cassette.exchanges {
        text.push_str(&item(exchange, threshold, &mut blobs));
    }
    text.push_str(FOOTER);
    (text, blobs)
}

fn read_with(text: &str, blobs: &Blobs) -> Result<Cassette, Problem> {
    read(text, &|wanted| {
        Ok(blobs.iter().find(|(sha256, _)| sha256 == wanted).map(|(_, bytes)| bytes.clone()))
    })
}

fn millis() -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0), Just(1), 0u64..20_000, Just(31_536_000_000)].prop_map(Duration::from_millis)
}

fn nasty_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ \\t\\n\\r:#'\"\\\\{}\\[\\],&*!|>%@`?a0~.-]{0,24}",
        "[a-z]{1,8}( [a-z:]{1,8}){0,3}",
        prop::sample::select(vec![
            "",
            "no",
            "null",
            "~",
            "1e3",
            "0x1f",
            "-0",
            "---",
            "...",
            "<<",
            "a\n...\nb",
            "\u{feff}x",
            "\u{85}",
            " a\n b",
            "\n\n",
            "data: {\"a\":1}",
            "2024-01-01",
            "{{redacted:key:1}}",
            "\u{2028}",
            "\0",
            "a\r\nb",
        ])
        .prop_map(str::to_owned),
    ]
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop::sample::select(vec!["0", "-0", "1.0", "1e400", "12345678901234567890123", "-1.50E+3"])
            .prop_map(|text| Value::Number(serde_json::Number::from_string_unchecked(text.to_owned()))),
        nasty_text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((nasty_text(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn json_text() -> impl Strategy<Value = Vec<u8>> {
    let layouts =
        vec![Layout::Compact, Layout::Spaced, Layout::Indented(2), Layout::Indented(0), Layout::Tabbed];
    let escapes = vec![Escapes::Minimal, Escapes::Ascii, Escapes::Html];
    (json_value(), prop::sample::select(layouts), prop::sample::select(escapes), any::<bool>()).prop_map(
        |(value, layout, escapes, newline)| {
            JsonStyle { layout, escapes, newline }.render(&value).into_bytes()
        },
    )
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 0..40),
        nasty_text().prop_map(String::into_bytes),
        json_text(),
        "(data: [a-zé]{0,4}|:|\\r\\n|\\n|\\n\\n|\\r\\n\\r\\n){0,12}".prop_map(String::into_bytes),
    ]
}

/// Cuts of a content of this size, among them empty ones, or none at all.
fn frames(size: usize) -> impl Strategy<Value = Vec<Frame>> {
    let cuts = prop::collection::vec((0..=size, millis()), 0..6);
    (any::<bool>(), cuts, millis()).prop_map(move |(framed, mut cuts, first)| {
        if !framed {
            return Vec::new();
        }
        cuts.push((0, first));
        cuts.sort();
        let ends: Vec<usize> = cuts.iter().skip(1).map(|(at, _)| *at).chain([size]).collect();
        cuts.iter().zip(ends).map(|((start, after), end)| Frame { len: end - start, after: *after }).collect()
    })
}

fn headers() -> impl Strategy<Value = Headers> {
    let name = prop::sample::select(vec!["x-a", "x-b", "set-cookie", "null", "123", "a.b~c"]);
    let value = prop_oneof![
        prop::collection::vec(0x20u8..0x7f, 0..12),
        prop::collection::vec(0x80u8.., 1..4),
        "[a-zé]{0,8}".prop_map(String::into_bytes),
    ];
    prop::collection::vec((name, value), 0..5).prop_map(|fields| {
        fields.into_iter().map(|(name, value)| Header::new(name, value).unwrap()).collect()
    })
}

fn message_head() -> impl Strategy<Value = Headers> {
    let media = prop::option::of(prop::sample::select(vec![
        "text/event-stream",
        "text/event-stream; charset=utf-8",
        "application/x-ndjson",
        "application/json",
        "application/grpc",
        "text/plain",
    ]));
    let coding = prop::option::of(prop::sample::select(vec!["gzip", "br, zstd", "identity", "unknown"]));
    (headers(), media, coding).prop_map(|(mut headers, media, coding)| {
        for (name, value) in [("content-type", media), ("content-encoding", coding)] {
            if let Some(value) = value {
                headers.push(Header::new(name, value).unwrap());
            }
        }
        headers
    })
}

fn head_and_body() -> impl Strategy<Value = (Headers, Body)> {
    (message_head(), content(), any::<bool>(), prop::bool::weighted(0.1))
        .prop_flat_map(|(headers, content, decoded, omitted)| {
            let cut = frames(content.len());
            (Just(headers), Just(content), Just(decoded), Just(omitted), cut)
        })
        .prop_map(|(headers, content, decoded, omitted, frames)| {
            let codings = if decoded { codings_of(&headers).unwrap_or_default() } else { Vec::new() };
            let content = if omitted {
                Content::Omitted { size: content.len() as u64, sha256: Sha256::of(&content) }
            } else {
                Content::Bytes(content.into())
            };
            (headers, Body { content, codings, frames })
        })
}

fn request() -> impl Strategy<Value = Request> {
    let method = prop::sample::select(vec!["GET", "POST", "get", "M-SEARCH", "NO"]);
    let url = prop::sample::select(vec![
        "https://api.openai.com/v1/chat/completions",
        "http://127.0.0.1:8080/?a=1&b",
        "https://[::1]:8443/x:y?z=%2F",
        "https://example.com/?",
    ]);
    (method, url, head_and_body(), headers()).prop_map(|(method, url, (headers, body), trailers)| Request {
        method: method.to_owned(),
        url: Url::parse(url).unwrap(),
        headers,
        body,
        trailers,
    })
}

fn fault() -> impl Strategy<Value = Fault> {
    prop::sample::select(Fault::ALL.to_vec())
}

fn message() -> impl Strategy<Value = Message> {
    let piece = prop_oneof![
        nasty_text().prop_map(Piece::Text),
        json_text().prop_map(|text| Piece::Text(String::from_utf8(text).unwrap())),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| Piece::Binary(bytes.into())),
        prop::option::of((any::<u16>(), nasty_text())).prop_map(Piece::Close),
    ];
    (prop::sample::select(vec![Peer::Client, Peer::Server]), millis(), piece)
        .prop_map(|(from, after, piece)| Message { from, after, piece })
}

fn response() -> impl Strategy<Value = Response> {
    let reason = prop::option::of("[ -~é]{0,10}");
    let informational = prop::collection::vec(
        (102u16..200, headers()).prop_map(|(status, headers)| Informational { status, headers }),
        0..3,
    );
    let end = prop_oneof![Just(End::Whole), Just(End::ClientLeft), fault().prop_map(End::Cut)];
    let head = (prop_oneof![Just(101), 200u16..=999], reason, millis(), informational);
    (head, head_and_body(), headers(), prop::collection::vec(message(), 0..4), end).prop_map(
        |((status, reason, after, informational), (headers, body), trailers, messages, end)| Response {
            status,
            reason,
            headers,
            after,
            informational,
            body,
            trailers,
            messages,
            end,
        },
    )
}

pub(crate) fn exchange() -> impl Strategy<Value = Exchange> {
    let reply = prop_oneof![
        3 => response().prop_map(Reply::Response),
        1 => (fault(), millis()).prop_map(|(fault, after)| Reply::Fault { fault, after }),
    ];
    (millis(), request(), reply).prop_map(|(at, request, reply)| Exchange { id: 1, at, request, reply })
}

pub(crate) fn policy() -> impl Strategy<Value = Policy> {
    let compare = prop::sample::select(vec![Compare::Full, Compare::Uri]);
    let headers = prop::collection::vec("[a-z-]{1,6}", 0..3);
    let paths = prop::sample::select(vec!["body.messages[*].id", "query.page", "body[\"a.b\"].c"]);
    let volatile = prop::collection::vec(paths.prop_map(|path| path.parse().unwrap()), 0..3);
    let shapes = prop::sample::select(vec![Shapes::Loose, Shapes::Exact]);
    let on_repeat = prop::sample::select(vec![OnRepeat::Miss, OnRepeat::Last, OnRepeat::Cycle]);
    (compare, headers, volatile, shapes, on_repeat).prop_map(
        |(compare, headers, volatile, shapes, on_repeat)| Policy {
            compare,
            headers,
            volatile,
            shapes,
            on_repeat,
        },
    )
}

fn redaction() -> impl Strategy<Value = Redaction> {
    let placeholder =
        ("[a-z_]{1,9}", any::<u32>()).prop_map(|(kind, n)| format!("{{{{redacted:{kind}:{n}}}}}"));
    let env = prop::collection::btree_map("[A-Za-z_][A-Za-z0-9_]{0,12}", placeholder, 0..4);
    (1..=u32::MAX, env).prop_map(|(ruleset, env)| Redaction { ruleset, env })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_cassette_is_read_back_as_it_was_and_written_again_as_it_stood(
        redaction in prop::option::of(redaction()),
        policy in prop::option::of(policy()),
        exchanges in prop::collection::vec(exchange(), 0..3),
        threshold in prop_oneof![Just(usize::MAX), 0usize..60],
    ) {
        let exchanges: Vec<_> = exchanges
            .into_iter()
            .zip(1..)
            .map(|(exchange, id)| Scrubbed::attest(Exchange { id, ..exchange }))
            .collect();
        let whole = Cassette { redaction, policy, exchanges };
        let (text, blobs) = write_whole(&whole, threshold);
        let cassette = read_with(&text, &blobs);
        prop_assert!(cassette.is_ok(), "{:?}\n{}", cassette, text);
        let cassette = cassette.unwrap();
        prop_assert_eq!(&cassette, &whole, "{}", text);
        let (again, _) = write_whole(&cassette, threshold);
        prop_assert_eq!(again, text);
    }

    #[test]
    fn an_item_alone_is_read_back_with_any_id(exchange in exchange(), id in any::<u32>()) {
        let exchange = Scrubbed::attest(Exchange { id, ..exchange });
        let text = item(&exchange, usize::MAX, &mut Blobs::new());
        prop_assert_eq!(read_item(&text, &|_| Ok(None)).unwrap(), exchange);
    }

    #[test]
    fn finer_times_than_a_millisecond_are_dropped_once(
        micros in prop_oneof![0u64..3_000, any::<u64>()],
        exchange in exchange(),
    ) {
        let exchange = Scrubbed::attest(Exchange { at: Duration::from_micros(micros), ..exchange });
        let (text, _) = write(None, std::slice::from_ref(&exchange), usize::MAX);
        let cassette = read_with(&text, &Blobs::new()).unwrap();
        prop_assert_eq!(write(None, &cassette.exchanges, usize::MAX).0, text);
    }
}

fn plain_exchange(headers: &[(&str, &str)], body: Body) -> Scrubbed<Exchange> {
    let headers = headers.iter().map(|(name, value)| Header::new(name, *value).unwrap()).collect();
    Scrubbed::attest(Exchange {
        id: 1,
        at: Duration::ZERO,
        request: Request {
            method: "GET".into(),
            url: Url::parse("https://a/").unwrap(),
            headers: Headers::new(),
            body: Body::empty(),
            trailers: Headers::new(),
        },
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers,
            after: Duration::ZERO,
            informational: Vec::new(),
            body,
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    })
}

/// The response as it is written, without the lines that are the same for all.
fn written(headers: &[(&str, &str)], body: Body) -> String {
    let text = item(&plain_exchange(headers, body), 64, &mut Blobs::new());
    let start = text.find("      body:\n").map_or(text.len(), |at| at + "      body:\n".len());
    text[start..].lines().map(|line| format!("{}\n", line.strip_prefix("        ").unwrap())).collect()
}

fn framed(content: &str, frames: &[(usize, u64)]) -> Body {
    let frame = |(len, ms): &(usize, u64)| Frame { len: *len, after: Duration::from_millis(*ms) };
    Body { frames: frames.iter().map(frame).collect(), ..Body::from_bytes(content.to_owned()) }
}

#[test]
fn the_simplest_cassette_is_this() {
    let (text, _) = write(None, &[plain_exchange(&[("x-a", "1")], Body::from_bytes("hi"))], 64);
    let expected = "---
wiretape: cassette/1
exchanges:
  - id: 1
    request:
      method: GET
      url: https://a/
    response:
      status: 200
      headers:
        x-a: '1'
      body:
        text: hi
...
";
    assert_eq!(text, expected);
}

#[test]
fn repeats_that_stand_apart_keep_their_places() {
    let (text, _) = write(None, &[plain_exchange(&[("a", "x"), ("a", "y"), ("b", "z")], Body::empty())], 64);
    assert!(text.contains("headers:\n        a:\n          - x\n          - 'y'\n        b: z\n"), "{text}");
    let (text, _) = write(None, &[plain_exchange(&[("a", "x"), ("b", "z"), ("a", "w")], Body::empty())], 64);
    assert!(text.contains("headers:\n        - a: x\n        - b: z\n        - a: w\n"), "{text}");
}

#[test]
fn events_show_their_delays_and_cuts() {
    let sse = [("content-type", "text/event-stream")];
    assert_eq!(
        written(&sse, framed("data: a\n\ndata: b\n\ndata: c", &[(12, 180), (9, 0), (4, 5)])),
        "events:
  - after: 180ms
    text: 'data: a'
  - text: 'data: b'
    cuts:
      - at: 3
  - text: 'data: c'
    cuts:
      - at: 3
        after: 5ms
    open: true
"
    );
    assert_eq!(
        written(&sse, framed("a\r\n\r\nb\r\n\r\n", &[(5, 0), (5, 0)])),
        "separator: crlf\nevents:\n  - after: 0ms\n    text: a\n  - after: 0ms\n    text: b\n"
    );
    assert_eq!(written(&sse, framed("a\n\nb\n\n", &[])), "events:\n  - text: a\n  - text: b\n");
}

#[test]
fn other_bodies_take_the_most_readable_kind_that_keeps_the_bytes() {
    let json = [("content-type", "application/json")];
    assert_eq!(written(&json, framed(r#"{"a":[1,"2"]}"#, &[])), "json:\n  a:\n    - 1\n    - '2'\n");
    assert_eq!(
        written(&json, framed("{\"a\": \"\\u00e9\"}", &[])),
        "json:\n  a: é\njson_style: spaced ascii\n"
    );
    assert_eq!(written(&json, framed("{\"a\":1, \"b\":2}", &[])), "text: '{\"a\":1, \"b\":2}'\n");
    assert_eq!(written(&json, framed("5", &[])), "text: '5'\n");
    assert_eq!(
        written(&json, framed("{}", &[(1, 0), (1, 7)])),
        "chunks:\n  - text: '{'\n  - after: 7ms\n    text: '}'\n"
    );
    assert_eq!(written(&[], Body::from_bytes(vec![0xff])), "base64: /w==\n");
    assert_eq!(
        written(&[("content-type", "application/jsonl")], framed("{}\n{}", &[])),
        "lines:\n  - text: '{}'\n  - text: '{}'\n    open: true\n"
    );
}

#[test]
fn a_big_body_is_a_blob_with_its_frames() {
    let content = "x".repeat(65);
    let sha256 = Sha256::of(content.as_bytes());
    assert_eq!(
        written(&[], framed(&content, &[(60, 5), (5, 12_500)])),
        format!("blob: '{sha256}'\nsize: 65\nframes:\n  - 60+5ms\n  - 5+12.5s\n")
    );
}

#[test]
fn content_under_a_coding_it_does_not_wear_is_marked() {
    let gzip = [("content-encoding", "gzip")];
    assert_eq!(written(&gzip, framed("raw", &[])), "text: raw\nas_sent: true\n");
    let decoded = Body { codings: vec![Coding::Gzip], ..framed("", &[]) };
    assert_eq!(written(&gzip, decoded), "text: ''\n");
    assert_eq!(written(&gzip, Body::empty()), "");
}

#[test]
fn a_cassette_without_exchanges_is_read() {
    assert_eq!(
        read_with(&write(None, &[], 0).0, &Blobs::new()).unwrap(),
        Cassette { redaction: None, policy: None, exchanges: Vec::new() }
    );
    assert!(read_with("wiretape: cassette/1\nexchanges: []\n", &Blobs::new()).unwrap().exchanges.is_empty());
}

#[test]
fn a_cassette_with_the_line_breaks_of_windows_is_read_the_same() {
    let (text, blobs) = write(None, &[plain_exchange(&[], Body::from_bytes("one\ntwo\n"))], 64);
    assert_eq!(read_with(&text.replace('\n', "\r\n"), &blobs).unwrap(), read_with(&text, &blobs).unwrap());
}

#[test]
fn a_policy_of_only_the_uri_is_one_word() {
    let policy = Policy { compare: Compare::Uri, ..Policy::default() };
    assert!(header(None, Some(&policy)).contains("\nmatch: uri\n"));
    assert!(header(None, Some(&Policy::default())).contains("\nmatch: {}\n"));
}

#[test]
fn the_redaction_stands_in_front_with_its_variables_in_order() {
    let env = [("OPENAI_API_KEY", "{{redacted:openai_key:1}}"), ("GH_TOKEN", "{{redacted:github_token:2}}")];
    let env = env.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    assert_eq!(
        header(
            Some(&Redaction { ruleset: 1, env }),
            Some(&Policy { compare: Compare::Uri, ..Policy::default() })
        ),
        "\
---
wiretape: cassette/1
redaction:
  ruleset: 1
  env:
    GH_TOKEN: '{{redacted:github_token:2}}'
    OPENAI_API_KEY: '{{redacted:openai_key:1}}'
match: uri
exchanges:
"
    );
    assert_eq!(
        header(Some(&Redaction::new()), None),
        "---\nwiretape: cassette/1\nredaction:\n  ruleset: 1\nexchanges:\n"
    );
}

#[test]
fn a_newer_ruleset_is_no_obstacle_to_reading() {
    let text = "wiretape: cassette/1\nredaction: {ruleset: 7}\nexchanges: []\n";
    let redaction = read_with(text, &Blobs::new()).unwrap().redaction.unwrap();
    assert_eq!((redaction.ruleset, redaction.env.len()), (7, 0));
}

/// Speed, to be looked at: `cargo test --release -p wiretape-cassettes -- --ignored --nocapture speed`.
#[test]
#[ignore = "prints how fast reading and writing are"]
fn speed_of_a_hundred_thousand_exchanges() {
    let body = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"List open issues"}],"n":1}"#;
    let mut one =
        plain_exchange(&[("content-type", "application/json"), ("x-id", "a1b2")], framed(body, &[]));
    let exchanges: Vec<_> = (1..=100_000)
        .map(|id| {
            one = one.clone().map(|exchange| Exchange { id, ..exchange });
            one.clone()
        })
        .collect();
    let timed = |what: &str, size: usize, start: Instant| {
        let took = start.elapsed();
        println!("{what}: {took:?}, {:.0} MB/s", size as f64 / 1e6 / took.as_secs_f64());
    };
    let start = Instant::now();
    let (text, blobs) = write(None, &exchanges, BLOB_THRESHOLD);
    timed("write", text.len(), start);
    let start = Instant::now();
    let document = &text[OPENING.len()..text.len() - FOOTER.len()];
    let node = yaml::parse(document, &Limits::for_cassette(text.len())).unwrap();
    timed("parse", text.len(), start);
    drop(node);
    let start = Instant::now();
    let cassette = read_with(&text, &blobs).unwrap();
    timed("read ", text.len(), start);
    assert_eq!(cassette.exchanges, exchanges);
}

#[test]
fn frames_whose_sum_no_number_holds_are_left_out() {
    let mut exchange =
        read_item("- id: 1\n  request:\n    method: GET\n    url: https://a/\n  fault: reset\n", &|_| {
            Ok(None)
        })
        .unwrap()
        .into_inner();
    let frame = Frame { len: usize::MAX, after: Duration::ZERO };
    let content = Content::Omitted { size: u64::MAX, sha256: Sha256::of(b"whatever") };
    exchange.request.body = Body { content, codings: Vec::new(), frames: vec![frame, frame] };
    let text = item(&Scrubbed::attest(exchange), usize::MAX, &mut Blobs::new());
    assert!(text.contains("size: 18446744073709551615\n"), "{text}");
    assert!(!text.contains("frames"), "{text}");
}
