//! Where in a reply the catalogue says that ids and times stand.

use std::ops::Range;

use exchange::{Exchange, Message, Peer, Piece, Response, StreamKind, Token, Tokens};
use matchers::{
    Provider,
    catalog::{IdForm, TimeClass},
};

/// A part of an exchange, in the order in which they are said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Request,
    /// A header of the reply, by its place among them.
    Header(usize),
    Body,
    /// By its place in the conversation.
    Message(usize),
}

/// A value that the catalogue names.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) part: Part,
    /// Where the value stands in its part.
    pub(super) span: Range<usize>,
    pub(super) text: &'a str,
    pub(super) what: What<'a>,
}

#[derive(Debug)]
pub(super) enum What<'a> {
    Id {
        provider: &'a Provider,
        source: IdSource<'a>,
    },
    /// The key tells the times apart that never count as one.
    Time {
        owner: Option<&'a str>,
        key: &'a str,
        class: TimeClass,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum IdSource<'a> {
    Header(&'a str),
    Member { parent: &'a str, key: &'a str },
}

impl<'a> What<'a> {
    /// The forms that an id here may have, best first.
    pub(super) fn forms(&self) -> Vec<&'a IdForm> {
        match self {
            Self::Id { provider, source: IdSource::Header(name) } => provider.header_id_forms(name).collect(),
            Self::Id { provider, source: IdSource::Member { parent, key } } => {
                provider.id_forms(parent, key).collect()
            }
            Self::Time { .. } => Vec::new(),
        }
    }
}

/// Shows every place of a reply, in the order in which they came.
pub(super) fn visit<'a>(exchange: &'a Exchange, provider: &'a Provider, show: &mut dyn FnMut(Place<'a>)) {
    let Some(response) = exchange.reply.response() else {
        return;
    };
    in_headers(response, provider, show);
    if let Some(body) = response.body.bytes() {
        for document in documents(body, response) {
            in_document(body, document, Part::Body, provider, show);
        }
    }
    for (place, message) in response.messages.iter().enumerate() {
        if let Some(bytes) = said_by_server(message) {
            in_document(bytes, 0..bytes.len(), Part::Message(place), provider, show);
        }
    }
}

fn in_headers<'a>(response: &'a Response, provider: &'a Provider, show: &mut dyn FnMut(Place<'a>)) {
    for (place, header) in response.headers.iter().enumerate() {
        let Some(value) = header.text() else { continue };
        let part = Part::Header(place);
        if provider.is_time_header(header.name()) {
            let what = What::Time { owner: None, key: header.name(), class: TimeClass::Apart };
            show(Place { part, span: 0..value.len(), text: value, what });
        } else if provider.header_id_forms(header.name()).next().is_some() {
            let span = unquoted(value);
            let what = What::Id { provider, source: IdSource::Header(header.name()) };
            show(Place { part, text: &value[span.clone()], span, what });
        }
    }
}

/// An entity tag without what is put around it; anything else as it is.
fn unquoted(value: &str) -> Range<usize> {
    let start = if value.starts_with("W/\"") { 3 } else { usize::from(value.starts_with('"')) };
    match start > 0 && value.len() > start && value.ends_with('"') {
        true => start..value.len() - 1,
        false => 0..value.len(),
    }
}

fn said_by_server(message: &Message) -> Option<&[u8]> {
    if message.from != Peer::Server {
        return None;
    }
    match &message.piece {
        Piece::Text(text) => Some(text.as_bytes()),
        Piece::Binary(bytes) => Some(bytes),
        Piece::Close(_) => None,
    }
}

/// The parts of a body that could be JSON documents.
fn documents(body: &[u8], response: &Response) -> Vec<Range<usize>> {
    let kind = StreamKind::of(&response.headers);
    let whole = 0..body.len();
    match kind {
        Some(StreamKind::Frames) => Vec::new(),
        None => vec![whole],
        Some(kind) => lines(body)
            .filter_map(|line| match kind {
                StreamKind::Events => {
                    let data = body[line.clone()].strip_prefix(b"data:")?;
                    Some(line.end - data.len()..line.end)
                }
                _ => Some(line),
            })
            .collect(),
    }
}

