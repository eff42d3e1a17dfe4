//! Cookies: a value that looks random is a session, whatever its name.

use std::ops::Range;

use crate::worth::is_random;

/// Where the first live value of a `Cookie` header stands in `header`.
pub(crate) fn in_request(header: &[u8]) -> Option<Range<usize>> {
    let mut at = 0;
    for pair in header.split(|b| *b == b';') {
        if let Some(value) = live(pair, at) {
            return Some(value);
        }
        at += pair.len() + 1;
    }
    None
}

/// In a `Set-Cookie` header only the first pair is the cookie.
pub(crate) fn in_response(header: &[u8]) -> Option<Range<usize>> {
    live(header.split(|b| *b == b';').next()?, 0)
}

fn live(pair: &[u8], at: usize) -> Option<Range<usize>> {
    let equals = pair.iter().position(|b| *b == b'=')?;
    let value = pair[equals + 1..].trim_ascii();
    let start = at + equals + 1;
    let lead = pair[equals + 1..].iter().take_while(|b| **b == b' ').count();
    let is_live = value.len() >= LEAST && is_random(value) && !value.contains(&b' ');
    is_live.then(|| start + lead..start + lead + value.len())
}

const LEAST: usize = 16;
