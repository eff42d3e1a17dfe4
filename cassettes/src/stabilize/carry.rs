//! New values put wherever the old ones stand by themselves: in URLs, headers, bodies, streams and messages.

use exchange::{Body, Exchange, Header, Headers, Informational, Reply, Request, Response, StreamKind, Url};

use super::{dictionary::Dictionary, places::Part};
use crate::{
    edits::{Edit, apply_to_str, edit_headers},
    text::{self, Form, Leaf, View},
};

/// A value and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) old: String,
    pub(super) new: String,
    /// Where the value is the server's from: before that it is the client's own.
    pub(super) since: (usize, Part),
}

/// Finds all values at once.
#[derive(Debug)]
pub(super) struct Carrier {
    changes: Vec<Change>,
    dictionary: Dictionary,
}

impl Carrier {
    pub(super) fn new(changes: Vec<Change>) -> Self {
        let changes: Vec<Change> = changes.into_iter().filter(|change| change.old != change.new).collect();
        let dictionary = Dictionary::new(changes.iter().map(|change| change.old.as_str()));
        Self { changes, dictionary }
    }

    /// The values that stand by themselves in a text, by their places among the changes.
    pub(super) fn hits(&self, text: &[u8], hit: impl FnMut(usize, std::ops::Range<usize>)) {
        self.dictionary.hits(text, hit);
    }

    /// The exchange with the new values, in a recording the one at this place.
    pub(super) fn carry(&self, place: usize, exchange: Exchange) -> Exchange {
        if self.dictionary.is_empty() {
            return exchange;
        }
        let request = self.request(exchange.request, (place, Part::Request));
        let reply = match exchange.reply {
            Reply::Response(response) => {
                Reply::Response(self.response(response, (place, Part::Message(usize::MAX))))
            }
            fault @ Reply::Fault { .. } => fault,
        };
        Exchange { request, reply, ..exchange }
    }

    fn request(&self, request: Request, at: (usize, Part)) -> Request {
        let Request { method, url, headers, body, trailers } = request;
        let new = self.body(&body, &headers, at);
        let headers = fitted(self.headers(&headers, at), &body, &new);
        let url = self.url(url, at);
        Request { method, url, headers, body: new, trailers: self.headers(&trailers, at) }
    }

    fn response(&self, response: Response, at: (usize, Part)) -> Response {
        let body = self.body(&response.body, &response.headers, at);
        let headers = fitted(self.headers(&response.headers, at), &response.body, &body);
        let informational = response
            .informational
            .into_iter()
            .map(|i| Informational { headers: self.headers(&i.headers, at), ..i })
            .collect();
        let messages = text::rewrite_messages(&response.messages, &mut |leaf| self.in_leaf(leaf, at));
        let trailers = self.headers(&response.trailers, at);
        Response { headers, informational, body, trailers, messages, ..response }
    }

    fn body(&self, body: &Body, headers: &Headers, at: (usize, Part)) -> Body {
        // Where nothing is escaped and nothing runs on, what is not in the bytes is not in the texts.
        if let Some(bytes) = body.bytes().filter(|bytes| is_flat(bytes, headers)) {
            let mut is_in = false;
            self.hits(bytes, |_, _| is_in = true);
            if !is_in {
                return body.clone();
            }
        }
        text::rewrite_body(body, headers, &mut |leaf| self.in_leaf(leaf, at))
    }

    fn headers(&self, headers: &Headers, at: (usize, Part)) -> Headers {
        edit_headers(headers, |value| self.in_text(value, at))
    }

