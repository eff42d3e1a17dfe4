//! Forms and multipart bodies, told by how they look: not every body says what it is.

/// Whether a body is pairs as a form writes them.
///
/// Names are words, values hold no line break, and every `%` starts an escape. One pair alone needs a value: `aGk=` is
/// base64.
pub fn is_form(body: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(body) else { return false };
    let text = text.trim_end_matches(['\r', '\n']);
    let Some((first, _)) = text.split_once('=') else { return false };
    !first.is_empty()
        && text.split('&').filter(|pair| !pair.is_empty()).all(is_pair)
        && (text.contains('&') || !text[first.len()..].trim_matches('=').is_empty())
}

/// What stands between the parts of a multipart body, by its first line.
pub fn boundary_in(body: &[u8]) -> Option<&str> {
    let after = body.strip_prefix(b"--")?;
    let line = after.split_inclusive(|byte| *byte == b'\n').next()?;
    let boundary = std::str::from_utf8(line.trim_ascii_end()).ok()?;
    // Without any part, the first line is the last.
    let boundary = if line.len() == after.len() { boundary.trim_end_matches("--") } else { boundary };
    let is_one = (1..=LONGEST).contains(&boundary.len()) && boundary.bytes().all(is_boundary);
    is_one.then_some(boundary)
}

fn is_pair(pair: &str) -> bool {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    name.chars().all(|c| c.is_alphanumeric() || NAMES.contains(c))
        && !value.chars().any(char::is_control)
        && has_whole_escapes(name)
        && has_whole_escapes(value)
}

fn has_whole_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let mut digits = after.bytes();
        (0..2).all(|_| digits.next().is_some_and(|digit| digit.is_ascii_hexdigit()))
    })
}

/// RFC 2046, 5.1.1, without the space, which no client uses.
fn is_boundary(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&byte)
}

/// What names of fields hold beside letters and digits; the braces are those of a placeholder.
const NAMES: &str = "_-.[]%+*:$~@!{}";

/// RFC 2046, 5.1.1.
const LONGEST: usize = 70;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_a_form() {
        for text in [
            "a=1",
            "grant_type=client_credentials&scope=x",
            "a[]=1&a[]=2&b.c=",
            "a=&b=",
            "name=J%C3%BCrgen+M&raw=a b ü&flag",
            "sig=abc==&x=1\r\n",
            "{{redacted:key:1}}=x",
        ] {
            assert!(is_form(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "hello",
            "a&b",
            "aGVsbG8=",
            "aGVsbG8==",
            "=x",
            "x = y",
            "SELECT a FROM t WHERE b=1",
            "<a b=\"c\"/>",
            "{\"a\": \"b=c\"}",
            "[x]\na=1\nb=2\n",
            "progress=100%",
            "a=%2",
            "a=1&b=%zz",
            "q=x\u{7}",
        ] {
            assert!(!is_form(text.as_bytes()), "{text}");
        }
        assert!(!is_form(b"a=\xff"));
    }

    #[test]
    fn a_boundary_is_the_first_line() {
        assert_eq!(boundary_in(b"--x-1\r\ncontent"), Some("x-1"));
        assert_eq!(boundary_in(b"--x-1"), Some("x-1"));
        assert_eq!(boundary_in(b"--x-1--\r\n"), Some("x-1"));
        assert_eq!(boundary_in(b"--x-1--\r\ncontent"), Some("x-1--"));
        for body in ["", "--", "--\r\nx", "-- a flag\r\n", "x--y\r\n", "--é\r\n"] {
            assert_eq!(boundary_in(body.as_bytes()), None, "{body}");
        }
        assert_eq!(boundary_in(format!("--{}\r\n", "a".repeat(71)).as_bytes()), None);
    }
}
