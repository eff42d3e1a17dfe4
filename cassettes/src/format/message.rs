//! WebSocket messages.

use std::borrow::Cow;

use exchange::{JsonStyle, Message, Peer, Piece};
use yaml::{Fields, Node, Out, Problem};

use super::{
    body::{one_of, read_base64, write_base64},
    exchange::{push_after, read_after},
    json,
};

pub(super) fn read(node: &Node<'_>) -> Result<Message, Problem> {
    let mut fields = Fields::of(node, "the message")?;
    let from = fields.required("from")?.choice("the sender", &PEERS)?;
    let after = read_after(fields.optional("after"), "the delay of the message")?;
    let (kind, value) = one_of(&mut fields, "the message", &["text", "json", "base64", "close"])?;
    let piece = match kind {
        "text" => Piece::Text(value.text("the text")?.to_owned()),
        "json" => Piece::Text(JsonStyle::default().render(&json::read(value))),
        "base64" => Piece::Binary(read_base64(value)?),
        _ => Piece::Close(read_close(value)?),
    };
    fields.finish()?;
    Ok(Message { from, after, piece })
}

pub(super) fn write(message: &Message) -> Out<'_> {
    let from = match message.from {
        Peer::Client => PEERS[0].0,
        Peer::Server => PEERS[1].0,
    };
    let mut entries = vec![("from".into(), Out::text(from))];
    push_after(&mut entries, "after", message.after);
    entries.push(match &message.piece {
        Piece::Text(text) => write_text(text),
        Piece::Binary(bytes) => write_base64(bytes),
        Piece::Close(close) => ("close".into(), write_close(close.as_ref())),
    });
    Out::Mapping(entries)
}

fn write_text(text: &str) -> (Cow<'_, str>, Out<'_>) {
    match json::detect(text.as_bytes()) {
        Some((value, style)) if style == JsonStyle::default() => ("json".into(), json::write(value)),
        _ => ("text".into(), Out::text(text)),
    }
}

fn read_close(node: &Node<'_>) -> Result<Option<(u16, String)>, Problem> {
    let mut fields = Fields::of(node, "the close")?;
    let code = fields.optional("code").map(|code| code.integer("the code", 0..=u16::MAX)).transpose()?;
    let close = match code {
        None => None,
        Some(code) => {
            let reason = fields.optional("reason").map_or(Ok(""), |reason| reason.text("the reason"))?;
            Some((code, reason.to_owned()))
        }
    };
    fields.finish()?;
    Ok(close)
}

fn write_close(close: Option<&(u16, String)>) -> Out<'_> {
    let mut entries = Vec::new();
    if let Some((code, reason)) = close {
        entries.push(("code".into(), Out::from(*code)));
        if !reason.is_empty() {
            entries.push(("reason".into(), Out::text(reason.as_str())));
        }
    }
    Out::Mapping(entries)
}

const PEERS: [(&str, Peer); 2] = [("client", Peer::Client), ("server", Peer::Server)];
