//! Streams: events, lines and chunks, with the places where the wire cut them and how long each piece took.
//!
//! A frame that starts where an event starts is that event's `after`; one that starts inside it is a cut. An
//! event without `after` came in the same frame as the end of the event before it.

use std::time::Duration;

use bytes::Bytes;
use exchange::{Frame, StreamKind, split_events, split_lines};
use yaml::{Fields, Node, Out, Problem, Scalar, ScalarStyle, Value};

use super::{
    body::{one_of, read_base64, read_text, write_bytes},
    exchange::{Entries, duration, push_after, read_after, spell},
};

/// What stands between two events; the first is the usual one.
pub(super) const SEPARATORS: [(&str, &str); 2] = [("lf", "\n\n"), ("crlf", "\r\n\r\n")];

pub(super) fn read_pieces(
    node: &Node<'_>,
    what: &'static str,
    separator: &str,
) -> Result<(Bytes, Vec<Frame>), Problem> {
    let items = some_items(node, what)?;
    let mut content = String::new();
    let mut starts = Starts::default();
    for (place, item) in items.iter().enumerate() {
        let mut fields = Fields::of(item, "the item")?;
        let from = content.len();
        if let Some(after) = fields.optional("after") {
            if place > 0 && starts.0.is_empty() {
                return Err(no_first_delay(after.span));
            }
            starts.0.push((from, after.duration("the delay")?));
        }
        content.push_str(fields.required("text")?.text("the text")?);
        let cuts = fields.optional("cuts");
        let open = match fields.optional("open") {
            Some(open) if open.boolean("open")? && place + 1 < items.len() => {
                return Err(Problem::new(open.span, "only the last item can be open")
                    .with_help("remove `open`, or join the text with that of the next item"));
            }
            Some(open) => open.boolean("open")?,
            None => false,
        };
        fields.finish()?;
        if !open {
            content.push_str(separator);
        }
        if let Some(cuts) = cuts {
            starts.read_cuts(cuts, from, content.len())?;
        }
    }
    let frames = starts.frames(content.len());
    Ok((content.into(), frames))
}

/// The keys of an event stream or of lines, if the content is one and its frames can be shown on it.
pub(super) fn write_pieces<'a>(
    kind: Option<StreamKind>,
    bytes: &'a [u8],
    frames: &[Frame],
) -> Option<Entries<'a>> {
    // A frame without content has no place of its own among the events.
    if bytes.is_empty() || frames.iter().any(|frame| frame.len == 0) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    match kind? {
        StreamKind::Events => {
            let (pieces, separator) = split_events(text);
            let mut keys = Vec::with_capacity(2);
            if let Some((word, _)) = SEPARATORS[1..].iter().find(|(_, known)| *known == separator) {
                keys.push(("separator".into(), Out::text(*word)));
            }
            keys.push(("events".into(), write_items(&pieces, separator, frames)));
            Some(keys)
        }
        StreamKind::Lines => Some(vec![("lines".into(), write_items(&split_lines(text), "\n", frames))]),
        StreamKind::Frames => None,
    }
}

pub(super) fn read_chunks(node: &Node<'_>) -> Result<(Bytes, Vec<Frame>), Problem> {
    let items = some_items(node, "the chunks")?;
    let mut content = Vec::new();
    let mut frames = Vec::with_capacity(items.len());
    for item in items {
        let mut fields = Fields::of(item, "the chunk")?;
        let after = read_after(fields.optional("after"), "the delay")?;
        let piece = match one_of(&mut fields, "the chunk", &["text", "base64"])? {
            ("text", value) => read_text(value)?,
            (_, value) => read_base64(value)?,
        };
        fields.finish()?;
        frames.push(Frame { len: piece.len(), after });
        content.extend_from_slice(&piece);
    }
    Ok((content.into(), frames))
}

pub(super) fn write_chunks<'a>(bytes: &'a [u8], frames: &[Frame]) -> (std::borrow::Cow<'a, str>, Out<'a>) {
    let mut rest = bytes;
    let chunks = frames.iter().map(|frame| {
        let (piece, after) = rest.split_at(frame.len);
        rest = after;
        let mut entries = Vec::with_capacity(2);
        push_after(&mut entries, "after", frame.after);
        entries.push(write_bytes(piece));
        Out::Mapping(entries)
    });
    ("chunks".into(), Out::sequence(chunks))
}

