//! A decoded text that knows where each of its bytes stands in the source.

use std::{borrow::Cow, ops::Range};

use crate::edits::Edit;

#[derive(Debug, Clone)]
pub(crate) struct View<'a> {
    text: Cow<'a, [u8]>,
    runs: Runs,
}

/// Nearly always there is one, and it is kept where it stands.
#[derive(Debug, Clone)]
enum Runs {
    One(Run),
    Many(Vec<Run>),
}

impl Runs {
    fn as_slice(&self) -> &[Run] {
        match self {
            Self::One(run) => std::slice::from_ref(run),
            Self::Many(runs) => runs,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Run] {
        match self {
            Self::One(run) => std::slice::from_mut(run),
            Self::Many(runs) => runs,
        }
    }
}

/// Bytes that stand in the source as they are, or those that one escape stands for.
#[derive(Debug, Clone, Copy)]
struct Run {
    at: usize,
    len: usize,
    source: usize,
    source_len: usize,
}

impl<'a> View<'a> {
    /// A part of the source that needs no decoding.
    pub(crate) fn plain(source: &'a [u8], span: Range<usize>) -> Self {
        let run = Run { at: 0, len: span.len(), source: span.start, source_len: span.len() };
        Self { text: Cow::Borrowed(&source[span]), runs: Runs::One(run) }
    }

    /// A JSON string, its span between the quotes.
    pub(crate) fn json_string(source: &'a [u8], span: Range<usize>) -> Self {
        Self::decoded(source, span, b'\\', json_escape)
    }

    /// A value in a query or a form, where a plus is a blank.
    pub(crate) fn percent(source: &'a [u8], span: Range<usize>) -> Self {
        if source[span.clone()].contains(&b'+') {
            return Self::decoded_by(source, span, |rest| match rest[0] {
                b'+' => Some((Decoded::One(b' '), 1)),
                b'%' => percent_escape(rest),
                _ => None,
            });
        }
        Self::decoded(source, span, b'%', percent_escape)
    }

    /// The same where a plus is a plus.
    pub(crate) fn percent_only(source: &'a [u8], span: Range<usize>) -> Self {
        Self::decoded(source, span, b'%', percent_escape)
    }

    pub(crate) fn html(source: &'a [u8], span: Range<usize>) -> Self {
        Self::decoded(source, span, b'&', html_escape)
    }

    /// Pieces of one source, one behind the other.
    pub(crate) fn joined(pieces: &[View<'_>]) -> View<'static> {
        let mut text = Vec::new();
        let mut runs = Vec::new();
        for piece in pieces {
            runs.extend(piece.runs.as_slice().iter().map(|run| Run { at: run.at + text.len(), ..*run }));
            text.extend_from_slice(&piece.text);
        }
        View { text: Cow::Owned(text), runs: Runs::Many(runs) }
    }

    /// The same text, told by where it stands in a larger source.
    pub(crate) fn shifted(mut self, by: usize) -> Self {
        self.runs.as_mut_slice().iter_mut().for_each(|run| run.source += by);
        self
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether decoding changed anything.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.text, Cow::Borrowed(_))
    }

    /// Whether a part of the text was decoded, and does not stand in the source as it is.
    pub(crate) fn is_decoded_in(&self, part: &Range<usize>) -> bool {
        let runs = self.runs.as_slice();
        let first = runs.partition_point(|run| run.at + run.len <= part.start);
        runs[first..].iter().take_while(|run| run.at < part.end).any(|run| run.len != run.source_len)
    }

    /// The same change in the source. What stands there in several pieces is replaced in the first; the others shrink.
    pub(crate) fn in_source(
        &self,
        edits: Vec<Edit<'static>>,
        escape: fn(&[u8]) -> Cow<'_, [u8]>,
    ) -> Vec<Edit<'static>> {
        let mut out = Vec::with_capacity(edits.len());
        for edit in edits {
            let mut new = Some(escape(&edit.new).into_owned());
            for span in self.spans(&edit.span) {
                out.push(Edit::new(span, new.take().unwrap_or_default()));
            }
        }
        out
    }

    /// Where a part of the text stands in the source.
    fn spans(&self, part: &Range<usize>) -> Vec<Range<usize>> {
        let runs = self.runs.as_slice();
        let first = runs.partition_point(|run| run.at + run.len <= part.start);
        let mut spans: Vec<Range<usize>> = Vec::new();
        for run in runs[first..].iter().take_while(|run| run.at < part.end) {
            let span = if run.len == run.source_len {
                let from = part.start.saturating_sub(run.at);
                let to = (part.end - run.at).min(run.len);
                run.source + from..run.source + to
            } else {
                run.source..run.source + run.source_len
            };
            match spans.last_mut() {
                Some(last) if last.end == span.start => last.end = span.end,
                _ if span.is_empty() => {}
                _ => spans.push(span),
            }
        }
        spans
    }

    fn decoded(
        source: &'a [u8],
        span: Range<usize>,
        mark: u8,
        escape: fn(&[u8]) -> Option<(Decoded, usize)>,
    ) -> Self {
        if !source[span.clone()].contains(&mark) {
            return Self::plain(source, span);
        }
        Self::decoded_by(source, span, move |rest| if rest[0] == mark { escape(rest) } else { None })
    }

