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
    let mut frames = memmem::find_iter(text, b"data: ").peekable();
    let mut body = Body::default();
    let mut start = 0;
    while start < text.len() {
        let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |length| start + length);
        while frames.next_if(|at| *at < start).is_some() {}
        let frame = frames.peek().copied().filter(|at| *at < end.min(start + MOST_OPENING));
        match line(text, start..end, frame) {
            Line::Payload(payload) => body.take(payload),
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

fn line(text: &[u8], range: Range<usize>, frame: Option<usize>) -> Line {
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
    match frame.filter(|at| *at > range.start) {
        Some(at) if matches!(text[at - 1], b'"' | b'\'' | b' ') => inner(text, at..range.end),
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

/// The payloads of consecutive events, with who said them.
#[derive(Default)]
struct Body {
    payloads: Vec<(Path, Range<usize>)>,
    speaker: Path,
}

impl Body {
    fn take(&mut self, payload: Range<usize>) {
        self.payloads.push((self.speaker, payload));
    }

    fn end(&mut self, text: &[u8], done: &mut Vec<(Vec<u8>, Vec<Piece>)>) {
        if self.payloads.len() > 1 {
            let mut strands = Strands::default();
            for (speaker, payload) in &self.payloads {
                strands.take(text, *speaker, payload.clone());
            }
            let whole =
                strands.all.into_iter().filter(|strand| strand.len() > 1 && !is_constant(text, strand));
            done.extend(whole.map(|strand| join(text, &strand)));
        }
        self.payloads.clear();
        self.speaker = 0;
    }
}

/// What the events of a body said, by path.
#[derive(Default)]
struct Strands {
    by_path: HashMap<Path, usize>,
    /// In the order they were first seen: a hash has none.
    all: Vec<Vec<Range<usize>>>,
}

impl Strands {
    fn take(&mut self, text: &[u8], speaker: Path, payload: Range<usize>) {
        let piece = &text[payload.clone()];
        let lead = piece.iter().take(4).take_while(|b| matches!(b, b'[' | b',' | b' ')).count();
        if piece.get(lead) != Some(&b'{') {
            return self.add(speaker, payload);
        }
        let start = payload.start + lead;
        json::strings(&text[start..payload.end], !speaker, |path, leaf| {
            self.add(path, start + leaf.start..start + leaf.end);
        });
    }

    fn add(&mut self, path: Path, range: Range<usize>) {
        let number = *self.by_path.entry(path).or_insert(self.all.len());
        if number == self.all.len() {
            self.all.push(Vec::new());
        }
        if !range.is_empty() {
            self.all[number].push(range);
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
