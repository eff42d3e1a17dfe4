//! Cassette format 1: exchanges as YAML that a person can review, and back without losing a byte.
//!
//! Owns the spelling of every key, and nothing else: it touches no disk (blobs come and go through the caller)
//! and decides nothing about matching or scrubbing. Reading and writing of one thing stand side by side in one
//! file, so that they change together.

mod body;
mod exchange;
mod headers;
mod json;
mod message;
mod policy;
mod redaction;
mod reply;
mod stream;

use std::{
    collections::{BTreeMap, HashMap},
    io,
};

use ::exchange::{Exchange, Sha256};
use bytes::Bytes;
use matchers::Policy;
use yaml::{Fields, Limits, Node, Out, Problem, Span};

use crate::Scrubbed;

pub(crate) use redaction::placeholder_parts;
pub use redaction::{RULESET, Redaction};

/// An ordered file of exchanges.
#[derive(Debug, Clone, PartialEq)]
pub struct Cassette {
    /// How it was scrubbed, if the cassette says so: those of the first builds, and those written by hand, do not.
    pub redaction: Option<Redaction>,
    /// How its requests are compared, if the cassette says so itself.
    pub policy: Option<Policy>,
    /// Their ids are 1, 2, 3 …
    pub exchanges: Vec<Scrubbed<Exchange>>,
}

/// Where a reader gets the bodies that are kept beside the cassette; `None`: there is no such blob.
pub type BlobSource<'b> = &'b dyn Fn(&Sha256) -> io::Result<Option<Bytes>>;

/// Bodies that a writer left out of the text, to be kept beside it under their hash.
pub type Blobs = Vec<(Sha256, Bytes)>;

/// Reads a whole cassette.
pub fn read(source: &str, blobs: BlobSource<'_>) -> Result<Cassette, Problem> {
    let (document, offset) = unseal(source)?;
    read_document(document, blobs).map_err(|problem| moved_by(problem, offset))
}

/// Reads what [`item`] wrote. The id is taken as it stands.
pub(crate) fn read_item(source: &str, blobs: BlobSource<'_>) -> Result<Scrubbed<Exchange>, Problem> {
    let document = yaml::parse(source, &Limits::for_cassette(source.len()))?;
    match document.sequence("an exchange")? {
        [node] => Ok(Scrubbed::attest(exchange::read(node, &mut Reader::new(blobs))?)),
        _ => Err(Problem::new(document.span, "expected one exchange")),
    }
}

/// Reads a match policy, as it stands under `match:` here and in a project's configuration.
pub fn read_policy(node: &Node<'_>) -> Result<Policy, Problem> {
    policy::read(node)
}

/// A match policy as it stands under `match:`.
pub(crate) fn write_policy(policy: &Policy) -> Out<'_> {
    policy::write(policy)
}

/// Everything before the first exchange.
pub fn header(redaction: Option<&Redaction>, policy: Option<&Policy>) -> String {
    let mut text = format!("{OPENING}\nwiretape: {KIND}/{NEWEST}\n");
    if let Some(redaction) = redaction {
        text.push_str(&yaml::to_string(&Out::mapping([("redaction", redaction::write(redaction))])));
    }
    if let Some(policy) = policy {
        text.push_str(&yaml::to_string(&Out::mapping([("match", policy::write(policy))])));
    }
    text.push_str("exchanges:\n");
    text
}

/// One exchange. A body longer than `threshold` is added to `blobs` and stands in the text by its hash.
pub fn item(exchange: &Scrubbed<Exchange>, threshold: usize, blobs: &mut Blobs) -> String {
    let mut text = String::new();
    let mut writer = Writer { threshold, blobs };
    yaml::write_item(&mut text, 2, &exchange::write(exchange, &mut writer));
    text
}

/// The variables that a recording met, as they stand under `env:`.
pub(crate) fn variables(env: &BTreeMap<String, String>) -> String {
    yaml::to_string(&redaction::write_env(env))
}

/// Reads what [`variables`] wrote.
pub(crate) fn read_variables(source: &str) -> Result<BTreeMap<String, String>, Problem> {
    redaction::read_env(&yaml::parse(source, &Limits::for_cassette(source.len()))?)
}

/// Everything behind the last exchange.
pub const FOOTER: &str = "...\n";

/// Bodies above this many bytes are kept as blobs, unless the caller wants it otherwise.
pub const BLOB_THRESHOLD: usize = 64 * 1024;

