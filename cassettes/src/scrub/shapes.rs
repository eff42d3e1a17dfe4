//! Tokens known by what they look like, wherever they stand.
//!
//! Each has a mark that is searched for, all of them at once, and a rule for what must stand around it. Boundaries are
//! held here and not in a pattern: a token in `?key=…&`, in prose or in HTML is the same token.

mod custom;
mod table;

use std::{ops::Range, sync::LazyLock};

use super::grams::Marks;
use table::{SHAPES, Shape, Tail};

/// A token in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) span: Range<usize>,
    pub(super) kind: &'static str,
}

/// Every token in a text, in order; none overlaps another.
pub(super) fn tokens_in(text: &[u8]) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    for (mark, number) in MARKS.find(text) {
        let end = found.last().map_or(0, |last| last.span.end);
        let shape = &SHAPES[number];
        // A mark inside of a token is a part of it; and asking what it begins may cost as much as the token.
        if mark.start >= end
            && let Some(span) = shape.span(text, mark)
            && end <= span.start
        {
            found.push(Token { span, kind: shape.kind });
        }
    }
    found
}

/// Where tokens begin, also those inside of others: what lies in another value is no part of one.
pub(super) fn starts_in(text: &[u8]) -> impl Iterator<Item = usize> {
    MARKS.find(text).filter_map(|(mark, number)| match SHAPES[number].kind {
        // Each is looked at by itself anyway, and its end may be far.
        "private_key" => Some(mark.start),
        _ => SHAPES[number].span(text, mark).map(|span| span.start),
    })
}

/// The kind of a value that is one token and nothing else.
pub(super) fn kind_of(value: &[u8]) -> Option<&'static str> {
    match tokens_in(value).as_slice() {
        [token] if token.span == (0..value.len()) => Some(token.kind),
        _ => None,
    }
}

impl Shape {
    fn span(&self, text: &[u8], mark: Range<usize>) -> Option<Range<usize>> {
        match self.tail {
            Tail::Run { of, least, most } => {
                if is_word(mark.start.checked_sub(1).and_then(|before| text.get(before))) {
                    return None;
                }
                let run = text[mark.end..].iter().take(most + 2).take_while(|b| of.holds(**b)).count();
                // The dot at the end is the sentence's.
                let dots = text[..mark.end + run].iter().rev().take_while(|b| **b == b'.').count();
                let end = mark.end + run - dots.min(run);
                let run = end - mark.end;
                let fits = (least..=most).contains(&run) && !is_word(text.get(end));
                (fits && of.is_varied(&text[mark.end..end])).then_some(mark.start..end)
            }
            Tail::Custom(rule) => rule(text, mark),
        }
    }
}

/// Letters that tokens are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letters {
    Hex,
    Lower,
    Upper,
    Letter,
    Alphanumeric,
    /// `[A-Za-z0-9_-]`
    Word,
    /// `Word` and dots.
    Dotted,
    Base64,
}

impl Letters {
    fn holds(self, b: u8) -> bool {
        match self {
            Self::Hex => b.is_ascii_hexdigit(),
            Self::Lower => b.is_ascii_lowercase() || b.is_ascii_digit(),
            Self::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Self::Letter => b.is_ascii_alphabetic(),
            Self::Alphanumeric => b.is_ascii_alphanumeric(),
            Self::Word => is_word_byte(b),
            Self::Dotted => is_word_byte(b) || b == b'.',
            Self::Base64 => b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='),
        }
    }

    /// Whether it can have been drawn: `xxxxxxxx` and `your-key-here` are not.
    fn is_varied(self, run: &[u8]) -> bool {
        let mut seen = [false; 256];
        run.iter().for_each(|b| seen[usize::from(*b)] = true);
        let kinds = seen.iter().filter(|seen| **seen).count();
        let has_digit = run.iter().any(u8::is_ascii_digit);
        let mixed = run.iter().any(u8::is_ascii_uppercase) && run.iter().any(u8::is_ascii_lowercase);
        kinds >= 6.min(run.len()) && (has_digit || mixed || self == Self::Upper)
    }
}

fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|b| is_word_byte(*b))
}

fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

static MARKS: LazyLock<Marks> = LazyLock::new(|| Marks::new(SHAPES.iter().map(|shape| shape.mark)));

#[cfg(test)]
pub(super) mod tests;
