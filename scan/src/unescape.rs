//! Percent-encoding, string escapes and HTML entities, undone in one pass: text rarely says which of them it uses.

use memchr::memchr3_iter;

use crate::{report::Layer, view::Escape};

/// The text without its outermost escapes; `None` if it has none. Where they are few, only what stands around them.
pub(crate) fn unescape(text: &[u8]) -> Option<(Vec<u8>, Vec<Escape>)> {
    let mut view = Unescaped::default();
    let mut done = 0;
    for at in memchr3_iter(b'\\', b'%', b'&', text) {
        if at < done {
            continue;
        }
        let Some((made, taken, layer)) = one(&text[at..]) else { continue };
        view.copy(text, done, at);
        view.put(made, at, taken, Some(layer));
        done = at + taken;
    }
    if view.escapes.is_empty() {
        return None;
    }
    view.out.extend_from_slice(&text[done..text.len().min(done + BEHIND)]);
    Some((view.out, view.escapes))
}

#[derive(Default)]
struct Unescaped {
    out: Vec<u8>,
    escapes: Vec<Escape>,
}

impl Unescaped {
    /// What stands between two escapes, but for the middle of a long stretch.
    fn copy(&mut self, text: &[u8], from: usize, to: usize) {
        let (behind, before) = (if self.escapes.is_empty() { 0 } else { BEHIND }, BEFORE);
        if to - from <= behind + before {
            self.out.extend_from_slice(&text[from..to]);
            return;
        }
        self.out.extend_from_slice(&text[from..from + behind]);
        self.put(Made::Byte(b'\n'), from + behind, to - before - from - behind, None);
        self.out.extend_from_slice(&text[to - before..to]);
    }

    fn put(&mut self, made: Made, at: usize, taken: usize, layer: Option<Layer>) {
        let start = self.out.len();
        match made {
            Made::Nothing => {}
            Made::Byte(byte) => self.out.push(byte),
            Made::Char(c) => self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        let made = self.out.len() - start;
        self.escapes.push(Escape { out: start, source: at, made, taken, layer });
    }
}

enum Made {
    Nothing,
    Byte(u8),
    Char(char),
}

fn one(text: &[u8]) -> Option<(Made, usize, Layer)> {
    match text[0] {
        b'%' => Some((Made::Byte(hex(text.get(1..3)?)? as u8), 3, Layer::Percent)),
        b'&' => entity(text).map(|(made, taken)| (made, taken, Layer::Html)),
        _ => escape(text).map(|(made, taken)| (made, taken, Layer::Escapes)),
    }
}

/// What JSON, YAML and most languages have in common.
fn escape(text: &[u8]) -> Option<(Made, usize)> {
    let byte = match text.get(1)? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' | b'f' | b'0' => b' ',
        same @ (b'"' | b'\\' | b'/' | b'\'' | b' ') => *same,
        b'x' => return Some((Made::Byte(hex(text.get(2..4)?)? as u8), 4)),
        b'u' => return unicode(text),
        // A line that goes on in the next, behind its indent.
        b'\n' => {
            let indent = text[2..].iter().take(200).take_while(|b| matches!(b, b' ' | b'\t')).count();
            return Some((Made::Nothing, 2 + indent));
        }
        _ => return None,
    };
    Some((Made::Byte(byte), 2))
}

fn unicode(text: &[u8]) -> Option<(Made, usize)> {
    let first = hex(text.get(2..6)?)?;
    if let Some(c) = char::from_u32(first) {
        return Some((Made::Char(c), 6));
    }
    let second = text.get(6..12).filter(|rest| rest.starts_with(b"\\u")).and_then(|rest| hex(&rest[2..]));
    let pair = second.filter(|low| (0xdc00..0xe000).contains(low) && first < 0xdc00);
    let whole = pair.and_then(|low| char::from_u32(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00)));
    Some(whole.map_or((Made::Char(char::REPLACEMENT_CHARACTER), 6), |c| (Made::Char(c), 12)))
}

fn entity(text: &[u8]) -> Option<(Made, usize)> {
    let end = text.iter().take(10).position(|b| *b == b';')?;
    let name = &text[1..end];
    let number = match name {
        b"amp" => u32::from(b'&'),
        b"lt" => u32::from(b'<'),
        b"gt" => u32::from(b'>'),
        b"quot" => u32::from(b'"'),
        b"apos" => u32::from(b'\''),
        b"nbsp" => u32::from(b' '),
        [b'#', b'x' | b'X', digits @ ..] => hex(digits)?,
        [b'#', digits @ ..] if !digits.is_empty() => std::str::from_utf8(digits).ok()?.parse().ok()?,
        _ => return None,
    };
    char::from_u32(number).map(|c| (Made::Char(c), end + 1))
}

fn hex(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |value, b| {
        let digit = char::from(*b).to_digit(16)?;
        value.checked_mul(16)?.checked_add(digit)
    })
}

/// A secret, a name and its value, or a line fit into it.
const BEFORE: usize = 4096;
const BEHIND: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(escaped: &str) -> String {
        String::from_utf8(unescape(escaped.as_bytes()).unwrap().0).unwrap()
    }

    #[test]
    fn every_kind_of_escape_is_undone() {
        assert_eq!(text(r#"\u0061\/\"\n\\x\x41\ud83d\ude00"#), "a/\"\n\\xA😀");
        assert_eq!(text("%61%2Fb%zz"), "a/b%zz");
        assert_eq!(text("&#97;&#x62;&amp;&lt;&nothing;"), "ab&<&nothing;");
        assert_eq!(text("ab\\\n      cd"), "abcd");
    }

    #[test]
    fn what_is_far_from_every_escape_is_left_out() {
        let text = ["a".repeat(10_000), "b".repeat(20_000)].join("%41");
        let (out, escapes) = unescape(text.as_bytes()).unwrap();
        assert_eq!(out, [&b"\n"[..], &[b'a'; BEFORE], b"A", &[b'b'; BEHIND]].concat());
        assert_eq!((escapes[1].out, escapes[1].source), (BEFORE + 1, 10_000));
    }

    #[test]
    fn text_without_escapes_gives_no_view() {
        assert!(unescape(b"100% of a & b \\").is_none());
    }
}
