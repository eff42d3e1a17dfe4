//! Telling the formats apart by what only they have.

use std::io::Read;

use yaml::{Node, Value};

use super::{
    Format, Refusal, mitmproxy,
    text::{self, Text},
};

/// What a file is, told without taking anything of it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Recording(Format),
    /// One of our own.
    Cassette,
    /// It cannot be read, so it may be anything.
    Broken,
    Other,
}

/// Tells what a file of this name is.
pub fn look(name: &str, bytes: &[u8]) -> Look {
    let Ok(bytes) = text::unpack(bytes) else { return Look::Broken };
    if mitmproxy::looks_like(&bytes) {
        return Look::Recording(Format::Mitmproxy);
    }
    let text = match Text::of(&bytes, name) {
        Ok(text) => text,
        Err(Refusal::Unknown) => return Look::Other,
        Err(_) => return Look::Broken,
    };
    let look_at = |text: &Text| {
        let document = text.parse(name).ok()?;
        Some(match is_ours(&document) {
            true => Look::Cassette,
            false => format_of(&document).map_or(Look::Other, Look::Recording),
        })
    };
    look_at(&text).or_else(|| look_at(&text.mended()?)).unwrap_or(Look::Broken)
}

/// Whether a file of any other name is worth reading, by its first bytes: tools name a flow file or a packed one as the
/// person likes.
pub fn is_recording_opening(opening: &[u8]) -> bool {
    if mitmproxy::may_open(opening) {
        return true;
    }
    let mut unpacked = Vec::new();
    let Some(unpacking) = text::unpacking(opening) else { return false };
    // The opening is cut somewhere, so its end is an error.
    let _ = unpacking.take(MARKS_WITHIN as u64).read_to_end(&mut unpacked);
    let text = String::from_utf8_lossy(&unpacked);
    has_mark(&text) || PACKED_MARKS.iter().any(|mark| text.contains(mark))
}

/// Whether a file of this name is worth opening when a folder is looked through.
pub fn is_recording_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a text that cannot be parsed was meant to be a recording.
pub(super) fn may_be_recording(text: &Text) -> bool {
    let opening: String = text.as_str().chars().take(MARKS_WITHIN).collect();
    has_mark(&opening)
}

fn has_mark(opening: &str) -> bool {
    let is_mapping = || {
        let after = opening.split("\"request\"").skip(1);
        after
            .filter_map(|rest| rest.trim_start().strip_prefix(':'))
            .any(|rest| rest.trim_start().starts_with('{'))
    };
    MARKS.iter().any(|mark| opening.contains(mark)) || is_mapping()
}

pub(super) fn is_ours(document: &Node<'_>) -> bool {
    document.get("wiretape").and_then(Node::as_text).is_some_and(|kind| kind.starts_with("cassette/"))
}

pub(super) fn format_of(document: &Node<'_>) -> Option<Format> {
    let has = |key: &str| document.get(key).is_some();
    match &document.value {
        Value::Sequence(items) => of_list(items),
        Value::Mapping(_) if has("http_interactions") => Some(match document.get("recorded_with") {
            Some(tool) if tool.as_text().is_some_and(|t| t.starts_with("betamax")) => Format::Betamax,
            _ => Format::RubyVcr,
        }),
        Value::Mapping(_) if document.get("log").is_some_and(|log| log.get("entries").is_some()) => {
            Some(Format::Har)
        }
        Value::Mapping(_) if has("interactions") => Some(of_interactions(document.get("interactions")?)),
        Value::Mapping(_) if has("requests") && has("responses") => Some(Format::VcrPy),
        Value::Mapping(_) if has("Entries") => Some(Format::Azure),
        Value::Mapping(_) if document.get("data").is_some_and(|data| data.get("pairs").is_some()) => {
            Some(Format::Hoverfly)
        }
        Value::Mapping(_) if has("mappings") || is_mapping(document) => Some(Format::WireMock),
        _ => None,
    }
}

fn of_list(items: &[Node<'_>]) -> Option<Format> {
    let first = items.first()?;
    if first.get("scope").is_none() || first.get("path").is_none() {
        return None;
    }
    let raw = items.iter().any(|item| item.get("rawHeaders").is_some());
    Some(if raw || first.get("headers").is_none() { Format::Nock } else { Format::OctokitFixtures })
}

fn of_interactions(list: &Node<'_>) -> Format {
    let Ok([first, ..]) = list.sequence("the interactions") else {
        return Format::VcrPy;
    };
    if first.get("http").is_some() || first.get("websocket").is_some() {
        return Format::Buffr;
    }
    if first.get("kind").is_some() && first.get("request").is_none() {
        return Format::Realtime;
    }
    match first.get("request") {
        Some(request) if request.get("url").is_some() && request.get("uri").is_none() => Format::GoVcr,
        _ => Format::VcrPy,
    }
}

fn is_mapping(document: &Node<'_>) -> bool {
    let Some(request) = document.get("request") else { return false };
    document.get("response").is_some()
        && ["url", "urlPath", "urlPattern", "urlPathPattern", "urlPathTemplate", "bodyPatterns"]
            .iter()
            .any(|key| request.get(key).is_some())
}

const ENDINGS: [&str; 12] = [
    ".yaml", ".yml", ".json", ".har", ".yaml.gz", ".yml.gz", ".json.gz", ".har.gz", ".zhar", ".mitm",
    ".flow", ".flows",
];

const MARKS: [&str; 8] = [
    "http_interactions",
    "interactions",
    "\"entries\"",
    "\"scope\"",
    "\"Entries\"",
    "\"pairs\"",
    "\"mappings\"",
    "bodyFileName",
];

/// What opens a packed recording, too common a word to tell a plain file by.
const PACKED_MARKS: [&str; 3] = ["\"log\"", "requests:", "\"requests\""];

const MARKS_WITHIN: usize = 4096;