/// Frames of a content that stands elsewhere: `LENGTH+DELAY`.
pub(super) fn read_frames(node: &Node<'_>, size: u64) -> Result<Vec<Frame>, Problem> {
    let mut frames = Vec::new();
    let mut covered = Some(0u64);
    for item in some_items(node, "the frames")? {
        let malformed = || {
            Problem::new(item.span, "not a frame")
                .with_help("write its length and its delay, such as 1234+5ms")
        };
        let (len, after) = item.text("a frame")?.split_once('+').ok_or_else(malformed)?;
        let len = len.parse::<usize>().map_err(|_| malformed())?;
        let after = Scalar { text: after.into(), style: ScalarStyle::Plain };
        let after = Node { span: item.span, value: Value::Scalar(after) }.duration("the delay of a frame")?;
        covered = covered.and_then(|sum| sum.checked_add(len as u64));
        frames.push(Frame { len, after });
    }
    if covered != Some(size) {
        let covered = covered.map_or("more bytes than can be".to_owned(), |sum| format!("{sum} bytes"));
        return Err(Problem::new(node.span, format!("the frames cover {covered}, and `size` says {size}"))
            .with_help("make the lengths add up to the size, or remove `frames`"));
    }
    Ok(frames)
}

pub(super) fn write_frames(frames: &[Frame]) -> Out<'static> {
    Out::sequence(frames.iter().map(|frame| Out::plain(format_args!("{}+{}", frame.len, spell(frame.after)))))
}

/// Where each frame starts, and its delay.
#[derive(Default)]
struct Starts(Vec<(usize, Duration)>);

impl Starts {
    /// Reads the cuts of the item that takes `from..to` of the content.
    fn read_cuts(&mut self, node: &Node<'_>, from: usize, to: usize) -> Result<(), Problem> {
        for cut in node.sequence("the cuts")? {
            let mut fields = Fields::of(cut, "the cut")?;
            let at = fields.required("at")?;
            let after = read_after(fields.optional("after"), "the delay of the cut")?;
            fields.finish()?;
            let Some((last, _)) = self.0.last() else {
                return Err(no_first_delay(cut.span));
            };
            let start = from.saturating_add(at.integer("the place of the cut", 1..=usize::MAX)?);
            if start <= *last || start >= to {
                return Err(Problem::new(at.span, format!("no cut can stand at byte {} here", start - from))
                    .with_help(format!(
                        "cuts are in order, and lie inside the {} bytes of the item",
                        to - from
                    )));
            }
            self.0.push((start, after));
        }
        Ok(())
    }

    fn frames(self, end: usize) -> Vec<Frame> {
        let ends = self.0.iter().skip(1).map(|(start, _)| *start).chain([end]);
        self.0
            .iter()
            .zip(ends)
            .map(|((start, after), end)| Frame { len: end - start, after: *after })
            .collect()
    }
}

fn write_items<'a>(pieces: &[&'a str], separator: &str, frames: &[Frame]) -> Out<'a> {
    let mut starts = frames
        .iter()
        .scan(0, |next, frame| {
            let start = *next;
            *next += frame.len;
            Some((start, frame.after))
        })
        .peekable();
    let mut items = Vec::with_capacity(pieces.len());
    let mut from = 0;
    for (place, piece) in pieces.iter().enumerate() {
        let is_last = place + 1 == pieces.len();
        if is_last && piece.is_empty() {
            break;
        }
        let to = from + piece.len() + if is_last { 0 } else { separator.len() };
        let mut entries: Entries<'a> = Vec::with_capacity(2);
        if let Some((_, after)) = starts.next_if(|(start, _)| *start == from) {
            entries.push(("after".into(), duration(after)));
        }
        entries.push(("text".into(), Out::text(*piece)));
        let mut cuts = Vec::new();
        while let Some((start, after)) = starts.next_if(|(start, _)| *start < to) {
            let mut cut = vec![("at".into(), Out::from(start - from))];
            push_after(&mut cut, "after", after);
            cuts.push(Out::Mapping(cut));
        }
        if !cuts.is_empty() {
            entries.push(("cuts".into(), Out::Sequence(cuts)));
        }
        if is_last {
            entries.push(("open".into(), Out::from(true)));
        }
        items.push(Out::Mapping(entries));
        from = to;
    }
    Out::Sequence(items)
}

fn some_items<'n, 's>(node: &'n Node<'s>, what: &'static str) -> Result<&'n [Node<'s>], Problem> {
    match node.sequence(what)? {
        [] => Err(Problem::new(node.span, format!("expected {what}, found an empty list"))
            .with_help("leave `body` out when it is empty")),
        items => Ok(items),
    }
}

fn no_first_delay(span: yaml::Span) -> Problem {
    Problem::new(span, "a delay here needs one on the first item too")
        .with_help("write `after: 0ms` on the first item, or remove every `after` and `cuts`")
}
