//! An exchange in the words of a recorder, before it was looked at.

use std::time::Duration;

use exchange::Message;
use yaml::Span;

use super::{read::Field, repair::Stored, scenario::Turn};

/// What a format's reader gathers. Everything it leaves out is absent from the exchange too.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    /// Where the exchange stands in the file.
    pub(super) span: Span,
    pub(super) at: Duration,
    pub(super) method: String,
    /// Absolute, or a path where the format keeps no more.
    pub(super) url: String,
    pub(super) url_span: Span,
    pub(super) request_headers: Vec<Field>,
    pub(super) request_body: Stored,
    pub(super) status: u16,
    pub(super) reason: Option<String>,
    pub(super) response_headers: Vec<Field>,
    pub(super) response_trailers: Vec<Field>,
    pub(super) response_body: Stored,
    /// From the request to the head of the response.
    pub(super) after: Duration,
    /// A WebSocket conversation behind a `101`.
    pub(super) messages: Vec<Message>,
    /// Its place among the stubs of a scenario.
    pub(super) turn: Option<Turn>,
}
