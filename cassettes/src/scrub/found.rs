//! An account of what was redacted: kind and place, never the value.

use exchange::{Exchange, Headers};

use super::{Scrubbed, placeholder};

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
    push_headers(&mut found, id, &request.headers, "request header");
    push_headers(&mut found, id, &request.trailers, "request trailer");
    if let Some(response) = exchange.reply.response() {
        push_headers(&mut found, id, &response.headers, "response header");
        push_headers(&mut found, id, &response.trailers, "response trailer");
    }
    found
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
