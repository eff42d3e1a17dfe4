//! Values that the client makes up anew in every run, put into the reply where the recorded ones stood.

use std::collections::HashMap;

use exchange::{Reply, Request, Response};
use matchers::{Shape, Slot};

use crate::{
    edits::{Edit, edit_headers},
    text::{self, Form, Leaf},
};

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

/// Values that the client draws for every request and that are compared nowhere: what names the request, and the
/// boundary of its parts.
pub(crate) fn drawn(recorded: &Request, live: &Request) -> Vec<Binding> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for name in DRAWN {
        if let (Some(recorded), Some(live)) = (recorded.headers.text(name), live.headers.text(name)) {
            pairs.push((recorded.to_owned(), live.to_owned()));
        }
    }
    let boundary = |request: &Request| request.headers.media_parameter("boundary");
    pairs.extend(boundary(recorded).zip(boundary(live)));
    // A short one is a word like any other, and of a redacted one nothing is known.
    let is_drawn = |value: &str| value.len() >= 8 && !value.contains("{{");
    pairs.retain(|(recorded, live)| recorded != live && is_drawn(recorded) && is_drawn(live));
    pairs.into_iter().map(|(recorded, live)| Binding { recorded, live }).collect()
}

/// The reply with every recorded value replaced by its live one.
pub(crate) fn rebind(reply: &Reply, bindings: &[Binding]) -> Reply {
    let Reply::Response(response) = reply else {
        return reply.clone();
    };
    let edits_of = |text: &[u8]| replacements(text, bindings);
    let mut find = |leaf: &Leaf<'_>| match leaf.form {
        // A part of a number is another number.
        Form::Number => edits_of(leaf.text).into_iter().filter(|e| e.span.len() == leaf.text.len()).collect(),
        _ => edits_of(leaf.text),
    };
    Reply::Response(Response {
        headers: edit_headers(&response.headers, edits_of),
        body: text::rewrite_body(&response.body, &response.headers, &mut find),
        trailers: edit_headers(&response.trailers, edits_of),
        messages: text::rewrite_messages(&response.messages, &mut find),
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

fn replacements(text: &[u8], bindings: &[Binding]) -> Vec<Edit<'static>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let hit = bindings.iter().find(|b| {
            text[at..].starts_with(b.recorded.as_bytes()) && stands_alone(text, at, b.recorded.len())
        });
        match hit {
            Some(binding) => {
                let end = at + binding.recorded.len();
                found.push(Edit::new(at..end, binding.live.clone().into_bytes()));
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

/// Headers in which clients name their requests.
const DRAWN: &[&str] = &[
    "idempotency-key",
    "traceparent",
    "x-client-request-id",
    "x-correlation-id",
    "x-idempotency-key",
    "x-ms-client-request-id",
    "x-request-id",
];
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
    fn a_value_that_is_cut_over_events_is_replaced_too() {
        let bindings = [Binding { recorded: "6fa459ea-ee8a".into(), live: "16fd2706-8baf".into() }];
        let event = |text: &str| format!("data: {{\"delta\":\"{text}\"}}\n\n");
        let response = Response {
            status: 200,
            reason: None,
            headers: [exchange::Header::new("content-type", "text/event-stream").unwrap()]
                .into_iter()
                .collect(),
            after: std::time::Duration::ZERO,
            informational: Vec::new(),
            body: exchange::Body::from_bytes([event("I saw 6fa45"), event("9ea-ee8a.")].concat()),
            trailers: exchange::Headers::new(),
            messages: Vec::new(),
            end: exchange::End::Whole,
        };
        let bound = rebind(&Reply::Response(response), &bindings);
        let body = bound.response().unwrap().body.bytes().unwrap().clone();
        assert_eq!(body, [event("I saw 16fd2706-8baf"), event(".")].concat());
    }

    #[test]
    fn a_boundary_and_the_key_of_a_request_are_the_client_s() {
        let request = |boundary: &str, key: &str| Request {
            method: "POST".into(),
            url: exchange::Url::parse("https://a.test/").unwrap(),
            headers: [
                ("content-type", format!("multipart/form-data; boundary={boundary}")),
                ("idempotency-key", key.into()),
            ]
            .map(|(name, value)| exchange::Header::new(name, value).unwrap())
            .into_iter()
            .collect(),
            body: exchange::Body::empty(),
            trailers: exchange::Headers::new(),
        };
        let (recorded, live) = (request("aaaabbbb1", "retry-0001"), request("ccccdddd1", "retry-0002"));
        let pair = |recorded: &str, live: &str| Binding { recorded: recorded.into(), live: live.into() };
        assert_eq!(
            drawn(&recorded, &live),
            [pair("retry-0001", "retry-0002"), pair("aaaabbbb1", "ccccdddd1")]
        );
        assert_eq!(drawn(&recorded, &recorded), []);
        assert_eq!(
            drawn(&request("aaaabbbb1", "{{redacted:header:1}}"), &request("aaaabbbb1", "retry-0002")),
            []
        );
    }

    #[test]
    fn uuids_are_found_in_text_and_not_inside_longer_words() {
        let text = b"a 6FA459EA-ee8a-3ca4-894e-db77e160355e, z6fa459ea-ee8a-3ca4-894e-db77e160355e";
        assert_eq!(uuids_in(text), ["6fa459ea-ee8a-3ca4-894e-db77e160355e"]);
    }
}
