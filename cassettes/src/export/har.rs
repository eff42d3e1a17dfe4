//! HTTP Archive 1.2.

use base64::{Engine, prelude::BASE64_STANDARD};
use exchange::{Body, Content, Exchange, Headers, Peer, Piece, Reply, Response};
use http::StatusCode;
use serde_json::{Map, Value, json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{copy_of, policy_text, survives};
use crate::{Cassette, Scrubbed, import::Format};

pub(super) fn document(cassette: &Cassette) -> String {
    let entries: Vec<Value> = cassette.exchanges.iter().map(with_copy).collect();
    let mut log = log(entries);
    log["_wiretape"] = json!({"cassette": 1, "match": policy_text(cassette.policy.as_ref())});
    let mut text = serde_json::to_string_pretty(&json!({"log": log})).expect("a value is written as text");
    text.push('\n');
    text
}

fn log(entries: Vec<Value>) -> Value {
    json!({
        "version": "1.2",
        "creator": {"name": CREATOR, "version": env!("CARGO_PKG_VERSION")},
        "pages": [],
        "entries": entries,
    })
}

/// An entry, and under our own key all of the exchange where the entry does not say all of it.
fn with_copy(exchange: &Scrubbed<Exchange>) -> Value {
    let mut value = entry(exchange);
    let alone = json!({"log": log(vec![value.clone()])}).to_string();
    if !survives(exchange, &alone, Format::Har) {
        value["_wiretape"] = json!({"exchange": copy_of(exchange)});
    }
    value
}

/// An entry as any tool reads it.
pub(crate) fn entry(exchange: &Exchange) -> Value {
    let request = &exchange.request;
    let nothing = Headers::new();
    let response = exchange.reply.response();
    let wait = match &exchange.reply {
        Reply::Response(response) => response.after,
        Reply::Fault { after, .. } => *after,
    };
    let receive = exchange.took().saturating_sub(wait);
    let mut entry = json!({
        "startedDateTime": started(exchange),
        "time": exchange.took().as_millis() as u64,
        "request": {
            "method": request.method,
            "url": request.url.to_string(),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": headers(&request.headers),
            "queryString": query(request.url.query.as_deref()),
            "headersSize": -1,
            "bodySize": request.body.len(),
        },
        "response": {
            "status": response.map_or(0, |r| r.status),
            "statusText": response.map(status_text).unwrap_or_default(),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": headers(response.map_or(&nothing, |r| &r.headers)),
            "content": content(response),
            "redirectURL": response.and_then(|r| r.headers.text("location")).unwrap_or_default(),
            "headersSize": -1,
            "bodySize": response.map_or(0, |r| r.body.len()),
        },
        "cache": {},
        "timings": {"send": 0, "wait": wait.as_millis() as u64, "receive": receive.as_millis() as u64},
    });
    if !request.body.is_empty() {
        entry["request"]["postData"] = post_data(&request.body, &request.headers);
    }
    if let Reply::Fault { fault, .. } = &exchange.reply {
        entry["_error"] = json!(fault.as_str());
    }
    if let Some(response) = response.filter(|r| !r.messages.is_empty()) {
        entry["_resourceType"] = json!("websocket");
        entry["_webSocketMessages"] = messages(exchange, response);
    }
    entry
}

/// Counted from the start of all time: a cassette does not know the day.
fn started(exchange: &Exchange) -> String {
    let at = OffsetDateTime::UNIX_EPOCH + exchange.at;
    at.format(&Rfc3339).unwrap_or_else(|_| "1970-01-01T00:00:00Z".to_owned())
}

fn headers(headers: &Headers) -> Vec<Value> {
    let pair = |h: &exchange::Header| json!({"name": h.name(), "value": String::from_utf8_lossy(h.value())});
    headers.iter().map(pair).collect()
}

fn query(query: Option<&str>) -> Vec<Value> {
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            json!({"name": name, "value": value})
        })
        .collect()
}

fn status_text(response: &Response) -> String {
    let usual = || StatusCode::from_u16(response.status).ok()?.canonical_reason();
    response.reason.clone().or_else(|| usual().map(str::to_owned)).unwrap_or_default()
}

fn post_data(body: &Body, headers: &Headers) -> Value {
    let mut data = text_of(body);
    data.insert("mimeType".to_owned(), json!(headers.text("content-type").unwrap_or_default()));
    Value::Object(data)
}

fn content(response: Option<&Response>) -> Value {
    let Some(response) = response else { return json!({"size": 0, "mimeType": ""}) };
    let mut content = Map::new();
    content.insert("size".to_owned(), json!(response.body.len()));
    content.insert("mimeType".to_owned(), json!(response.headers.text("content-type").unwrap_or_default()));
    content.append(&mut text_of(&response.body));
    Value::Object(content)
}

/// `text`, and `encoding` where it is base64.
fn text_of(body: &Body) -> Map<String, Value> {
    let mut members = Map::new();
    if let Content::Bytes(bytes) = &body.content {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                members.insert("text".to_owned(), json!(text));
            }
            Err(_) => {
                members.insert("text".to_owned(), json!(BASE64_STANDARD.encode(bytes)));
                members.insert("encoding".to_owned(), json!("base64"));
            }
        }
    }
    members
}

fn messages(exchange: &Exchange, response: &Response) -> Value {
    let mut at = exchange.at + response.after;
    let messages = response.messages.iter().filter_map(|message| {
        at += message.after;
        let from = if message.from == Peer::Client { "send" } else { "receive" };
        let (opcode, data) = match &message.piece {
            Piece::Text(text) => (1, text.clone()),
            Piece::Binary(bytes) => (2, BASE64_STANDARD.encode(bytes)),
            Piece::Close(_) => return None,
        };
        Some(json!({"type": from, "time": at.as_millis() as f64 / 1000.0, "opcode": opcode, "data": data}))
    });
    Value::Array(messages.collect())
}

/// By this name the importer knows that times count from the start of the recording.
pub(crate) const CREATOR: &str = "wiretape";