/// What reading needs beside the nodes.
struct Reader<'b> {
    blobs: BlobSource<'b>,
    /// A blob is fetched and hashed once, however often a cassette names it.
    fetched: HashMap<Sha256, Bytes>,
}

impl<'b> Reader<'b> {
    fn new(blobs: BlobSource<'b>) -> Self {
        Self { blobs, fetched: HashMap::new() }
    }
}

/// What writing needs beside the exchange.
struct Writer<'b> {
    threshold: usize,
    blobs: &'b mut Blobs,
}

/// A cassette that opens with `---` must close with `...`: what we wrote and somebody cut short is then told
/// apart from what is whole, wherever the cut is. A file written by hand may go without either. Gives the
/// document between the marks and where it starts.
fn unseal(source: &str) -> Result<(&str, usize), Problem> {
    let Some(rest) = source.strip_prefix(OPENING).filter(|rest| rest.starts_with(['\n', '\r'])) else {
        return Ok((source, 0));
    };
    match rest.trim_end_matches(['\n', '\r']).strip_suffix(CLOSING) {
        Some(document) if document.ends_with('\n') => Ok((document, OPENING.len())),
        _ => {
            let end = source.trim_end().len();
            Err(Problem::new(
                Span::new(end, end),
                format!("the cassette is cut short: it opens with `{OPENING}`, and its last line is not `{CLOSING}`"),
            )
            .with_help(format!(
                "restore it from version control, or delete it and record again; if it is whole, end it with the line `{CLOSING}`"
            )))
        }
    }
}

fn moved_by(mut problem: Problem, offset: usize) -> Problem {
    let by = |span: Span| Span::new(span.start + offset, span.end + offset);
    problem.span = by(problem.span);
    problem.related = problem.related.map(|(span, label)| (by(span), label));
    problem
}

fn read_document(source: &str, blobs: BlobSource<'_>) -> Result<Cassette, Problem> {
    let document = yaml::parse(source, &Limits::for_cassette(source.len()))?;
    match format_number(&document)? {
        // An older format is brought to the next number here, one step a number, before it is read.
        NEWEST => read_newest(&document, blobs),
        number => Err(Problem::new(
            document.get("wiretape").map_or(document.span, |node| node.span),
            format!("this cassette has format {number}; this wiretape reads up to format {NEWEST}"),
        )
        .with_help("upgrade wiretape")),
    }
}

fn format_number(document: &Node<'_>) -> Result<u32, Problem> {
    let named = document.get("wiretape");
    let number = named
        .and_then(Node::as_text)
        .and_then(|text| text.strip_prefix(KIND)?.strip_prefix('/'))
        .filter(|number| !number.starts_with(['0', '+']))
        .and_then(|number| number.parse().ok());
    number.ok_or_else(|| {
        let start = Span::new(document.span.start, document.span.start);
        Problem::new(named.map_or(start, |node| node.span), "not a wiretape cassette")
            .with_help(format!("a cassette has the key `wiretape: {KIND}/{NEWEST}`"))
    })
}

fn read_newest(document: &Node<'_>, blobs: BlobSource<'_>) -> Result<Cassette, Problem> {
    let mut fields = Fields::of(document, "the cassette")?;
    fields.required("wiretape")?;
    let redaction = fields.optional("redaction").map(redaction::read).transpose()?;
    let policy = fields.optional("match").map(policy::read).transpose()?;
    let list = fields.required("exchanges")?;
    fields.finish()?;
    let nodes = if list.is_null() { &[] } else { list.sequence("the exchanges")? };
    let mut reader = Reader::new(blobs);
    let mut exchanges = Vec::with_capacity(nodes.len());
    for (node, place) in nodes.iter().zip(1u32..) {
        let exchange = exchange::read(node, &mut reader)?;
        if exchange.id != place {
            let span = node.get("id").map_or(node.span, |id| id.span);
            return Err(Problem::new(span, format!("expected id {place}, found {}", exchange.id))
                .with_help("number the exchanges 1, 2, 3 … in the order of the file"));
        }
        exchanges.push(Scrubbed::attest(exchange));
    }
    Ok(Cassette { redaction, policy, exchanges })
}

const KIND: &str = "cassette";
const NEWEST: u32 = 1;
const OPENING: &str = "---";
const CLOSING: &str = "...";

#[cfg(test)]
mod reference;
#[cfg(test)]
mod refusals;
#[cfg(test)]
pub(crate) mod round_trip;
