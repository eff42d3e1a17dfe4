//! A second look for secrets: bytes in, findings out.
//!
//! This crate checks what the scrubber let through, so it shares no code with it: the decoding and the matching here
//! are its own, and a mistake there is not repeated here. It is pure: it reads no file, no clock and no environment
//! variable, and a finding tells the kind and the place of a secret, never its value.

mod alphabet;
mod anchors;
mod cassette;
mod cookies;
mod credentials;
mod detect;
mod encoded;
mod events;
mod json;
mod keyed;
mod names;
mod packed;
mod place;
mod report;
mod shapes;
mod tokens;
mod unescape;
mod urls;
mod view;
mod worth;

pub use place::Place;
pub use report::{Doubt, Finding, Layer, Report};

/// Looks at the content of one file.
#[must_use]
pub fn scan(bytes: &[u8]) -> Report {
    let mut search = view::Search::new(bytes.len());
    view::View::root(bytes).look(&mut search);
    report::Report::of(bytes, search)
}
