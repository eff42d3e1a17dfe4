//! The pieces of one body, put together: the strings at one JSON path of consecutive events, or the events' own text.
//!
//! It knows server-sent events, JSON lines, and how a cassette lists both; it reads line by line and asks for no valid
//! YAML around them.

use std::{collections::HashMap, ops::Range};

use memchr::memmem;

use crate::{
    json::{self, Path},
    view::Piece,
};

/// The joined texts that have more than one piece.
pub(crate) fn joined(text: &[u8]) -> Vec<(Vec<u8>, Vec<Piece>)> {
    let mut done = Vec::new();
    let mut body = Body::default();
    let mut start = 0;
    while start < text.len() {
        let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |length| start + length);
        match line(text, start..end) {
            Line::Payload(payload) => body.take(text, payload),
            Line::Speaker(name) => body.speaker = json::mixed(0, &text[name]),
            Line::Between => {}
            Line::Other => body.end(text, &mut done),
        }
        start = end + 1;
    }
    body.end(text, &mut done);
    done
}

enum Line {
    Payload(Range<usize>),
    /// Who says what comes next.
    Speaker(Range<usize>),
    Between,
    Other,
}

fn line(text: &[u8], range: Range<usize>) -> Line {
    let whole = &text[range.clone()];
    let from = |rest: &[u8]| {
        let rest = rest.trim_ascii_end();
        let start = whole.len() - whole.trim_ascii_end().len();
        range.end - start - rest.len()..range.end - start
    };
    let mut rest = whole.trim_ascii();
    let is_item = rest.starts_with(b"- ");
    if is_item {
        rest = rest[2..].trim_ascii_start();
    }
    if let Some(value) = rest.strip_prefix(b"text:") {
        let value = value.trim_ascii_start();
        if matches!(value, b"|" | b"|-" | b"|+") {
            return Line::Between;
        }
        let value = value.strip_prefix(b"'").or(value.strip_prefix(b"\"")).unwrap_or(value);
        let payload = from(value);
        let quotes = usize::from(matches!(value.last(), Some(b'\'' | b'"')));
        return inner(text, payload.start..payload.end - quotes.min(payload.len()));
    }
    if let Some(value) = rest.strip_prefix(b"base64:") {
        return Line::Payload(from(value.trim_ascii_start()));
    }
    if let Some(name) = rest.strip_prefix(b"from:") {
        return Line::Speaker(from(name));
    }
    if rest.is_empty() || BETWEEN.iter().any(|word| rest.starts_with(word)) {
        return Line::Between;
    }
    if rest.starts_with(b"data:")
        || rest.starts_with(b"{\"")
        || rest.starts_with(b"[{")
        || rest.starts_with(b",{")
    {
        return inner(text, from(rest));
    }
    // The first event of a body that is a string of its own stands behind the opening quote.
    let opening = &whole[..whole.len().min(MOST_OPENING)];
    match memmem::find(opening, b"data: ") {
        Some(at) if at > 0 && matches!(whole[at - 1], b'"' | b'\'' | b' ') => {
            inner(text, range.start + at..range.end)
        }
        _ => Line::Other,
    }
}

/// Without what frames it.
fn inner(text: &[u8], range: Range<usize>) -> Line {
    let rest = &text[range.clone()];
    match rest.strip_prefix(b"data:") {
        Some(data) => {
            let space = usize::from(data.starts_with(b" "));
            Line::Payload(range.end - data.len() + space..range.end)
        }
        None if BETWEEN.iter().any(|word| rest.starts_with(word)) => Line::Between,
        None => Line::Payload(range),
    }
}

/// What consecutive events said, by path.
#[derive(Default)]
struct Body {
    strands: HashMap<Path, Vec<Range<usize>>>,
    /// In the order they were first seen: a hash has none.
    order: Vec<Path>,
    speaker: Path,
    events: usize,
}

impl Body {
    fn take(&mut self, text: &[u8], payload: Range<usize>) {
        self.events += 1;
        let piece = &text[payload.clone()];
        let lead = piece.iter().take(4).take_while(|b| matches!(b, b'[' | b',' | b' ')).count();
        let is_json = piece.get(lead) == Some(&b'{');
        if !is_json {
            return self.add(self.speaker, payload);
        }
        let start = payload.start + lead;
        let speaker = self.speaker;
        json::strings(&text[start..payload.end], !speaker, |path, leaf| {
            self.add(path, start + leaf.start..start + leaf.end);
        });
    }

    fn add(&mut self, path: Path, range: Range<usize>) {
        let strand = self.strands.entry(path).or_insert_with(|| {
            self.order.push(path);
            Vec::new()
        });
        if !range.is_empty() {
            strand.push(range);
        }
    }

    fn end(&mut self, text: &[u8], done: &mut Vec<(Vec<u8>, Vec<Piece>)>) {
        if self.events > 1 {
            for path in &self.order {
                let strand = &self.strands[path];
                if strand.len() > 1 && !is_constant(text, strand) {
                    done.push(join(text, strand));
                }
            }
        }
        if self.events > 0 {
            *self = Self::default();
        }
    }
}

/// Names and ids that every event repeats: a secret does not come in three pieces that are all the same.
fn is_constant(text: &[u8], strand: &[Range<usize>]) -> bool {
    strand.len() > 2 && strand.windows(2).all(|pair| text[pair[0].clone()] == text[pair[1].clone()])
}

fn join(text: &[u8], strand: &[Range<usize>]) -> (Vec<u8>, Vec<Piece>) {
    let mut out = Vec::with_capacity(strand.iter().map(Range::len).sum());
    let mut pieces = Vec::with_capacity(strand.len());
    for range in strand {
        pieces.push(Piece { out: out.len(), source: range.start });
        out.extend_from_slice(&text[range.clone()]);
    }
    (out, pieces)
}

/// Lines that stand between the pieces of one body without ending it.
const BETWEEN: &[&[u8]] = &[
    b"event:",
    b"id:",
    b"retry:",
    b"after:",
    b"cuts:",
    b"at:",
    b"at_ms:",
    b"- after:",
    b": ",
    b":\r",
    b"- at:",
    b"chunks:",
];
const MOST_OPENING: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        joined(text.as_bytes()).into_iter().map(|(bytes, _)| String::from_utf8(bytes).unwrap()).collect()
    }

    #[test]
    fn strings_at_one_path_are_joined_over_events() {
        let sse = "data: {\"i\":\"same\",\"d\":\"ab\"}\n\nevent: x\ndata: {\"d\":\"cd\",\"i\":\"same\"}\n\n";
        assert_eq!(texts(sse), ["samesame", "abcd"]);
        assert_eq!(texts("{\"d\":\"ab\"}\n{\"d\":\"cd\"}\n"), ["abcd"]);
    }

    #[test]
    fn the_list_of_a_cassette_is_read_in_every_style() {
        let single = "  - after: 1ms\n    text: 'data: {\"d\":\"ab\"}'\n  - text: 'data: {\"d\":\"cd\"}'\n";
        assert_eq!(texts(single), ["abcd"]);
        let block = "  - text: |-\n      event: x\n      data: {\"d\":\"ab\"}\n  - text: |-\n      data: {\"d\":\"cd\"}\n";
        assert_eq!(texts(block), ["abcd"]);
        assert_eq!(texts("chunks:\n  - text: ab\n  - after: 7ms\n    text: cd\n"), ["abcd"]);
    }

    #[test]
    fn another_body_starts_anew() {
        assert!(texts("- text: ab\nheaders: x\n- text: cd\n").is_empty());
    }
}
