//! Streams: each event by itself, and the texts that run on from event to event.
//!
//! A model's words, or the arguments of its tool calls, come in pieces under one path. Joined they are read as one
//! text, so that nothing hides in the cut.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use exchange::{Message, Peer, Piece};

use super::{
    Find, Form, Step, in_text, json, settle,
    view::{View, escaped_for_json},
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
            start..content.len()
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
    threads: HashMap<String, Vec<View<'a>>>,
    order: Vec<String>,
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
            self.run_on(format!("{lane}"), View::plain(content, span));
            return;
        }
        edits.extend(shifted(json::look(text, &mut Vec::new(), find), span.start));
        let name = thread_name(text, lane);
        json::values(text, &mut Vec::new(), &mut |value| {
            if value.form == Form::String && !value.view.text().is_empty() {
                let key = format!("{name}{}", shown(value.path));
                self.run_on(key, value.view.shifted(span.start));
            }
        });
    }

    fn run_on(&mut self, key: String, view: View<'a>) {
        match self.threads.get_mut(&key) {
            Some(pieces) => pieces.push(view),
            None => {
                self.order.push(key.clone());
                self.threads.insert(key, vec![view]);
            }
        }
    }

    fn finish(self, mut edits: Vec<Edit<'static>>, find: &mut Find<'_>) -> Vec<Edit<'static>> {
        for key in &self.order {
            let pieces = &self.threads[key];
            // What every event repeats, such as the model's name, does not run on.
            if pieces[1..].iter().all(|piece| piece.text() == pieces[0].text()) {
                continue;
            }
            let view = View::joined(pieces);
            let path = [Step::Key(Cow::Borrowed(last_key(key)))];
            let found = json::in_string(view.text(), Form::String, &path, false, find);
            edits = merge(edits, found, &view);
        }
        settle(edits)
    }
}

/// Adds changes to a joined text. One that lies over several pieces takes the place of smaller ones that it covers in
/// any of them; one that an event has by itself already is not made twice.
fn merge(mut edits: Vec<Edit<'static>>, found: Vec<Edit<'static>>, view: &View<'_>) -> Vec<Edit<'static>> {
    for edit in found {
        let len = edit.span.len();
        let mapped = view.in_source(vec![edit], escaped_for_json);
        let overlaps = |old: &Edit<'_>| {
            mapped.iter().any(|new| old.span.start < new.span.end && new.span.start < old.span.end)
        };
        let largest = edits.iter().filter(|old| overlaps(old)).map(|old| old.span.len()).max();
        if largest.is_none_or(|largest| largest < len) {
            edits.retain(|old| !overlaps(old));
            edits.extend(mapped);
        }
    }
    edits
}

/// What tells the threads of one stream apart: events of several kinds, or of several items, come in turn.
fn thread_name(text: &[u8], lane: u8) -> String {
    let mut name = lane.to_string();
    json::values(text, &mut Vec::new(), &mut |value| {
        if let [Step::Key(key)] = value.path
            && value.form != Form::Key
            && matches!(&**key, "type" | "index" | "output_index" | "item_id" | "content_index")
        {
            name.push('|');
            name.push_str(&String::from_utf8_lossy(value.view.text()));
        }
    });
    name
}

fn shown(path: &[Step<'_>]) -> String {
    let mut out = String::new();
    for step in path {
        match step {
            Step::Key(key) => {
                out.push('\u{1f}');
                out.push_str(key);
            }
            Step::Index(index) => out.push_str(&format!("[{index}]")),
        }
    }
    out
}

fn last_key(thread: &str) -> &str {
    let last = thread.rsplit('\u{1f}').next().unwrap_or("");
    last.split('[').next().unwrap_or("")
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
    edits.into_iter().map(move |edit| Edit { span: edit.span.start + by..edit.span.end + by, new: edit.new })
}
