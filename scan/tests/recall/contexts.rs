//! The places where a secret turns up in recorded traffic.

use std::io::Write;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use serde_json::{Value, json};

use crate::made::Dice;

pub struct Context {
    pub name: &'static str,
    pub wrap: fn(&str, &mut Dice) -> Vec<u8>,
    /// It holds any text, and not only a word.
    pub is_general: bool,
}

pub const CONTEXTS: &[Context] = &[
    word("prose", |s, _| format!("the key {s}, which was used.").into()),
    word("yaml", |s, _| format!("a:\n  - value: {s}\n").into()),
    word("header", |s, _| format!("x-custom: {s}\r\naccept: */*\r\n").into()),
    word("query", |s, _| format!("GET https://a.example.org/v1?q={s}&page=2").into()),
    word("form", |s, _| format!("a=1&value={s}&b=2").into()),
    word("path", |s, _| format!("https://a.example.org/v1/{s}/get").into()),
    word("html", |s, _| format!("<a title=\"{s}\">x</a><b>{s}</b>").into()),
    word("behind a written line break", |s, _| format!(r#""a:\n{s}\n""#).into()),
    word("userinfo", |s, _| format!("git clone https://{s}@git.example.org/a/b").into()),
    general("json", |s, _| json!({"a": [{"b": s}]}).to_string().into()),
    general("json in json", |s, _| json!({"a": json!({"b": s}).to_string()}).to_string().into()),
    general("percent, what must be", |s, _| format!("?q={}", percent(s, false)).into()),
    general("percent, all", |s, _| format!("?q={}&r=1", percent(s, true)).into()),
    general("json \\u, all", |s, _| format!("\"{}\"", escaped(s)).into()),
    general("html entities, all", |s, _| {
        s.chars().map(|c| format!("&#{};", c as u32)).collect::<String>().into()
    }),
    general("base64", |s, _| json!({"content": STANDARD.encode(s)}).to_string().into()),
    general("base64, shifted by one", |s, _| STANDARD.encode(format!(" {s} and more")).into()),
    general("base64, shifted by two", |s, _| STANDARD.encode(format!("\"\n{s}\n")).into()),
    general("base64 for urls", |s, _| {
        format!("state={}&a=b", URL_SAFE_NO_PAD.encode(format!("q {s}"))).into()
    }),
    general("base64, behind a path", |s, dice| {
        let path = "abc".repeat(4)[..1 + dice.below(8)].to_owned();
        format!("GET /{path}/{} HTTP/1.1", STANDARD.encode(s)).into()
    }),
    general("base64, wrapped in yaml", |s, dice| {
        let padded = format!("{}\n{s}\n{}", dice.text("abc de", 90), dice.text("abc de", 90));
        let lines: Vec<String> = wrapped(&STANDARD.encode(padded), 60);
        format!("body:\n  base64: |\n    {}\n  more: x\n", lines.join("\n    ")).into()
    }),
    general("base64, wrapped in json", |s, dice| {
        let padded = format!("{}\n{s}\n{}", dice.text("abc de", 90), dice.text("abc de", 90));
        json!({"content": wrapped(&STANDARD.encode(padded), 60).join("\n") + "\n"}).to_string().into()
    }),
    general("hex", |s, _| {
        let hex: String = s.bytes().map(|b| format!("{b:02x}")).collect();
        format!("data: {hex}\n").into()
    }),
    general("gzip", |s, _| gzip(s)),
    general("zstd", |s, _| zstd::encode_all(long(s).as_bytes(), 3).unwrap()),
    general("gzip in base64", |s, _| json!({"body": STANDARD.encode(gzip(s))}).to_string().into()),
    general("zstd in base64", |s, _| {
        let packed = zstd::encode_all(long(s).as_bytes(), 3).unwrap();
        format!("body: {}\n", STANDARD.encode(packed)).into()
    }),
    general("zlib in base64", |s, _| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(long(s).as_bytes()).unwrap();
        format!("SAMLRequest={}", percent(&STANDARD.encode(encoder.finish().unwrap()), false)).into()
    }),
    general("deflate in base64", |s, _| {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(long(s).as_bytes()).unwrap();
        json!({"z": STANDARD.encode(encoder.finish().unwrap())}).to_string().into()
    }),
    general("base64 in json in base64", |s, _| {
        STANDARD.encode(json!({"a": STANDARD.encode(s)}).to_string()).into()
    }),
    general("openai events", |s, dice| {
        sse(
            s,
            dice,
            |piece| json!({"id": "chatcmpl-000001", "choices": [{"index": 0, "delta": {"content": piece}}]}),
        )
    }),
    general("anthropic events", |s, dice| {
        sse(
            s,
            dice,
            |piece| json!({"type": "content_block_delta", "index": 1, "delta": {"partial_json": piece}}),
        )
    }),
    general("json lines", |s, dice| {
        let line = |piece: &String| json!({"message": {"content": piece}, "done": false}).to_string();
        pieces(s, dice).iter().map(line).collect::<Vec<_>>().join("\n").into()
    }),
    general("events of a cassette", |s, dice| {
        let event = |piece: &String| {
            let text = format!("data: {}", json!({"choices": [{"delta": {"content": piece}}]}));
            format!("          - text: '{}'\n", text.replace('\'', "''"))
        };
        let list: String = pieces(s, dice).iter().map(event).collect();
        format!("      body:\n        events:\n{list}        as_sent: true\n").into()
    }),
    general("events of a cassette, in double quotes", |s, dice| {
        let event = |piece: &String| {
            let text = format!("event: delta\ndata: {}", json!({"delta": piece}));
            format!("          - after: 3ms\n            text: {}\n", Value::from(text))
        };
        let list: String = pieces(s, dice).iter().map(event).collect();
        format!("      body:\n        events:\n{list}").into()
    }),
    general("events in a json string", |s, dice| {
        let text = sse(s, dice, |piece| json!({"delta": {"text": piece}}));
        json!({"body": {"string": String::from_utf8(text).unwrap()}}).to_string().into()
    }),
    word("chunks of a cassette", |s, dice| {
        let list: String =
            pieces(s, dice).iter().map(|piece| format!("          - text: {piece:?}\n")).collect();
        format!("        chunks:\n{list}").into()
    }),
];

const fn word(name: &'static str, wrap: fn(&str, &mut Dice) -> Vec<u8>) -> Context {
    Context { name, wrap, is_general: false }
}

const fn general(name: &'static str, wrap: fn(&str, &mut Dice) -> Vec<u8>) -> Context {
    Context { name, wrap, is_general: true }
}

fn percent(text: &str, is_all: bool) -> String {
    let one = |b: u8| match b {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' if !is_all => {
            char::from(b).to_string()
        }
        _ => format!("%{b:02X}"),
    };
    text.bytes().map(one).collect()
}

fn escaped(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", c as u32)).collect()
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    text.as_bytes().chunks(width).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

fn long(text: &str) -> String {
    format!("{{\"note\": \"some text before it, as there is in a body\"}}\n{text}\nand some behind\n")
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(long(text).as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// As a model writes: a few characters at a time.
fn pieces(text: &str, dice: &mut Dice) -> Vec<String> {
    let mut rest: Vec<char> = format!("It is {text} .").chars().collect();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let length = (1 + dice.below(7)).min(rest.len());
        pieces.push(rest.drain(..length).collect());
    }
    pieces
}

fn sse(text: &str, dice: &mut Dice, event: fn(&str) -> Value) -> Vec<u8> {
    let events = pieces(text, dice);
    let all: String =
        events.iter().map(|piece| format!("event: delta\ndata: {}\n\n", event(piece))).collect();
    (all + "data: [DONE]\n\n").into()
}
