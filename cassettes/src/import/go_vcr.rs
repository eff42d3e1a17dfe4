//! go-vcr cassettes, versions 1 and 2 of the file.

use std::time::Duration;

use bytes::Bytes;
use yaml::{Node, Problem};

use super::{
    desk::Desk,
    draft::Draft,
    read::{self, Field, member, optional},
    repair::{Repair, Stored},
};

pub(super) fn read(document: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let list = member(document, "interactions", "the cassette")?;
    if list.is_null() {
        return Ok(());
    }
    list.sequence("the interactions")?.iter().try_for_each(|interaction| take(interaction, desk))
}

fn take(interaction: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let request = member(interaction, "request", "the interaction")?;
    let response = member(interaction, "response", "the interaction")?;
    let url = member(request, "url", "the request")?;
    let mut response_headers = read::headers(response.get("headers"))?;
    let mut response_body = Stored::new(body(response)?);
    if response.get("uncompressed").is_some_and(|flag| flag.as_text() == Some("true")) {
        // Go asked for gzip by itself, undid it, and took the header away.
        desk.note(Repair::CodingHeaderRestored);
        response_headers.push(Field {
            name: "content-encoding".into(),
            value: Bytes::from_static(b"gzip"),
            span: read::opening(response),
        });
        response_body = Stored::decoded(response_body.bytes);
    }
    let status = member(response, "code", "the response").or_else(|problem| {
        // Older files have the line of HTTP alone.
        optional(response, "status").ok_or(problem)
    })?;
    desk.take(Draft {
        span: read::opening(interaction),
        method: read::method(optional(request, "method").and_then(Node::as_text).unwrap_or("GET")),
        url: absolute(url.text("the URL")?, request),
        url_span: url.span,
        request_headers: read::headers(request.get("headers"))?,
        request_body: request_body(request)?,
        status: read::status(status)?,
        reason: reason(response),
        response_headers,
        response_trailers: read::headers(response.get("trailer"))?,
        response_body,
        after: optional(response, "duration").and_then(Node::as_text).and_then(duration).unwrap_or_default(),
        ..Draft::default()
    })
}

/// A server's own request has a path, and its host beside it.
fn absolute(url: &str, request: &Node<'_>) -> String {
    match optional(request, "host").and_then(Node::as_text) {
        Some(host) if url.starts_with('/') && !host.is_empty() => format!("https://{host}{url}"),
        _ => url.to_owned(),
    }
}

fn body(message: &Node<'_>) -> Result<Bytes, Problem> {
    optional(message, "body").map_or(Ok(Bytes::new()), |body| read::bytes(body, "the body"))
}

/// A form that was read before it was recorded is kept as its pairs only.
fn request_body(request: &Node<'_>) -> Result<Stored, Problem> {
    let bytes = body(request)?;
    match optional(request, "form") {
        Some(form) if bytes.is_empty() && !form.mapping("the form")?.is_empty() => {
            let mut pairs = Vec::new();
            for (name, values) in form.mapping("the form")? {
                for value in values.sequence("the values of a form field")? {
                    pairs.push((name.text("a form field")?, value.as_text().unwrap_or_default()));
                }
            }
            Ok(Stored::structure(read::form(pairs)))
        }
        _ => Ok(Stored::new(bytes)),
    }
}

/// `200 OK`, whose number is known already.
fn reason(response: &Node<'_>) -> Option<String> {
    let line = optional(response, "status")?.as_text()?;
    line.split_once(' ').map(|(_, reason)| reason.to_owned())
}

/// Go's spelling of a duration: `1m2.5s`, `85ms`, `12µs`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).filter(|at| *at > 0)?;
        let (number, unit) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let (unit, factor) = UNITS.iter().find(|(name, _)| unit.starts_with(name))?;
        seconds += number * factor;
        rest = &rest[digits + unit.len()..];
    }
    Some(read::seconds(seconds))
}

/// Longer names first: `ms` is no `m`.
const UNITS: [(&str, f64); 7] =
    [("ns", 1e-9), ("µs", 1e-6), ("us", 1e-6), ("ms", 1e-3), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_as_go_spells_it() {
        for (text, ms) in
            [("85.6ms", 86), ("1m2.5s", 62_500), ("2.08s", 2080), ("12µs", 0), ("1h0m0s", 3_600_000)]
        {
            assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["ms", "1", "1x", "-1s", "1s."] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
