//! Values that the client makes up anew in every run, put into the reply where the recorded ones stood.

use std::collections::HashMap;

use exchange::{Reply, Response};
use matchers::{Shape, Slot};

use crate::edits::{Edit, apply_to_body, edit_headers, edit_message};

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
    let edits_of = |text: &[u8]| replacements(text, bindings);
    let body = response.body.bytes().map(|bytes| edits_of(bytes)).unwrap_or_default();
    Reply::Response(Response {
        headers: edit_headers(&response.headers, edits_of),
        body: apply_to_body(&response.body, &body),
        trailers: edit_headers(&response.trailers, edits_of),
        messages: response.messages.iter().map(|m| edit_message(m, edits_of)).collect(),
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

fn replacements<'a>(text: &[u8], bindings: &'a [Binding]) -> Vec<Edit<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let hit = bindings.iter().find(|b| {
            text[at..].starts_with(b.recorded.as_bytes()) && stands_alone(text, at, b.recorded.len())
        });
        match hit {
            Some(binding) => {
                let end = at + binding.recorded.len();
                found.push(Edit::new(at..end, binding.live.as_bytes()));
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// A value counts only where it is not part of a longer word or number.
pub(crate) fn stands_alone(text: &[u8], at: usize, len: usize) -> bool {
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
    use super::*;
    use crate::edits::apply;

    #[test]
    fn a_value_is_replaced_where_it_stands_alone_and_nowhere_else() {
        let bindings = [Binding { recorded: "17".into(), live: "2026".into() }];
        let text = b"id=17 x17 17, 170";
        assert_eq!(apply(text, &replacements(text, &bindings)), b"id=2026 x17 2026, 170");
    }

    #[test]
    fn uuids_are_found_in_text_and_not_inside_longer_words() {
        let text = b"a 6FA459EA-ee8a-3ca4-894e-db77e160355e, z6fa459ea-ee8a-3ca4-894e-db77e160355e";
        assert_eq!(uuids_in(text), ["6fa459ea-ee8a-3ca4-894e-db77e160355e"]);
    }
}
