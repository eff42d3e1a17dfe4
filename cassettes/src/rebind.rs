//! Values that the client makes up anew in every run, put into the reply where the recorded ones stood.

use std::collections::HashMap;

use bytes::Bytes;
use exchange::{Body, Frame, Header, Headers, Message, Piece, Reply, Response};
use matchers::{Shape, Slot};

/// A recorded value and the live one that takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    recorded: String,
    live: String,
}

/// What a session has learned about the client's own values. A UUID keeps its meaning for the whole session; a time
/// does not.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    live_of: HashMap<String, String>,
    recorded_of: HashMap<String, String>,
}

impl Bindings {
    /// Whether pairing these slots contradicts what is known, or itself.
    pub(crate) fn allow(&self, recorded: &[Slot], live: &[Slot]) -> bool {
        let mut here = Self::default();
        recorded.iter().zip(live).filter(|(r, _)| r.shape == Shape::Uuid).all(|(r, l)| {
            let agrees = self.agrees(r, l) && here.agrees(r, l);
            here.pair(r, l);
            agrees
        })
    }

    /// Remembers the pairs, and gives those that change something in the reply.
    pub(crate) fn bind(&mut self, recorded: &[Slot], live: &[Slot]) -> Vec<Binding> {
        let mut changes = Vec::new();
        for (r, l) in recorded.iter().zip(live) {
            if r.shape == Shape::Uuid {
                self.pair(r, l);
            }
            if r.value != l.value {
                changes.push(Binding { recorded: r.value.clone(), live: l.value.clone() });
            }
        }
        changes
    }

    fn agrees(&self, recorded: &Slot, live: &Slot) -> bool {
        let same = |known: Option<&String>, value: &String| known.is_none_or(|k| k == value);
        same(self.live_of.get(&recorded.value), &live.value)
            && same(self.recorded_of.get(&live.value), &recorded.value)
    }

    fn pair(&mut self, recorded: &Slot, live: &Slot) {
        self.live_of.insert(recorded.value.clone(), live.value.clone());
        self.recorded_of.insert(live.value.clone(), recorded.value.clone());
    }
}

/// The reply with every recorded value replaced by its live one.
pub(crate) fn rebind(reply: &Reply, bindings: &[Binding]) -> Reply {
    let Reply::Response(response) = reply else {
        return reply.clone();
    };
    Reply::Response(Response {
        headers: rebind_headers(&response.headers, bindings),
        body: rebind_body(&response.body, bindings),
        trailers: rebind_headers(&response.trailers, bindings),
        messages: response.messages.iter().map(|m| rebind_message(m, bindings)).collect(),
        ..response.clone()
    })
}

/// Every UUID in some text, in lower case.
pub(crate) fn uuids_in(text: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut start = 0;
    while start + UUID_LEN <= text.len() {
        let window = &text[start..start + UUID_LEN];
        if window[8] == b'-' && is_uuid(window) && stands_alone(text, start, UUID_LEN) {
            found.push(String::from_utf8_lossy(window).to_ascii_lowercase());
            start += UUID_LEN;
        } else {
            start += 1;
        }
    }
    found
}

fn rebind_headers(headers: &Headers, bindings: &[Binding]) -> Headers {
    headers
        .iter()
        .map(|header| match replacements(header.value(), bindings).as_slice() {
            [] => header.clone(),
            found => {
                Header::new(header.name(), apply(header.value(), found)).unwrap_or_else(|_| header.clone())
            }
        })
        .collect()
}

fn rebind_body(body: &Body, bindings: &[Binding]) -> Body {
    let Some(bytes) = body.bytes() else {
        return body.clone();
    };
    let found = replacements(bytes, bindings);
    if found.is_empty() {
        return body.clone();
    }
    let mut frames = Vec::with_capacity(body.frames.len());
    let (mut old_end, mut new_start) = (0, 0);
    for frame in &body.frames {
        old_end += frame.len;
        let new_end = moved(old_end, &found);
        frames.push(Frame { len: new_end - new_start, after: frame.after });
        new_start = new_end;
    }
    let content = Body::from_bytes(apply(bytes, &found)).content;
    Body { content, codings: body.codings.clone(), frames }
}

