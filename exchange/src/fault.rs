//! How an upstream failed below HTTP.

use std::{fmt, str::FromStr};

/// A transport fault in place of a reply, or at the end of a body that broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The name did not resolve.
    Dns,
    /// Nobody listened.
    Refused,
    /// No route, or the connection attempt timed out.
    Unreachable,
    /// The TLS handshake failed, or the certificate was not trusted.
    Tls,
    /// The connection was reset.
    Reset,
    /// The connection was closed before the message was whole.
    Closed,
    /// Nothing more came for so long that somebody gave up.
    Stalled,
    /// Bytes came that are not HTTP.
    Protocol,
}

impl Fault {
    pub const ALL: [Self; 8] = [
        Self::Dns,
        Self::Refused,
        Self::Unreachable,
        Self::Tls,
        Self::Reset,
        Self::Closed,
        Self::Stalled,
        Self::Protocol,
    ];

    /// The word in a cassette.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Stalled => "stalled",
            Self::Protocol => "protocol",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Fault {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|f| f.as_str() == text).ok_or(())
    }
}
