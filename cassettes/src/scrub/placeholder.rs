//! The text that stands where a secret stood: `{{redacted:KIND:N}}`.

use std::collections::HashMap;

use exchange::{Exchange, Header, Headers, Reply};

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

    /// Renumbers every placeholder of an exchange's URL and headers.
    pub fn renumber(&mut self, exchange: &mut Exchange) {
        let request = &mut exchange.request;
        if let Some(query) = &mut request.url.query {
            *query = self.renumbered(query);
        }
        self.renumber_headers(&mut request.headers);
        self.renumber_headers(&mut request.trailers);
        if let Reply::Response(response) = &mut exchange.reply {
            self.renumber_headers(&mut response.headers);
            self.renumber_headers(&mut response.trailers);
            for informational in &mut response.informational {
                self.renumber_headers(&mut informational.headers);
            }
        }
    }

    fn renumber_headers(&mut self, headers: &mut Headers) {
        if !headers.iter().any(|h| h.text().is_some_and(|t| t.contains(OPEN))) {
            return;
        }
        *headers = std::mem::take(headers)
            .into_iter()
            .map(|header| match header.text() {
                Some(text) if text.contains(OPEN) => Header::new(header.name(), self.renumbered(text))
                    .expect("a placeholder with another number is as legal as before"),
                _ => header,
            })
            .collect();
    }

    fn renumbered(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(OPEN) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            match rest.find(CLOSE).map(|end| &rest[..end + CLOSE.len()]).filter(|p| is_placeholder(p)) {
                Some(old) => {
                    out.push_str(&self.renamed(old));
                    rest = &rest[old.len()..];
                }
                None => {
                    out.push_str(OPEN);
                    rest = &rest[OPEN.len()..];
                }
            }
        }
        out.push_str(rest);
        out
    }

    fn renamed(&mut self, old: &str) -> String {
        let kind = kind_of(old).unwrap_or("secret").to_owned();
        let number = *self.numbers.entry(old.to_owned()).or_insert_with(|| {
            let count = self.counts.entry(kind.clone()).or_default();
            *count += 1;
            *count
        });
        text(&kind, number)
    }
}

pub(super) fn text(kind: &str, number: u32) -> String {
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
    for start in memchr::memmem::find_iter(text, OPEN) {
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

const OPEN: &str = "{{redacted:";
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
