//! The tree that a source text reads as.
//!
//! Owns the shape only. Scalars stay text with the style they were written in; turning them into meaning is
//! the reader's step (`decode`).

use std::borrow::Cow;

use crate::span::Span;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node<'s> {
    /// From its first byte (of a block scalar: of its content) to its last.
    pub span: Span,
    /// What stands there.
    pub value: Value<'s>,
}

/// The three kinds of node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'s> {
    /// Text, a number, a boolean or nothing.
    Scalar(Scalar<'s>),
    /// A list.
    Sequence(Vec<Node<'s>>),
    /// Keys with their values, in the order of the source; every key is a scalar and stands once.
    Mapping(Vec<(Node<'s>, Node<'s>)>),
}

/// A scalar as it was written, escapes resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar<'s> {
    /// Its text; borrowed from the source where nothing had to be resolved.
    pub text: Cow<'s, str>,
    /// How it was written.
    pub style: ScalarStyle,
}

/// How a scalar was written. Only a plain one can be a number, a boolean or null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarStyle {
    /// Without quotes.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a block, `|` or `>`.
    Block,
    /// As base64 text that stands for bytes: `!!binary`, in files of other programs only.
    Binary,
}

/// What a scalar means in a place that takes any value, such as a JSON body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScalarKind<'n> {
    /// `null`, `~`, or nothing at all.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number as JSON spells it, digit for digit as in the source.
    Number(&'n str),
    /// Everything else, and everything quoted.
    Text(&'n str),
}

impl Scalar<'_> {
    /// Null, boolean or number if it is plain and spelled like one, else text.
    #[must_use]
    pub fn kind(&self) -> ScalarKind<'_> {
        let text = self.text.as_ref();
        if self.style != ScalarStyle::Plain {
            return ScalarKind::Text(text);
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => ScalarKind::Null,
            "true" | "True" | "TRUE" => ScalarKind::Boolean(true),
            "false" | "False" | "FALSE" => ScalarKind::Boolean(false),
            _ if is_json_number(text) => ScalarKind::Number(text),
            _ => ScalarKind::Text(text),
        }
    }
}

/// The number grammar of RFC 8259, section 6.
pub(crate) fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str, style: ScalarStyle) -> String {
        format!("{:?}", Scalar { text: Cow::Borrowed(text), style }.kind())
    }

    #[test]
    fn a_plain_scalar_is_what_json_would_call_it() {
        for number in ["0", "-0", "12", "-1.50", "1e5", "1E+400", "0.1e-2"] {
            assert_eq!(kind(number, ScalarStyle::Plain), format!("Number({number:?})"));
        }
        for text in ["01", "+1", ".5", "1.", "1e", "0x1", "1_000", "-", "1:20", "no", "2024-01-01", "."] {
            assert_eq!(kind(text, ScalarStyle::Plain), format!("Text({text:?})"));
        }
        assert_eq!(kind("true", ScalarStyle::Plain), "Boolean(true)");
        assert_eq!(kind("~", ScalarStyle::Plain), "Null");
    }

    #[test]
    fn a_quoted_or_block_scalar_is_always_text() {
        assert_eq!(kind("1", ScalarStyle::Quoted), "Text(\"1\")");
        assert_eq!(kind("null", ScalarStyle::Block), "Text(\"null\")");
    }
}
