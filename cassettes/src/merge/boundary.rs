//! The boundary of a multipart request, which the client draws anew for every one.

use exchange::{Body, Exchange, Header, Request};

/// The boundary, if the request has one.
pub(super) fn boundary(request: &Request) -> Option<String> {
    let is_multipart = request.headers.media_type()?.starts_with("multipart/");
    request.headers.media_parameter("boundary").filter(|boundary| is_multipart && !boundary.is_empty())
}

/// The exchange with another boundary in its request, if it has one.
pub(super) fn with_boundary(mut exchange: Exchange, new: &str) -> Exchange {
    let request = &mut exchange.request;
    let Some(old) = boundary(request).filter(|old| old != new) else {
        return exchange;
    };
    let (Some(body), Some(media)) = (request.body.bytes(), request.headers.text("content-type")) else {
        return exchange;
    };
    let body = redelimited(body, old.as_bytes(), new.as_bytes());
    if let Ok(media) = Header::new("content-type", renamed(media, new)) {
        request.headers.set(media);
    }
    if request.headers.has("content-length")
        && let Ok(length) = Header::new("content-length", body.len().to_string())
    {
        request.headers.set(length);
    }
    request.body = Body {
        content: Body::from_bytes(body).content,
        codings: request.body.codings.clone(),
        frames: Vec::new(),
    };
    exchange
}

/// The body between other delimiters. A delimiter begins a line, and nothing but its own end stands behind it.
fn redelimited(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let delimiter = [b"--", old].concat();
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memchr::memmem::find_iter(text, &delimiter) {
        let end = at + delimiter.len();
        let rest = &text[end..];
        let begins_line = at == 0 || text[at - 1] == b'\n';
        let ends = rest.first().is_none_or(|byte| b"\r\n \t".contains(byte));
        let is_last = rest
            .strip_prefix(b"--")
            .is_some_and(|rest| rest.first().is_none_or(|byte| b"\r\n \t".contains(byte)));
        if begins_line && (ends || is_last) {
            out.extend_from_slice(&text[from..at + 2]);
            out.extend_from_slice(new);
            from = end;
        }
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// The media type with another boundary, quoted as it was or must be.
fn renamed(media: &str, new: &str) -> String {
    let mut is_done = false;
    let part = |(place, part): (usize, &str)| {
        let named = part.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("boundary"));
        match named.filter(|_| place > 0 && !is_done) {
            Some((name, value)) => {
                is_done = true;
                let must_quote = new.bytes().any(|byte| b" ()<>@,;:\\/[]?=".contains(&byte));
                let quote = if must_quote || value.contains('"') { "\"" } else { "" };
                format!("{name}={quote}{new}{quote}")
            }
            None => part.to_owned(),
        }
    };
    media.split(';').enumerate().map(part).collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_boundary_is_replaced_where_it_delimits_and_nowhere_else() {
        let body = "--b\r\nb: b\r\n\r\n--bold --b\r\n--b--b\r\n--b \r\n\r\nb\r\n--b--\r\n";
        assert_eq!(
            String::from_utf8(redelimited(body.as_bytes(), b"b", b"new")).unwrap(),
            "--new\r\nb: b\r\n\r\n--bold --b\r\n--b--b\r\n--new \r\n\r\nb\r\n--new--\r\n"
        );
        assert_eq!(redelimited(b"--b\n\nx\n--b--", b"b", b""), b"--\n\nx\n----");
    }

    #[test]
    fn the_media_type_keeps_all_but_its_boundary() {
        for (old, new, expected) in [
            ("multipart/form-data; boundary=form", "x", "multipart/form-data; boundary=x"),
            ("multipart/mixed; Boundary=\"m\"; a=m", "x", "multipart/mixed; Boundary=\"x\"; a=m"),
            ("multipart/mixed;boundary=m;boundary=n", "x:y", "multipart/mixed;boundary=\"x:y\";boundary=n"),
        ] {
            assert_eq!(renamed(old, new), expected);
        }
    }
}