    fn decoded_by(
        source: &'a [u8],
        span: Range<usize>,
        escape: impl Fn(&[u8]) -> Option<(Decoded, usize)>,
    ) -> Self {
        let mut text = Vec::with_capacity(span.len());
        let mut runs = Vec::new();
        let (mut at, mut plain) = (span.start, span.start);
        let end_plain = |text: &mut Vec<u8>, runs: &mut Vec<Run>, from: usize, to: usize| {
            if from < to {
                runs.push(Run { at: text.len(), len: to - from, source: from, source_len: to - from });
                text.extend_from_slice(&source[from..to]);
            }
        };
        while at < span.end {
            match escape(&source[at..span.end]) {
                Some((decoded, taken)) => {
                    end_plain(&mut text, &mut runs, plain, at);
                    let start = text.len();
                    decoded.push_to(&mut text);
                    runs.push(Run { at: start, len: text.len() - start, source: at, source_len: taken });
                    at += taken;
                    plain = at;
                }
                None => at += 1,
            }
        }
        end_plain(&mut text, &mut runs, plain, span.end);
        Self { text: Cow::Owned(text), runs: Runs::Many(runs) }
    }
}

/// What an escape stands for.
enum Decoded {
    One(u8),
    Char(char),
}

impl Decoded {
    fn push_to(&self, text: &mut Vec<u8>) {
        match self {
            Self::One(byte) => text.push(*byte),
            Self::Char(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// For a change that is put into a JSON string.
pub(crate) fn escaped_for_json(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.iter().any(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 8);
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0..=0x1f => out.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => out.push(byte),
        }
    }
    Cow::Owned(out)
}

pub(crate) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    Cow::Borrowed(text)
}

fn json_escape(rest: &[u8]) -> Option<(Decoded, usize)> {
    let one = |byte| Some((Decoded::One(byte), 2));
    match rest.get(1)? {
        b'n' => one(b'\n'),
        b'r' => one(b'\r'),
        b't' => one(b'\t'),
        b'b' => one(8),
        b'f' => one(12),
        b'u' => {
            let high = hex(rest.get(2..6)?)?;
            if (0xd800..0xdc00).contains(&high)
                && rest.get(6..8) == Some(b"\\u")
                && let Some(low) = rest.get(8..12).and_then(hex)
                && (0xdc00..0xe000).contains(&low)
            {
                let c = char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?;
                return Some((Decoded::Char(c), 12));
            }
            Some((Decoded::Char(char::from_u32(high).unwrap_or('\u{fffd}')), 6))
        }
        byte @ (b'"' | b'\\' | b'/') => one(*byte),
        _ => None,
    }
}

fn percent_escape(rest: &[u8]) -> Option<(Decoded, usize)> {
    let value = hex(rest.get(1..3)?)?;
    Some((Decoded::One(u8::try_from(value).ok()?), 3))
}

fn html_escape(rest: &[u8]) -> Option<(Decoded, usize)> {
    let end = rest.iter().take(12).position(|&b| b == b';')?;
    let name = std::str::from_utf8(&rest[1..end]).ok()?;
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    };
    Some((Decoded::Char(c), end + 1))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{edits::apply, text::settle};

    fn replaced(view: &View<'_>, source: &str, part: &str, new: &str) -> String {
        let at = view.text().windows(part.len()).position(|w| w == part.as_bytes()).unwrap();
        let edits =
            view.in_source(vec![Edit::new(at..at + part.len(), new.as_bytes().to_vec())], escaped_for_json);
        String::from_utf8(apply(source.as_bytes(), &settle(edits))).unwrap()
    }

    #[test]
    fn a_change_in_the_decoded_text_is_one_in_the_source() {
        let source = r#"a\"\u0073ecret\/é\ud83d\ude00z"#;
        let view = View::json_string(source.as_bytes(), 0..source.len());
        assert_eq!(view.text(), "a\"secret/é😀z".as_bytes());
        assert_eq!(replaced(&view, source, "secret", "X"), r#"a\"X\/é\ud83d\ude00z"#);
        assert_eq!(replaced(&view, source, "😀", "\"\n"), r#"a\"\u0073ecret\/é\"\nz"#);
        let source = "x=%73e%63ret+1";
        let view = View::percent(source.as_bytes(), 2..source.len());
        assert_eq!(view.text(), b"secret 1");
        assert_eq!(replaced(&view, source, "secret", "X"), "x=X+1");
        let source = "&#115;ecre&#x74;&amp;";
        let view = View::html(source.as_bytes(), 0..source.len());
        assert_eq!(view.text(), b"secret&");
        assert_eq!(replaced(&view, source, "secret", "X"), "X&amp;");
    }

    #[test]
    fn a_text_in_several_pieces_is_replaced_in_the_first() {
        let source = "[sec] [ret] [!]";
        let pieces = [1..4, 7..10, 13..14].map(|span| View::plain(source.as_bytes(), span));
        let view = View::joined(&pieces);
        assert_eq!(view.text(), b"secret!");
        assert_eq!(replaced(&view, source, "ecre", "X"), "[sX] [t] [!]");
    }

    proptest! {
        #[test]
        fn decoding_a_json_string_gives_what_was_written(text in ".{0,30}") {
            let source = serde_json::to_string(&text).unwrap();
            let view = View::json_string(source.as_bytes(), 1..source.len() - 1);
            prop_assert_eq!(view.text(), text.as_bytes());
            prop_assert_eq!(escaped_for_json(text.as_bytes()).is_empty(), text.is_empty());
        }
    }
}
