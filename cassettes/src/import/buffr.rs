//! buffr recordings, version 1: HTTP with the times of its pieces, and WebSocket frames.

use std::time::Duration;

use bytes::Bytes;
use exchange::{Frame, Message, Peer, Piece};
use yaml::{Node, Problem};

use super::{
    desk::Desk,
    draft::Draft,
    read::{self, Field, Numbers, member, optional},
    repair::Stored,
};

pub(super) fn read(document: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    if let Some(version) = document.get("version").filter(|version| version.as_text() != Some("1")) {
        return Err(Problem::new(version.span, format!("version {} is not read", read::found(version))));
    }
    let list = member(document, "interactions", "the recording")?.sequence("the interactions")?;
    list.iter().try_for_each(|item| match (item.get("http"), item.get("websocket")) {
        (Some(http), _) => take_http(item, http, desk),
        (None, Some(socket)) => take_websocket(item, socket, desk),
        (None, None) => {
            Err(Problem::new(read::opening(item), "the interaction has no `http` and no `websocket`"))
        }
    })
}

fn take_http(item: &Node<'_>, http: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let request = member(http, "request", "the interaction")?;
    let response = member(http, "response", "the interaction")?;
    let (url, url_span) = url(request)?;
    let (response_body, after) = response_body(response)?;
    desk.take(Draft {
        span: read::opening(item),
        method: read::method(read::text(request, "method", "the request")?),
        url,
        url_span,
        request_headers: read::headers(request.get("headers"))?,
        request_body: body(request)?,
        status: read::status(member(response, "status", "the response")?)?,
        response_headers: read::headers(response.get("headers"))?,
        response_body,
        after,
        ..Draft::default()
    })
}

fn take_websocket(item: &Node<'_>, socket: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let request = member(socket, "request", "the conversation")?;
    let (url, url_span) = url(request)?;
    let frames = member(socket, "frames", "the conversation")?.sequence("the frames")?;
    let mut messages = Vec::with_capacity(frames.len());
    for frame in frames {
        messages.extend(message(frame)?);
    }
    let upgrade = Field { name: "upgrade".into(), value: Bytes::from_static(b"websocket"), span: url_span };
    let mut request_headers = read::headers(request.get("headers"))?;
    request_headers.retain(|field| !field.name.eq_ignore_ascii_case("upgrade"));
    request_headers.push(upgrade.clone());
    desk.take(Draft {
        span: read::opening(item),
        method: "GET".into(),
        url,
        url_span,
        request_headers,
        status: 101,
        response_headers: vec![upgrade],
        messages,
        ..Draft::default()
    })
}

/// The host may be left out; `--origin` then names it.
fn url(request: &Node<'_>) -> Result<(String, yaml::Span), Problem> {
    let path = member(request, "path", "the request")?;
    let text = path.text("the path")?;
    let query = match optional(request, "query") {
        Some(query) => match query.as_text() {
            Some(text) => text.trim_start_matches('?').to_owned(),
            None => {
                let pairs = query.mapping("the query")?.iter();
                read::form(pairs.filter_map(|(name, value)| Some((name.as_text()?, value.as_text()?))))
            }
        },
        None => String::new(),
    };
    let mark = if query.is_empty() { "" } else { "?" };
    let host = optional(request, "host").and_then(Node::as_text);
    let origin = match host {
        Some(host) if host.contains("://") => host.trim_end_matches('/').to_owned(),
        Some(host) => format!("https://{host}"),
        None => String::new(),
    };
    Ok((format!("{origin}{text}{mark}{query}"), path.span))
}

fn body(message: &Node<'_>) -> Result<Stored, Problem> {
    if let Some(packed) = optional(message, "body_b64") {
        return Ok(Stored::new(read::base64(packed)?));
    }
    let Some(body) = optional(message, "body") else { return Ok(Stored::default()) };
    match body.as_scalar() {
        Some(_) => Ok(Stored::new(read::bytes(body, "the body")?)),
        None => Ok(Stored::structure(read::json_bytes(body, Numbers::Json))),
    }
}

/// Pieces with their delays. The first delay is the wait for the head as well: which is which is not kept.
fn response_body(response: &Node<'_>) -> Result<(Stored, Duration), Problem> {
    let Some(chunks) = optional(response, "body_chunks") else {
        return Ok((body(response)?, Duration::ZERO));
    };
    let (mut bytes, mut frames) = (Vec::new(), Vec::new());
    let mut waited = Duration::ZERO;
    for chunk in chunks.sequence("the pieces of the body")? {
        let piece = data(chunk)?;
        waited += delay(chunk);
        if !piece.is_empty() {
            frames.push(Frame { len: piece.len(), after: std::mem::take(&mut waited) });
            bytes.extend_from_slice(&piece);
        }
    }
    let mut stored = Stored::new(bytes);
    stored.frames = frames;
    Ok((stored, Duration::ZERO))
}

/// Pings and pongs are no messages.
fn message(frame: &Node<'_>) -> Result<Option<Message>, Problem> {
    let direction = member(frame, "direction", "the frame")?;
    let from = direction.choice(
        "the direction",
        &[
            ("client", Peer::Client),
            ("send", Peer::Client),
            ("sent", Peer::Client),
            ("client_to_server", Peer::Client),
            ("server", Peer::Server),
            ("receive", Peer::Server),
            ("received", Peer::Server),
            ("server_to_client", Peer::Server),
        ],
    )?;
    let opcode = member(frame, "opcode", "the frame")?;
    let piece = match opcode.text("the opcode")? {
        "text" | "1" => {
            let bytes = data(frame)?;
            let text = String::from_utf8(bytes.to_vec())
                .map_err(|_| Problem::new(read::opening(frame), "a text frame that is not text"))?;
            Piece::Text(text)
        }
        "binary" | "2" => Piece::Binary(data(frame)?),
        "close" | "8" => {
            let code = optional(frame, "close_code").map(|code| code.integer("the code", 0..=u16::MAX));
            Piece::Close(match code.transpose()? {
                Some(code) => Some((code, String::from_utf8_lossy(&data(frame)?).into_owned())),
                None => None,
            })
        }
        "ping" | "pong" | "9" | "10" => return Ok(None),
        other => return Err(Problem::new(opcode.span, format!("unknown opcode `{other}`"))),
    };
    Ok(Some(Message { from, after: delay(frame), piece }))
}

fn data(node: &Node<'_>) -> Result<Bytes, Problem> {
    match optional(node, "data_b64") {
        Some(packed) => read::base64(packed),
        None => optional(node, "data").map_or(Ok(Bytes::new()), |data| read::bytes(data, "the data")),
    }
}

fn delay(node: &Node<'_>) -> Duration {
    optional(node, "delay_ms").and_then(read::milliseconds).unwrap_or_default()
}
