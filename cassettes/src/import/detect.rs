//! Telling the formats apart by what only they have.

use yaml::{Node, Value};

use super::{Format, text::Text};

/// Whether a file of this name is worth opening when a folder is looked through.
pub fn is_recording_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Whether a text that cannot be parsed was meant to be a recording.
pub(super) fn may_be_recording(text: &Text) -> bool {
    let opening: String = text.as_str().chars().take(MARKS_WITHIN).collect();
    MARKS.iter().any(|mark| opening.contains(mark))
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

const ENDINGS: [&str; 10] =
    [".yaml", ".yml", ".json", ".har", ".yaml.gz", ".yml.gz", ".json.gz", ".zhar", ".mitm", ".flows"];

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

const MARKS_WITHIN: usize = 4096;
