//! Tokens of fifty kinds in every place that HTTP has for them, and how many of them are found.

use std::{sync::LazyLock, time::Duration};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use exchange::{Body, End, Header, Message, Peer, Piece, Reply, Response};
use regex::{Captures, Regex};

use super::{super::shapes::tests::*, *};

/// A place for a token.
struct Context {
    name: &'static str,
    put: fn(&str) -> Exchange,
}

fn exchange(url: &str, request: (&str, String), response: (&str, String)) -> Exchange {
    let headers = |media: &str| Header::new("content-type", media).into_iter().collect::<Headers>();
    Exchange {
        id: 1,
        at: Duration::ZERO,
        request: Request {
            method: "POST".into(),
            url: Url::parse(url).unwrap(),
            headers: headers(request.0),
            body: Body::from_bytes(request.1),
            trailers: Headers::new(),
        },
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: headers(response.0),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::from_bytes(response.1),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    }
}

fn sent(media: &str, body: String) -> Exchange {
    exchange("https://api.test/v1", (media, body), ("text/plain", String::new()))
}

fn answered(media: &str, body: String) -> Exchange {
    exchange("https://api.test/v1", ("text/plain", String::new()), (media, body))
}

fn percent(text: &str) -> String {
    text.bytes().map(|b| format!("%{b:02X}")).collect()
}

fn escaped(text: &str) -> String {
    text.bytes().map(|b| format!("\\u{b:04x}")).collect()
}

fn entities(text: &str) -> String {
    text.bytes().map(|b| format!("&#{b};")).collect()
}

/// An event stream whose model says a text in pieces of a few letters.
fn told_in_pieces(text: &str, size: usize) -> String {
    let pieces: Vec<char> = text.chars().collect();
    let events = pieces.chunks(size).map(|piece| {
        let content: String = piece.iter().collect();
        format!(
            "data: {}\n\n",
            serde_json::json!({"id": "x", "choices": [{"index": 0, "delta": {"content": content}}]})
        )
    });
    events.collect::<String>() + "data: [DONE]\n\n"
}

