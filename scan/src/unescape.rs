//! Percent-encoding, string escapes and HTML entities, undone in one pass: text rarely says which of them it uses.

use memchr::memchr3_iter;

use crate::{report::Layer, view::Escape};

/// The text without its outermost escapes; `None` if it has none.
pub(crate) fn unescape(text: &[u8]) -> Option<(Vec<u8>, Vec<Escape>)> {
    let mut out: Vec<u8> = Vec::new();
    let mut escapes = Vec::new();
    let mut done = 0;
    for at in memchr3_iter(b'\\', b'%', b'&', text) {
        if at < done {
            continue;
        }
        let Some((made, taken, layer)) = one(&text[at..]) else { continue };
        out.extend_from_slice(&text[done..at]);
        let start = out.len();
        match made {
            Made::Nothing => {}
            Made::Byte(byte) => out.push(byte),
            Made::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        done = at + taken;
        let (Ok(out_at), Ok(source)) = (u32::try_from(start), u32::try_from(at)) else { break };
        let made = (out.len() - start) as u8;
        escapes.push(Escape { out: out_at, source, made, taken: taken as u8, layer });
    }
    if escapes.is_empty() {
        return None;
    }
    out.extend_from_slice(&text[done..]);
    Some((out, escapes))
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
    fn text_without_escapes_gives_no_view() {
        assert!(unescape(b"100% of a & b \\").is_none());
    }
}
