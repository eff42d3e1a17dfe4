//! The general parser: any YAML in, our small language or a problem out.
//!
//! Owns every refusal. The syntax itself is granit's; this builds the tree from its events and says no to what
//! the language leaves out. It keeps its own stack, so nesting costs no call depth. Documents of other programs may
//! hold aliases and a few tags that are plain data; both become what they stand for before anybody sees the tree.

use std::{borrow::Cow, collections::HashMap};

use granit_parser::{ErrorKind, Event, Parser, ScanError, StructureStyle, Tag};

use super::{
    repeats::first_repeat,
    tags::{self, Meaning},
};
use crate::{
    limits::Limits,
    node::{Node, Scalar, ScalarStyle, Value},
    problem::Problem,
    span::{Span, floor_char_boundary},
};

/// Whose language a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The small one: nothing that a reader has to resolve.
    Ours,
    /// What other recorders write.
    Foreign,
}

pub(super) fn parse<'s>(source: &'s str, limits: &Limits, dialect: Dialect) -> Result<Node<'s>, Problem> {
    refuse_control_characters(source)?;
    let options = granit_parser::options! {
        emit_comments: false,
        emit_anchor_events: dialect == Dialect::Ours,
        emit_unresolved_aliases: true,
        // A little above ours, so that the refusal is ours and points at the right node.
        flow_nesting_limit: limits.depth() + 2,
        block_nesting_limit: limits.depth() + 2,
    };
    let mut builder = Builder {
        source,
        limits,
        dialect,
        open: Vec::new(),
        root: None,
        documents: 0,
        nodes: 0,
        anchored: HashMap::new(),
        copied: 0,
    };
    for event in Parser::new_from_str_with_options(source, options) {
        let (event, span) = event.map_err(|error| syntax_problem(source, limits, &error))?;
        builder.take(event, &span)?;
    }
    let nothing = Scalar { text: Cow::Borrowed(""), style: ScalarStyle::Plain };
    Ok(builder.root.unwrap_or(Node { span: Span::default(), value: Value::Scalar(nothing) }))
}

struct Builder<'s, 'l> {
    source: &'s str,
    limits: &'l Limits,
    dialect: Dialect,
    open: Vec<Open<'s>>,
    root: Option<Node<'s>>,
    documents: usize,
    nodes: usize,
    /// What aliases may stand for, by the parser's number for the anchor.
    anchored: HashMap<usize, Node<'s>>,
    /// Bytes that aliases have added.
    copied: usize,
}

/// A collection whose end has not been seen.
struct Open<'s> {
    start: usize,
    kind: Kind<'s>,
    /// Zero: nothing refers to it.
    anchor: usize,
    meaning: Meaning,
}

