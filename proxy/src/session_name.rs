//! What a session may be called: a proxy user name, a part of a URL and a file name at once.

use std::{fmt, str::FromStr};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, header};
use thiserror::Error;

/// 1 to 100 of `A-Z a-z 0-9 . _ -`, not starting with a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

/// Shows nothing of what was given: it may be somebody's real user name, or worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a session's name is 1 to 100 of A-Z, a-z, 0-9, dot, underscore and hyphen, and starts with no dot")]
pub struct BadName;

/// Why no session could be told from a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum BadCredentials {
    #[error("the proxy credentials are not readable; name the session as http://NAME:x@HOST:PORT")]
    Unreadable,
    #[error(transparent)]
    Name(#[from] BadName),
}

impl SessionName {
    /// The session that a request asks for by its proxy user name. A password is not looked at.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Self>, BadCredentials> {
        let mut values = headers.get_all(header::PROXY_AUTHORIZATION).iter();
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(BadCredentials::Unreadable);
        }
        let pair = basic(value.as_bytes()).ok_or(BadCredentials::Unreadable)?;
        let user = pair.split_once(':').map_or(pair.as_str(), |(user, _)| user);
        Ok(Some(user.parse()?))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionName {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let is_allowed = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
        let is_name =
            (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_allowed) && !text.starts_with('.');
        is_name.then(|| Self(text.to_owned())).ok_or(BadName)
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The decoded `user:password` of `Basic` credentials (RFC 7617).
fn basic(value: &[u8]) -> Option<String> {
    let (scheme, rest) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    String::from_utf8(BASE64_STANDARD.decode(rest.trim()).ok()?).ok()
}

const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn named(value: &str) -> Result<Option<String>, BadCredentials> {
        let mut headers = HeaderMap::new();
        headers.insert(header::PROXY_AUTHORIZATION, HeaderValue::from_str(value).unwrap());
        SessionName::of(&headers).map(|name| name.map(|name| name.to_string()))
    }

    fn basic(pair: &str) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(pair))
    }

    #[test]
    fn the_user_name_is_the_session_and_the_password_is_nothing() {
        assert_eq!(SessionName::of(&HeaderMap::new()), Ok(None));
        for pair in ["case-7", "case-7:", "case-7:secret", "case-7:a:b"] {
            assert_eq!(named(&basic(pair)), Ok(Some("case-7".into())), "{pair}");
        }
        assert_eq!(named(&basic("case-7:").replace("Basic", "bAsIc")), Ok(Some("case-7".into())));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long = "x".repeat(101);
        for name in ["", ".", "..", ".hidden", "a/b", "a b", "ä", "a%2fb", "a\0", long.as_str()] {
            assert_eq!(name.parse::<SessionName>(), Err(BadName), "{name:?}");
            assert_eq!(named(&basic(&format!("{name}:"))), Err(BadCredentials::Name(BadName)), "{name:?}");
        }
        for name in ["a", "A.b_c-9", "-", "_", &long[..100]] {
            assert!(name.parse::<SessionName>().is_ok(), "{name}");
        }
    }

    #[test]
    fn credentials_that_are_not_basic_are_unreadable() {
        for value in ["Bearer abc", "Basic", "Basic ???", "Basic /w==", "Y2FzZS03Og=="] {
            assert_eq!(named(value), Err(BadCredentials::Unreadable), "{value}");
        }
        let mut twice = HeaderMap::new();
        for user in ["a:", "b:"] {
            twice.append(header::PROXY_AUTHORIZATION, HeaderValue::from_str(&basic(user)).unwrap());
        }
        assert_eq!(SessionName::of(&twice), Err(BadCredentials::Unreadable));
    }
}