    fn url(&self, mut url: Url, at: (usize, Part)) -> Url {
        let edited = |text: &str, view: View<'_>| {
            let found = self.in_text(view.text(), at);
            let escape = if text.contains('%') { escaped_for_url } else { as_it_is };
            let edits = text::settle(view.in_source(found, escape));
            if edits.is_empty() { None } else { apply_to_str(text, &edits) }
        };
        if let Some(path) = edited(&url.path, View::percent_only(url.path.as_bytes(), 0..url.path.len())) {
            url.path = path;
        }
        if let Some(query) = &url.query
            && let Some(query) = edited(query, View::percent(query.as_bytes(), 0..query.len()))
        {
            url.query = Some(query);
        }
        url
    }

    fn in_leaf(&self, leaf: &Leaf<'_>, at: (usize, Part)) -> Vec<Edit<'static>> {
        let edits = self.in_text(leaf.text, at);
        if edits.is_empty() {
            return edits;
        }
        match leaf.form {
            // A part of a number is another number.
            Form::Number => edits.into_iter().filter(|edit| edit.span == (0..leaf.text.len())).collect(),
            // Digits in bytes that are no text are anything.
            Form::Binary => edits.into_iter().filter(|e| !is_digits(&leaf.text[e.span.clone()])).collect(),
            Form::Key | Form::String | Form::Text => edits,
        }
    }

    fn in_text(&self, text: &[u8], at: (usize, Part)) -> Vec<Edit<'static>> {
        let mut edits = Vec::new();
        self.hits(text, |place, span| {
            let Change { old, new, since } = &self.changes[place];
            if *since > at {
                return;
            }
            // `files/abc` keeps its `files/`, however the stroke is written there.
            let kept = old.find('/').map_or(0, |stroke| stroke + 1);
            match old.get(..kept) == new.get(..kept) {
                true => edits.push(Edit::new(span.start + kept..span.end, new.as_bytes()[kept..].to_vec())),
                false => edits.push(Edit::new(span, new.clone().into_bytes())),
            }
        });
        edits
    }
}

/// Headers that tell of a body, for the body that it has become.
pub(super) fn fitted(mut headers: Headers, old: &Body, new: &Body) -> Headers {
    if old.content == new.content {
        return headers;
    }
    headers
        .retain(|header| !DIGESTS.contains(&header.name()) && !header.name().starts_with("x-amz-checksum-"));
    let Some(length) = headers.text("content-length").and_then(|value| value.parse::<u64>().ok()) else {
        return headers;
    };
    // Of a body that was cut the whole was promised. What a coding makes of it is known when it is sent.
    let promised = i128::from(length) + i128::from(new.len()) - i128::from(old.len());
    match u64::try_from(promised).ok().filter(|_| new.codings.is_empty()) {
        Some(length) => headers.set(
            Header::new("content-length", length.to_string()).expect("digits are a value of any header"),
        ),
        None => headers.retain(|header| header.name() != "content-length"),
    }
    headers
}

/// Whether the texts of a body stand in it as they are.
fn is_flat(bytes: &[u8], headers: &Headers) -> bool {
    let is_json = bytes.starts_with(b"{") || bytes.starts_with(b"[");
    let is_escaped = match is_json {
        true => memchr::memchr(b'\\', bytes).is_some(),
        false => memchr::memchr3(b'\\', b'%', b'+', bytes).is_some(),
    };
    StreamKind::of(headers).is_none() && !is_escaped
}

fn is_digits(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit)
}

fn as_it_is(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    text.into()
}

fn escaped_for_url(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b if b.is_ascii_alphanumeric() || b"-._~/".contains(&b) => out.push(b),
            b => out.extend(format!("%{b:02X}").into_bytes()),
        }
    }
    out.into()
}

/// What is made from the bytes of a body holds for no other.
const DIGESTS: &[&str] =
    &["content-digest", "content-md5", "digest", "repr-digest", "x-goog-hash", "x-ms-content-crc64"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_no_body_has_is_no_reason_to_panic() {
        let promising = |length: u64| -> Headers {
            [Header::new("content-length", length.to_string()).unwrap()].into_iter().collect()
        };
        let fitted = |length: u64, old: &str, new: &str| {
            let bodies = [old, new].map(|text| Body::from_bytes(text.as_bytes().to_vec()));
            let headers = fitted(promising(length), &bodies[0], &bodies[1]);
            headers.text("content-length").map(str::to_owned)
        };
        assert_eq!(fitted(u64::MAX - 2, "id", "longer"), None);
        assert_eq!(fitted(u64::MAX - 2, "longer", "id"), Some((u64::MAX - 6).to_string()));
        assert_eq!(fitted(9, "id", "longer"), Some("13".to_owned()));
        assert_eq!(fitted(1, "longer", "id"), None);
    }
}
