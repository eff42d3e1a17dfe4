//! The host that a leaf certificate is for.

use std::fmt;
use std::net::IpAddr;

use crate::CertError;

/// A DNS name or an address in the one form that certificates and the cache use.
///
/// Nothing here is a wildcard, and nothing rcgen would sign although no client could ever match it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// Lower-case, without the trailing dot.
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Reads a host as it stands in a CONNECT line or a URL, without its port.
    pub fn parse(text: &str) -> Result<Self, CertError> {
        let refuse = |problem| Err(CertError::Host { host: text.chars().take(80).collect(), problem });
        if let Some(inner) = text.strip_prefix('[') {
            return match inner.strip_suffix(']').and_then(|inner| inner.parse().ok()) {
                Some(address) => Ok(Self::Address(IpAddr::V6(address))),
                None => refuse("what stands in brackets is not an IPv6 address"),
            };
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.is_empty() {
            return refuse("it is empty");
        }
        if name.len() > MAX_NAME {
            return refuse("it is longer than 253 bytes");
        }
        for label in name.split('.') {
            if label.is_empty() {
                return refuse("it has an empty label");
            }
            if label.len() > MAX_LABEL {
                return refuse("it has a label longer than 63 bytes");
            }
        }
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')) {
            return refuse("only letters, digits, `-`, `_` and `.` may stand in a host name");
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_host_are_one_host() {
        let name = Host::Name("api.example.com".into());
        for text in ["api.example.com", "API.Example.COM", "api.example.com."] {
            assert_eq!(Host::parse(text).unwrap(), name, "{text}");
        }
        let address = Host::Address("2001:db8::1".parse().unwrap());
        for text in ["2001:db8::1", "[2001:db8::1]", "2001:DB8:0:0::1"] {
            assert_eq!(Host::parse(text).unwrap(), address, "{text}");
        }
        assert_eq!(Host::parse("10.1.2.3").unwrap(), Host::Address("10.1.2.3".parse().unwrap()));
    }

    #[test]
    fn an_underscore_is_allowed() {
        assert_eq!(Host::parse("my_service").unwrap(), Host::Name("my_service".into()));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let long = vec!["a".repeat(63); 4].join(".");
        let label = "a".repeat(64);
        for text in [
            "",
            ".",
            "a..b",
            ".a",
            "a..",
            "*.example.com",
            "bad host",
            "a:443",
            "[::1",
            "[10.1.2.3]",
            "[::1]:443",
            "fe80::1%eth0",
            "bücher.example",
            "a/b",
            "a\0b",
            &long,
            &label,
        ] {
            assert!(matches!(Host::parse(text), Err(CertError::Host { .. })), "{text:?}");
        }
    }

    #[test]
    fn the_longest_name_is_accepted() {
        let name = [vec!["a".repeat(63); 3].join("."), "a".repeat(61)].join(".");
        assert_eq!(name.len(), 253);
        assert!(Host::parse(&name).is_ok());
    }
}
