//! Placeholders that stand for credentials: `{{redacted:KIND:N}}`.
//!
//! The number counts credentials in the order in which they were met, which another run need not share, so it
//! never counts in a comparison. This module only reads placeholders; the scrubber makes them.

use std::{borrow::Cow, ops::Range};

/// The text with a `*` for the number of each placeholder.
pub(crate) fn without_numbers(text: Cow<'_, str>) -> Cow<'_, str> {
    let numbers = numbers(text.as_bytes());
    if numbers.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for number in numbers {
        out.push_str(&text[from..number.start]);
        out.push('*');
        from = number.end;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// The same for bytes that may not be text.
pub(crate) fn bytes_without_numbers(bytes: &[u8]) -> Cow<'_, [u8]> {
    let numbers = numbers(bytes);
    if numbers.is_empty() {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for number in numbers {
        out.extend_from_slice(&bytes[from..number.start]);
        out.push(b'*');
        from = number.end;
    }
    out.extend_from_slice(&bytes[from..]);
    Cow::Owned(out)
}

/// Whether a placeholder stands anywhere in the text.
pub(crate) fn is_in(text: &str) -> bool {
    !numbers(text.as_bytes()).is_empty()
}

/// Whether the text is one placeholder and nothing else.
pub(crate) fn is_all_of(text: &str) -> bool {
    text.starts_with(OPEN) && number_after(text.as_bytes(), 0).is_some_and(|n| n.end + 2 == text.len())
}

/// Where the numbers of the placeholders stand.
fn numbers(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !bytes.contains(&b'{') {
        // Nearly always, and found out many bytes at a time.
        return found;
    }
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&b| b == b'{') {
        let start = from + at;
        match number_after(bytes, start) {
            Some(number) => {
                from = number.end + 2;
                found.push(number);
            }
            None => from = start + 1,
        }
    }
    found
}

/// The number of the placeholder that starts here.
fn number_after(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let kind = bytes[start..].strip_prefix(OPEN.as_bytes())?;
    let kind_len = kind.iter().take_while(|&&b| is_kind(b)).count();
    let digits = kind[kind_len..].strip_prefix(b":")?;
    let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = start + OPEN.len() + kind_len + 1;
    (kind_len > 0 && count > 0 && digits[count..].starts_with(b"}}")).then_some(number..number + count)
}

fn is_kind(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
}

const OPEN: &str = "{{redacted:";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_placeholder_is_left_out_and_nothing_else() {
        for (text, plain) in [
            ("a {{redacted:key:12}} b {{redacted:x_y:3}}", "a {{redacted:key:*}} b {{redacted:x_y:*}}"),
            ("{{{redacted:key:1}}}", "{{{redacted:key:*}}}"),
            ("{{redacted:key:}}", "{{redacted:key:}}"),
            ("{{redacted::1}}", "{{redacted::1}}"),
            ("{{redacted:key:1}", "{{redacted:key:1}"),
            ("{{other:key:1}}", "{{other:key:1}}"),
            ("é{{redacted:key:1}}é", "é{{redacted:key:*}}é"),
        ] {
            assert_eq!(without_numbers(Cow::Borrowed(text)), plain);
            assert_eq!(&*bytes_without_numbers(text.as_bytes()), plain.as_bytes());
        }
    }

    #[test]
    fn only_a_placeholder_alone_is_a_whole_value() {
        assert!(is_all_of("{{redacted:key:1}}"));
        assert!(!is_all_of("Bearer {{redacted:key:1}}"));
        assert!(!is_all_of("{{redacted:key:1}}{{redacted:key:2}}"));
        assert!(is_in("Bearer {{redacted:key:1}}"));
        assert!(!is_in("{{redacted:key}}"));
    }
}
