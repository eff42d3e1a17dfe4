//! An exchange that a session saw.

use std::time::Duration;

use crate::Fault;

/// One call, in the words of the call log. Everything in it has been scrubbed by whoever made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// 1-based, in the order in which requests came.
    pub seq: u32,
    pub at: Duration,
    pub took: Duration,
    pub provenance: Provenance,
    /// The exchange that was played or recorded.
    pub exchange: Option<u32>,
    pub method: String,
    pub url: String,
    pub outcome: Outcome,
}

/// Where a call's reply came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provenance {
    Live,
    Cassette,
    Miss,
}

/// What the client was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Status(u16),
    Fault(Fault),
    /// Refused by a host policy or because it was addressed to the proxy itself.
    Denied,
}

impl Provenance {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Cassette => "cassette",
            Self::Miss => "miss",
        }
    }
}
