//! Recordings of the Azure SDK's test proxy.

use bytes::Bytes;
use yaml::{Node, Problem, Value};

use super::{
    desk::Desk,
    draft::Draft,
    read::{self, Field, Numbers, member},
    repair::Stored,
};

pub(super) fn read(document: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let entries = member(document, "Entries", "the recording")?.sequence("the entries")?;
    entries.iter().try_for_each(|entry| take(entry, desk))
}

fn take(entry: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let uri = member(entry, "RequestUri", "the entry")?;
    let request_headers = read::headers(entry.get("RequestHeaders"))?;
    let response_headers = read::headers(entry.get("ResponseHeaders"))?;
    desk.take(Draft {
        span: read::opening(entry),
        method: read::method(read::text(entry, "RequestMethod", "the entry")?),
        url: uri.text("the URI")?.to_owned(),
        url_span: uri.span,
        request_body: body(entry.get("RequestBody"), &request_headers)?,
        request_headers,
        status: read::status(member(entry, "StatusCode", "the entry")?)?,
        response_body: body(entry.get("ResponseBody"), &response_headers)?,
        response_headers,
        ..Draft::default()
    })
}

/// How a body is kept depends on its content type: structure for JSON, lines for other text, base64 for the rest, and
/// for multipart a list of pieces of which some are base64.
fn body(node: Option<&Node<'_>>, headers: &[Field]) -> Result<Stored, Problem> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(Stored::default()) };
    let media = media_type(headers);
    match &node.value {
        Value::Mapping(_) => Ok(Stored::structure(read::json_bytes(node, Numbers::Json))),
        Value::Sequence(items)
            if items.iter().all(|item| item.as_plain().is_none() && item.as_scalar().is_some()) =>
        {
            Ok(Stored::decoded(joined(items, media.starts_with("multipart/"))?))
        }
        Value::Sequence(_) => Ok(Stored::structure(read::json_bytes(node, Numbers::Json))),
        // A bare number or word of JSON.
        Value::Scalar(_) if node.as_plain().is_some() => Ok(Stored::decoded(read::bytes(node, "the body")?)),
        Value::Scalar(_) if is_text(&media) => Ok(Stored::decoded(read::bytes(node, "the body")?)),
        // Nothing says that it is base64 but the type; what is none is kept as the text it is.
        Value::Scalar(_) => match read::base64(node) {
            Ok(bytes) => Ok(Stored::new(bytes)),
            Err(_) => Ok(Stored::decoded(read::bytes(node, "the body")?)),
        },
    }
}

fn joined(items: &[Node<'_>], is_multipart: bool) -> Result<Bytes, Problem> {
    let mut all = Vec::new();
    for item in items {
        let text = item.as_text().unwrap_or_default();
        match text.strip_prefix("b64:").filter(|_| is_multipart) {
            Some(packed) => all.extend_from_slice(&read::decode_base64(packed).ok_or_else(|| {
                Problem::new(item.span, "this is not base64, though the recording says so")
            })?),
            None => all.extend_from_slice(text.as_bytes()),
        }
    }
    Ok(all.into())
}

fn media_type(headers: &[Field]) -> String {
    let field = headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-type"));
    let value = field.map(|field| String::from_utf8_lossy(&field.value).into_owned()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_text(media: &str) -> bool {
    media.starts_with("text/")
        || media.starts_with("multipart/")
        || ["json", "xml", "x-www-form-urlencoded", "javascript", "yaml"]
            .iter()
            .any(|word| media.contains(word))
}
