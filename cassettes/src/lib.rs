//! Cassettes: their format, the store that keeps them, the scrubber in front of it, the player and the recorder.
//!
//! Everything here is pure but for [`store`], the only file below the proxy that touches a disk.

pub mod dialogue;
mod disguise;
mod edits;
pub mod export;
pub mod format;
pub mod import;
mod index;
pub mod merge;
pub mod plan;
pub mod player;
mod rebind;
pub mod rule_hits;
pub mod scrub;
mod stabilize;
pub mod store;
mod text;

pub use dialogue::{Dialogue, Turn};
pub use disguise::StandIn;
pub use format::{Cassette, Redaction};
pub use index::Index;
pub use merge::Merge;
pub use plan::{Head, Pace, Plan, Step};
pub use player::{Decision, Delivery, Miss, Player, Ticket};
pub use scrub::{Rules, Scrubbed, Scrubber, Unscrubbable};
pub use stabilize::stabilize;
