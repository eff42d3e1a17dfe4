//! What a program asked for.

use crate::{Body, Header, Headers, Url};

/// A request as the upstream would see it: hop-by-hop fields and framing are already gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// As sent: methods are case-sensitive.
    pub method: String,
    pub url: Url,
    pub headers: Headers,
    pub body: Body,
    pub trailers: Headers,
}

impl Request {
    /// Whether the client asks to speak WebSocket.
    pub fn is_websocket(&self) -> bool {
        self.headers.text("upgrade").is_some_and(|v| v.eq_ignore_ascii_case("websocket"))
    }
}

/// Whether a text can be sent as a method: it is a token, as is the name of a header (RFC 9110, sections 5.1 and 9.1).
pub fn is_method(text: &str) -> bool {
    Header::new(text, "").is_ok()
}
