//! JSON into the tree, with places: a reader that knows what a document should hold can then say where it does not.
//!
//! Only the outline is ours. What a string with escapes means is left to `serde_json`.

use std::borrow::Cow;

use super::repeats::first_repeat;
use crate::{
    limits::Limits,
    node::{Node, Scalar, ScalarStyle, Value, is_json_number},
    problem::Problem,
    span::{Span, floor_char_boundary},
};

pub(super) fn parse<'s>(source: &'s str, limits: &Limits) -> Result<Node<'s>, Problem> {
    let start = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut reader = Reader { source, at: start, limits, nodes: 0 };
    reader.blank();
    let node = reader.value(0)?;
    reader.blank();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.unexpected("the end of the file")),
    }
}

struct Reader<'s, 'l> {
    source: &'s str,
    at: usize,
    limits: &'l Limits,
    nodes: usize,
}

impl<'s> Reader<'s, '_> {
    /// The depth is bounded, so calling itself is safe.
    fn value(&mut self, depth: usize) -> Result<Node<'s>, Problem> {
        self.nodes += 1;
        if self.nodes > self.limits.max_nodes {
            let most = self.limits.max_nodes;
            return Err(self.problem(format!("more than the {most} values allowed in one file")));
        }
        match self.peek() {
            Some(b'{' | b'[') if depth >= self.limits.depth() => {
                let most = self.limits.depth();
                Err(self.problem(format!("nested more than {most} levels deep")))
            }
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node<'s>, Problem> {
        let start = self.open();
        let mut entries = Vec::new();
        while self.peek() != Some(b'}') {
            if !entries.is_empty() {
                self.expect(b',', "`,` or `}`")?;
            }
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key = self.string()?;
            self.nodes += 1;
            self.blank();
            self.expect(b':', "`:`")?;
            let value = self.value(depth + 1)?;
            self.blank();
            entries.push((key, value));
        }
        self.at += 1;
        if let Some((earlier, later)) = first_repeat(&entries) {
            let (first, second) = (&entries[earlier].0, &entries[later].0);
            let name = second.as_text().unwrap_or_default();
            return Err(Problem::new(second.span, format!("the key `{name}` is defined twice"))
                .with_related(first.span, "first defined here"));
        }
        Ok(Node { span: Span::new(start, self.at), value: Value::Mapping(entries) })
    }

    fn array(&mut self, depth: usize) -> Result<Node<'s>, Problem> {
        let start = self.open();
        let mut items = Vec::new();
        while self.peek() != Some(b']') {
            if !items.is_empty() {
                self.expect(b',', "`,` or `]`")?;
            }
            items.push(self.value(depth + 1)?);
            self.blank();
        }
        self.at += 1;
        Ok(Node { span: Span::new(start, self.at), value: Value::Sequence(items) })
    }

    fn string(&mut self) -> Result<Node<'s>, Problem> {
        let start = self.at;
        let bytes = self.source.as_bytes();
        let mut end = start + 1;
        let mut has_escapes = false;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    end += 2;
                }
                Some(0..b' ') => {
                    self.at = end;
                    return Err(self.unexpected("the end of the text, or an escape"));
                }
                Some(_) => end += 1,
                None => return Err(self.problem("the text that starts here has no end".to_owned())),
            }
        }
        self.at = end + 1;
        let span = Span::new(start, self.at);
        let text = match has_escapes {
            false => Cow::Borrowed(&self.source[start + 1..end]),
            true => Cow::Owned(serde_json::from_str(&self.source[start..=end]).map_err(|_| {
                Problem::new(span, "the text holds an escape that is none, or half a surrogate pair")
            })?),
        };
        Ok(Node { span, value: Value::Scalar(Scalar { text, style: ScalarStyle::Quoted }) })
    }

    fn word(&mut self) -> Result<Node<'s>, Problem> {
        let rest = &self.source[self.at..];
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')))
            .unwrap_or(rest.len());
        let word = &rest[..end];
        if !matches!(word, "true" | "false" | "null") && !is_json_number(word) {
            return Err(self.unexpected("a value"));
        }
        let span = Span::new(self.at, self.at + end);
        self.at += end;
        let scalar = Scalar { text: Cow::Borrowed(word), style: ScalarStyle::Plain };
        Ok(Node { span, value: Value::Scalar(scalar) })
    }

    fn open(&mut self) -> usize {
        let start = self.at;
        self.at += 1;
        self.blank();
        start
    }

    fn expect(&mut self, wanted: u8, name: &str) -> Result<(), Problem> {
        if self.peek() != Some(wanted) {
            return Err(self.unexpected(name));
        }
        self.at += 1;
        self.blank();
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.source[floor_char_boundary(self.source, self.at)..].chars().next() {
            Some(character) => format!("{character:?}"),
            None => "the end of the file".to_owned(),
        };
        self.problem(format!("expected {wanted}, found {found}"))
    }

    fn problem(&self, message: String) -> Problem {
        let start = floor_char_boundary(self.source, self.at.min(self.source.len()));
        let width = self.source[start..].chars().next().map_or(0, char::len_utf8);
        Problem::new(Span::new(start, start + width), message)
    }
}
