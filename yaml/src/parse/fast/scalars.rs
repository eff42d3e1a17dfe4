//! The scalars of the fast pass: where each ends, and its text.
//!
//! Every function may rely on the source ending in a line break, and gives up rather than read beyond its line.

use std::borrow::Cow;

use crate::span::Span;

/// The end of the plain scalar at `start`: its line break, or the colon that makes it a key.
pub(super) fn plain(bytes: &[u8], start: usize) -> Option<usize> {
    let starts = match bytes[start] {
        b'-' => !matches!(bytes[start + 1], b' ' | b'\t' | b'\n'),
        first => START[usize::from(first)],
    };
    if !starts {
        return None;
    }
    let mut at = start + 1;
    loop {
        while !STOP[usize::from(bytes[at])] {
            at += 1;
        }
        match bytes[at] {
            b'\n' => break,
            b':' if matches!(bytes[at + 1], b' ' | b'\n') => break,
            b'\t' => return None,
            b'#' if bytes[at - 1] == b' ' => return None,
            _ => at += 1,
        }
    }
    // A blank before the end is not part of the scalar, and nothing that our emitter writes.
    (bytes[at - 1] != b' ').then_some(at)
}

/// Text and end of the single-quoted scalar at `start`.
pub(super) fn single_quoted<'s>(
    bytes: &[u8],
    source: &'s str,
    start: usize,
) -> Option<(Cow<'s, str>, usize)> {
    let mut at = start + 1;
    let mut doubled = false;
    loop {
        while !SINGLE_STOP[usize::from(bytes[at])] {
            at += 1;
        }
        match (bytes[at], bytes.get(at + 1)) {
            (b'\'', Some(b'\'')) => {
                doubled = true;
                at += 2;
            }
            (b'\'', _) => break,
            _ => return None,
        }
    }
    let inner = &source[start + 1..at];
    let text = if doubled { Cow::Owned(inner.replace("''", "'")) } else { Cow::Borrowed(inner) };
    Some((text, at + 1))
}

/// Text and end of the double-quoted scalar at `start`.
pub(super) fn double_quoted<'s>(
    bytes: &[u8],
    source: &'s str,
    start: usize,
) -> Option<(Cow<'s, str>, usize)> {
    let mut at = start + 1;
    let mut copied = at;
    let mut owned = String::new();
    loop {
        while !DOUBLE_STOP[usize::from(bytes[at])] {
            at += 1;
        }
        match bytes[at] {
            b'"' => break,
            b'\\' => {
                owned.push_str(&source[copied..at]);
                let (character, length) = escape(bytes, at + 1)?;
                owned.push(character);
                at += 1 + length;
                copied = at;
            }
            _ => return None,
        }
    }
    let rest = &source[copied..at];
    if copied == start + 1 {
        return Some((Cow::Borrowed(rest), at + 1));
    }
    owned.push_str(rest);
    Some((Cow::Owned(owned), at + 1))
}

/// The character an escape stands for, and its length without the backslash.
fn escape(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let simple = match bytes[at] {
        b'0' => '\0',
        b'a' => '\x07',
        b'b' => '\x08',
        b't' => '\t',
        b'n' => '\n',
        b'v' => '\x0b',
        b'f' => '\x0c',
        b'r' => '\r',
        b'e' => '\x1b',
        b' ' => ' ',
        b'"' => '"',
        b'/' => '/',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        b'x' => return coded(bytes, at, 2),
        b'u' => return coded(bytes, at, 4),
        b'U' => return coded(bytes, at, 8),
        _ => return None,
    };
    Some((simple, 1))
}

/// Surrogates are no characters, so a pair of them is left to the general parser.
fn coded(bytes: &[u8], at: usize, digits: usize) -> Option<(char, usize)> {
    let mut code: u32 = 0;
    for byte in bytes.get(at + 1..at + 1 + digits)? {
        code = code.checked_mul(16)? + char::from(*byte).to_digit(16)?;
    }
    Some((char::from_u32(code)?, 1 + digits))
}

/// Text and place of the literal block whose `|` stands at `start`, and where the line after it starts.
pub(super) fn literal(
    bytes: &[u8],
    source: &str,
    start: usize,
    parent: usize,
) -> Option<(String, Span, usize)> {
    let (chomping, indicator, mut line) = literal_header(bytes, start + 1)?;
    let mut breaks = 0;
    while bytes.get(line) == Some(&b'\n') {
        breaks += 1;
        line += 1;
    }
    let indent = match indicator {
        Some(indicator) => parent + indicator,
        None => spaces(bytes.get(line..)?, usize::MAX),
    };
    if indent <= parent {
        return None;
    }
    let mut text = String::new();
    let mut content = None;
    while line < bytes.len() {
        if bytes[line] == b'\n' {
            breaks += 1;
            line += 1;
            continue;
        }
        let depth = spaces(&bytes[line..], indent);
        if bytes[line + depth] == b'\n' {
            return None;
        }
        if depth < indent {
            break;
        }
        let from = line + indent;
        let end = line_end(bytes, from);
        text.extend(std::iter::repeat_n('\n', breaks));
        text.push_str(&source[from..end]);
        content = Some((content.map_or(from, |(first, _)| first), end));
        // The line's own break: kept only if something follows it.
        breaks = 1;
        line = end + 1;
    }
    let (first, last) = content?;
    let kept = match chomping {
        Chomping::Strip => 0,
        Chomping::Clip => 1,
        Chomping::Keep => breaks,
    };
    text.extend(std::iter::repeat_n('\n', kept));
    Some((text, Span::new(first, last), line))
}

/// What becomes of the line breaks at the end of a block.
enum Chomping {
    Strip,
    Clip,
    Keep,
}

/// Chomping, indentation indicator, and where the line below the header starts.
fn literal_header(bytes: &[u8], mut at: usize) -> Option<(Chomping, Option<usize>, usize)> {
    let mut chomping = None;
    let mut indicator = None;
    loop {
        match bytes[at] {
            b'\n' => return Some((chomping.unwrap_or(Chomping::Clip), indicator, at + 1)),
            b'-' if chomping.is_none() => chomping = Some(Chomping::Strip),
            b'+' if chomping.is_none() => chomping = Some(Chomping::Keep),
            digit @ b'1'..=b'9' if indicator.is_none() => indicator = Some(usize::from(digit - b'0')),
            _ => return None,
        }
        at += 1;
    }
}

/// Where the line around `at` ends.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn spaces(bytes: &[u8], most: usize) -> usize {
    bytes.iter().take(most).take_while(|byte| **byte == b' ').count()
}

const fn table(members: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < members.len() {
        table[members[at] as usize] = true;
        at += 1;
    }
    table
}

const fn start_table() -> [bool; 256] {
    let mut table = table(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.+~$(<=^;)");
    let mut byte = 0x80;
    while byte < 0x100 {
        table[byte] = true;
        byte += 1;
    }
    table
}

/// Bytes that may begin a plain scalar whatever follows.
static START: [bool; 256] = start_table();
/// Bytes that may end a plain scalar.
static STOP: [bool; 256] = table(b"\n\t:#");
static SINGLE_STOP: [bool; 256] = table(b"'\n\t");
static DOUBLE_STOP: [bool; 256] = table(b"\"\\\n\t");
