//! The places where a secret can stand, each with the calls that put one there.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use super::wire::{Coding, Exchange, Reply, Request, gzip};

/// How a secret can be known for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It is in the environment.
    Environment,
    /// It stands where credentials stand, in one of the calls.
    Position,
    /// It looks like one.
    Shape(&'static str),
}

pub struct Place {
    pub name: &'static str,
    pub known: Known,
    pub calls: fn(&str) -> Vec<Exchange>,
}

const fn environment(name: &'static str, calls: fn(&str) -> Vec<Exchange>) -> Place {
    Place { name, known: Known::Environment, calls }
}

const fn position(name: &'static str, calls: fn(&str) -> Vec<Exchange>) -> Place {
    Place { name, known: Known::Position, calls }
}

const fn shape(name: &'static str, prefix: &'static str, calls: fn(&str) -> Vec<Exchange>) -> Place {
    Place { name, known: Known::Shape(prefix), calls }
}

pub const PLACES: &[Place] = &[
    environment("request: prose", |s| asks(Request::post("text/plain", format!("please take {s}, then go")))),
    environment("request: path", |s| asks(Request::get(format!("/hooks/{s}/run")))),
    environment("request: path, base64url", |s| {
        asks(Request::get(format!("/hooks/{}", URL_SAFE_NO_PAD.encode(format!("id:{s}")))))
    }),
    environment("request: path, percent", |s| asks(Request::get(format!("/hooks/{}", percent(s))))),
    environment("request: harmless query", |s| asks(Request::get(format!("/find?page=1&q=about+{s}&x")))),
    environment("request: JSON in a query", |s| {
        asks(Request::get(format!("/find?q=%7B%22note%22%3A%22{s}%22%7D")))
    }),
    environment("request: unknown header", |s| asks(Request::get("/").header("x-acme-note", s))),
    environment("request: known header", |s| {
        asks(Request::get("/").header("user-agent", format!("me/1 ({s})")))
    }),
    environment("request: form", |s| {
        asks(Request::post("application/x-www-form-urlencoded", format!("a=1&note=see+{s}&b=2")))
    }),
    environment("request: form, percent", |s| {
        asks(Request::post("application/x-www-form-urlencoded", format!("a=1&note={}&b=2", percent(s))))
    }),
    environment("request: JSON", |s| asks(Request::json(&json!({ "messages": [{ "content": said(s) }] })))),
    environment("request: name in JSON", |s| asks(Request::json(&json!({ "by": { s: 1 } })))),
    environment("request: JSON in JSON", |s| {
        let inner = json!({ "deep": json!({ "note": s }).to_string() }).to_string();
        asks(Request::json(&json!({ "arguments": inner })))
    }),
    environment("request: JSON, escaped", |s| {
        let escaped: String = s.bytes().map(|b| format!("\\u{b:04x}")).collect();
        asks(Request::post("application/json", format!("{{\"note\": \"{escaped}\"}}")))
    }),
    environment("request: JSON, base64", |s| {
        asks(Request::json(&json!({ "data": STANDARD.encode(format!("x: {s} and more")) })))
    }),
    environment("request: JSON, base64 over lines", |s| {
        let data = STANDARD.encode(format!("{}{s}{}", "line ".repeat(9), " more".repeat(20)));
        let lines: Vec<&str> = data.as_bytes().chunks(76).map(|c| std::str::from_utf8(c).unwrap()).collect();
        asks(Request::json(&json!({ "data": lines.join("\n") })))
    }),
    environment("request: JSON, hex", |s| {
        asks(Request::json(&json!({ "data": s.bytes().map(|b| format!("{b:02x}")).collect::<String>() })))
    }),
    environment("request: JSON, gzip in base64", |s| {
        asks(Request::json(&json!({ "data": STANDARD.encode(gzip(said(s).as_bytes())) })))
    }),
    environment("request: multipart field", |s| {
        asks(Request::multipart("name=\"note\"", said(s).as_bytes()))
    }),
    environment("request: multipart file", |s| {
        asks(Request::multipart(
            "name=\"f\"; filename=\"a.txt\"\r\ncontent-type: text/plain",
            said(s).as_bytes(),
        ))
    }),
    environment("request: multipart file, gzip", |s| {
        let head = "name=\"f\"; filename=\"a.gz\"\r\ncontent-type: application/gzip";
        asks(Request::multipart(head, &gzip(said(s).as_bytes())))
    }),
    environment("request: multipart file name", |s| {
        asks(Request::multipart(&format!("name=\"f\"; filename=\"{s}.txt\""), b"content"))
    }),
    environment("request: Basic", |s| {
        asks(
            Request::get("/")
                .header("authorization", format!("Basic {}", STANDARD.encode(format!("me:{s}")))),
        )
    }),
    environment("request: gzip", |s| {
        let body = gzip(json!({ "note": said(s) }).to_string().as_bytes());
        asks(Request::post("application/json", body).header("content-encoding", "gzip"))
    }),
    environment("request: gzip file", |s| {
        asks(Request::post("application/octet-stream", gzip(said(s).as_bytes())))
    }),
    environment("request: binary", |s| {
        let body = [&[0, 255, 7, 200], s.as_bytes(), &[0, 254, 3]].concat();
        asks(Request::post("application/x-protobuf", body))
    }),
    environment("request: XML", |s| {
        asks(Request::post("application/xml", format!("<a note=\"{s}\"><b>{}</b></a>", html(s))))
    }),
    environment("request: trailer", |s| asks(Request::post("text/plain", "all").trailer("x-note", s))),
    environment("request: subprotocol", |s| {
        talks(
            Request::conversation("hello").header("sec-websocket-protocol", format!("realtime, key.{s}")),
            &[b"ok"],
        )
    }),
    environment("reply: JSON", |s| answers(Reply::json(&said(s)))),
    environment("reply: prose", |s| answers(Reply::text(&said(s)))),
    environment("reply: gzip", |s| answers(Reply::json(&said(s)).coded(Coding::Gzip))),
    environment("reply: deflate", |s| answers(Reply::json(&said(s)).coded(Coding::Deflate))),
    environment("reply: br", |s| answers(Reply::json(&said(s)).coded(Coding::Brotli))),
    environment("reply: zstd", |s| answers(Reply::json(&said(s)).coded(Coding::Zstd))),
    environment("reply: HTML", |s| {
        answers(Reply::new("text/html", format!("<p>no such key: {}</p>", html(s)), "<p>ask for one</p>"))
    }),
    environment("reply: script, escaped", |s| {
        let escaped: String = s.bytes().map(|b| format!("\\u{b:04x}")).collect();
        answers(Reply::new("application/javascript", format!("let note = \"{escaped}\";"), " // end"))
    }),
    environment("reply: binary", |s| {
        answers(Reply::new(
            "application/grpc-web",
            [&[0, 0, 255], s.as_bytes(), &[7, 0, 254]].concat(),
            vec![0; 64],
        ))
    }),
    environment("reply: known header", |s| answers(Reply::ok().header("x-request-id", s))),
    environment("reply: unknown header", |s| answers(Reply::ok().header("x-acme-note", said(s)))),
    environment("reply: challenge", |s| {
        answers(Reply::ok().header("www-authenticate", format!("Bearer error=\"no such key {s}\"")))
    }),
    environment("reply: content type", |s| {
        answers(Reply::ok().header("x-content-type", format!("a/b; note={s}")))
    }),
    environment("reply: link", |s| {
        answers(Reply::ok().header("link", format!("<https://canary.test/next/{s}?q={s}>; rel=\"next\"")))
    }),
    environment("reply: redirect, path", |s| {
        answers(Reply::ok().status("302 Found").header("location", format!("https://canary.test/in/{s}")))
    }),
    environment("reply: redirect, query", |s| {
        answers(
            Reply::ok().status("307 Temporary Redirect").header("location", format!("/in?from={s}&page=2")),
        )
    }),
    environment("reply: cookie", |s| {
        answers(Reply::ok().header("set-cookie", format!("last={s}; path=/{s}")))
    }),
    environment("reply: status line", |s| answers(Reply::ok().status(&format!("401 no such key {s}")))),
    environment("reply: trailer", |s| answers(Reply::ok().trailer("x-note", s))),
    environment("reply: masked", |s| {
        answers(Reply::json(&format!("Incorrect key: {}****{}. See", &s[..14], &s[s.len() - 14..])))
    }),
    environment("reply: SSE, split in JSON", |s| {
        let events: Vec<Value> =
            cut(&said(s), 9).map(|piece| json!({ "type": "delta", "delta": { "text": piece } })).collect();
        answers(Reply::events(&events))
    }),
    environment("reply: SSE, split in JSON in JSON", |s| {
        let document = json!({ "note": s, "more": true }).to_string();
        let events: Vec<Value> =
            cut(&document, 9).map(|piece| json!({ "type": "delta", "partial_json": piece })).collect();
        answers(Reply::events(&events))
    }),
    environment("reply: SSE, split in lines", |s| {
        let events: String = cut(&said(s), 10).map(|piece| format!("data: {piece}\n\n")).collect();
        answers(Reply::new("text/event-stream", events, "data: end\n\n"))
    }),
    environment("reply: SSE, id and comment", |s| {
        let events = format!(": {s}\nid: {s}\nevent: {s}\ndata: 1\n\n");
        answers(Reply::new("text/event-stream", events, "data: end\n\n"))
    }),
    environment("reply: SSE, gzip", |s| {
        let events: String =
            cut(&said(s), 10).map(|piece| format!("data: {}\n\n", json!({ "t": piece }))).collect();
        answers(Reply::new("text/event-stream", events, "data: {}\n\n").coded(Coding::Gzip))
    }),
    environment("reply: NDJSON, zstd", |s| {
        let lines: String =
            cut(&said(s), 9).map(|piece| format!("{}\n", json!({ "response": piece }))).collect();
        answers(Reply::new("application/x-ndjson", lines, "{\"done\": true}\n").coded(Coding::Zstd))
    }),
    environment("reply: NDJSON, split", |s| {
        let lines: String =
            cut(&said(s), 10).map(|piece| format!("{}\n", json!({ "response": piece }))).collect();
        answers(Reply::new("application/x-ndjson", lines, "{\"done\": true}\n"))
    }),
    environment("conversation: client", |s| {
        talks(Request::conversation(&json!({ "note": s }).to_string()), &[b"ok"])
    }),
    environment("conversation: server", |s| talks(Request::conversation("hello"), &[said(s).as_bytes()])),
    environment("conversation: split", |s| {
        let pieces: Vec<String> =
            cut(&said(s), 9).map(|piece| json!({ "delta": piece }).to_string()).collect();
        let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
        talks(Request::conversation("hello"), &pieces)
    }),
    environment("conversation: close", |s| {
        let reply = Reply::messages(&[b"hello"], 1).closing(1008, &format!("no such key {s}"));
        vec![Exchange::new(Request::conversation("hello"), reply)]
    }),
    environment("conversation: binary", |s| {
        let message = [&[1, 255, 0], s.as_bytes(), &[254]].concat();
        vec![Exchange::new(Request::conversation("hello"), Reply::messages(&[&message], 2))]
    }),
    position("Authorization", |s| {
        around(s, Request::get("/").header("authorization", format!("Bearer {s}")), Reply::json(&said(s)))
    }),
    position("Basic, password", |s| {
        let value = STANDARD.encode(format!("someone:{s}"));
        around(s, Request::get("/").header("authorization", format!("Basic {value}")), Reply::ok())
    }),
    position("x-api-key", |s| around(s, Request::get("/").header("x-api-key", s), Reply::text(&said(s)))),
    position("x-acme-token", |s| around(s, Request::get("/").header("x-acme-token", s), Reply::ok())),
    position("cookie", |s| {
        around(s, Request::get("/").header("cookie", format!("theme=dark; session={s}")), Reply::ok())
    }),
    position("set-cookie", |s| {
        around(s, Request::get("/"), Reply::ok().header("set-cookie", format!("session={s}; HttpOnly")))
    }),
    position("query: api_key", |s| around(s, Request::get(format!("/v1?page=1&api_key={s}")), Reply::ok())),
    position("query: access_token", |s| {
        around(s, Request::get(format!("/v1?access_token={s}&page=1")), Reply::ok())
    }),
    position("query: signature", |s| {
        around(s, Request::get(format!("/b/o?X-Amz-Signature={s}&X-Amz-Expires=60")), Reply::ok())
    }),
    position("form: client_secret", |s| {
        let body = format!("grant_type=client_credentials&client_id=me&client_secret={s}");
        around(s, Request::post("application/x-www-form-urlencoded", body), Reply::json(&said(s)))
    }),
    position("JSON: password", |s| {
        around(s, Request::json(&json!({ "user": { "password": s } })), Reply::ok())
    }),
    position("JSON: OAuth reply", |s| {
        let reply = json!({ "access_token": s, "token_type": "bearer", "expires_in": 3600 }).to_string();
        around(s, Request::get("/token"), Reply::new("application/json", reply, " "))
    }),
    position("JSON: refresh token, gzip", |s| {
        let reply = json!({ "refresh_token": s, "id": 7 }).to_string();
        around(s, Request::get("/token"), Reply::new("application/json", reply, " ").coded(Coding::Gzip))
    }),
    position("multipart: password", |s| {
        around(s, Request::multipart("name=\"password\"", s.as_bytes()), Reply::ok())
    }),
    position("URL in JSON", |s| {
        let url = format!("postgres://me:{s}@db.test/x");
        around(s, Request::json(&json!({ "database": url })), Reply::ok())
    }),
    position("redirect: access_token", |s| {
        let location = format!("https://canary.test/in#access_token={s}&state=x");
        around(s, Request::get("/"), Reply::ok().status("302 Found").header("location", location))
    }),
    position("subprotocol", |s| {
        let offer = format!("realtime, openai-insecure-api-key.{s}");
        let request = Request::conversation("hello").header("sec-websocket-protocol", offer);
        between(s, Exchange::new(request, Reply::messages(&[b"ok"], 1)))
    }),
    position("conversation: api_key", |s| {
        let request = Request::conversation(&json!({ "api_key": s }).to_string());
        between(s, Exchange::new(request, Reply::messages(&[said(s).as_bytes()], 1)))
    }),
    position("SSE: password in pieces", |s| {
        let document = json!({ "password": s }).to_string();
        let events: Vec<Value> =
            cut(&document, 11).map(|piece| json!({ "type": "delta", "partial_json": piece })).collect();
        around(s, Request::get("/"), Reply::events(&events))
    }),
    shape("shape: request", "sk-proj-", |s| asks(Request::post("text/plain", said(s)))),
    shape("shape: reply", "ghp_", |s| answers(Reply::json(&said(s)))),
    shape("shape: path", "xai-", |s| asks(Request::get(format!("/by/{s}/x")))),
    shape("shape: br", "gsk_", |s| answers(Reply::text(&said(s)).coded(Coding::Brotli))),
    shape("shape: base64", "sk-ant-api03-", |s| {
        asks(Request::json(&json!({ "data": STANDARD.encode(said(s)) })))
    }),
    shape("shape: SSE, split", "sk-svcacct-", |s| {
        let events: Vec<Value> = cut(&said(s), 10).map(|piece| json!({ "text": piece })).collect();
        answers(Reply::events(&events))
    }),
    shape("shape: conversation", "glpat-", |s| talks(Request::conversation(&said(s)), &[said(s).as_bytes()])),
    shape("shape: multipart file", "nvapi-", |s| {
        asks(Request::multipart(
            "name=\"f\"; filename=\"a.env\"\r\ncontent-type: text/plain",
            said(s).as_bytes(),
        ))
    }),
    shape("shape: redirect", "lin_api_", |s| {
        answers(Reply::ok().status("302 Found").header("location", format!("https://canary.test/in/{s}")))
    }),
];

