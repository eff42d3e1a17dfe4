//! WebSocket messages.

use std::time::Duration;

use bytes::Bytes;

/// One WebSocket message, or the close that ended the conversation. Pings and pongs are not messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub from: Peer,
    /// Since the message before it, or since the handshake.
    pub after: Duration,
    pub piece: Piece,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Client,
    Server,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Binary(Bytes),
    /// `None`: closed without a code.
    Close(Option<(u16, String)>),
}
