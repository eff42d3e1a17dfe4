//! Secrets in URLs, by the place they take in one.

use crate::{
    alphabet::is_word,
    credentials::hit,
    detect::{Certainty, Hit},
    tokens::has_both_cases,
    worth::{is_password, is_random, is_stand_in},
};

/// `scheme://user:password@host`
pub(crate) fn userinfo(text: &[u8], from: usize) -> Option<Hit> {
    let rest = &text[from..text.len().min(from + MOST_AUTHORITY)];
    let is_end = |b: &u8| {
        matches!(b, b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'\\' | b',' | b')') || *b <= b' '
    };
    let authority = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    let at = authority.iter().rposition(|b| *b == b'@')?;
    let colon = authority[..at].iter().position(|b| *b == b':')?;
    let password = &authority[colon + 1..at];
    let is_live = is_password(password) || is_random(password);
    is_live.then(|| hit(from + colon + 1, from + at, "url_password", Certainty::Context))
}

/// An address that is a secret as a whole: who knows it may post there.
pub(crate) fn hook(text: &[u8], start: usize, end: usize, kind: &'static str) -> Option<Hit> {
    let path = &text[end..text.len().min(end + MOST_PATH)];
    let path = &path[..path.iter().position(|b| !is_word(*b) && *b != b'/').unwrap_or(path.len())];
    let last = path.rsplit(|b| *b == b'/').find(|part| !part.is_empty())?;
    let parts = path.split(|b| *b == b'/').filter(|part| !part.is_empty()).count();
    let is_whole = parts >= 2 && last.len() >= 20 && !is_stand_in(last) && has_both_cases(last);
    is_whole.then(|| hit(start, end + path.len(), kind, Certainty::Shape))
}

const MOST_AUTHORITY: usize = 512;
const MOST_PATH: usize = 200;