fn message(text: String) -> Message {
    Message { from: Peer::Server, after: Duration::ZERO, piece: Piece::Text(text) }
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

const CONTEXTS: &[Context] = &[
    Context {
        name: "query of the URL",
        put: |t| {
            exchange(
                &format!("https://a.test/x?q=1&v={}&n=2", t.replace('+', "%2B")),
                (JSON, "{}".into()),
                (JSON, "{}".into()),
            )
        },
    },
    Context {
        name: "path of the URL",
        put: |t| {
            exchange(
                &format!("https://a.test/x/{}/y", t.replace('/', "%2F")),
                (JSON, "{}".into()),
                (JSON, "{}".into()),
            )
        },
    },
    Context { name: "JSON string", put: |t| sent(JSON, serde_json::json!({"note": t}).to_string()) },
    Context {
        name: "JSON string in prose",
        put: |t| {
            sent(
                JSON,
                serde_json::json!({"messages": [{"content": format!("use {t}, then stop")}]}).to_string(),
            )
        },
    },
    Context {
        name: "JSON in a JSON string",
        put: |t| {
            sent(JSON, serde_json::json!({"arguments": serde_json::json!({"cmd": format!("curl -H 'X: {t}'")}).to_string()}).to_string())
        },
    },
    Context {
        name: "JSON with unicode escapes",
        put: |t| sent(JSON, format!("{{\"note\":\"{}\"}}", escaped(t))),
    },
    Context {
        name: "JSON behind a line break",
        put: |t| sent(JSON, serde_json::json!({"file": format!("A=1\n{t}\nB=2")}).to_string()),
    },
    Context { name: "form", put: |t| sent(FORM, format!("a=1&note={}&b=2", t.replace('+', "%2B"))) },
    Context { name: "form, percent-encoded", put: |t| sent(FORM, format!("note={}", percent(t))) },
    Context {
        name: "multipart field",
        put: |t| {
            sent(
                "multipart/form-data; boundary=BB",
                format!("--BB\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n{t}\r\n--BB--\r\n"),
            )
        },
    },
    Context {
        name: "multipart file",
        put: |t| {
            sent(
                "multipart/form-data; boundary=BB",
                format!(
                    "--BB\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nline\n{t}\n\r\n--BB--\r\n"
                ),
            )
        },
    },
    Context { name: "text", put: |t| answered("text/plain", format!("key is {t}.")) },
    Context { name: "HTML", put: |t| answered("text/html", format!("<p>token: <b>{t}</b></p>")) },
    Context { name: "HTML entities", put: |t| answered("text/html", format!("<p>{}</p>", entities(t))) },
    Context {
        name: "user of a URL in JSON",
        put: |t| {
            answered(JSON, serde_json::json!({"clone_url": format!("https://{}:x@git.test/a.git", t.replace('/', "%2F"))}).to_string())
        },
    },
    Context {
        name: "base64 in JSON",
        put: |t| {
            answered(JSON, serde_json::json!({"content": STANDARD.encode(format!("user:{t}"))}).to_string())
        },
    },
    Context {
        name: "base64url in JSON",
        put: |t| {
            answered(
                JSON,
                serde_json::json!({"content": URL_SAFE_NO_PAD.encode(format!("?>{t}"))}).to_string(),
            )
        },
    },
    Context {
        name: "event stream, whole",
        put: |t| answered("text/event-stream", format!("data: {}\n\n", serde_json::json!({"text": t}))),
    },
    Context {
        name: "event stream, in pieces of four",
        put: |t| answered("text/event-stream", told_in_pieces(&format!("it is {t} ok"), 4)),
    },
    Context {
        name: "event stream, letter by letter",
        put: |t| answered("text/event-stream", told_in_pieces(&format!("it is {t} ok"), 1)),
    },
    Context {
        name: "JSON lines",
        put: |t| {
            answered("application/x-ndjson", format!("{{\"a\":1}}\n{}\n", serde_json::json!({"response": t})))
        },
    },
    Context {
        name: "WebSocket message in pieces",
        put: |t| {
            let mut exchange = answered(JSON, String::new());
            let Reply::Response(response) = &mut exchange.reply else { unreachable!() };
            let (a, b) = t.split_at(t.len() / 2);
            response.messages = [a, b]
                .map(|part| message(serde_json::json!({"type": "delta", "delta": part}).to_string()))
                .into();
            exchange
        },
    },
    Context {
        name: "response header",
        put: |t| {
            let mut exchange = answered(JSON, String::new());
            let Reply::Response(response) = &mut exchange.reply else { unreachable!() };
            response.headers.push(Header::new("warning", format!("199 - \"bad key {t}\"")).unwrap());
            exchange
        },
    },
];

/// Every byte of an exchange that could be written down.
fn written(exchange: &Exchange) -> Vec<u8> {
    let mut all = exchange.request.url.to_string().into_bytes();
    let mut headers = |headers: &Headers| headers.iter().for_each(|h| all.extend_from_slice(h.value()));
    headers(&exchange.request.headers);
    let response = exchange.reply.response().unwrap();
    headers(&response.headers);
    all.extend_from_slice(exchange.request.body.bytes().unwrap());
    all.extend_from_slice(response.body.bytes().unwrap());
    for message in &response.messages {
        if let Piece::Text(text) = &message.piece {
            all.extend_from_slice(text.as_bytes());
        }
    }
    all
}

#[test]
fn tokens_of_fifty_kinds_are_found_wherever_they_stand() {
    const EACH: usize = 25;
    let mut draw = Draw::new(7);
    let mut missed = Vec::new();
    let mut total = 0;
    println!("{:36} {:>7} {:>7}", "place", "tokens", "found");
    for context in CONTEXTS {
        let mut found = 0;
        for kind in 0..KINDS {
            for _ in 0..EACH {
                let (name, token) = token(kind, &mut draw);
                let exchange = (context.put)(&token);
                // Otherwise nothing would be measured.
                assert!(unpacked(&written(&exchange)).contains(&token), "{}: {token}", context.name);
                let scrubbed = Scrubber::new().exchange(exchange).unwrap();
                let is_found = found_in(&scrubbed).iter().any(|f| f.kind == name)
                    || !unpacked(&written(&scrubbed)).contains(&token);
                match is_found {
                    true => found += 1,
                    false => missed.push(format!("{}: {name} {token}", context.name)),
                }
            }
        }
        total += KINDS * EACH;
        println!("{:36} {:>7} {found:>7}", context.name, KINDS * EACH);
    }
    let share = 100.0 * (total - missed.len()) as f64 / total as f64;
    println!("{} kinds x {} places x {EACH} tokens: {share:.3} % found", KINDS, CONTEXTS.len());
    missed.sort();
    println!("not found: {missed:?}");
    assert!(share >= 99.9, "{share} %: {missed:#?}");
}

/// What a reader of the file could get out of it, whatever it is wrapped in.
fn unpacked(bytes: &[u8]) -> String {
    static ESCAPES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\\u00([0-9a-f]{2})|%([0-9A-F]{2})|&#([0-9]+);").unwrap());
    static PIECES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""(?:content|delta)":"([^"]*)""#).unwrap());
    static RUNS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{20,}={0,2}").unwrap());
    let raw = String::from_utf8_lossy(bytes).into_owned();
    let plain = ESCAPES.replace_all(&raw, |escape: &Captures<'_>| {
        let hex = escape.get(1).or(escape.get(2)).map(|hex| u8::from_str_radix(hex.as_str(), 16).unwrap());
        char::from(hex.unwrap_or_else(|| escape[3].parse().unwrap())).to_string()
    });
    let joined: String = PIECES.captures_iter(&plain).map(|piece| piece[1].to_owned()).collect();
    let decoded: Vec<String> = RUNS
        .find_iter(&raw)
        .filter_map(|run| {
            STANDARD.decode(run.as_str()).or_else(|_| URL_SAFE_NO_PAD.decode(run.as_str())).ok()
        })
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    [plain.replace("\\n", " "), joined, decoded.join(" "), raw].join("\n")
}