fn lines(body: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= body.len() {
            return None;
        }
        let end = memchr::memchr(b'\n', &body[start..]).map_or(body.len(), |at| start + at);
        let line = start..end;
        start = end + 1;
        Some(line)
    })
}

/// An open object or array.
struct Open<'a> {
    /// The object's place among all of them; an array has that of the object around it.
    object: usize,
    is_object: bool,
    /// The key that it stands under.
    name: &'a str,
    /// The key of the object around it.
    parent: &'a str,
    /// The last key that was read.
    key: &'a str,
}

struct Object<'a> {
    around: Option<usize>,
    owner: Option<(usize, &'a str)>,
}

fn in_document<'a>(
    source: &'a [u8],
    document: Range<usize>,
    part: Part,
    provider: &'a Provider,
    show: &mut dyn FnMut(Place<'a>),
) {
    let text = &source[document.clone()];
    if !matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return;
    }
    let mut objects: Vec<Object<'a>> = vec![Object { around: None, owner: None }];
    let mut open: Vec<Open<'a>> = Vec::new();
    // Whose they are is only known when the object around them has been read.
    let mut found: Vec<(usize, Place<'a>)> = Vec::new();
    for (token, span) in Tokens::new(text) {
        match token {
            Token::ObjectStart | Token::ArrayStart => {
                let (object, name, parent) = match open.last() {
                    Some(around) if around.is_object => (around.object, around.key, around.name),
                    Some(around) => (around.object, around.name, around.parent),
                    None => (0, "", ""),
                };
                let is_object = token == Token::ObjectStart;
                let object = if is_object {
                    objects.push(Object { around: Some(object), owner: None });
                    objects.len() - 1
                } else {
                    object
                };
                open.push(Open { object, is_object, name, parent, key: "" });
            }
            Token::ObjectEnd | Token::ArrayEnd => {
                open.pop();
            }
            Token::Key => {
                if let Some(around) = open.last_mut() {
                    around.key = std::str::from_utf8(&text[span]).unwrap_or("");
                }
            }
            Token::String | Token::Number => {
                let Some(around) = open.last() else { continue };
                let (key, parent) =
                    if around.is_object { (around.key, around.name) } else { (around.name, around.parent) };
                let value = &text[span.clone()];
                if value.len() > LONGEST || value.len() < SHORTEST {
                    continue;
                }
                let Ok(value) = std::str::from_utf8(value) else { continue };
                if around.is_object
                    && let Some(rank) = provider.owner_rank(key)
                {
                    let owner = &mut objects[around.object].owner;
                    if owner.is_none_or(|(best, _)| rank < best) {
                        *owner = Some((rank, value));
                    }
                }
                let span = document.start + span.start..document.start + span.end;
                let what = if let Some(class) = provider.time_class(parent, key) {
                    What::Time { owner: None, key, class }
                } else if provider.id_forms(parent, key).next().is_some() {
                    What::Id { provider, source: IdSource::Member { parent, key } }
                } else {
                    continue;
                };
                found.push((around.object, Place { part, span, text: value, what }));
            }
            Token::Word => {}
        }
    }
    for (object, mut place) in found {
        if let What::Time { owner, .. } = &mut place.what {
            *owner = owner_of(&objects, object);
        }
        show(place);
    }
}

fn owner_of<'a>(objects: &[Object<'a>], object: usize) -> Option<&'a str> {
    let mut next = Some(object);
    while let Some(place) = next {
        if let Some((_, owner)) = objects[place].owner {
            return Some(owner);
        }
        next = objects[place].around;
    }
    None
}

/// Longer values are neither ids nor times.
const LONGEST: usize = 256;
const SHORTEST: usize = 6;