fn rebind_message(message: &Message, bindings: &[Binding]) -> Message {
    let piece = match &message.piece {
        Piece::Text(text) => {
            let new = apply(text.as_bytes(), &replacements(text.as_bytes(), bindings));
            Piece::Text(String::from_utf8(new).unwrap_or_else(|_| text.clone()))
        }
        Piece::Binary(bytes) => Piece::Binary(Bytes::from(apply(bytes, &replacements(bytes, bindings)))),
        close @ Piece::Close(_) => close.clone(),
    };
    Message { piece, ..message.clone() }
}

/// Where a recorded value stands, and what takes its place.
struct Replacement<'a> {
    at: usize,
    old_len: usize,
    new: &'a [u8],
}

fn replacements<'a>(text: &[u8], bindings: &'a [Binding]) -> Vec<Replacement<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let hit = bindings.iter().find(|b| {
            text[at..].starts_with(b.recorded.as_bytes()) && stands_alone(text, at, b.recorded.len())
        });
        match hit {
            Some(binding) => {
                let old_len = binding.recorded.len();
                found.push(Replacement { at, old_len, new: binding.live.as_bytes() });
                at += old_len;
            }
            None => at += 1,
        }
    }
    found
}

fn apply(text: &[u8], found: &[Replacement<'_>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for replacement in found {
        out.extend_from_slice(&text[from..replacement.at]);
        out.extend_from_slice(replacement.new);
        from = replacement.at + replacement.old_len;
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// Where an offset in the old text lies in the new one. An offset inside a replaced value moves to its end.
fn moved(offset: usize, found: &[Replacement<'_>]) -> usize {
    let mut new = offset;
    for replacement in found.iter().take_while(|r| r.at < offset) {
        let old_end = replacement.at + replacement.old_len;
        new = new + replacement.new.len() + old_end.saturating_sub(offset) - replacement.old_len;
    }
    new
}

/// A value counts only where it is not part of a longer word or number.
fn stands_alone(text: &[u8], at: usize, len: usize) -> bool {
    let word = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    !word(before) && !word(text.get(at + len))
}

fn is_uuid(window: &[u8]) -> bool {
    window.iter().enumerate().all(|(i, b)| match i {
        8 | 13 | 18 | 23 => *b == b'-',
        _ => b.is_ascii_hexdigit(),
    })
}

const UUID_LEN: usize = 36;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn binding(recorded: &str, live: &str) -> Binding {
        Binding { recorded: recorded.into(), live: live.into() }
    }

    fn body(content: &str, lens: &[usize]) -> Body {
        let frames = lens.iter().map(|&len| Frame { len, after: Duration::ZERO }).collect();
        Body { frames, ..Body::from_bytes(content.to_owned()) }
    }

    #[test]
    fn a_value_is_replaced_where_it_stands_alone_and_nowhere_else() {
        let out = rebind_body(&body("id=17 x17 17, 170", &[]), &[binding("17", "2026")]);
        assert_eq!(out.bytes().unwrap().as_ref(), b"id=2026 x17 2026, 170");
    }

    #[test]
    fn frames_follow_the_content_when_a_value_changes_its_length() {
        let out = rebind_body(&body("ab 17 cd", &[3, 3, 2]), &[binding("17", "2026")]);
        let pieces: Vec<_> = out.pieces().into_iter().map(|(_, b)| b).collect();
        assert_eq!(pieces, ["ab ", "2026 ", "cd"]);
    }

    proptest! {
        #[test]
        fn frames_always_cover_the_rebound_content(
            before in "[ a]{0,9}", recorded in "[0-9]{1,30}", after in "[ a]{0,9}", cut in 0usize..50, live in "[0-9]{1,30}",
        ) {
            let content = format!("{before}{recorded}{after}");
            let cut = cut.min(content.len());
            let out = rebind_body(&body(&content, &[cut, content.len() - cut]), &[binding(&recorded, &live)]);
            let total: usize = out.frames.iter().map(|f| f.len).sum();
            prop_assert_eq!(total as u64, out.len());
        }
    }

    #[test]
    fn uuids_are_found_in_text_and_not_inside_longer_words() {
        let text = b"a 6FA459EA-ee8a-3ca4-894e-db77e160355e, z6fa459ea-ee8a-3ca4-894e-db77e160355e";
        assert_eq!(uuids_in(text), ["6fa459ea-ee8a-3ca4-894e-db77e160355e"]);
    }
}
