//! Streams: each event by itself, and the texts that run on from event to event.
//!
//! A model's words, or the arguments of its tool calls, come in pieces under one path. Joined they are read as one
//! text, so that nothing hides in the cut.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use exchange::{Message, Peer, Piece};

use super::{
    Find, Form, Leaf, Step, in_text, json, settle,
    view::{View, escaped_for_json, unescaped},
};
use crate::edits::Edit;

pub(super) fn in_events(content: &[u8], find: &mut Find<'_>) -> Vec<Edit<'static>> {
    let mut stream = Stream::default();
    let mut edits = Vec::new();
    for line in lines(content) {
        let text = &content[line.clone()];
        let data = text.strip_prefix(b"data:").map(|rest| rest.strip_prefix(b" ").unwrap_or(rest));
        match data {
            Some(data) => stream.piece(content, line.end - data.len()..line.end, 0, &mut edits, find),
            None => edits.extend(shifted(in_text(text, &mut Vec::new(), find), line.start)),
        }
    }
    stream.finish(edits, find)
}

pub(super) fn in_lines(content: &[u8], find: &mut Find<'_>) -> Vec<Edit<'static>> {
    let mut stream = Stream::default();
    let mut edits = Vec::new();
    for line in lines(content) {
        stream.piece(content, line, 0, &mut edits, find);
    }
    stream.finish(edits, find)
}

/// The changes to each message of a conversation. What one peer says runs on from message to message.
pub(crate) fn in_messages(messages: &[Message], find: &mut Find<'_>) -> Vec<Vec<Edit<'static>>> {
    // One source for all of them, so that a change that runs on is one change.
    let mut content = Vec::new();
    let spans: Vec<Range<usize>> = messages
        .iter()
        .map(|message| {
            let start = content.len();
            match &message.piece {
                Piece::Text(text) => content.extend_from_slice(text.as_bytes()),
                Piece::Binary(bytes) => content.extend_from_slice(bytes),
                Piece::Close(Some((_, reason))) => content.extend_from_slice(reason.as_bytes()),
                Piece::Close(None) => {}
            }
            let span = start..content.len();
            // What one change covers must not run from one message into the next.
            content.push(b'\n');
            span
        })
        .collect();
    let mut stream = Stream::default();
    let mut edits = Vec::new();
    for (message, span) in messages.iter().zip(&spans) {
        let peer = if message.from == Peer::Client { 1 } else { 2 };
        stream.piece(&content, span.clone(), peer, &mut edits, find);
    }
    let mut settled = stream.finish(edits, find).into_iter().peekable();
    spans
        .into_iter()
        .map(|span| {
            let mut mine = Vec::new();
            while let Some(edit) = settled.next_if(|edit| edit.span.start < span.end) {
                mine.push(Edit {
                    span: edit.span.start - span.start..edit.span.end - span.start,
                    new: edit.new,
                });
            }
            mine
        })
        .collect()
}

/// Texts under one path, in the order in which their pieces came.
#[derive(Default)]
struct Stream<'a> {
    places: HashMap<u64, usize>,
    threads: Vec<Thread<'a>>,
    /// The strings of the event at hand.
    strings: Vec<(u64, View<'a>)>,
}

struct Thread<'a> {
    kind: Kind,
    pieces: Vec<View<'a>>,
    /// What every event repeats, such as the model's name, does not run on.
    varies: bool,
}

/// What the pieces of a thread stand in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Strings of JSON documents.
    Strings,
    /// Nothing: they are the events.
    Plain,
}

impl<'a> Stream<'a> {
    /// One event. `lane` tells apart who says it.
    fn piece(
        &mut self,
        content: &'a [u8],
        span: Range<usize>,
        lane: u8,
        edits: &mut Vec<Edit<'static>>,
        find: &mut Find<'_>,
    ) {
        let text = &content[span.clone()];
        if !json::is_bracketed(text) {
            edits.extend(shifted(in_text(text, &mut Vec::new(), find), span.start));
            if std::str::from_utf8(text).is_ok() {
                self.run_on(u64::from(lane), View::plain(content, span), Kind::Plain);
            }
            return;
        }
        // Events of several kinds, or of several items, come in turn.
        let mut kind = u64::from(lane);
        let mut strings = std::mem::take(&mut self.strings);
        let found = json::look_and_tell(text, find, &mut |value| {
            let tells = match value.path {
                [Step::Key(key)] => matches!(&**key, "type" | "output_index" | "item_id" | "content_index"),
                _ => false,
            };
            let counts = matches!(value.path.last(), Some(Step::Key(key)) if key == "index");
            if value.form != Form::Key && (tells || counts) {
                kind = hashed(hashed(kind, &hash_of(value.path).to_le_bytes()), value.view.text());
            }
            if value.form == Form::String && !value.view.text().is_empty() {
                strings.push((hash_of(value.path), value.view.clone()));
            }
        });
        edits.extend(shifted(found, span.start));
        for (path, view) in strings.drain(..) {
            self.run_on(hashed(kind, &path.to_le_bytes()), view.shifted(span.start), Kind::Strings);
        }
        self.strings = strings;
    }

    fn run_on(&mut self, key: u64, view: View<'a>, kind: Kind) {
        let place = *self.places.entry(key).or_insert_with(|| {
            self.threads.push(Thread { kind, pieces: Vec::new(), varies: false });
            self.threads.len() - 1
        });
        let thread = &mut self.threads[place];
        thread.varies =
            thread.varies || thread.pieces.first().is_some_and(|first| first.text() != view.text());
        thread.pieces.push(view);
    }

    fn finish(self, mut edits: Vec<Edit<'static>>, find: &mut Find<'_>) -> Vec<Edit<'static>> {
        let mut joined = Vec::new();
        for thread in self.threads.iter().filter(|thread| thread.varies) {
            let view = View::joined(&thread.pieces);
            // The name that the pieces stand under says nothing of all of them together; a document that they make says
            // enough by itself.
            let found = match json::is_bracketed(view.text()) {
                true => json::in_string(view.text(), Form::String, &[], false, find),
                false => find(&Leaf { text: view.text(), form: Form::Text, path: &[], in_grant: false }),
            };
            let escape = if thread.kind == Kind::Strings { escaped_for_json } else { unescaped };
            joined
                .extend(found.into_iter().map(|edit| (edit.span.len(), view.in_source(vec![edit], escape))));
        }
        edits = merge(edits, joined);
        settle(edits)
    }
}

