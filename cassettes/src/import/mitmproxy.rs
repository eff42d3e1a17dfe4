//! mitmproxy flow files, versions 20 and 21: flows one behind the other, each a tnetstring.

mod tnetstring;

use std::time::Duration;

use bytes::Bytes;
use exchange::{Message, Peer, Piece};
use yaml::Span;

use super::{
    Refusal,
    desk::Desk,
    draft::Draft,
    read::{self, Field},
    repair::Stored,
};

use tnetstring::{Item, Reader};

/// A length, a colon, and at the very end of that length the mark of a dictionary that holds a version.
pub(super) fn looks_like(bytes: &[u8]) -> bool {
    let digits = bytes.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
    let length = std::str::from_utf8(&bytes[..digits]).ok().and_then(|text| text.parse::<usize>().ok());
    let end = length.and_then(|length| length.checked_add(digits + 1));
    digits > 0
        && bytes.get(digits) == Some(&b':')
        && end.and_then(|end| bytes.get(end)).is_none_or(|mark| *mark == b'}')
        && bytes.windows(MARK.len()).take(1 << 20).any(|window| window == MARK)
}

/// Whether a file may be one of flows, by its first bytes: the length of a dictionary, and a key.
pub(super) fn may_open(opening: &[u8]) -> bool {
    let after_length = |bytes: &'_ [u8]| {
        let digits = bytes.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
        (digits > 0 && bytes.get(digits) == Some(&b':')).then_some(digits + 1)
    };
    let Some(inside) = after_length(opening) else { return false };
    let Some(key) = after_length(&opening[inside..]) else { return false };
    let name = &opening[inside + key..];
    let end = name.iter().position(|b| !(b.is_ascii_lowercase() || *b == b'_'));
    end.is_some_and(|end| end > 0 && matches!(name[end], b';' | b','))
}

pub(super) fn read(bytes: &[u8], desk: &mut Desk<'_>) -> Result<(), Refusal> {
    let mut reader = Reader::new(bytes);
    let mut start = None;
    while !reader.is_done() {
        let offset = reader.offset();
        let flow = reader.item()?;
        take(&Flow { item: &flow, offset }, &mut start, desk)?;
    }
    Ok(())
}

struct Flow<'f> {
    item: &'f Item<'f>,
    offset: usize,
}

fn take(flow: &Flow<'_>, start: &mut Option<f64>, desk: &mut Desk<'_>) -> Result<(), Refusal> {
    let wrong = |message: String| Refusal::Offset { offset: flow.offset, message };
    let missing = |key: &str| wrong(format!("the flow has no `{key}`, or one of another type"));
    let version = flow.item.get("version").and_then(Item::integer).ok_or_else(|| missing("version"))?;
    if !matches!(version, 20 | 21) {
        return Err(Refusal::with_help(
            format!("flow format {version} is not read; 20 and 21 are"),
            "save it as HAR with `mitmdump --rfile FILE --set hardump=FILE.har`, and import that",
        ));
    }
    let span = Span::default();
    let kind = flow.item.get("type").and_then(Item::text).unwrap_or_default();
    if kind != "http" {
        desk.skip(span, format!("a flow of type {kind:?} holds no HTTP"));
        return Ok(());
    }
    let request = flow.item.get("request").ok_or_else(|| missing("request"))?;
    let response = match flow.item.get("response") {
        Some(response) if !response.is_null() => response,
        _ => {
            let error = flow.item.get("error").and_then(|error| error.get("msg")).and_then(Item::text);
            let why = error.map_or(String::new(), |error| format!(" ({error})"));
            desk.skip(span, format!("no response came{why}"));
            return Ok(());
        }
    };
    let (Some(request_body), Some(response_body)) = (content(request), content(response)) else {
        desk.skip(span, "mitmproxy passed a body on without keeping it");
        return Ok(());
    };
    let began = request.get("timestamp_start").and_then(Item::number);
    let first = *start.get_or_insert(began.unwrap_or_default());
    let answered = response.get("timestamp_start").and_then(Item::number);
    let between = |from: Option<f64>, to: Option<f64>| {
        from.zip(to).map_or(Duration::ZERO, |(a, b)| read::seconds(b - a))
    };
    let text = |item: &Item<'_>, key: &str| item.get(key).and_then(Item::text).map(str::to_owned);
    let status = response.get("status_code").and_then(Item::integer).and_then(|s| u16::try_from(s).ok());
    let draft = Draft {
        span,
        at: between(Some(first), began),
        method: text(request, "method").ok_or_else(|| missing("method"))?,
        url: url(request).ok_or_else(|| missing("host"))?,
        url_span: span,
        request_headers: headers(request).ok_or_else(|| missing("headers"))?,
        request_body: Stored::new(request_body),
        status: status.ok_or_else(|| missing("status_code"))?,
        reason: text(response, "reason"),
        response_headers: headers(response).ok_or_else(|| missing("headers"))?,
        response_trailers: trailers(response).ok_or_else(|| missing("trailers"))?,
        response_body: Stored::new(response_body),
        after: between(began, answered),
        messages: messages(flow.item, answered).ok_or_else(|| missing("websocket"))?,
        turn: None,
    };
    desk.take(draft).map_err(|problem| wrong(problem.message))
}

