//! Tags that other recorders write, and the plain data that each stands for.
//!
//! A tag asks a reader to build something. Nothing is built here and nothing is run: a tag is on this short list of
//! data in disguise, or the document is refused by the tag's name.

use std::borrow::Cow;

use granit_parser::Tag;

use crate::{
    node::{Node, Scalar, ScalarStyle, Value},
    problem::Problem,
};

/// What a tag says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Nothing that is not seen anyway.
    Plain,
    /// It is text, whatever it looks like.
    Text,
    /// It is bytes, written in base64.
    Binary,
    /// It is its own first item: what a constructor was called with.
    FirstArgument,
    /// It is the first item of its `state`: what a memory file holds.
    FirstOfState,
}

/// `None` for a tag that is not plain data.
pub(super) fn meaning_of(tag: &Tag) -> Option<Meaning> {
    let written = tag.original();
    let name = written
        .strip_prefix("!!")
        .or_else(|| written.strip_prefix("!<tag:yaml.org,2002:")?.strip_suffix('>'))
        .or_else(|| written.strip_prefix('!'))?;
    match name {
        "binary" => Some(Meaning::Binary),
        "str" | "python/unicode" | "python/str" => Some(Meaning::Text),
        "python/bytes" => Some(Meaning::Binary),
        "" | "map" | "seq" | "int" | "float" | "bool" | "null" | "omap" => Some(Meaning::Plain),
        "python/tuple" | "python/list" | "python/dict" | "python/none" | "python/bool" | "python/int"
        | "python/long" | "python/float" => Some(Meaning::Plain),
        "python/object/new:_io.BytesIO" | "python/object/new:_io.StringIO" => Some(Meaning::FirstOfState),
        "python/object/apply:builtins.iter"
        | "python/object/apply:__builtin__.iter"
        | "python/object/apply:multidict._multidict.istr"
        | "python/object/apply:multidict._istr.istr"
        | "python/object/apply:multidict.istr"
        | "python/object/new:multidict._multidict.istr"
        | "python/object/new:multidict._istr.istr" => Some(Meaning::FirstArgument),
        _ => None,
    }
}

pub(super) fn apply_to_scalar<'s>(meaning: Meaning, mut node: Node<'s>) -> Result<Node<'s>, Problem> {
    let style = match meaning {
        Meaning::Plain => return Ok(node),
        Meaning::Text => ScalarStyle::Quoted,
        Meaning::Binary => ScalarStyle::Binary,
        // `!!python/object/apply:….istr` with nothing behind it is an empty text.
        Meaning::FirstArgument | Meaning::FirstOfState if node.as_plain() == Some("") => ScalarStyle::Quoted,
        Meaning::FirstArgument | Meaning::FirstOfState => {
            return Err(Problem::new(node.span, "expected the arguments of the tagged value as a list"));
        }
    };
    if let Value::Scalar(scalar) = &mut node.value {
        scalar.style = style;
    }
    Ok(node)
}

pub(super) fn apply_to_collection<'s>(meaning: Meaning, node: Node<'s>) -> Result<Node<'s>, Problem> {
    let span = node.span;
    let first = |value: Value<'s>| match value {
        Value::Sequence(items) => items.into_iter().next().map(|node| node.value),
        other @ Value::Scalar(_) => Some(other),
        Value::Mapping(_) => None,
    };
    let member = |entries: Vec<(Node<'s>, Node<'s>)>, name: &str| {
        entries.into_iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value.value)
    };
    let value = match (meaning, node.value) {
        (Meaning::Plain, value) => Some(value),
        (Meaning::Text | Meaning::Binary, _) => {
            return Err(Problem::new(span, "the tag says text or bytes, and a collection stands here"));
        }
        // A memory file without a state is empty.
        (Meaning::FirstOfState, Value::Sequence(items)) if items.is_empty() => Some(empty()),
        (Meaning::FirstOfState, Value::Mapping(entries)) if entries.is_empty() => Some(empty()),
        (Meaning::FirstOfState, Value::Mapping(entries)) => member(entries, "state").and_then(first),
        (Meaning::FirstArgument, Value::Mapping(entries)) => member(entries, "args").and_then(first),
        (_, value) => first(value),
    };
    match value {
        Some(value) => Ok(Node { span, value }),
        None => Err(Problem::new(span, "the tagged value does not hold what its tag promises")),
    }
}

fn empty<'s>() -> Value<'s> {
    Value::Scalar(Scalar { text: Cow::Borrowed(""), style: ScalarStyle::Quoted })
}
