//! vcrpy cassettes, YAML or JSON, and what others made of the same shape.
//!
//! Beside the plain shape: httpx bodies under `content` (before vcrpy 6), JSON kept as structure under
//! `parsed_body`, and requests and responses in two lists side by side.

use bytes::Bytes;
use exchange::Exchange;
use serde_json::Value as Json;
use yaml::{Limits, Node, Problem, Value};

use super::{
    desk::Desk,
    draft::Draft,
    read::{self, Numbers, member, optional},
    repair::Stored,
    wiretape,
};
use crate::export;

pub(super) fn read(document: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    if let Some(requests) = document.get("requests") {
        let requests = requests.sequence("the requests")?;
        let responses = member(document, "responses", "the cassette")?.sequence("the responses")?;
        if requests.len() != responses.len() {
            let (asked, answered) = (requests.len(), responses.len());
            return Err(Problem::new(
                document.span,
                format!("{asked} requests and {answered} responses do not make pairs"),
            ));
        }
        return requests
            .iter()
            .zip(responses)
            .try_for_each(|(request, response)| take(request, request, response, desk));
    }
    wiretape::policy(document.get("wiretape"), desk)?;
    let list = member(document, "interactions", "the cassette")?;
    if list.is_null() {
        return Ok(());
    }
    list.sequence("the interactions")?.iter().try_for_each(|interaction| {
        let request = member(interaction, "request", "the interaction")?;
        let response = member(interaction, "response", "the interaction")?;
        let of_ours = interaction.get("wiretape");
        if let Some(exchange) = wiretape::restore(of_ours, interaction, &projection, desk)? {
            return desk.take_whole(exchange, read::opening(interaction));
        }
        take(interaction, request, response, desk)
    })
}

fn take(
    interaction: &Node<'_>,
    request: &Node<'_>,
    response: &Node<'_>,
    desk: &mut Desk<'_>,
) -> Result<(), Problem> {
    let uri = member(request, "uri", "the request")?;
    let (status, reason) = status(response)?;
    let (at, after) = wiretape::times(interaction.get("wiretape"))?;
    desk.take(Draft {
        span: read::opening(interaction),
        at,
        after,
        method: read::method(read::text(request, "method", "the request")?),
        url: uri.text("the URI")?.to_owned(),
        url_span: uri.span,
        request_headers: read::headers(request.get("headers"))?,
        request_body: request_body(request)?,
        status,
        reason,
        response_headers: read::headers(response.get("headers"))?,
        response_body: body(response, "the response body")?,
        ..Draft::default()
    })
}

/// What an export writes for an exchange, as it is read.
fn projection(exchange: &Exchange) -> Option<Json> {
    let text = yaml::to_string(&export::vcrpy::interaction(exchange));
    let node = yaml::parse_foreign(&text, &Limits::for_foreign(text.len())).ok()?;
    Some(read::json(&node, Numbers::Json))
}

fn status(response: &Node<'_>) -> Result<(u16, Option<String>), Problem> {
    if let Some(code) = response.get("status_code") {
        return Ok((read::status(code)?, None));
    }
    let status = member(response, "status", "the response")?;
    match &status.value {
        Value::Mapping(_) => {
            let reason = optional(status, "message").and_then(Node::as_text).map(str::to_owned);
            Ok((read::status(member(status, "code", "the status")?)?, reason))
        }
        _ => Ok((read::status(status)?, None)),
    }
}

/// A request body that is a mapping is JSON that somebody parsed.
fn request_body(request: &Node<'_>) -> Result<Stored, Problem> {
    match request.get("body") {
        Some(parsed) if matches!(parsed.value, Value::Mapping(_)) && parsed.get("string").is_none() => {
            Ok(Stored::structure(read::json_bytes(parsed, Numbers::Yaml11)))
        }
        _ => body(request, "the request body"),
    }
}

fn body(message: &Node<'_>, what: &str) -> Result<Stored, Problem> {
    if let Some(parsed) = message.get("parsed_body") {
        // Text that is no JSON is kept under this name too.
        return match parsed.as_scalar() {
            Some(_) if parsed.is_null() => Ok(Stored::default()),
            Some(_) => Ok(Stored::decoded(read::bytes(parsed, what)?)),
            None => Ok(Stored::structure(read::json_bytes(parsed, Numbers::Yaml11))),
        };
    }
    let Some(body) = optional(message, "body").or_else(|| optional(message, "content")) else {
        return Ok(Stored::default());
    };
    match &body.value {
        Value::Scalar(_) => Ok(Stored::new(read::bytes(body, what)?)),
        Value::Mapping(_) => match (body.get("string"), body.get("base64_string")) {
            (Some(text), _) => Ok(Stored::new(pieces(text, what)?)),
            (None, Some(text)) => Ok(Stored::new(read::base64(text)?)),
            (None, None) if body.mapping(what)?.is_empty() => Ok(Stored::default()),
            (None, None) => Err(Problem::new(read::opening(body), format!("{what} has no `string`"))),
        },
        Value::Sequence(_) => Ok(Stored::new(pieces(body, what)?)),
    }
}

/// A body that was an iterator is a list of its pieces.
fn pieces(node: &Node<'_>, what: &str) -> Result<Bytes, Problem> {
    let Value::Sequence(items) = &node.value else { return read::bytes(node, what) };
    let mut all = Vec::new();
    for item in items {
        all.extend_from_slice(&read::bytes(item, what)?);
    }
    Ok(all.into())
}
