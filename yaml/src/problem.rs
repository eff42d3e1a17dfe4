//! What a person is told when a file is not right.
//!
//! Owns the parts of the message; how it is drawn, and the file's name, belong to whoever prints it.

use std::fmt;

use crate::span::Span;

/// One thing wrong in a source text: what, where, and where known what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The place to point at.
    pub span: Span,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// A second place that explains the first, with its label.
    pub related: Option<(Span, String)>,
}

impl Problem {
    /// A problem without help.
    #[must_use]
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), help: None, related: None }
    }

    /// The same problem, saying what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same problem, pointing at a second place.
    #[must_use]
    pub fn with_related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related = Some((span, label.into()));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}
