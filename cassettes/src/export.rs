//! Cassettes in the formats of other tools, so that a person can leave as easily as come.
//!
//! Pure: a cassette in, a text out, and the same text every time. What a format has no place for goes under one key of
//! our own beside each entry, which the tools pass over and our importer reads: importing an export gives the same
//! exchanges.

pub(crate) mod curl;
pub(crate) mod har;
pub(crate) mod vcrpy;

use std::{fmt, io, str::FromStr};

use bytes::Bytes;
use exchange::Exchange;
use matchers::Policy;
use yaml::Out;

use crate::{
    Cassette, Scrubbed, format,
    import::{self, Format, Options, Source},
};

/// What a cassette can be exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Har,
    VcrPy,
    Curl,
}

impl Target {
    pub const ALL: [Self; 3] = [Self::Har, Self::VcrPy, Self::Curl];

    /// The word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Har => "har",
            Self::VcrPy => "vcrpy",
            Self::Curl => "curl",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Target {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|target| target.as_str() == word).ok_or(())
    }
}

/// The whole cassette as a text of that format.
pub fn export(cassette: &Cassette, target: Target) -> String {
    match target {
        Target::Har => har::document(cassette),
        Target::VcrPy => vcrpy::document(cassette),
        Target::Curl => curl::script(cassette),
    }
}

/// The exchange in our own words, for what a format cannot say.
fn copy_of(exchange: &Scrubbed<Exchange>) -> String {
    format::item(exchange, usize::MAX, &mut format::Blobs::new())
}

/// How the cassette compares requests, as it stands in a cassette of ours.
fn policy_text(policy: Option<&Policy>) -> Option<String> {
    policy.map(|policy| yaml::to_string(&Out::mapping([("match", format::write_policy(policy))])))
}

/// Whether a document of one entry reads back as just this exchange.
fn survives(exchange: &Exchange, document: &str, format: Format) -> bool {
    let nothing = |_: &str| -> io::Result<Option<Bytes>> { Ok(None) };
    let source = Source { name: "export", bytes: document.as_bytes(), beside: &nothing };
    let read = import::import(source, Some(format), &Options::default());
    read.is_ok_and(|imported| match imported.cassette.exchanges.as_slice() {
        [read] => Exchange { id: exchange.id, ..Exchange::clone(read) } == *exchange,
        _ => false,
    })
}

#[cfg(test)]
mod tests;
