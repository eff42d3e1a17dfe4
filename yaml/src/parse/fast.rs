//! The single pass over what our own emitter writes.
//!
//! Owns speed, and nothing else: it never reports a problem. On the first byte that is not plainly inside the
//! subset it gives up (`None`) and the general parser starts over. It must never accept a text that the general
//! parser refuses or reads differently, so where a rule of YAML is subtle the answer here is to give up:
//! tabs outside of literal blocks, values that go on in the next line, comments behind a value, blanks at the
//! end of a line, flow collections with content, explicit keys, `>` blocks, document markers, CR line breaks.

use std::borrow::Cow;

use super::repeats::first_repeat;
use crate::{
    limits::Limits,
    node::{Node, Scalar, ScalarStyle, Value},
    span::Span,
};

mod scalars;

pub(super) fn parse<'s>(source: &'s str, limits: &Limits) -> Option<Node<'s>> {
    if !source.ends_with('\n') || has_odd_bytes(source.as_bytes()) {
        return None;
    }
    let mut pass = Pass {
        source,
        bytes: source.as_bytes(),
        at: 0,
        column: None,
        nodes: 0,
        max_nodes: limits.max_nodes,
        max_depth: limits.depth(),
        items: Vec::new(),
        entries: Vec::new(),
    };
    pass.find_column();
    let column = pass.column?;
    let root = pass.block(column, 1)?;
    // A line that goes on no open collection in exactly its column closes them all, and is left over here.
    pass.column.is_none().then_some(root)
}

struct Pass<'s> {
    source: &'s str,
    /// The bytes of `source`; the last one is a line break, which ends every scan below.
    bytes: &'s [u8],
    at: usize,
    /// Where the content of the current line starts; `None` at the end of the source.
    column: Option<usize>,
    nodes: usize,
    max_nodes: usize,
    max_depth: usize,
    /// Children of all open collections, each moved out in one allocation of the right size when it closes.
    items: Vec<Node<'s>>,
    entries: Vec<(Node<'s>, Node<'s>)>,
}

