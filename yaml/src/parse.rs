//! From source text to a tree.
//!
//! Owns the order of things: bounds first, then the single pass over what our own emitter writes (`fast`), and
//! for everything else the general parser (`full`). Only the latter may refuse a document.

mod fast;
mod full;
mod repeats;

use crate::{limits::Limits, node::Node, problem::Problem, span::Span};

/// Reads the one document in `source`.
///
/// A source without any document (empty, or only comments) reads as a null scalar. Refused, each with its
/// place: anchors, aliases, tags, merge keys, keys that are not scalars, repeated keys, a second document,
/// control characters, whatever is not YAML, and whatever exceeds `limits`.
pub fn parse<'s>(source: &'s str, limits: &Limits) -> Result<Node<'s>, Problem> {
    if source.len() > limits.max_bytes {
        let (size, most) = (source.len(), limits.max_bytes);
        return Err(Problem::new(
            Span::default(),
            format!("the file has {size} bytes, more than the {most} allowed"),
        ));
    }
    match fast::parse(source, limits) {
        Some(node) => Ok(node),
        None => full::parse(source, limits),
    }
}

#[cfg(test)]
mod agreement;
