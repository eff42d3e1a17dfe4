//! What the registry of sessions asks of whoever owns the files: cassettes, their locks and their journals.

use std::path::{Path, PathBuf};

use cassettes::{Pace, Player};
use thiserror::Error;

use crate::{
    session::{Mode, Session, SessionConfig},
    session_name::SessionName,
};

/// Opens what sessions play and record. Every call may block: files are read and written.
pub trait Opener: Send + Sync {
    fn open(&self, wish: &Wish) -> Result<Opened, Refusal>;

    /// Another cassette for a session that replays.
    fn load(&self, cassette: &Path, pace: Pace) -> Result<Player, Refusal>;

    /// A client asked for this session and was refused: the run it belongs to cannot be a good one.
    fn refused(&self, name: &SessionName, refusal: &Refusal);
}

/// What stays to be done for a session when it ends.
pub trait Keeper: Send + Sync {
    /// Called once, after the last call: writes what was recorded.
    fn finish(self: Box<Self>, session: &Session) -> Result<(), Refusal>;
}

/// A session as somebody wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    pub name: SessionName,
    pub by: Asker,
    pub mode: Option<Mode>,
    pub cassette: Option<PathBuf>,
    pub pace: Option<Pace>,
}

/// Who asks for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A client, by its proxy user name.
    Client,
    /// The control API.
    Control,
}

pub struct Opened {
    pub config: SessionConfig,
    pub keeper: Box<dyn Keeper>,
}

/// Why something was not done, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
    pub help: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request makes no sense.
    Bad,
    /// Not for a client that only has a user name.
    Denied,
    /// There is no such session or no such file.
    Missing,
    /// It is there, and stands in the way.
    Conflict,
    /// A file that is not what it should be.
    Invalid,
    /// A disk that is full, and its like.
    Failed,
}

impl Refusal {
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: None }
    }

    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Opened({:?})", self.config)
    }
}
