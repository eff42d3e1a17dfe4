//! From a tree to the one text we write for it.
//!
//! Owns layout: block style, two columns a level, lists below their key and one level in, `- key: value`
//! without a line of its own for the dash. How one scalar is spelled is in `scalar`.

use std::{borrow::Cow, fmt::Display};

mod scalar;

/// A value to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out<'a> {
    /// Text; spelled so that it is read back as exactly this text and never as anything but text.
    Text(Cow<'a, str>),
    /// A number, boolean, null or duration, written as it is. What is not made of letters, digits and `+-._`
    /// is written as text instead.
    Plain(Cow<'a, str>),
    /// Base64 text that stands for bytes, as `!!binary`; only for files that other programs read.
    Binary(Cow<'a, str>),
    /// A list.
    Sequence(Vec<Out<'a>>),
    /// Keys with their values, written in this order; that each key stands once is up to the caller.
    Mapping(Vec<(Cow<'a, str>, Out<'a>)>),
}

impl<'a> Out<'a> {
    /// Text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A number or anything else whose `Display` is a plain word.
    pub fn plain(value: impl Display) -> Self {
        Self::Plain(Cow::Owned(value.to_string()))
    }

    /// Bytes, given in base64.
    pub fn binary(base64: impl Into<Cow<'a, str>>) -> Self {
        Self::Binary(base64.into())
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::Plain(Cow::Borrowed("null"))
    }

    /// A list.
    pub fn sequence(items: impl IntoIterator<Item = Out<'a>>) -> Self {
        Self::Sequence(items.into_iter().collect())
    }

    /// A mapping.
    pub fn mapping<K: Into<Cow<'a, str>>>(entries: impl IntoIterator<Item = (K, Out<'a>)>) -> Self {
        Self::Mapping(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

impl<'a> From<&'a str> for Out<'a> {
    fn from(text: &'a str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Out<'_> {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<bool> for Out<'_> {
    fn from(value: bool) -> Self {
        Self::Plain(Cow::Borrowed(if value { "true" } else { "false" }))
    }
}

macro_rules! from_integers {
    ($($integer:ty)*) => {
        $(impl From<$integer> for Out<'_> {
            fn from(value: $integer) -> Self {
                Self::plain(value)
            }
        })*
    };
}

from_integers!(u16 u32 u64 usize i32 i64);

/// The whole document, with a line break at its end.
#[must_use]
pub fn to_string(out: &Out<'_>) -> String {
    let mut text = String::new();
    match out {
        Out::Sequence(items) if !items.is_empty() => write_items(&mut text, 0, items),
        Out::Mapping(entries) if !entries.is_empty() => write_entries(&mut text, 0, entries, Lead::Spaces),
        // The content of a block stands two columns in, here as below a key.
        scalar => write_inline(&mut text, 0, scalar),
    }
    text
}

/// One item of a list that stands at `indent`, so that a long list can be written piece by piece.
pub fn write_item(into: &mut String, indent: usize, out: &Out<'_>) {
    push_spaces(into, indent);
    write_after_dash(into, indent, out);
}

/// What stands before the first key of a mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// A line of its own.
    Spaces,
    /// `- `, already written.
    Dash,
}

fn write_items(into: &mut String, indent: usize, items: &[Out<'_>]) {
    for item in items {
        write_item(into, indent, item);
    }
}

fn write_after_dash(into: &mut String, indent: usize, out: &Out<'_>) {
    into.push_str("- ");
    match out {
        Out::Mapping(entries) if !entries.is_empty() => {
            write_entries(into, indent + STEP, entries, Lead::Dash)
        }
        Out::Sequence(items) if !items.is_empty() => {
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    push_spaces(into, indent + STEP);
                }
                write_after_dash(into, indent + STEP, item);
            }
        }
        _ => write_inline(into, indent + STEP, out),
    }
}

fn write_entries(into: &mut String, indent: usize, entries: &[(Cow<'_, str>, Out<'_>)], lead: Lead) {
    for (number, (key, value)) in entries.iter().enumerate() {
        if number > 0 || lead == Lead::Spaces {
            push_spaces(into, indent);
        }
        write_key(into, indent, key);
        match value {
            Out::Mapping(entries) if !entries.is_empty() => {
                into.push('\n');
                write_entries(into, indent + STEP, entries, Lead::Spaces);
            }
            Out::Sequence(items) if !items.is_empty() => {
                into.push('\n');
                write_items(into, indent + STEP, items);
            }
            _ => {
                into.push(' ');
                write_inline(into, indent + STEP, value);
            }
        }
    }
}

/// The key and its colon.
fn write_key(into: &mut String, indent: usize, key: &str) {
    let start = into.len();
    scalar::write_line(into, key);
    // Readers stop looking for the colon after 1024 characters, unless the key is announced.
    if into.len() - start > LONGEST_KEY {
        into.insert_str(start, "? ");
        into.push('\n');
        push_spaces(into, indent);
    }
    into.push(':');
}

/// A scalar or an empty collection, and the line break behind it; `indent` is where the lines of a block stand.
fn write_inline(into: &mut String, indent: usize, out: &Out<'_>) {
    match out {
        Out::Text(text) => {
            // At the top of a document nothing is around the block, yet its content needs an indentation.
            if scalar::is_literal(text) {
                return scalar::write_literal(into, indent.max(STEP), text);
            }
            scalar::write_line(into, text);
        }
        Out::Plain(text) if scalar::is_plain_word(text) => into.push_str(text),
        Out::Plain(text) => scalar::write_line(into, text),
        Out::Binary(base64) => {
            into.push_str("!!binary ");
            scalar::write_line(into, base64);
        }
        Out::Sequence(_) => into.push_str("[]"),
        Out::Mapping(_) => into.push_str("{}"),
    }
    into.push('\n');
}

pub(crate) fn push_spaces(into: &mut String, count: usize) {
    into.extend(std::iter::repeat_n(' ', count));
}

const STEP: usize = 2;
const LONGEST_KEY: usize = 900;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cassette_is_laid_out_as_the_design_shows_it() {
        let event = |after: Option<&str>, text: &str| {
            let after = after.map(|after| ("after", Out::plain(after)));
            Out::mapping(after.into_iter().chain([("text", Out::text(text.to_owned()))]))
        };
        let exchange = Out::mapping([
            ("id", Out::plain(1)),
            (
                "request",
                Out::mapping([
                    ("method", Out::text("POST")),
                    ("url", Out::text("https://api.openai.com/v1/chat/completions")),
                    (
                        "headers",
                        Out::mapping([
                            ("content-type", Out::text("application/json")),
                            ("authorization", Out::text("Bearer {{redacted:openai_key:1}}")),
                        ]),
                    ),
                ]),
            ),
            (
                "events",
                Out::sequence([event(Some("180ms"), "data: {\"id\":\"x\"}"), event(None, "data: [DONE]")]),
            ),
        ]);
        let expected = "\
wiretape: cassette/1
exchanges:
  - id: 1
    request:
      method: POST
      url: https://api.openai.com/v1/chat/completions
      headers:
        content-type: application/json
        authorization: Bearer {{redacted:openai_key:1}}
    events:
      - after: 180ms
        text: 'data: {\"id\":\"x\"}'
      - text: 'data: [DONE]'
";
        let mut by_item = String::from("wiretape: cassette/1\nexchanges:\n");
        write_item(&mut by_item, 2, &exchange);
        assert_eq!(by_item, expected);
        let whole =
            Out::mapping([("wiretape", Out::text("cassette/1")), ("exchanges", Out::sequence([exchange]))]);
        assert_eq!(to_string(&whole), expected);
    }

    #[test]
    fn lists_in_lists_and_empty_collections_stay_on_their_line() {
        let out = Out::sequence([
            Out::sequence([Out::plain(1), Out::sequence([Out::plain(2), Out::plain(3)])]),
            Out::Mapping(Vec::new()),
            Out::mapping([("a", Out::Sequence(Vec::new())), ("b", Out::null())]),
        ]);
        assert_eq!(to_string(&out), "- - 1\n  - - 2\n    - 3\n- {}\n- a: []\n  b: null\n");
    }

    #[test]
    fn a_plain_that_is_no_word_is_written_as_text() {
        let out =
            Out::mapping([("a", Out::plain("1\nb: 2")), ("c", Out::plain("")), ("d", Out::plain("-1.5e+3"))]);
        assert_eq!(to_string(&out), "a: \"1\\nb: 2\"\nc: ''\nd: -1.5e+3\n");
    }

    #[test]
    fn a_key_too_long_for_one_line_is_announced() {
        let key = "k".repeat(901);
        let out = Out::mapping([(key.as_str(), Out::mapping([("a", Out::plain(1))]))]);
        assert_eq!(to_string(&out), format!("? {key}\n:\n  a: 1\n"));
    }
}
