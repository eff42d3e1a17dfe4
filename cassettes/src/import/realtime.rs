//! WebSocket conversations kept as a list of messages, as Pydantic AI's realtime tests do.
//!
//! Neither the URL nor the handshake is kept: a person has to say where the conversation was held.

use std::time::Duration;

use exchange::{Message, Peer, Piece};
use yaml::{Node, Problem, Value};

use super::{
    desk::Desk,
    draft::Draft,
    read::{self, Field, Numbers, member, optional},
};

pub(super) fn read(document: &Node<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let list = member(document, "interactions", "the recording")?;
    let Some(url) = desk.origin().cloned() else {
        return Err(Problem::new(
            read::opening(list),
            "the recording does not say which URL the WebSocket had",
        )
        .with_help("name it with --origin wss://HOST/PATH"));
    };
    let mut messages = Vec::new();
    for item in list.sequence("the interactions")? {
        match read::text(item, "kind", "the interaction")? {
            "message" => messages.push(message(item)?),
            // What follows was said on the next connection.
            "close" => {
                messages.push(close(item)?);
                take(list, &url.to_string(), std::mem::take(&mut messages), desk)?;
            }
            other => {
                return Err(Problem::new(
                    read::opening(item),
                    format!("unknown kind of interaction `{other}`"),
                ));
            }
        }
    }
    take(list, &url.to_string(), messages, desk)
}

fn take(list: &Node<'_>, url: &str, messages: Vec<Message>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    if messages.is_empty() {
        return Ok(());
    }
    let field = |name: &str, value: &'static str| Field {
        name: name.to_owned(),
        value: value.into(),
        span: list.span,
    };
    desk.take(Draft {
        span: list.span,
        method: "GET".into(),
        url: url.to_owned(),
        url_span: list.span,
        request_headers: vec![field("upgrade", "websocket"), field("sec-websocket-version", "13")],
        status: 101,
        response_headers: vec![field("upgrade", "websocket")],
        messages,
        ..Draft::default()
    })
}

fn message(item: &Node<'_>) -> Result<Message, Problem> {
    let direction = member(item, "direction", "the message")?;
    let from = direction.choice("the direction", &[("sent", Peer::Client), ("received", Peer::Server)])?;
    let data = member(item, "data", "the message")?;
    let text = match &data.value {
        Value::Scalar(scalar) => scalar.text.clone().into_owned(),
        _ => read::json(data, Numbers::Yaml11).to_string(),
    };
    Ok(Message { from, after: Duration::ZERO, piece: Piece::Text(text) })
}

fn close(item: &Node<'_>) -> Result<Message, Problem> {
    let code = member(item, "code", "the close")?.integer("the code", 0..=u16::MAX)?;
    let reason = optional(item, "reason").and_then(Node::as_text).unwrap_or_default().to_owned();
    Ok(Message { from: Peer::Server, after: Duration::ZERO, piece: Piece::Close(Some((code, reason))) })
}
