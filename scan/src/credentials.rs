//! Credentials that are known by a frame around them: private keys, signed requests, bearer tokens.

use crate::{
    alphabet::Alphabet,
    detect::{Certainty, Hit},
    encoded,
    worth::{is_password, is_random, is_stand_in},
};

/// `-----BEGIN … PRIVATE KEY-----` with something of a key behind it.
pub(crate) fn pem(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    if &text[start..end] != b"PRIVATE KEY" {
        return None;
    }
    let before = &text[start.saturating_sub(MOST_BEGIN)..start];
    let begin = memchr::memmem::rfind(before, b"-----BEGIN ")?;
    let begin = start - before.len() + begin;
    let rest = text[end..].strip_prefix(b" BLOCK").unwrap_or(&text[end..]).strip_prefix(b"-----")?;
    let rest = &rest[..rest.len().min(PEM_START)];
    // Line breaks may be written out, and headers may stand before the key.
    let longest = rest.split(|b| !Alphabet::Base64.has(*b)).map(|run| run.strip_prefix(b"n").unwrap_or(run));
    let longest = longest.max_by_key(|run| run.len())?;
    let is_key = longest.len() >= 24 && !is_stand_in(longest);
    is_key.then(|| hit(begin, end + 5, "private_key", Certainty::Shape))
}

/// `AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`
pub(crate) fn sigv4(text: &[u8], end: usize) -> Option<Hit> {
    let rest = &text[end..text.len().min(end + MOST_SIGNED)];
    let line = &rest[..memchr::memchr2(b'\n', b'"', rest).unwrap_or(rest.len())];
    let at = end + memchr::memmem::find(line, b"Signature=")? + b"Signature=".len();
    let is_signature = Alphabet::Hex.run(text, at, 64) == 64 && !is_stand_in(&text[at..at + 64]);
    is_signature.then(|| hit(at, at + 64, "sigv4_signature", Certainty::Shape))
}

/// `Bearer …` in a command, a log or a text.
pub(crate) fn bearer(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    let is_word = start.checked_sub(1).is_none_or(|before| !text[before].is_ascii_alphanumeric());
    let value = token_at(text, end);
    let is_live = is_word && value.len() >= 20 && is_random(value);
    is_live.then(|| hit(end, end + value.len(), "bearer_token", Certainty::Context))
}

/// What an `Authorization` header says: the credential in its value, if it is a live one.
pub(crate) fn authorization(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    let value = &text[start..end];
    let scheme = value.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'-').count();
    let gap = value[scheme..].iter().take_while(|b| **b == b' ').count();
    let (word, from) = if gap > 0 { (&value[..scheme], start + scheme + gap) } else { (&b""[..], start) };
    if word.eq_ignore_ascii_case(b"basic") {
        return basic(text, from);
    }
    if word.to_ascii_uppercase().starts_with(b"AWS4") || word.eq_ignore_ascii_case(b"digest") {
        return None;
    }
    let token = token_at(text, from);
    let token = &token[..token.len().min(end.saturating_sub(from))];
    let is_live = token.len() >= 12 && is_random(token);
    let kind = if word.eq_ignore_ascii_case(b"bearer") { "bearer_token" } else { "authorization" };
    is_live.then(|| hit(from, from + token.len(), kind, Certainty::Context))
}

fn basic(text: &[u8], from: usize) -> Option<Hit> {
    let length = Alphabet::Base64.run(text, from, 2048);
    let pair = encoded::base64(&text[from..from + length]);
    let colon = pair.iter().position(|b| *b == b':')?;
    let (user, password) = (&pair[..colon], &pair[colon + 1..]);
    // Some services take the secret as the user, with nothing behind it.
    let is_live = match password {
        [] | b"x" | b"X" | b"x-oauth-basic" => user.len() >= 12 && is_random(user),
        _ => is_password(password) || is_random(password),
    };
    is_live.then(|| hit(from, from + length, "basic_auth", Certainty::Context))
}

/// Keys of JSON objects and YAML mappings that describe a private key.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    done: usize,
}

impl Keys {
    /// Around `"kty"`: the private part is `d`, or `k` of a symmetric key.
    pub(crate) fn jwk(&mut self, text: &[u8], start: usize, end: usize) -> Option<Hit> {
        let is_member = text.get(end).is_some_and(|b| matches!(b, b'"' | b'\'' | b':'));
        // One window for each stretch of text, or a file of nothing else would be read a thousand times.
        if !is_member || start < self.done {
            return None;
        }
        let window = start.saturating_sub(JWK_NEAR).max(self.done)..text.len().min(end + JWK_NEAR);
        self.done = window.end;
        let is_symmetric = text[end..].iter().take(10).any(|b| *b == b'o');
        let mut at = window.start;
        while let Some(colon) = memchr::memchr(b':', &text[at..window.end]) {
            let colon = at + colon;
            at = colon + 1;
            let name = text[window.start..colon].strip_suffix(b"\"").unwrap_or(&text[window.start..colon]);
            let Some((last, before)) = name.split_last() else { continue };
            let is_name = (*last == b'd' || (*last == b'k' && is_symmetric))
                && before.last().is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_');
            let gap = text[at..].iter().take(4).take_while(|b| matches!(b, b' ' | b'"' | b'\'')).count();
            let value = token_at(text, at + gap);
            if is_name && value.len() >= 20 && is_random(value) {
                return Some(hit(at + gap, at + gap + value.len(), "jwk_private_key", Certainty::Context));
            }
        }
        None
    }
}

/// The text of a token from there on; empty where it goes on as a placeholder does.
fn token_at(text: &[u8], start: usize) -> &[u8] {
    let rest = text.get(start..).unwrap_or_default();
    let is_part = |b: &&u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~' | b'+' | b'/' | b'=' | b':' | b'|')
    };
    let length = rest.iter().take(MOST_TOKEN).take_while(is_part).count();
    match rest.get(length) {
        Some(b'{' | b'<' | b'*' | b'$') => &[],
        _ => &rest[..length],
    }
}

/// A value under a name that says it is a secret.
pub(crate) fn is_secret_value(value: &[u8], least: usize) -> bool {
    let is_part = |b: &u8| b.is_ascii_graphic();
    value.len() >= least && value.iter().all(is_part) && is_random(value)
}

pub(crate) fn hit(start: usize, end: usize, kind: &'static str, certainty: Certainty) -> Hit {
    Hit { start, end, kind, certainty }
}

const MOST_BEGIN: usize = 40;
/// Headers of an encrypted key, and a first line.
const PEM_START: usize = 400;
const MOST_SIGNED: usize = 1024;
const JWK_NEAR: usize = 4096;
const MOST_TOKEN: usize = 4096;