enum Kind<'s> {
    Sequence(Vec<Node<'s>>),
    Mapping { entries: Vec<(Node<'s>, Node<'s>)>, key: Option<Node<'s>> },
}

impl<'s> Builder<'s, '_> {
    fn take(&mut self, event: Event<'s>, at: &granit_parser::Span) -> Result<(), Problem> {
        let span = self.span(at);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Problem::new(span, "a second document in the same file")
                        .with_help("keep one document, and put the other into a file of its own"));
                }
                Ok(())
            }
            Event::Alias(anchor) if self.dialect == Dialect::Foreign => self.copy(anchor, span),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let name = self.source.get(span.start..span.end).unwrap_or("*");
                Err(Problem::new(span, format!("the alias `{name}` is not allowed"))
                    .with_help("write the value out, or put it in quotes if it is text"))
            }
            Event::Anchor(_, name) => Err(Problem::new(span, format!("the anchor `&{name}` is not allowed"))
                .with_help("write the value out wherever it is needed, or put it in quotes if it is text")),
            Event::Scalar(text, style, anchor, tag) => {
                let meaning = self.meaning(tag.as_deref(), at)?;
                self.count(span)?;
                let node = tags::apply_to_scalar(meaning, self.scalar(text, style, span))?;
                self.remember(anchor, &node);
                self.place(node)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let meaning = self.meaning(tag.as_deref(), at)?;
                let start = match style {
                    StructureStyle::Block => self.dash_before(span.start),
                    StructureStyle::Flow => span.start,
                };
                self.enter(Open { start, kind: Kind::Sequence(Vec::new()), anchor, meaning }, span)
            }
            Event::MappingStart(_, anchor, tag) => {
                let meaning = self.meaning(tag.as_deref(), at)?;
                let kind = Kind::Mapping { entries: Vec::new(), key: None };
                self.enter(Open { start: span.start, kind, anchor, meaning }, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(span),
            _ => Ok(()),
        }
    }

    fn enter(&mut self, open: Open<'s>, span: Span) -> Result<(), Problem> {
        // A collection that stands for a scalar may be a key; whether it does is seen at its end.
        let is_key = matches!(self.open.last(), Some(Open { kind: Kind::Mapping { key: None, .. }, .. }));
        if is_key && open.meaning == Meaning::Plain {
            return Err(key_is_no_scalar(span));
        }
        if self.open.len() >= self.limits.depth() {
            return Err(too_deep(span, self.limits));
        }
        self.count(span)?;
        self.open.push(open);
        Ok(())
    }

    fn leave(&mut self, end: Span) -> Result<(), Problem> {
        let Some(Open { start, kind, anchor, meaning }) = self.open.pop() else { return Ok(()) };
        let node = match kind {
            Kind::Sequence(items) => {
                let last = items.last().map_or(start, |item| item.span.end);
                Node { span: Span::new(start, last.max(end_of_flow(end))), value: Value::Sequence(items) }
            }
            Kind::Mapping { entries, .. } => {
                if let Some((earlier, later)) = first_repeat(&entries) {
                    let (first, second) = (&entries[earlier].0, &entries[later].0);
                    let name = second.as_text().unwrap_or_default();
                    return Err(Problem::new(second.span, format!("the key `{name}` is defined twice"))
                        .with_help("remove one of the two, or rename it")
                        .with_related(first.span, "first defined here"));
                }
                let last = entries.last().map_or(start, |(_, value)| value.span.end);
                Node { span: Span::new(start, last.max(end_of_flow(end))), value: Value::Mapping(entries) }
            }
        };
        let node = tags::apply_to_collection(meaning, node)?;
        self.remember(anchor, &node);
        self.place(node)
    }

    fn remember(&mut self, anchor: usize, node: &Node<'s>) {
        if anchor != 0 && self.dialect == Dialect::Foreign {
            self.anchored.insert(anchor, node.clone());
        }
    }

    /// An alias is a copy of what it names, counted like anything that is written out: a few lines of aliases to
    /// aliases must not fill the memory.
    fn copy(&mut self, anchor: usize, span: Span) -> Result<(), Problem> {
        let Some(original) = self.anchored.get(&anchor) else {
            let name = self.source.get(span.start..span.end).unwrap_or("*");
            return Err(Problem::new(span, format!("the alias `{name}` stands inside what it names")));
        };
        let (nodes, bytes) = size_of(original);
        self.nodes += nodes;
        self.copied += bytes;
        if self.copied > self.limits.max_bytes || self.nodes > self.limits.max_nodes {
            return Err(Problem::new(
                span,
                "the aliases of this file stand for more than is allowed in one file",
            ));
        }
        let mut node = original.clone();
        node.span = span;
        self.place(node)
    }

    fn place(&mut self, node: Node<'s>) -> Result<(), Problem> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open { kind: Kind::Sequence(items), .. }) => items.push(node),
            Some(Open { kind: Kind::Mapping { entries, key }, .. }) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => {
                    refuse_key(&node)?;
                    *key = Some(node);
                }
            },
        }
        Ok(())
    }

    fn scalar(&self, text: Cow<'s, str>, style: granit_parser::ScalarStyle, mut span: Span) -> Node<'s> {
        let (text, style) = match style {
            // A value left out arrives as `~` without a place of its own.
            granit_parser::ScalarStyle::Plain if span.start == span.end => {
                (Cow::Borrowed(""), ScalarStyle::Plain)
            }
            granit_parser::ScalarStyle::Plain => (text, ScalarStyle::Plain),
            granit_parser::ScalarStyle::SingleQuoted | granit_parser::ScalarStyle::DoubleQuoted => {
                (text, ScalarStyle::Quoted)
            }
            granit_parser::ScalarStyle::Literal | granit_parser::ScalarStyle::Folded => {
                // The parser's end lies behind the blank lines after the block.
                let written = self.source.get(span.start..span.end).unwrap_or_default();
                span.end = span.start + written.trim_end_matches([' ', '\n', '\r']).len();
                (text, ScalarStyle::Block)
            }
        };
        Node { span, value: Value::Scalar(Scalar { text, style }) }
    }

    fn count(&mut self, span: Span) -> Result<(), Problem> {
        self.nodes += 1;
        if self.nodes > self.limits.max_nodes {
            let most = self.limits.max_nodes;
            return Err(Problem::new(span, format!("more than the {most} values allowed in one file")));
        }
        Ok(())
    }

    fn meaning(&self, tag: Option<&Tag>, at: &granit_parser::Span) -> Result<Meaning, Problem> {
        let Some(tag) = tag else { return Ok(Meaning::Plain) };
        let known = if self.dialect == Dialect::Foreign { tags::meaning_of(tag) } else { None };
        known.ok_or_else(|| {
            let span = at.tag_span().map_or_else(|| self.span(at), |span| self.span(&span));
            let help = match self.dialect {
                Dialect::Ours => "remove it, or put the value in quotes if it is text",
                Dialect::Foreign => "only tags that stand for plain data are read; none is ever executed",
            };
            Problem::new(span, format!("the tag `{}` is not allowed", tag.original())).with_help(help)
        })
    }

    /// A list in the column of its key is announced at its first item, not at the dash before it.
    fn dash_before(&self, start: usize) -> usize {
        let before = self.source[..start].trim_end_matches([' ', '\t']);
        if !self.source[start..].starts_with('-') && before.ends_with('-') { before.len() - 1 } else { start }
    }

    fn span(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        let start = floor_char_boundary(self.source, range.start);
        Span::new(start, floor_char_boundary(self.source, range.end).max(start))
    }
}

