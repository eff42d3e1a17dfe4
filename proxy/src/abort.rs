//! Breaking an answer off, as each protocol can.

use exchange::Fault;
use http::Version;

use thiserror::Error;

use crate::wire::Breaker;

/// Why an answer breaks off. Given to hyper, which ends the connection or the stream.
#[derive(Debug, Error)]
pub(crate) enum Aborted {
    #[error("the stream is reset")]
    Stream(#[source] h2::Error),
    #[error("the connection is aborted: {0}")]
    Connection(Fault),
    #[error("the client broke off its request")]
    Upload(#[from] hyper::Error),
    #[error("the request cannot be forwarded")]
    Request(#[from] http::Error),
}

/// Knows how to break off one answer on one connection.
#[derive(Debug, Clone)]
pub(crate) struct Abort {
    breaker: Breaker,
    version: Version,
    scheduled: bool,
}

impl Abort {
    pub(crate) fn new(breaker: Breaker, version: Version) -> Self {
        Self { breaker, version, scheduled: false }
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    pub(crate) fn schedule(&mut self) {
        self.scheduled = true;
    }

    pub(crate) fn is_due(&self) -> bool {
        self.scheduled
    }

    /// The error to give to hyper, so that the client sees this fault. HTTP/2 resets the stream and leaves its
    /// neighbors alone; HTTP/1 loses the connection, with a reset unless the fault was an orderly close.
    pub(crate) fn now(&self, fault: Fault) -> Aborted {
        if self.version == Version::HTTP_2 {
            return Aborted::Stream(h2::Reason::INTERNAL_ERROR.into());
        }
        if !matches!(fault, Fault::Closed | Fault::Protocol | Fault::Stalled) {
            self.breaker.reset();
        }
        Aborted::Connection(fault)
    }
}
