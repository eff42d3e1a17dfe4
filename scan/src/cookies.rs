//! Cookies: a value that looks random is a session, whatever its name.

use std::ops::Range;

use crate::worth::is_random;

/// Where the live values of a `Cookie` header stand in `header`.
pub(crate) fn in_request(header: &[u8]) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut found = Vec::new();
    for pair in header.split(|b| *b == b';') {
        found.extend(live(pair, at));
        at += pair.len() + 1;
    }
    found
}

/// In a `Set-Cookie` header only the first pair is the cookie.
pub(crate) fn in_response(header: &[u8]) -> Vec<Range<usize>> {
    header.split(|b| *b == b';').next().and_then(|pair| live(pair, 0)).into_iter().collect()
}

fn live(pair: &[u8], at: usize) -> Option<Range<usize>> {
    let equals = pair.iter().position(|b| *b == b'=')?;
    let value = pair[equals + 1..].trim_ascii_start();
    let start = at + pair.len() - value.len();
    let length = value.iter().position(u8::is_ascii_whitespace).unwrap_or(value.len());
    // Code that speaks of cookies has brackets; cookies have none.
    let is_code = value[..length].iter().any(|b| b"()[]{}<>".contains(b));
    (length >= LEAST && !is_code && is_random(&value[..length])).then_some(start..start + length)
}

const LEAST: usize = 16;
