//! Streams inside a body: event streams and lines.

use crate::Headers;

/// How a streamed body is built, told by its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// `text/event-stream`
    Events,
    /// JSON Lines and its many names.
    Lines,
    /// A binary stream, such as gRPC or an AWS event stream.
    Frames,
}

/// One event of an event stream, with its fields read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    pub event: Option<String>,
    pub data: String,
    pub id: Option<String>,
}

impl StreamKind {
    /// `None` for a body that is not a stream by its type.
    pub fn of(headers: &Headers) -> Option<Self> {
        let media = headers.media_type()?;
        match media.as_str() {
            "text/event-stream" => Some(Self::Events),
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines"
            | "application/stream+json"
            | "application/json-seq" => Some(Self::Lines),
            "application/vnd.amazon.eventstream" => Some(Self::Frames),
            m if m.starts_with("application/grpc") || m.starts_with("application/connect+") => {
                Some(Self::Frames)
            }
            _ => None,
        }
    }
}

/// Cuts an event stream at the blank lines. Joining the pieces with the separator gives the content back, whatever
/// it was; the last piece is empty when the stream ended after a whole event.
pub fn split_events(content: &str) -> (Vec<&str>, &'static str) {
    let separator = if content.contains("\r\n\r\n") { "\r\n\r\n" } else { "\n\n" };
    (content.split(separator).collect(), separator)
}

/// Cuts at line feeds; the last piece is empty when the content ends in one.
pub fn split_lines(content: &str) -> Vec<&str> {
    content.split('\n').collect()
}

impl SseEvent {
    /// Reads the fields of one event's text (WHATWG HTML, 9.2.6). `None` for a comment or an empty block.
    pub fn parse(text: &str) -> Option<Self> {
        let mut event = Self::default();
        let mut data: Vec<&str> = Vec::new();
        for line in text.trim_start_matches('\u{feff}').split(['\n', '\r']) {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "data" if line.starts_with("data") => data.push(value),
                "event" => event.event = Some(value.to_owned()),
                "id" => event.id = Some(value.to_owned()),
                _ => {}
            }
        }
        if data.is_empty() && event.event.is_none() {
            return None;
        }
        event.data = data.join("\n");
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cut_events_join_to_the_same_content(content in "[ab\\r\\n:]{0,40}") {
            let (pieces, separator) = split_events(&content);
            prop_assert_eq!(pieces.join(separator), content);
        }
    }

    #[test]
    fn events_are_read_with_their_fields() {
        let event = SseEvent::parse("event: delta\ndata: {\"a\":1}\ndata:x\nid: 7").unwrap();
        assert_eq!(
            event,
            SseEvent { event: Some("delta".into()), data: "{\"a\":1}\nx".into(), id: Some("7".into()) }
        );
        assert_eq!(SseEvent::parse(": keep-alive"), None);
        assert_eq!(SseEvent::parse(""), None);
    }
}