fn said(secret: &str) -> String {
    format!("it says \"{secret}\", or so.")
}

fn asks(request: Request) -> Vec<Exchange> {
    vec![Exchange::new(request, Reply::ok())]
}

fn answers(reply: Reply) -> Vec<Exchange> {
    vec![Exchange::new(Request::get("/answer"), reply)]
}

fn talks(request: Request, messages: &[&[u8]]) -> Vec<Exchange> {
    vec![Exchange::new(request, Reply::messages(messages, 1))]
}

fn around(secret: &str, request: Request, reply: Reply) -> Vec<Exchange> {
    between(secret, Exchange::new(request, reply))
}

/// Said where nobody can know what it is, then where only credentials stand, then elsewhere.
fn between(secret: &str, exchange: Exchange) -> Vec<Exchange> {
    let before = Exchange::new(Request::post("text/plain", said(secret)), Reply::text(&said(secret)));
    let after = Exchange::new(
        Request::json(&json!({ "content": said(secret) })),
        Reply::json(&said(secret)).coded(Coding::Gzip),
    );
    vec![before, exchange, after]
}

fn percent(text: &str) -> String {
    text.bytes().map(|b| format!("%{b:02X}")).collect()
}

fn html(text: &str) -> String {
    text.bytes().map(|b| format!("&#{b};")).collect()
}

/// In pieces of which two at least lie within the secret, each as long as what the search looks for.
fn cut(text: &str, length: usize) -> impl Iterator<Item = &str> {
    let starts = (0..text.len()).step_by(length);
    starts.map(move |start| &text[start..text.len().min(start + length)])
}