/// What stands at a place where a value may: a scalar, or the key of a mapping that starts here.
enum Found<'s> {
    Value(Node<'s>),
    Key(Node<'s>),
}

impl<'s> Pass<'s> {
    /// The collection whose first line is the current one.
    fn block(&mut self, column: usize, depth: usize) -> Option<Node<'s>> {
        if self.is_item() {
            return self.sequence(column, depth);
        }
        match self.scalar(depth)? {
            Found::Key(key) => self.mapping(key, column, depth),
            Found::Value(_) => None,
        }
    }

    fn sequence(&mut self, column: usize, depth: usize) -> Option<Node<'s>> {
        self.open(depth)?;
        let start = self.at;
        let base = self.items.len();
        loop {
            let dash = self.at;
            self.at += 1;
            self.skip_spaces();
            let inner = column + (self.at - dash);
            let item = if self.is_item() {
                self.sequence(inner, depth + 1)?
            } else if self.bytes[self.at] == b'|' {
                self.literal(column)?
            } else {
                match self.scalar(depth + 1)? {
                    Found::Key(key) => self.mapping(key, inner, depth + 1)?,
                    Found::Value(value) => {
                        self.next_line();
                        value
                    }
                }
            };
            self.items.push(item);
            if self.column != Some(column) || !self.is_item() {
                break;
            }
        }
        let items: Vec<_> = self.items.drain(base..).collect();
        let end = items.last().map_or(start, |item| item.span.end);
        Some(Node { span: Span::new(start, end), value: Value::Sequence(items) })
    }

    /// The mapping whose first key was just read; `at` is on its colon.
    fn mapping(&mut self, first: Node<'s>, column: usize, depth: usize) -> Option<Node<'s>> {
        self.open(depth)?;
        let start = first.span.start;
        let base = self.entries.len();
        let mut key = first;
        loop {
            let value = self.value(column, depth)?;
            self.entries.push((key, value));
            if self.column != Some(column) {
                break;
            }
            key = match self.scalar(depth)? {
                Found::Key(key) => key,
                Found::Value(_) => return None,
            };
        }
        if first_repeat(&self.entries[base..]).is_some() {
            return None;
        }
        let entries: Vec<_> = self.entries.drain(base..).collect();
        let end = entries.last().map_or(start, |(_, value)| value.span.end);
        Some(Node { span: Span::new(start, end), value: Value::Mapping(entries) })
    }

    /// The value behind the colon at `at`, in a mapping that starts in `column`.
    fn value(&mut self, column: usize, depth: usize) -> Option<Node<'s>> {
        self.at += 1;
        if self.bytes[self.at] == b'\n' {
            self.next_line();
            // No value at all, or a list in the column of its key: for the general parser.
            let inner = self.column.filter(|inner| *inner > column)?;
            return self.block(inner, depth + 1);
        }
        self.skip_spaces();
        if self.bytes[self.at] == b'|' {
            return self.literal(column);
        }
        match self.scalar(depth + 1)? {
            Found::Value(value) => {
                self.next_line();
                Some(value)
            }
            Found::Key(_) => None,
        }
    }

    /// A literal block inside a collection that starts in `parent`; `at` is on its `|`.
    fn literal(&mut self, parent: usize) -> Option<Node<'s>> {
        self.count()?;
        let (text, span, next) = scalars::literal(self.bytes, self.source, self.at, parent)?;
        self.at = next;
        self.find_column();
        Some(node(Cow::Owned(text), ScalarStyle::Block, span))
    }

    /// A scalar on one line, or `{}` or `[]`, which would be a collection of this `depth`. A key leaves `at` on its colon, a value on its line break.
    fn scalar(&mut self, depth: usize) -> Option<Found<'s>> {
        self.count()?;
        let start = self.at;
        let (text, style, end) = match self.bytes[start] {
            b'\'' => {
                let (text, end) = scalars::single_quoted(self.bytes, self.source, start)?;
                (text, ScalarStyle::Quoted, end)
            }
            b'"' => {
                let (text, end) = scalars::double_quoted(self.bytes, self.source, start)?;
                (text, ScalarStyle::Quoted, end)
            }
            b'{' | b'[' if depth <= self.max_depth => return self.empty_collection(start),
            _ => {
                let end = scalars::plain(self.bytes, start)?;
                (Cow::Borrowed(&self.source[start..end]), ScalarStyle::Plain, end)
            }
        };
        self.at = end;
        let scalar = node(text, style, Span::new(start, end));
        match (self.bytes[end], self.bytes.get(end + 1)) {
            (b'\n', _) => Some(Found::Value(scalar)),
            (b':', Some(b' ' | b'\n')) if self.is_key(&scalar) => Some(Found::Key(scalar)),
            _ => None,
        }
    }

    fn empty_collection(&mut self, start: usize) -> Option<Found<'s>> {
        let value = match self.bytes.get(start..start + 3)? {
            b"{}\n" => Value::Mapping(Vec::new()),
            b"[]\n" => Value::Sequence(Vec::new()),
            _ => return None,
        };
        self.at = start + 2;
        Some(Found::Value(Node { span: Span::new(start, start + 2), value }))
    }

    fn is_key(&self, scalar: &Node<'s>) -> bool {
        // In the first column `---` and `...` would be document markers; a key above a kilobyte is none.
        let first = self.bytes[scalar.span.start];
        first != b'-'
            && first != b'.'
            && scalar.span.end - scalar.span.start <= LONGEST_KEY
            && scalar.as_plain() != Some("<<")
    }

    /// Whether `- ` stands here.
    fn is_item(&self) -> bool {
        self.bytes[self.at] == b'-' && self.bytes.get(self.at + 1) == Some(&b' ')
    }

    fn skip_spaces(&mut self) {
        while self.bytes[self.at] == b' ' {
            self.at += 1;
        }
    }

    /// From the line break at `at` to the content of the next line that has any.
    fn next_line(&mut self) {
        self.at += 1;
        self.find_column();
    }

    /// From the start of a line to the first content at or below it, past blank lines and comments.
    fn find_column(&mut self) {
        while self.at < self.bytes.len() {
            let line = self.at;
            self.skip_spaces();
            match self.bytes[self.at] {
                b'\n' => self.at += 1,
                b'#' => self.at = scalars::line_end(self.bytes, self.at) + 1,
                _ => {
                    self.column = Some(self.at - line);
                    return;
                }
            }
        }
        self.column = None;
    }

    fn open(&mut self, depth: usize) -> Option<()> {
        if depth > self.max_depth {
            return None;
        }
        self.count()
    }

    fn count(&mut self) -> Option<()> {
        self.nodes += 1;
        (self.nodes <= self.max_nodes).then_some(())
    }
}

fn node<'s>(text: Cow<'s, str>, style: ScalarStyle, span: Span) -> Node<'s> {
    Node { span, value: Value::Scalar(Scalar { text, style }) }
}

/// Control characters, byte order marks, C1 controls and non-characters: rare enough to leave all of them to
/// the general parser, which allows some and refuses the rest.
fn has_odd_bytes(bytes: &[u8]) -> bool {
    let is_suspect = |byte: u8| {
        (byte < 0x20) & (byte != b'\n') & (byte != b'\t') | (byte == 0x7f) | (byte == 0xc2) | (byte == 0xef)
    };
    let is_odd = |at: usize| match bytes[at] {
        0xc2 => bytes[at + 1] < 0xa0,
        0xef => matches!(bytes[at + 1..at + 3], [0xbb, 0xbf] | [0xbf, 0xbe | 0xbf]),
        byte => is_suspect(byte),
    };
    let mut start = 0;
    // No early exit inside a chunk, so that the compiler can look at many bytes at once.
    for chunk in bytes.chunks(64) {
        let any = chunk.iter().fold(false, |any, byte| any | is_suspect(*byte));
        if any && (start..start + chunk.len()).any(is_odd) {
            return true;
        }
        start += chunk.len();
    }
    false
}

/// YAML's own bound for a key on one line, in characters; counting bytes errs to the safe side.
const LONGEST_KEY: usize = 1024;
