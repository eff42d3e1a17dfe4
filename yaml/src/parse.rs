//! From source text to a tree.
//!
//! Owns the order of things: bounds first, then the single pass over what our own emitter writes (`fast`), and
//! for everything else the general parser (`full`). Only the latter may refuse a document.

mod fast;
mod full;
mod json;
mod mend;
mod repeats;
mod tags;

pub use mend::mend_indentation;

use crate::{limits::Limits, node::Node, problem::Problem, span::Span};

/// Reads the one document in `source`.
///
/// A source without any document (empty, or only comments) reads as a null scalar. Refused, each with its
/// place: anchors, aliases, tags, merge keys, keys that are not scalars, repeated keys, a second document,
/// control characters, whatever is not YAML, and whatever exceeds `limits`.
pub fn parse<'s>(source: &'s str, limits: &Limits) -> Result<Node<'s>, Problem> {
    refuse_size(source, limits)?;
    match fast::parse(source, limits) {
        Some(node) => Ok(node),
        None => full::parse(source, limits, full::Dialect::Ours),
    }
}

/// Reads the one document in a file that another program wrote.
///
/// As [`parse`], but aliases are resolved (and count as if they were written out), `!!binary` gives a scalar of
/// [`ScalarStyle::Binary`](crate::ScalarStyle::Binary), and the few tags of Python objects that are plain data are
/// taken as that data. No tag is ever executed; any other is refused by its name.
pub fn parse_foreign<'s>(source: &'s str, limits: &Limits) -> Result<Node<'s>, Problem> {
    refuse_size(source, limits)?;
    full::parse(source, limits, full::Dialect::Foreign)
}

/// Reads a JSON text into the same tree: strings are quoted scalars, everything else is plain.
pub fn parse_json<'s>(source: &'s str, limits: &Limits) -> Result<Node<'s>, Problem> {
    refuse_size(source, limits)?;
    json::parse(source, limits)
}

fn refuse_size(source: &str, limits: &Limits) -> Result<(), Problem> {
    if source.len() <= limits.max_bytes {
        return Ok(());
    }
    let (size, most) = (source.len(), limits.max_bytes);
    Err(Problem::new(Span::default(), format!("the file has {size} bytes, more than the {most} allowed")))
}

#[cfg(test)]
mod agreement;
