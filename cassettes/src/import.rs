//! Recordings of other tools, taken in as exchanges.
//!
//! Owns what every foreign format shares: telling them apart, turning what a recorder kept into what was on the wire,
//! and the account of what was repaired, left out and redacted. Each format's own shape stands in a file of its own
//! below. Pure: files come in as bytes, and what lies beside them through the caller.
//!
//! A file may be hostile. Sizes, depth and aliases are bounded, no tag is executed, and a name inside a file reaches
//! the caller only as a plain relative path.

mod azure;
mod beside;
mod buffr;
mod desk;
mod detect;
mod draft;
mod go_vcr;
mod har;
mod hoverfly;
mod mitmproxy;
mod nock;
mod read;
mod realtime;
mod repair;
mod scenario;
mod text;
mod vcr;
mod vcrpy;
mod wiremock;
mod wiretape;

use std::{fmt, io, str::FromStr, sync::Arc};

use bytes::Bytes;
use exchange::{Exchange, Url};
use matchers::{Compare, OnRepeat, Policy};
use thiserror::Error;
use yaml::{Node, Position, Problem};

use crate::{
    Cassette,
    scrub::{Found, Scrubber},
};

use desk::Desk;
use text::Text;

pub use detect::{Look, is_recording_name, is_recording_opening, look};
pub use repair::Repair;

/// A file format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    VcrPy,
    RubyVcr,
    Betamax,
    Har,
    Nock,
    GoVcr,
    OctokitFixtures,
    WireMock,
    Hoverfly,
    Mitmproxy,
    Azure,
    Buffr,
    Realtime,
}

/// A foreign file.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its name, for messages and where only the ending tells the format.
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// Files that it names, such as WireMock's `__files`; `None`: there is no such file. Only plain relative paths
    /// without `..` are ever asked for.
    pub beside: Beside<'a>,
}

pub type Beside<'a> = &'a dyn Fn(&str) -> io::Result<Option<Bytes>>;

/// What a person can say about an import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where requests went, for formats that keep only a path, or not even that.
    pub origin: Option<Url>,
    /// Texts in recorded URLs and what to put in their place.
    pub substitutes: Vec<(String, String)>,
    /// How requests are compared, in place of what the recorder did.
    pub compare: Option<Compare>,
    pub ids: Ids,
}

/// What becomes of ids and times that servers made up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ids {
    /// Others may know them: tests, or other recordings.
    #[default]
    AsRecorded,
    Stable,
}

/// What became of a file.
#[derive(Debug)]
pub struct Imported {
    pub format: Format,
    pub cassette: Cassette,
    /// Where each of its exchanges comes from.
    pub origins: Vec<Origin>,
    /// How often each kind of repair was made.
    pub repairs: Vec<(Repair, usize)>,
    pub skipped: Vec<Skipped>,
    /// What was redacted.
    pub found: Vec<Found>,
}

/// A place in the foreign files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Which of the files, in the order in which they were given.
    pub source: usize,
    /// The how-manieth exchange of that file, from 1.
    pub number: usize,
}

/// An exchange that is not on the cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub origin: Origin,
    /// Where it stands in a text file.
    pub position: Option<Position>,
    pub reason: String,
}

/// Why a file was not taken in.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Not the recording of any tool that we know.
    #[error("not a recording in any format that wiretape reads")]
    Unknown,
    /// One of our own.
    #[error("this is a wiretape cassette already")]
    Cassette,
    /// A recording, but wrong at this place.
    #[error("{}: {problem}", problem.span.position(text))]
    At { text: Arc<str>, problem: Box<Problem> },
    /// A binary file, wrong at this byte.
    #[error("at byte {offset}: {message}")]
    Offset { offset: usize, message: String },
    /// Wrong as a whole.
    #[error("{message}")]
    Whole { message: String, help: Option<String> },
}

impl Format {
    pub const ALL: [Self; 13] = [
        Self::VcrPy,
        Self::RubyVcr,
        Self::Betamax,
        Self::Har,
        Self::Nock,
        Self::GoVcr,
        Self::OctokitFixtures,
        Self::WireMock,
        Self::Hoverfly,
        Self::Mitmproxy,
        Self::Azure,
        Self::Buffr,
        Self::Realtime,
    ];

    /// The word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VcrPy => "vcrpy",
            Self::RubyVcr => "ruby-vcr",
            Self::Betamax => "betamax",
            Self::Har => "har",
            Self::Nock => "nock",
            Self::GoVcr => "go-vcr",
            Self::OctokitFixtures => "octokit-fixtures",
            Self::WireMock => "wiremock",
            Self::Hoverfly => "hoverfly",
            Self::Mitmproxy => "mitmproxy",
            Self::Azure => "azure",
            Self::Buffr => "buffr",
            Self::Realtime => "realtime",
        }
    }

    /// How the tool itself finds a recorded answer, as far as that can be said from outside; `None`: as we do.
    fn policy(self) -> Option<Policy> {
        match self {
            Self::VcrPy | Self::RubyVcr | Self::Betamax | Self::GoVcr => {
                Some(Policy { compare: Compare::Uri, ..Policy::default() })
            }
            // Their stubs answer any number of times.
            Self::WireMock | Self::Hoverfly => {
                Some(Policy { on_repeat: OnRepeat::Last, ..Policy::default() })
            }
            Self::Har
            | Self::Nock
            | Self::OctokitFixtures
            | Self::Mitmproxy
            | Self::Azure
            | Self::Buffr
            | Self::Realtime => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|format| format.as_str() == word).ok_or(())
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A foreign file is not scrubbed: its size is all that may be shown.
        write!(f, "{} [{} bytes]", self.name, self.bytes.len())
    }
}

