//! How a recorded request is compared with a live one.
//!
//! There is one comparison and it has two forms: a [`Key`] to find the exchange by, whatever the size of the
//! cassette, and a [`Pattern`] that says what differs when nothing was found. Both walk the same reading of a
//! request, so a key is shared exactly where a pattern sees no difference.
//!
//! Requests on both sides have been scrubbed before they come here: a credential is a placeholder. The crate is
//! pure; it reads no clock, no file, no environment variable and no socket.

mod canonical;
pub mod catalog;
mod difference;
mod excerpt;
mod nearest;
mod number;
mod pattern;
mod percent;
mod place;
mod placeholder;
mod policy;
mod shape;
mod tree;
mod volatile;

pub use canonical::{Canonical, Key, Slot, canonical};
pub use catalog::{Catalog, Provider};
pub use difference::Difference;
pub use nearest::{NearMiss, nearest};
pub use pattern::{Pattern, Verdict};
pub use policy::{Compare, OnRepeat, Policy, Shapes};
pub use shape::Shape;
