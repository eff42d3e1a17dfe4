//! What a scan found, in the order of its places.

use std::fmt;

use crate::{
    cassette,
    detect::Certainty,
    place::{Place, Places},
    view::{Found, Search},
};

/// The outcome for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub doubts: Vec<Doubt>,
    /// The file packs more than is unpacked: some of it was not looked at.
    pub is_cut_short: bool,
}

/// A secret, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub place: Place,
    /// Such as `openai_key`.
    pub kind: &'static str,
    /// What it was wrapped in, the outermost first; empty where it stands in plain text.
    pub through: Vec<Layer>,
}

/// Something a person should look at, which fails nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// A random-looking value under a name that sounds secret.
    HighEntropy { place: Place, through: Vec<Layer> },
    /// A cassette that does not say which rules scrubbed it.
    NotScrubbed,
}

/// An encoding that a secret was found under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Base64,
    Hex,
    Gzip,
    Zstd,
    Deflate,
    Zip,
    Percent,
    Escapes,
    Html,
    /// In pieces, over so many consecutive events.
    Split(usize),
}

impl Report {
    pub(crate) fn of(bytes: &[u8], search: Search) -> Self {
        let is_cut_short = search.is_cut_short;
        let mut places = Places::of(bytes);
        let (mut findings, mut doubts) = (Vec::new(), Vec::new());
        if cassette::is_unscrubbed(bytes) {
            doubts.push(Doubt::NotScrubbed);
        }
        for found in distinct(search.found) {
            let place = places.at(found.start);
            match found.certainty {
                Certainty::Doubt => doubts.push(Doubt::HighEntropy { place, through: found.through }),
                _ => findings.push(Finding { place, kind: found.kind, through: found.through }),
            }
        }
        Self { findings, doubts, is_cut_short }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base64 => "in base64",
            Self::Hex => "in hex",
            Self::Gzip => "in gzip",
            Self::Zstd => "in zstd",
            Self::Deflate => "in deflate",
            Self::Zip => "in zip",
            Self::Percent => "percent-encoded",
            Self::Escapes => "in string escapes",
            Self::Html => "in HTML entities",
            Self::Split(events) => return write!(f, "split over {events} events"),
        })
    }
}

/// One secret is seen in several views, and by several rules: the surest and shallowest tells of it.
fn distinct(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(|a, b| {
        let key = |f: &Found| (f.start, f.certainty, f.through.len(), f.kind);
        key(a).cmp(&key(b)).then_with(|| a.through.cmp(&b.through))
    });
    let mut kept: Vec<Found> = Vec::new();
    // Spans of one group overlap in a chain; what is kept of it does not.
    let mut reach = 0;
    for next in found {
        let Some(last) = kept.last_mut().filter(|_| next.start < reach) else {
            reach = next.end;
            kept.push(next);
            continue;
        };
        if next.is_packed || last.is_packed {
            // All that is packed together has one place: only the same kind is the same secret.
            let is_known =
                kept.iter().rev().take_while(|k| k.start == next.start).any(|k| k.kind == next.kind);
            if !is_known {
                kept.push(next);
            }
            continue;
        }
        reach = reach.max(next.end);
        if (next.certainty, next.through.len()) < (last.certainty, last.through.len()) {
            *last = next;
        }
    }
    kept
}