/// A closing bracket has a width, the end of a block has none (and stands where the next thing begins).
fn end_of_flow(end: Span) -> usize {
    if end.start < end.end { end.end } else { 0 }
}

/// Nodes of a tree, and the bytes of its text.
fn size_of(node: &Node<'_>) -> (usize, usize) {
    let add = |(nodes, bytes): (usize, usize), node: &Node<'_>| {
        let (more, longer) = size_of(node);
        (nodes + more, bytes + longer)
    };
    match &node.value {
        Value::Scalar(scalar) => (1, scalar.text.len()),
        Value::Sequence(items) => items.iter().fold((1, 0), add),
        Value::Mapping(entries) => entries.iter().flat_map(|(key, value)| [key, value]).fold((1, 0), add),
    }
}

fn key_is_no_scalar(span: Span) -> Problem {
    Problem::new(span, "a key must be a scalar, not a list or a mapping")
        .with_help("put the key in quotes if it is text")
}

fn refuse_key(key: &Node<'_>) -> Result<(), Problem> {
    if key.as_scalar().is_none() {
        return Err(key_is_no_scalar(key.span));
    }
    match key.as_plain() {
        Some("<<") => Err(Problem::new(key.span, "the merge key `<<` is not allowed")
            .with_help("write the keys out, or put it in quotes if you mean the text")),
        Some("") => {
            Err(Problem::new(key.span, "a key is missing here").with_help("write '' for an empty key"))
        }
        _ => Ok(()),
    }
}

/// granit takes a NUL for the end of the input and looks into scalars only; the file as a whole must be clean.
fn refuse_control_characters(source: &str) -> Result<(), Problem> {
    let body = source.strip_prefix('\u{feff}').unwrap_or(source);
    let Some((at, character)) = body.char_indices().find(|(_, character)| is_forbidden(*character)) else {
        return Ok(());
    };
    let start = at + source.len() - body.len();
    let code = u32::from(character);
    Err(Problem::new(
        Span::new(start, start + character.len_utf8()),
        format!("the character U+{code:04X} is not allowed in the file"),
    )
    .with_help(format!("write it as an escape in double quotes: \"\\u{code:04x}\"")))
}

fn is_forbidden(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' | '\u{85}' => false,
        _ => character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}' | '\u{feff}'),
    }
}

fn too_deep(span: Span, limits: &Limits) -> Problem {
    let most = limits.depth();
    Problem::new(span, format!("nested more than {most} levels deep"))
}

fn syntax_problem(source: &str, limits: &Limits, error: &ScanError) -> Problem {
    let start = floor_char_boundary(source, error.marker().byte_offset().unwrap_or_default());
    let width =
        source[start..].chars().next().filter(|character| *character != '\n').map_or(0, char::len_utf8);
    let span = Span::new(start, start + width);
    let help = match error.kind() {
        ErrorKind::RecursionLimitExceeded => return too_deep(span, limits),
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => "indent with spaces",
        ErrorKind::UnexpectedCharacter { .. } => "put the value in quotes",
        ErrorKind::MappingValueNotAllowed => "put the value in quotes if it contains `: `",
        ErrorKind::SimpleKeyExpected => "write `key: value`, and align it with the keys beside it",
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::ExpectedBlockSequenceEntry => {
            "align it with the lines it belongs to"
        }
        ErrorKind::UnclosedQuotedScalar => "close the quote",
        ErrorKind::InvalidQuotedScalarIndent => "close the quote opened above, or indent this line further",
        ErrorKind::UnknownQuotedScalarEscape => {
            "double the backslash, or use single quotes, where a backslash is just that"
        }
        _ => return Problem::new(span, error.kind().to_string()),
    };
    Problem::new(span, error.kind().to_string()).with_help(help)
}
