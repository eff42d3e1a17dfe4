//! Every text inside of a body or a conversation, decoded, and changes to it brought back to where it stands.
//!
//! Knows how texts are nested (JSON in a form, JSON in a string, a value cut over the events of a stream) and nothing
//! of what is looked for. Bytes in which nothing is found stay as they are.

mod form;
mod frames;
mod json;
mod multipart;
mod stream;
mod view;

use exchange::{Body, Headers, Message, Piece, StreamKind, boundary_in, is_form};

use crate::edits::{Edit, apply_to_body};

pub(crate) use stream::in_messages;
pub(crate) use view::{View, unescaped};

/// A text that has no further structure.
#[derive(Debug)]
pub(crate) struct Leaf<'a> {
    /// Without the escapes of what it stands in.
    pub(crate) text: &'a [u8],
    pub(crate) form: Form,
    /// Below the body.
    pub(crate) path: &'a [Step<'a>],
    /// It stands in a document that asks for a token, where a `code` is a credential.
    pub(crate) in_grant: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The name of a JSON member.
    Key,
    /// A JSON string, a field of a form.
    String,
    /// A JSON number.
    Number,
    /// Anything else that is UTF-8.
    Text,
    Binary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Key(std::borrow::Cow<'a, str>),
    Index(usize),
}

/// Is shown every leaf and says what to change in it.
pub(crate) type Find<'f> = dyn FnMut(&Leaf<'_>) -> Vec<Edit<'static>> + 'f;

impl Leaf<'_> {
    /// The nearest name above it.
    pub(crate) fn name(&self) -> Option<&str> {
        self.path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(&**key),
            Step::Index(_) => None,
        })
    }
}

/// A body with the changes that `find` asks for.
pub(crate) fn rewrite_body(body: &Body, headers: &Headers, find: &mut Find<'_>) -> Body {
    let Some(bytes) = body.bytes().filter(|bytes| !bytes.is_empty()) else {
        return body.clone();
    };
    apply_to_body(body, &in_body(bytes, headers, find))
}

/// A conversation with the changes that `find` asks for.
pub(crate) fn rewrite_messages(messages: &[Message], find: &mut Find<'_>) -> Vec<Message> {
    let edits = in_messages(messages, find);
    messages
        .iter()
        .zip(edits)
        .map(|(message, edits)| match &message.piece {
            // No longer than 123 bytes, and for a person alone: nothing takes its place.
            Piece::Close(Some((code, _))) if !edits.is_empty() => {
                Message { piece: Piece::Close(Some((*code, String::new()))), ..message.clone() }
            }
            _ => crate::edits::edit_message(message, |_| edits.clone()),
        })
        .collect()
}

/// The changes to a body's content, in order.
pub(crate) fn in_body(content: &[u8], headers: &Headers, find: &mut Find<'_>) -> Vec<Edit<'static>> {
    match StreamKind::of(headers) {
        Some(StreamKind::Frames) => return frames::look(content, find),
        Some(StreamKind::Events) if std::str::from_utf8(content).is_ok() => {
            return stream::in_events(content, find);
        }
        Some(StreamKind::Lines) if std::str::from_utf8(content).is_ok() => {
            return stream::in_lines(content, find);
        }
        _ => {}
    }
    let media = headers.media_type().unwrap_or_default();
    let boundary = match media.as_str() {
        "" => boundary_in(content).map(str::to_owned),
        media if media.starts_with("multipart/") => headers.media_parameter("boundary"),
        _ => None,
    };
    if let Some(edits) = boundary.and_then(|boundary| multipart::look(content, &boundary, find)) {
        return edits;
    }
    in_part(content, &media, &mut Vec::new(), find)
}

/// The changes to what has this media type.
fn in_part<'a>(
    content: &'a [u8],
    media: &str,
    path: &mut Vec<Step<'a>>,
    find: &mut Find<'_>,
) -> Vec<Edit<'static>> {
    // Before forms: curl calls any body a form, JSON too, unless it is told better.
    if json::is_bracketed(content) {
        return json::look(content, path, find);
    }
    // A form is one without being called so, as when it is compared.
    if media == "application/x-www-form-urlencoded" || is_form(content) {
        return form::look(content, path, find);
    }
    in_text(content, path, find)
}

/// A text without structure of its own.
fn in_text<'a>(content: &'a [u8], path: &mut Vec<Step<'a>>, find: &mut Find<'_>) -> Vec<Edit<'static>> {
    let form = if std::str::from_utf8(content).is_ok() { Form::Text } else { Form::Binary };
    find(&Leaf { text: content, form, path, in_grant: false })
}

/// Changes in order of which none overlaps another: of two that do, the longer one takes the place of both.
pub(crate) fn settle(mut edits: Vec<Edit<'static>>) -> Vec<Edit<'static>> {
    edits.sort_by_key(|edit| (edit.span.start, std::cmp::Reverse(edit.span.end)));
    let mut settled: Vec<Edit<'static>> = Vec::with_capacity(edits.len());
    for edit in edits {
        match settled.last_mut() {
            // Nothing of the shorter one may stay either.
            Some(last) if edit.span.start < last.span.end => {
                let all = last.span.start..last.span.end.max(edit.span.end);
                if edit.span.len() > last.span.len() {
                    last.new = edit.new;
                }
                last.span = all;
            }
            _ => settled.push(edit),
        }
    }
    settled
}

#[cfg(test)]
mod tests;
