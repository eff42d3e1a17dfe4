//! What came back: a response, or a fault in its place.

use std::time::Duration;

use crate::{Body, Fault, Headers, Message};

/// Nearly every reply is a response, so the size of the rare variant does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant)]
pub enum Reply {
    Response(Response),
    /// The upstream failed before a response head came.
    Fault {
        fault: Fault,
        after: Duration,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// Kept only where it is not the status code's usual phrase.
    pub reason: Option<String>,
    pub headers: Headers,
    /// From the request to the head.
    pub after: Duration,
    /// 1xx heads that came first.
    pub informational: Vec<Informational>,
    pub body: Body,
    pub trailers: Headers,
    /// What was said after a `101 Switching Protocols` to WebSocket.
    pub messages: Vec<Message>,
    pub end: End,
}

/// An interim response, such as `103 Early Hints`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Informational {
    pub status: u16,
    pub headers: Headers,
}

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Whole, with or without trailers.
    Whole,
    /// The upstream broke off.
    Cut(Fault),
    /// The client went away and the upstream had more to say.
    ClientLeft,
}

impl Reply {
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Response(response) => Some(response.status),
            Self::Fault { .. } => None,
        }
    }

    pub fn response(&self) -> Option<&Response> {
        match self {
            Self::Response(response) => Some(response),
            Self::Fault { .. } => None,
        }
    }

    pub fn took(&self) -> Duration {
        match self {
            Self::Response(response) => {
                response.after
                    + response.body.frames.iter().map(|f| f.after).sum::<Duration>()
                    + response.messages.iter().map(|m| m.after).sum::<Duration>()
            }
            Self::Fault { after, .. } => *after,
        }
    }
}