/// Takes one file in. `format` overrides what the file looks like.
pub fn import(source: Source<'_>, format: Option<Format>, options: &Options) -> Result<Imported, Refusal> {
    import_all(&[source], format, options).map_err(|(_, refusal)| refusal)
}

/// Takes files in that together are one recording, such as the mappings of one WireMock. The error names the file.
pub fn import_all(
    sources: &[Source<'_>],
    format: Option<Format>,
    options: &Options,
) -> Result<Imported, (usize, Refusal)> {
    let mut desk = Desk::new(options);
    let mut settled = format;
    for (place, source) in sources.iter().enumerate() {
        desk.open(place);
        let found = take_in(source, settled, &mut desk).map_err(|refusal| (place, refusal))?;
        settled.get_or_insert(found);
    }
    let format = settled.ok_or((0, Refusal::Unknown))?;
    match desk.is_lost_without_origin() {
        true => Err((0, Refusal::with_help(NO_ORIGIN, "name it with --origin https://HOST"))),
        false => Ok(desk.close(format)),
    }
}

fn take_in(source: &Source<'_>, format: Option<Format>, desk: &mut Desk<'_>) -> Result<Format, Refusal> {
    let bytes = text::unpack(source.bytes)?;
    let is_flows = format.map_or_else(|| mitmproxy::looks_like(&bytes), |format| format == Format::Mitmproxy);
    if is_flows {
        mitmproxy::read(&bytes, desk)?;
        return Ok(Format::Mitmproxy);
    }
    let original = Text::of(&bytes, source.name)?;
    let mended;
    let (text, parsed) = match original.parse(source.name) {
        Ok(document) => (&original, Ok(document)),
        Err(problem) => {
            mended = original.mended();
            match &mended {
                Some(text) => (text, text.parse(source.name)),
                None => (&original, Err(problem)),
            }
        }
    };
    let document = parsed.map_err(|problem| {
        // A file of some other kind that happens to be broken is none of our business.
        match format.is_none() && !detect::may_be_recording(text) {
            true => Refusal::Unknown,
            false => text.refuse(problem),
        }
    })?;
    if detect::is_ours(&document) {
        return Err(Refusal::Cassette);
    }
    let format = format.or_else(|| detect::format_of(&document)).ok_or(Refusal::Unknown)?;
    desk.enter(text);
    read_document(format, &document, source, desk).map_err(|problem| text.refuse(problem))?;
    Ok(format)
}

fn read_document(
    format: Format,
    document: &Node<'_>,
    source: &Source<'_>,
    desk: &mut Desk<'_>,
) -> Result<(), Problem> {
    match format {
        Format::VcrPy => vcrpy::read(document, desk),
        Format::RubyVcr | Format::Betamax => vcr::read(document, desk),
        Format::Har => har::read(document, source.beside, desk),
        Format::Nock | Format::OctokitFixtures => nock::read(document, desk),
        Format::GoVcr => go_vcr::read(document, desk),
        Format::WireMock => wiremock::read(document, source.beside, desk),
        Format::Hoverfly => hoverfly::read(document, source.beside, desk),
        Format::Azure => azure::read(document, desk),
        Format::Buffr => buffr::read(document, desk),
        Format::Realtime => realtime::read(document, desk),
        Format::Mitmproxy => unreachable!("flow files are not text, and were read as bytes"),
    }
}

impl Refusal {
    fn whole(message: impl Into<String>) -> Self {
        Self::Whole { message: message.into(), help: None }
    }

    fn with_help(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Whole { message: message.into(), help: Some(help.into()) }
    }
}

const NO_ORIGIN: &str = "the recording does not say which host it was";

/// The largest file that is read, packed or not.
pub const MOST_BYTES: usize = 256 << 20;

/// What is left of a recording after scrubbing.
struct Clean {
    exchanges: Vec<crate::Scrubbed<Exchange>>,
    origins: Vec<Origin>,
    found: Vec<Found>,
    skipped: Vec<Skipped>,
}

/// Scrubs what a recorder kept and numbers it. A secret that is met late may stand early too, so what was scrubbed
/// before it was known is scrubbed again. What cannot be looked into is left out.
fn scrubbed(exchanges: Vec<Exchange>, origins: Vec<Origin>) -> Clean {
    let mut scrubber = Scrubber::new();
    let (mut kept, mut skipped) = (Vec::with_capacity(exchanges.len()), Vec::new());
    for (exchange, origin) in exchanges.into_iter().zip(origins) {
        match scrubber.exchange(exchange) {
            Ok(exchange) => kept.push((exchange, scrubber.known(), origin)),
            Err(reason) => skipped.push(Skipped { origin, position: None, reason: reason.to_string() }),
        }
    }
    let (exchanges, origins): (Vec<_>, Vec<_>) = kept
        .into_iter()
        .zip(1u32..)
        .map(|((exchange, known, origin), id)| {
            (scrubber.again(exchange, known).map(|exchange| Exchange { id, ..exchange }), origin)
        })
        .unzip();
    let found = exchanges.iter().flat_map(crate::scrub::found_in).collect();
    Clean { exchanges, origins, found, skipped }
}
