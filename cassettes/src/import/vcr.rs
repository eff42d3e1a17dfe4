//! Ruby VCR, YAML or JSON, and Betamax, which took over its shape.

use bytes::Bytes;
use exchange::Coding;
use yaml::{Node, Problem, ScalarStyle, Value};

use super::{
    desk::Desk,
    draft::Draft,
    read::{self, Field, member, optional},
    repair::{Repair, Stored},
};

pub(super) fn read(document: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let list = member(document, "http_interactions", "the cassette")?;
    if list.is_null() {
        return Ok(());
    }
    list.sequence("the interactions")?.iter().try_for_each(|interaction| take(interaction, desk))
}

fn take(interaction: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let request = member(interaction, "request", "the interaction")?;
    let response = member(interaction, "response", "the interaction")?;
    let uri = member(request, "uri", "the request")?;
    let (status, reason) = status(response)?;
    let mut response_headers = read::headers(response.get("headers"))?;
    let mut response_body = body(response.get("body"))?;
    if let Some(coding) = undone(response) {
        // It was taken off, and its header with it; both were on the wire.
        desk.note(Repair::CodingHeaderRestored);
        response_headers.retain(|field| !field.name.eq_ignore_ascii_case("content-encoding"));
        response_headers.push(Field {
            name: "content-encoding".into(),
            value: Bytes::from_static(coding.as_str().as_bytes()),
            span: response.span,
        });
        response_body = Stored::decoded(response_body.bytes);
    }
    desk.take(Draft {
        span: read::opening(interaction),
        method: method(read::text(request, "method", "the request")?),
        url: uri.text("the URI")?.to_owned(),
        url_span: uri.span,
        request_headers: read::headers(request.get("headers"))?,
        request_body: body(request.get("body"))?,
        status,
        reason,
        response_headers,
        response_body,
        ..Draft::default()
    })
}

/// Betamax kept the number alone at first.
fn status(response: &Node<'_>) -> Result<(u16, Option<String>), Problem> {
    if let Some(code) = response.get("status_code") {
        return Ok((read::status(code)?, None));
    }
    let status = member(response, "status", "the response")?;
    let reason = optional(status, "message").and_then(Node::as_text).map(str::to_owned);
    Ok((read::status(member(status, "code", "the status")?)?, reason))
}

/// Ruby keeps the method as a symbol in lower case.
fn method(text: &str) -> String {
    text.trim_start_matches(':').to_ascii_uppercase()
}

/// The coding that VCR says it undid.
fn undone(response: &Node<'_>) -> Option<Coding> {
    let note = response.get("adapter_metadata")?.get("vcr_decompressed")?.as_text()?;
    match note {
        "gzip" => Some(Coding::Gzip),
        "deflate" => Some(Coding::Deflate),
        _ => None,
    }
}

fn body(node: Option<&Node<'_>>) -> Result<Stored, Problem> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(Stored::default()) };
    if !matches!(node.value, Value::Mapping(_)) {
        return Ok(Stored::new(read::bytes(node, "the body")?));
    }
    if let Some(packed) = optional(node, "base64_string") {
        return Ok(Stored::new(read::base64(packed)?));
    }
    let Some(text) = optional(node, "string") else { return Ok(Stored::default()) };
    let is_bytes = text.as_scalar().is_some_and(|scalar| scalar.style == ScalarStyle::Binary);
    let encoding = node.get("encoding").and_then(Node::as_text).unwrap_or_default();
    match text.as_text().filter(|_| !is_bytes && is_latin(encoding)).and_then(latin) {
        Some(bytes) => Ok(Stored::new(bytes)),
        None => Ok(Stored::new(read::bytes(text, "the body")?)),
    }
}

/// Text was turned into UTF-8 for the file; on the wire it had the encoding that is noted.
fn is_latin(encoding: &str) -> bool {
    encoding.eq_ignore_ascii_case("iso-8859-1") || encoding.eq_ignore_ascii_case("latin1")
}

fn latin(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}
