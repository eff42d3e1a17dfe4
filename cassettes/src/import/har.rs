//! HTTP Archive 1.2, as browsers, mitmproxy and Polly.JS write it. As YAML too.

use bytes::Bytes;
use exchange::{Exchange, Message, Peer, Piece};
use time::OffsetDateTime;
use yaml::{Node, Problem};

use super::{
    Beside, Repair, beside,
    desk::Desk,
    draft::Draft,
    read::{self, Field, Numbers, member, optional},
    repair::Stored,
    wiretape,
};
use crate::export;

pub(super) fn read(document: &Node<'_>, beside: Beside<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let log = member(document, "log", "the archive")?;
    let entries = member(log, "entries", "the log")?.sequence("the entries")?;
    wiretape::policy(log.get("_wiretape"), desk)?;
    let creator = log.get("creator").and_then(|creator| creator.get("name")).and_then(Node::as_text);
    if creator == Some(export::har::CREATOR) {
        let start = Some(OffsetDateTime::UNIX_EPOCH);
        return entries.iter().try_for_each(|entry| take(entry, start, beside, desk));
    }
    let start = entries.iter().filter_map(|entry| read::instant(entry.get("startedDateTime")?)).min();
    let mut entries: Vec<&Node<'_>> = entries.iter().collect();
    // Browsers list what ended first; Polly lists by request, each with its place among the same ones.
    entries.sort_by_key(|entry| entry.get("startedDateTime").and_then(read::instant));
    entries.into_iter().try_for_each(|entry| take(entry, start, beside, desk))
}

fn take(
    entry: &Node<'_>,
    start: Option<OffsetDateTime>,
    beside: Beside<'_>,
    desk: &mut Desk<'_>,
) -> Result<(), Problem> {
    let request = member(entry, "request", "the entry")?;
    let response = member(entry, "response", "the entry")?;
    let projection = |exchange: &Exchange| Some(export::har::entry(exchange));
    if let Some(exchange) = wiretape::restore(entry.get("_wiretape"), entry, &projection, desk)? {
        return desk.take_whole(exchange, read::opening(entry));
    }
    let url = member(request, "url", "the request")?;
    let status = member(response, "status", "the response")?;
    if status.as_text() == Some("0") {
        let error =
            optional(entry, "_error").or_else(|| optional(response, "_error")).and_then(Node::as_text);
        let why = error.map_or(String::new(), |error| format!(" ({error})"));
        desk.skip(read::opening(entry), format!("no response came{why}"));
        return Ok(());
    }
    let mut response_headers = lines(read::headers(response.get("headers"))?);
    let content = optional(response, "content");
    // A cached or cross-origin response may have a type and no headers.
    if response_headers.is_empty()
        && let Some(media) = content.and_then(|content| optional(content, "mimeType"))
    {
        let value = Bytes::copy_from_slice(media.as_text().unwrap_or_default().as_bytes());
        response_headers.push(Field { name: "content-type".into(), value, span: media.span });
    }
    let messages = messages(entry)?;
    let status = if messages.is_empty() { read::status(status)? } else { 101 };
    let method = read::text(request, "method", "the request")?.to_ascii_uppercase();
    let Some(request_body) = request_body(request, beside)? else {
        let size = number(request, "bodySize").unwrap_or_default();
        desk.skip(read::opening(entry), format!("the archive has not kept the {size} bytes that were sent"));
        return Ok(());
    };
    let response_body = match response_body(content, &response_headers, beside)? {
        Some(body) => body,
        None => match lost(&method, status, response, &response_headers) {
            Lost::Nothing => Stored::default(),
            // What a client follows is the header; browsers drop the page behind it.
            Lost::Bytes(_) if (300..400).contains(&status) && has(&response_headers, "location") => {
                response_headers.retain(|field| !field.name.eq_ignore_ascii_case("content-length"));
                desk.note(Repair::RedirectEmptied);
                Stored::default()
            }
            Lost::Bytes(size) => {
                let why = format!("the archive has not kept the {size} bytes of its response");
                desk.skip(read::opening(entry), why);
                return Ok(());
            }
        },
    };
    let at = start.zip(optional(entry, "startedDateTime").and_then(read::instant));
    desk.take(Draft {
        span: read::opening(entry),
        at: at.and_then(|(start, at)| (at - start).try_into().ok()).unwrap_or_default(),
        method,
        url: url.text("the URL")?.to_owned(),
        url_span: url.span,
        request_headers: lines(read::headers(request.get("headers"))?),
        request_body,
        status,
        reason: optional(response, "statusText").and_then(Node::as_text).map(str::to_owned),
        response_body,
        response_headers,
        after: entry.get("timings").and_then(|t| read::milliseconds(t.get("wait")?)).unwrap_or_default(),
        messages,
        ..Draft::default()
    })
}

/// `None`: there was a body, and it is not in the archive.
fn request_body(request: &Node<'_>, beside: Beside<'_>) -> Result<Option<Stored>, Problem> {
    let unknown = || match number(request, "bodySize") {
        Some(1..) => None,
        _ => Some(Stored::default()),
    };
    let Some(data) = optional(request, "postData") else { return Ok(unknown()) };
    if let Some(name) = optional(data, "_file") {
        return Ok(Some(Stored::new(beside::fetch(name, beside)?)));
    }
    if let Some(structure) = data.get("textJSON") {
        return Ok(Some(match structure.as_text() {
            Some(_) if structure.is_null() => Stored::default(),
            _ => Stored::structure(read::json_bytes(structure, Numbers::Yaml11)),
        }));
    }
    if let Some(text) = optional(data, "text").filter(|text| text.as_text() != Some("")) {
        let is_base64 = data.get("encoding").and_then(Node::as_text) == Some("base64");
        return Ok(Some(Stored::new(if is_base64 {
            read::base64(text)?
        } else {
            read::bytes(text, "the request body")?
        })));
    }
    match optional(data, "params").map(|pairs| pairs.sequence("the form")).transpose()? {
        Some([]) | None => Ok(unknown()),
        Some(pairs) => form(pairs).map(Some),
    }
}