/// Puts changes of joined texts and of single ones together. Where some overlap, the longest stays: one that lies over
/// several pieces takes the place of smaller ones in any of them, and one that an event has by itself is not made twice.
fn merge(edits: Vec<Edit<'static>>, joined: Vec<(usize, Vec<Edit<'static>>)>) -> Vec<Edit<'static>> {
    if joined.is_empty() {
        return edits;
    }
    let single = edits.into_iter().map(|edit| (edit.span.len(), vec![edit]));
    let mut groups: Vec<_> = single.chain(joined).collect();
    groups.sort_by_key(|(len, _)| std::cmp::Reverse(*len));
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut kept = Vec::new();
    for (_, group) in groups {
        let is_taken = |edit: &Edit<'_>| {
            taken.range(..edit.span.end).next_back().is_some_and(|(_, end)| *end > edit.span.start)
        };
        if !group.iter().any(is_taken) {
            taken.extend(group.iter().map(|edit| (edit.span.start, edit.span.end)));
            kept.extend(group);
        }
    }
    kept
}

fn hash_of(path: &[Step<'_>]) -> u64 {
    path.iter().fold(1, |hash, step| match step {
        Step::Key(key) => hashed(hash, key.as_bytes()),
        Step::Index(index) => hashed(hash, &index.to_le_bytes()),
    })
}

/// FNV-1a: names are short.
fn hashed(hash: u64, bytes: &[u8]) -> u64 {
    let start = hash ^ 0xcbf2_9ce4_8422_2325;
    bytes.iter().fold(start.rotate_left(5), |hash, b| (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

fn lines(content: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    content.split(|&b| b == b'\n').map(move |line| {
        let span = start..start + line.len();
        start = span.end + 1;
        match line.last() {
            Some(b'\r') => span.start..span.end - 1,
            _ => span,
        }
    })
}

fn shifted(edits: Vec<Edit<'static>>, by: usize) -> impl Iterator<Item = Edit<'static>> {
    edits.into_iter().map(move |edit| edit.moved(by))
}
