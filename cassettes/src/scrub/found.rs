//! An account of what was redacted: kind and place, never the value.

use exchange::{Body, Exchange, Headers, Piece};

use super::{Scrubbed, placeholder, placeholders};

/// One value that a placeholder stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// `openai_key`, `cookie` …
    pub kind: String,
    /// Such as `request header authorization`.
    pub place: String,
    /// The exchange it stands in.
    pub exchange: u32,
}

/// Every placeholder in an exchange. Request headers that are only not known to be harmless are no finding.
pub fn found_in(exchange: &Scrubbed<Exchange>) -> Vec<Found> {
    let mut found = Vec::new();
    let request = &exchange.request;
    let id = exchange.id;
    if let Some(query) = &request.url.query {
        for pair in query.split('&') {
            let name = pair.split('=').next().unwrap_or_default();
            push(&mut found, id, pair, || format!("query {name}"));
        }
    }
    push_text(&mut found, id, request.url.path.as_bytes(), "path");
    push_body(&mut found, id, &request.body, "request body");
    push_headers(&mut found, id, &request.headers, "request header");
    push_headers(&mut found, id, &request.trailers, "request trailer");
    if let Some(response) = exchange.reply.response() {
        push_headers(&mut found, id, &response.headers, "response header");
        push_headers(&mut found, id, &response.trailers, "response trailer");
        push_body(&mut found, id, &response.body, "response body");
        for message in &response.messages {
            match &message.piece {
                Piece::Text(text) => push_text(&mut found, id, text.as_bytes(), "message"),
                Piece::Binary(bytes) => push_text(&mut found, id, bytes, "message"),
                Piece::Close(_) => {}
            }
        }
    }
    found
}

fn push_body(found: &mut Vec<Found>, id: u32, body: &Body, what: &str) {
    if let Some(bytes) = body.bytes() {
        push_text(found, id, bytes, what);
    }
}

/// In base64 and in compressed files too.
fn push_text(found: &mut Vec<Found>, exchange: u32, text: &[u8], what: &str) {
    placeholders::edits(text, &mut |placeholder| {
        let kind = placeholder::kinds_in(placeholder).next().unwrap_or_default().to_owned();
        found.push(Found { kind, place: what.to_owned(), exchange });
        None
    });
}

fn push_headers(found: &mut Vec<Found>, id: u32, headers: &Headers, what: &str) {
    for header in headers {
        push(found, id, header.text().unwrap_or_default(), || format!("{what} {}", header.name()));
    }
}

fn push(found: &mut Vec<Found>, exchange: u32, text: &str, place: impl Fn() -> String) {
    let kinds = placeholder::kinds_in(text).filter(|kind| *kind != UNKNOWN_HEADER);
    found.extend(kinds.map(|kind| Found { kind: kind.to_owned(), place: place(), exchange }));
}

const UNKNOWN_HEADER: &str = "header";
