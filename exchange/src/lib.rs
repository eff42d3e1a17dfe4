//! The nouns of wiretape: an exchange is a request and the reply to it.
//!
//! Every other crate speaks these types; there is no second request or response type anywhere. The crate is
//! pure: it reads no clock, no file, no environment variable and no socket.

mod body;
mod call;
mod coding;
mod fault;
mod field;
mod form;
mod headers;
mod json;
mod message;
mod reply;
mod request;
mod stream;
mod url;

pub use body::{Body, Content, Frame, Sha256};
pub use call::{Call, Outcome, Provenance};
pub use coding::{
    Coding, CodingError, StreamEncoder, accepts, codings_of, decode_cut_frames, decode_frames, encode,
};
pub use fault::Fault;
pub use field::{FieldPath, FieldPathError, Segment};
pub use form::{boundary_in, is_form};
pub use headers::{Header, HeaderError, Headers, is_hop_by_hop};
pub use json::{Escapes, JsonStyle, Layout, Token, Tokens};
pub use message::{Message, Peer, Piece};
pub use reply::{End, Informational, Reply, Response};
pub use request::{Request, is_method};
pub use stream::{SseEvent, StreamKind, split_events, split_lines};
pub use url::{Scheme, Url, UrlError};

/// A request and the reply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// 1-based place in the cassette.
    pub id: u32,
    /// When the request came, counted from the start of the recording.
    pub at: std::time::Duration,
    pub request: Request,
    pub reply: Reply,
}

impl Exchange {
    /// From the request to the last byte of the reply, as it was recorded.
    pub fn took(&self) -> std::time::Duration {
        self.reply.took()
    }
}
