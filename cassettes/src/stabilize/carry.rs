//! New values put wherever the old ones stand by themselves: in URLs, headers, bodies, streams and messages.

use aho_corasick::{AhoCorasick, Input, MatchKind};
use exchange::{Body, Exchange, Header, Headers, Informational, Reply, Request, Response, Url};

use super::places::Part;
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
pub(super) struct Carrier {
    changes: Vec<Change>,
    finder: Option<AhoCorasick>,
}

impl Carrier {
    pub(super) fn new(changes: Vec<Change>) -> Self {
        let changes: Vec<Change> = changes.into_iter().filter(|change| change.old != change.new).collect();
        let olds = changes.iter().map(|change| &change.old);
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(olds);
        // Only more patterns than memory holds cannot be looked for.
        let finder = finder.ok().filter(|_| !changes.is_empty());
        Self { changes, finder }
    }

    /// The values that stand by themselves in a text, by their places among the changes.
    pub(super) fn hits(&self, text: &[u8], mut hit: impl FnMut(usize, std::ops::Range<usize>)) {
        let Some(finder) = &self.finder else {
            return;
        };
        let mut from = 0;
        while let Some(found) = finder.find(Input::new(text).range(from..)) {
            if stands_alone(text, found.range()) {
                hit(found.pattern().as_usize(), found.range());
                from = found.end();
            } else {
                from = found.start() + 1;
            }
        }
    }

    /// The exchange with the new values, in a recording the one at this place.
    pub(super) fn carry(&self, place: usize, exchange: Exchange) -> Exchange {
        if self.finder.is_none() {
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
        let new = text::rewrite_body(&body, &headers, &mut |leaf| self.in_leaf(leaf, at));
        let headers = fitted(self.headers(&headers, at), &body, &new);
        let url = self.url(url, at);
        Request { method, url, headers, body: new, trailers: self.headers(&trailers, at) }
    }

    fn response(&self, response: Response, at: (usize, Part)) -> Response {
        let body = text::rewrite_body(&response.body, &response.headers, &mut |leaf| self.in_leaf(leaf, at));
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
    match (length + new.len()).checked_sub(old.len()).filter(|_| new.codings.is_empty()) {
        Some(length) => headers.set(
            Header::new("content-length", length.to_string()).expect("digits are a value of any header"),
        ),
        None => headers.retain(|header| header.name() != "content-length"),
    }
    headers
}

/// A value counts only where it is not part of a longer word or number.
fn stands_alone(text: &[u8], span: std::ops::Range<usize>) -> bool {
    if !crate::rebind::stands_alone(text, span.start, span.len()) {
        return false;
    }
    // `0.123456` and `123456.7` are numbers of their own.
    let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
    let point = |at: Option<usize>| at.and_then(|at| text.get(at)) == Some(&b'.');
    let (before, after) = (span.start.checked_sub(1), Some(span.end));
    let in_decimal =
        (point(before) && digit(span.start.checked_sub(2))) || (point(after) && digit(Some(span.end + 1)));
    !(in_decimal && is_digits(&text[span]))
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
