//! nock recordings, and the fixtures of Octokit in the same shape.

use bytes::Bytes;
use yaml::{Node, Problem, Value};

use super::{
    desk::Desk,
    draft::Draft,
    read::{self, Field, Numbers, member, optional},
    repair::Stored,
};

pub(super) fn read(document: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    document.sequence("the recording")?.iter().try_for_each(|item| take(item, desk))
}

fn take(item: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let scope = read::text(item, "scope", "the recording")?;
    let path = member(item, "path", "the recording")?;
    let response_headers = read::headers(item.get("rawHeaders").or_else(|| item.get("headers")))?;
    let is_coded = has(&response_headers, "content-encoding");
    let is_binary =
        item.get("responseIsBinary").is_some_and(|flag| flag.as_text() == Some("true")) || is_coded;
    let request_headers = read::headers(item.get("reqheaders"))?;
    let sent = optional(item, "body");
    let hex = if is_half_as_long(sent, &request_headers) { Hex::Always } else { Hex::Never };
    desk.take(Draft {
        span: read::opening(item),
        method: read::text(item, "method", "the recording")?.to_ascii_uppercase(),
        url: format!("{}{}", scope.trim_end_matches('/'), path.text("the path")?),
        url_span: path.span,
        request_body: body(sent, hex)?,
        request_headers,
        status: read::status(member(item, "status", "the recording")?)?,
        response_headers,
        response_body: body(optional(item, "response"), if is_binary { Hex::Always } else { Hex::Never })?,
        ..Draft::default()
    })
}

/// Whether a text is bytes in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hex {
    Always,
    Never,
}

fn body(node: Option<&Node<'_>>, hex: Hex) -> Result<Stored, Problem> {
    let Some(node) = node else { return Ok(Stored::default()) };
    match &node.value {
        Value::Scalar(scalar) if hex == Hex::Always => Ok(match read::decode_hex(&scalar.text) {
            Some(bytes) => Stored::new(bytes),
            None => Stored::new(read::bytes(node, "the body")?),
        }),
        // A bare JSON value: its text is its body.
        Value::Scalar(_) => Ok(Stored::new(read::bytes(node, "the body")?)),
        Value::Sequence(chunks) if hex == Hex::Always && !chunks.is_empty() => match joined(chunks) {
            Some(bytes) => Ok(Stored::new(bytes)),
            None => Ok(Stored::structure(read::json_bytes(node, Numbers::Json))),
        },
        _ => Ok(Stored::structure(read::json_bytes(node, Numbers::Json))),
    }
}

/// Chunks as they came, each in hexadecimal. Where they were cut is not when they came, so the cuts go.
fn joined(chunks: &[Node<'_>]) -> Option<Bytes> {
    let mut all = Vec::new();
    for chunk in chunks {
        all.extend_from_slice(&read::decode_hex(chunk.as_text()?)?);
    }
    Some(all.into())
}

/// Nothing marks a request body in hexadecimal, but its length on the wire may have been kept.
fn is_half_as_long(body: Option<&Node<'_>>, headers: &[Field]) -> bool {
    let length = headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|field| std::str::from_utf8(&field.value).ok()?.trim().parse().ok());
    let text = body.and_then(Node::as_text).filter(|text| !text.is_empty());
    text.zip(length).is_some_and(|(text, length): (&str, usize)| text.len() == length.saturating_mul(2))
}

fn has(fields: &[Field], name: &str) -> bool {
    fields.iter().any(|field| field.name.eq_ignore_ascii_case(name))
}
