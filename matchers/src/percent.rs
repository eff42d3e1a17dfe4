//! Percent-encoding, as far as two spellings of one URL need it.

use std::borrow::Cow;

use crate::placeholder;

/// A name or value of a query or form, decoded. What does not decode to text stays as it was sent.
pub(crate) fn decode_pair(raw: &str) -> Cow<'_, str> {
    if !raw.bytes().any(|b| matches!(b, b'%' | b'+')) {
        return Cow::Borrowed(raw);
    }
    text_or(raw, decode(raw, b' '))
}

/// A path segment with its two free spellings settled: hex digits in upper case, unreserved characters decoded
/// (RFC 3986, 6.2.2). Anything else keeps its spelling, for `%2F` and `/` are not the same.
pub(crate) fn settle_segment(raw: &str) -> Cow<'_, str> {
    if !raw.contains('%') {
        return Cow::Borrowed(raw);
    }
    let decoded = text_or(raw, decode(raw, b'+'));
    if placeholder::is_in(&decoded) {
        // Clients encode the braces of a placeholder, recorders may not.
        return decoded;
    }
    let bytes = raw.as_bytes();
    let mut out = String::with_capacity(raw.len());
    let mut from = 0;
    while let Some(at) = raw[from..].find('%') {
        let percent = from + at;
        out.push_str(&raw[from..percent]);
        from = percent + 1;
        match escape_at(bytes, percent) {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(char::from(byte));
                from += 2;
            }
            Some(_) => {
                out.push('%');
                out.push_str(&raw[percent + 1..percent + 3].to_ascii_uppercase());
                from += 2;
            }
            None => out.push('%'),
        }
    }
    out.push_str(&raw[from..]);
    Cow::Owned(out)
}

fn decode(raw: &str, plus: u8) -> Vec<u8> {
    let bytes = raw.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        out.push(match byte {
            b'+' => plus,
            b'%' => match escape_at(bytes, at - 1) {
                Some(decoded) => {
                    at += 2;
                    decoded
                }
                None => b'%',
            },
            other => other,
        });
    }
    out
}

fn escape_at(bytes: &[u8], percent: usize) -> Option<u8> {
    let high = hex(*bytes.get(percent + 1)?)?;
    let low = hex(*bytes.get(percent + 2)?)?;
    Some(high << 4 | low)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

fn text_or(raw: &str, decoded: Vec<u8>) -> Cow<'_, str> {
    String::from_utf8(decoded).map_or(Cow::Borrowed(raw), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_decoded_and_bad_escapes_stay() {
        for (raw, decoded) in [
            ("a+b%20c", "a b c"),
            ("%2B", "+"),
            ("%c3%A9", "é"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("%ff", "%ff"),
        ] {
            assert_eq!(decode_pair(raw), decoded);
        }
    }

    #[test]
    fn a_path_segment_keeps_every_spelling_that_means_something() {
        for (raw, settled) in [
            ("a%2fb", "a%2Fb"),
            ("%7Euser%41", "~userA"),
            ("a+b%20c", "a+b%20c"),
            ("100%", "100%"),
            ("%é", "%é"),
            ("bot%7b%7Bredacted%3Atelegram%3A1%7D%7D", "bot{{redacted:telegram:1}}"),
        ] {
            assert_eq!(settle_segment(raw), settled);
        }
    }
}