/// A form that was kept only as its pairs.
fn form(pairs: &[Node<'_>]) -> Result<Stored, Problem> {
    let mut fields = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let value = optional(pair, "value").and_then(Node::as_text).unwrap_or_default();
        fields.push((read::text(pair, "name", "the form field")?, value));
    }
    Ok(Stored::structure(read::form(fields)))
}

/// `content.text` has no coding any more, but for what Polly keeps of coded bodies: the wire's own pieces, each in
/// base64, as a JSON array inside the text. `None`: it is not in the archive.
fn response_body(
    content: Option<&Node<'_>>,
    headers: &[Field],
    beside: Beside<'_>,
) -> Result<Option<Stored>, Problem> {
    let Some(text) = content.and_then(|content| optional(content, "text")) else {
        if let Some(name) = content.and_then(|content| optional(content, "_file")) {
            return Ok(Some(Stored::decoded(beside::fetch(name, beside)?)));
        }
        let structure = content.and_then(|content| optional(content, "textJSON"));
        return Ok(structure.map(|json| Stored::structure(read::json_bytes(json, Numbers::Yaml11))));
    };
    let is_base64 = content.and_then(|c| c.get("encoding")).and_then(Node::as_text) == Some("base64");
    if !is_base64 {
        return Ok(Some(Stored::decoded(read::bytes(text, "the content")?)));
    }
    let is_coded = has(headers, "content-encoding");
    let chunks = || -> Option<Bytes> {
        let chunks: Vec<String> = serde_json::from_str(text.as_text()?).ok()?;
        let mut all = Vec::new();
        for chunk in chunks {
            all.extend_from_slice(&read::decode_base64(&chunk)?);
        }
        Some(all.into())
    };
    Ok(Some(match chunks() {
        Some(bytes) => Stored::new(bytes),
        None if is_coded => Stored::new(read::base64(text)?),
        None => Stored::decoded(read::base64(text)?),
    }))
}

/// What is missing of a response without any content.
enum Lost {
    Nothing,
    Bytes(u64),
}

/// Nothing is missing but where something says that there was more.
fn lost(method: &str, status: u16, response: &Node<'_>, headers: &[Field]) -> Lost {
    if method == "HEAD" || matches!(status, 100..200 | 204 | 304) {
        return Lost::Nothing;
    }
    if let Some(size @ 1..) = optional(response, "content").and_then(|content| number(content, "size")) {
        return Lost::Bytes(size);
    }
    let promised = headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
    let promised = promised.and_then(|field| std::str::from_utf8(&field.value).ok()?.trim().parse().ok());
    // Nothing at all is some bytes long too, once it is packed.
    let least = if has(headers, "content-encoding") { EMPTY_PACKED } else { 0 };
    match promised.or_else(|| number(response, "bodySize")) {
        Some(size) if size > least => Lost::Bytes(size),
        _ => Lost::Nothing,
    }
}

/// A size; -1 says that it is not known.
fn number(node: &Node<'_>, key: &str) -> Option<u64> {
    optional(node, key)?.as_text()?.parse().ok()
}

fn has(fields: &[Field], name: &str) -> bool {
    fields.iter().any(|field| field.name.eq_ignore_ascii_case(name))
}

/// Browsers join several fields of one name with a line break.
fn lines(fields: Vec<Field>) -> Vec<Field> {
    let split = |field: Field| {
        let values = field.value.split(|byte| *byte == b'\n').map(|value| field.value.slice_ref(value));
        let values: Vec<Bytes> = values.collect();
        values.into_iter().map(move |value| Field { name: field.name.clone(), value, span: field.span })
    };
    fields.into_iter().flat_map(split).collect()
}

/// The longest that nothing at all becomes in a coding.
const EMPTY_PACKED: u64 = 32;

fn messages(entry: &Node<'_>) -> Result<Vec<Message>, Problem> {
    let Some(list) = optional(entry, "_webSocketMessages") else { return Ok(Vec::new()) };
    let seconds = |node: &Node<'_>| node.get("time").and_then(|time| time.as_text()?.parse::<f64>().ok());
    let mut before: Option<f64> = None;
    let mut messages = Vec::new();
    for item in list.sequence("the WebSocket messages")? {
        let direction = member(item, "type", "the message")?;
        let from = direction.choice("the direction", &[("send", Peer::Client), ("receive", Peer::Server)])?;
        let data = member(item, "data", "the message")?;
        let is_binary = item.get("opcode").and_then(Node::as_text) == Some("2");
        let piece = match is_binary {
            true => Piece::Binary(read::base64(data)?),
            false => Piece::Text(data.as_text().unwrap_or_default().to_owned()),
        };
        let now = seconds(item);
        let gap = before.zip(now).map_or(0.0, |(before, now)| now - before);
        before = now.or(before);
        messages.push(Message { from, after: read::seconds(gap), piece });
    }
    Ok(messages)
}
