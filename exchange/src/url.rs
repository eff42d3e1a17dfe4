//! An absolute `http` or `https` URL, split but not normalised: path and query are the bytes that were sent.

use std::fmt;

use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    Http,
    Https,
}

/// User information is never kept: it is a credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url {
    pub scheme: Scheme,
    /// Lower case, an IPv6 address without brackets.
    pub host: String,
    pub port: u16,
    /// Starts with `/`.
    pub path: String,
    pub query: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    #[error("url does not start with http:// or https://")]
    Scheme,
    #[error("url has no host")]
    Host,
    #[error("url has a port that is not a number from 1 to 65535")]
    Port,
    #[error("url holds a space or a control character")]
    Character,
}

impl Scheme {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl Url {
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(UrlError::Character);
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((s, rest)) if s.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
            Some((s, rest)) if s.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
            _ => return Err(UrlError::Scheme),
        };
        let rest = rest.split('#').next().unwrap_or("");
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = split_authority(authority)?;
        let port = port.unwrap_or(scheme.default_port());
        Self::from_parts(scheme, host, port, target)
    }

    /// `target` is the origin-form request target: path and query.
    pub fn from_parts(scheme: Scheme, host: &str, port: u16, target: &str) -> Result<Self, UrlError> {
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        if host.is_empty() || host.contains(['/', '?', '#', '@', '[', ']']) {
            return Err(UrlError::Host);
        }
        if port == 0 {
            return Err(UrlError::Port);
        }
        if host.bytes().chain(target.bytes()).any(|b| b <= b' ' || b == 0x7f) {
            return Err(UrlError::Character);
        }
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        // `OPTIONS *` has no path of its own; written so that it can be read back.
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { scheme, host, port, path, query })
    }

    pub fn is_default_port(&self) -> bool {
        self.port == self.scheme.default_port()
    }

    /// `host` or `host:port`, as a `host` header holds it.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.is_default_port() { host } else { format!("{host}:{}", self.port) }
    }

    /// Path and query.
    pub fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.as_str(), self.authority(), self.target())
    }
}

fn split_authority(authority: &str) -> Result<(&str, Option<u16>), UrlError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(UrlError::Host)?;
            (host, after.strip_prefix(':'))
        }
        None => match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match port {
        None | Some("") => None,
        Some(text) => Some(text.parse::<u16>().ok().filter(|&p| p != 0).ok_or(UrlError::Port)?),
    };
    Ok((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_comes_back_as_it_was_written() {
        for text in [
            "https://api.openai.com/v1/chat/completions",
            "http://127.0.0.1:8080/?a=1&b",
            "https://[::1]:8443/x?y=%2F",
            "https://example.com/?",
        ] {
            assert_eq!(Url::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn user_information_and_fragments_are_dropped() {
        let url = Url::parse("https://me:pass@Example.com:443/a#frag").unwrap();
        assert_eq!(url.to_string(), "https://example.com/a");
    }

    #[test]
    fn a_target_that_is_no_path_still_makes_a_url_that_can_be_read() {
        let url = Url::from_parts(Scheme::Https, "a.test", 443, "*").unwrap();
        assert_eq!(Url::parse(&url.to_string()), Ok(url));
    }

    #[test]
    fn parts_that_make_no_readable_url_are_refused() {
        assert_eq!(Url::from_parts(Scheme::Http, "a", 0, "/"), Err(UrlError::Port));
        assert_eq!(Url::from_parts(Scheme::Http, "a", 1, "/ b"), Err(UrlError::Character));
        assert_eq!(Url::from_parts(Scheme::Http, "a/b", 1, "/"), Err(UrlError::Host));
    }

    #[test]
    fn bad_urls_say_what_is_wrong() {
        assert_eq!(Url::parse("ftp://a/"), Err(UrlError::Scheme));
        assert_eq!(Url::parse("https:///a"), Err(UrlError::Host));
        assert_eq!(Url::parse("https://a:99999/"), Err(UrlError::Port));
        assert_eq!(Url::parse("https://a/\r\nx"), Err(UrlError::Character));
    }
}
