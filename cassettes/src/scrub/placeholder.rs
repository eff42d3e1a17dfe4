//! The text that stands where a secret stood: `{{redacted:KIND:N}}`.

use std::{collections::HashMap, sync::LazyLock};

use exchange::{Body, Exchange, Header, Headers, Reply, StreamKind};
use memchr::memmem::Finder;

use super::placeholders;
use crate::{
    edits::{Edit, apply, apply_to_body, apply_to_str},
    text,
};

/// Numbers placeholders in the order of a cassette, so that two recordings of the same program agree however its
/// calls overlapped.
#[derive(Debug, Default)]
pub struct Placeholders {
    numbers: HashMap<String, u32>,
    counts: HashMap<String, u32>,
}

impl Placeholders {
    pub fn new() -> Self {
        Self::default()
    }

    /// From here on the same text means another secret: placeholders of one run say nothing about those of another.
    pub fn next_run(&mut self) {
        self.numbers.clear();
    }

    /// Renumbers every placeholder of an exchange.
    pub fn renumber(&mut self, exchange: &mut Exchange) {
        let mut any = false;
        placeholders::each_text(exchange, &mut |text| any = any || placeholders::may_be_in(text));
        if !any {
            return;
        }
        let request = &mut exchange.request;
        request.url.path = self.renumbered(&request.url.path);
        if let Some(query) = &mut request.url.query {
            *query = self.renumbered(query);
        }
        request.headers = self.headers(&request.headers);
        request.trailers = self.headers(&request.trailers);
        request.body = self.body(&request.body, &request.headers);
        if let Reply::Response(response) = &mut exchange.reply {
            response.headers = self.headers(&response.headers);
            response.trailers = self.headers(&response.trailers);
            for informational in &mut response.informational {
                informational.headers = self.headers(&informational.headers);
            }
            response.body = self.body(&response.body, &response.headers);
            response.messages = response
                .messages
                .iter()
                .map(|message| crate::edits::edit_message(message, |text| self.edits(text)))
                .collect();
        }
    }

    /// Renumbers one that stands outside of the exchanges.
    pub(crate) fn renumbered(&mut self, text: &str) -> String {
        let edits = self.edits(text.as_bytes());
        apply_to_str(text, &edits).unwrap_or_else(|| text.to_owned())
    }

    fn edits(&mut self, text: &[u8]) -> Vec<Edit<'static>> {
        placeholders::edits(text, &mut |old| Some(self.renamed(old)))
    }

    fn headers(&mut self, headers: &Headers) -> Headers {
        let renumbered = |header: &Header| {
            let edits = self.edits(header.value());
            Header::new(header.name(), apply(header.value(), &edits))
                .expect("a placeholder with another number is as legal as before")
        };
        headers.iter().map(renumbered).collect()
    }

    fn body(&mut self, body: &Body, headers: &Headers) -> Body {
        // A number may be longer than before, and a binary stream tells the lengths of its messages.
        if StreamKind::of(headers) == Some(StreamKind::Frames) {
            return text::rewrite_body(body, headers, &mut |leaf| self.edits(leaf.text));
        }
        let edits = body.bytes().map(|bytes| self.edits(bytes)).unwrap_or_default();
        apply_to_body(body, &edits)
    }

    fn renamed(&mut self, old: &str) -> String {
        let kind = kind_of(old).unwrap_or("secret").to_owned();
        let number = *self.numbers.entry(old.to_owned()).or_insert_with(|| {
            let count = self.counts.entry(kind.clone()).or_default();
            *count += 1;
            *count
        });
        placeholder_text(&kind, number)
    }
}

pub(super) fn placeholder_text(kind: &str, number: u32) -> String {
    format!("{OPEN}{kind}:{number}{CLOSE}")
}

/// Whether this text is one placeholder and nothing more.
pub(super) fn is_placeholder(text: &str) -> bool {
    kind_of(text).is_some()
}

/// Text and the placeholder behind it, in turn: kind and number. The last text has none behind it.
pub(crate) fn split_placeholders(text: &str) -> Vec<(&str, Option<(&str, &str)>)> {
    let mut parts = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(start) = rest[from..].find(OPEN).map(|at| from + at) {
        let end = rest[start..].find(CLOSE).map(|at| start + at + CLOSE.len());
        let placeholder = end.map(|end| &rest[start..end]);
        match placeholder.and_then(|p| Some((kind_of(p)?, p))) {
            Some((kind, placeholder)) => {
                let number = &placeholder[OPEN.len() + kind.len() + 1..placeholder.len() - CLOSE.len()];
                parts.push((&rest[..start], Some((kind, number))));
                rest = &rest[start + placeholder.len()..];
                from = 0;
            }
            None => from = start + OPEN.len(),
        }
    }
    if !rest.is_empty() || parts.is_empty() {
        parts.push((rest, None));
    }
    parts
}

/// The kind of every placeholder in a text, in order.
pub(super) fn kinds_in(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(OPEN).filter_map(|(start, _)| {
        let rest = &text[start..];
        kind_of(&rest[..rest.find(CLOSE)? + CLOSE.len()])
    })
}

/// Where placeholders stand in a text that need not be UTF-8.
pub(super) fn spans(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    for start in OPENINGS.find_iter(text) {
        let rest = &text[start..text.len().min(start + LONGEST)];
        let end = memchr::memmem::find(rest, CLOSE.as_bytes()).map(|end| end + CLOSE.len());
        if let Some(end) = end.filter(|end| std::str::from_utf8(&rest[..*end]).is_ok_and(is_placeholder)) {
            found.push(start..start + end);
        }
    }
    found
}

fn kind_of(text: &str) -> Option<&str> {
    let (kind, number) = text.strip_prefix(OPEN)?.strip_suffix(CLOSE)?.split_once(':')?;
    let kind_is_plain = !kind.is_empty() && kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let number_is_plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (kind_is_plain && number_is_plain).then_some(kind)
}

static OPENINGS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(OPEN));

pub(super) const OPEN: &str = "{{redacted:";
const CLOSE: &str = "}}";
/// No placeholder has a longer name and number.
const LONGEST: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_by_first_appearance_per_kind() {
        let mut placeholders = Placeholders::new();
        let text = "{{redacted:cookie:7}} {{redacted:token:3}} {{redacted:cookie:2}} {{redacted:cookie:7}} {{redacted:";
        assert_eq!(
            placeholders.renumbered(text),
            "{{redacted:cookie:1}} {{redacted:token:1}} {{redacted:cookie:2}} {{redacted:cookie:1}} {{redacted:"
        );
    }

    #[test]
    fn only_the_exact_form_is_a_placeholder() {
        assert!(is_placeholder("{{redacted:openai_key:12}}"));
        for text in
            ["{{redacted:}}", "{{redacted:a:}}", "{{redacted:A:1}}", "x{{redacted:a:1}}", "{{redacted:a:1}}x"]
        {
            assert!(!is_placeholder(text), "{text}");
        }
    }
}
