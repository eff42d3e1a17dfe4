//! What arrived at the upstream, so that a test can assert what a program sent, or that nothing came.

use std::sync::Mutex;

use bytes::Bytes;
use http::{HeaderMap, Method, Version};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    pub wire: Wire,
    pub version: Version,
    pub method: Method,
    /// Without a port.
    pub host: String,
    /// With its query.
    pub path: String,
    pub headers: HeaderMap,
    /// Empty for `/upload`, `/continue` and `/ws`, whose bodies are not kept.
    pub body: Bytes,
}

impl Seen {
    /// The value of a header, if it came and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Which kind of port a request came in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Tls,
    Plain,
}

/// The requests so far, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct SeenLog {
    requests: Mutex<Vec<Seen>>,
}

impl SeenLog {
    pub(super) fn all(&self) -> Vec<Seen> {
        self.requests.lock().unwrap().clone()
    }

    /// Enters a request at its head, so that one whose body never ends is seen too.
    pub(super) fn enter(&self, seen: Seen) -> Entry {
        let mut requests = self.requests.lock().unwrap();
        requests.push(seen);
        Entry(requests.len() - 1)
    }

    pub(super) fn set_body(&self, entry: Entry, body: Bytes) {
        self.requests.lock().unwrap()[entry.0].body = body;
    }
}

/// The place of one request in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry(usize);
