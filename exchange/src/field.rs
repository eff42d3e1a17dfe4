//! Names of places in a request: `body.messages[1].content`.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// A path to a field, or a pattern of paths when it holds `*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct FieldPath(pub Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    Key(String),
    Index(usize),
    /// `*` or `[*]`: any key or index.
    Any,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a field path; write it like body.messages[0].content, query.page or headers.x-trace")]
pub struct FieldPathError(String);

impl FieldPath {
    pub fn root(name: &str) -> Self {
        Self(vec![Segment::Key(name.to_owned())])
    }

    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut path = self.clone();
        path.0.push(Segment::Key(key.to_owned()));
        path
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut path = self.clone();
        path.0.push(Segment::Index(index));
        path
    }

    /// Whether this pattern names exactly that path.
    pub fn matches(&self, path: &[Segment]) -> bool {
        self.0.len() == path.len()
            && self.0.iter().zip(path).all(|(mine, theirs)| *mine == Segment::Any || mine == theirs)
    }
}

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, FieldPathError> {
        let fail = || FieldPathError(text.to_owned());
        let mut rest = text.strip_prefix("request.").unwrap_or(text);
        let mut segments = Vec::new();
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                if let Some(quoted) = inner.strip_prefix('"') {
                    let (key, after) = quoted.split_once("\"]").ok_or_else(fail)?;
                    segments.push(Segment::Key(key.to_owned()));
                    rest = after;
                } else {
                    let (index, after) = inner.split_once(']').ok_or_else(fail)?;
                    segments.push(match index {
                        "*" => Segment::Any,
                        number => Segment::Index(number.parse().map_err(|_| fail())?),
                    });
                    rest = after;
                }
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                if end == 0 {
                    return Err(fail());
                }
                segments.push(if &rest[..end] == "*" {
                    Segment::Any
                } else {
                    Segment::Key(rest[..end].to_owned())
                });
                rest = &rest[end..];
            }
            if let Some(after) = rest.strip_prefix('.') {
                if after.is_empty() {
                    return Err(fail());
                }
                rest = after;
            }
        }
        match segments.first() {
            Some(Segment::Key(root)) if ROOTS.contains(&root.as_str()) => Ok(Self(segments)),
            _ => Err(fail()),
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if key.is_empty() || key.contains(['.', '[', ']', '"', '*']) => {
                    write!(f, "[{key:?}]")?;
                }
                Segment::Key(key) if i == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Any => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

/// What a path may start with.
const ROOTS: [&str; 10] =
    ["method", "scheme", "host", "port", "path", "query", "headers", "body", "trailers", "messages"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_prints_as_it_is_written() {
        for text in
            ["body.messages[1].content", "query.page", "headers.x-trace-id", "body[*].id", "body[\"a.b\"].c"]
        {
            assert_eq!(text.parse::<FieldPath>().unwrap().to_string(), text);
        }
        assert_eq!("request.body.*.id".parse::<FieldPath>().unwrap().to_string(), "body[*].id");
    }

    #[test]
    fn a_path_that_names_no_part_of_a_request_is_refused() {
        for text in ["", "bodi.x", "body..x", "body[", "body[x]", ".body", "body."] {
            assert!(text.parse::<FieldPath>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_star_stands_for_any_index_or_key() {
        let pattern: FieldPath = "body.messages[*].id".parse().unwrap();
        assert!(pattern.matches(&FieldPath::root("body").key("messages").index(3).key("id").0));
        assert!(!pattern.matches(&FieldPath::root("body").key("messages").index(3).0));
    }
}