fn url(request: &Item<'_>) -> Option<String> {
    let part = |key: &str| request.get(key).and_then(Item::text);
    let scheme = part("scheme").filter(|scheme| !scheme.is_empty()).unwrap_or("https");
    let host = part("host").filter(|host| !host.is_empty())?;
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let port = request.get("port").and_then(Item::integer)?;
    Some(format!("{scheme}://{host}:{port}{}", part("path")?))
}

/// `None`: there was a body, and it was not kept.
fn content(message: &Item<'_>) -> Option<Bytes> {
    message.get("content").and_then(Item::bytes).map(Bytes::copy_from_slice)
}

fn headers(message: &Item<'_>) -> Option<Vec<Field>> {
    fields(message.get("headers")?)
}

fn trailers(message: &Item<'_>) -> Option<Vec<Field>> {
    match message.get("trailers") {
        Some(trailers) if !trailers.is_null() => fields(trailers),
        _ => Some(Vec::new()),
    }
}

fn fields(list: &Item<'_>) -> Option<Vec<Field>> {
    let pairs = list.list()?.iter().map(|pair| match pair.list()? {
        [name, value] => Some(Field {
            name: name.text()?.to_owned(),
            value: Bytes::copy_from_slice(value.bytes()?),
            span: Span::default(),
        }),
        _ => None,
    });
    pairs.collect()
}

/// `(type, from_client, content, timestamp, dropped, injected)` each, and how it was closed.
fn messages(flow: &Item<'_>, opened: Option<f64>) -> Option<Vec<Message>> {
    let Some(socket) = flow.get("websocket").filter(|socket| !socket.is_null()) else {
        return Some(Vec::new());
    };
    let mut before = opened;
    let mut messages = Vec::new();
    let mut after = |now: Option<f64>| {
        let gap = before.zip(now).map_or(Duration::ZERO, |(before, now)| read::seconds(now - before));
        before = now.or(before);
        gap
    };
    for message in socket.get("messages")?.list()? {
        let [kind, from_client, content, at, dropped, ..] = message.list()? else { return None };
        if dropped.boolean() == Some(true) {
            continue;
        }
        let bytes = content.bytes()?;
        let piece = match kind.integer()? {
            1 => Piece::Text(String::from_utf8(bytes.to_vec()).ok()?),
            _ => Piece::Binary(Bytes::copy_from_slice(bytes)),
        };
        messages.push(Message { from: peer(from_client.boolean()?), after: after(at.number()), piece });
    }
    if let Some(code) = socket.get("close_code").and_then(Item::integer) {
        let reason = socket.get("close_reason").and_then(Item::text).unwrap_or_default().to_owned();
        let by_client = socket.get("closed_by_client").and_then(Item::boolean).unwrap_or(false);
        // 1005 and 1006 say that no code was sent.
        let close =
            u16::try_from(code).ok().filter(|code| !matches!(code, 1005 | 1006)).map(|code| (code, reason));
        let at = socket.get("timestamp_end").and_then(Item::number);
        messages.push(Message { from: peer(by_client), after: after(at), piece: Piece::Close(close) });
    }
    Some(messages)
}

fn peer(is_client: bool) -> Peer {
    if is_client { Peer::Client } else { Peer::Server }
}

/// The key that every flow has, as it stands in the file.
const MARK: &[u8] = b"7:version;";
