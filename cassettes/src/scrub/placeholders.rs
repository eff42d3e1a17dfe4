//! Placeholders wherever they stand in an exchange: as they are, or inside of base64 and compressed files.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::AhoCorasick;
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use exchange::{Exchange, Piece, Response};

use super::{detect::DEEPEST, encoded, placeholder};
use crate::{
    edits::{Edit, apply},
    text::settle,
};

/// The placeholders of a text as they stand there.
pub(crate) fn texts_in(text: &[u8]) -> impl Iterator<Item = &str> {
    placeholder::spans(text).into_iter().filter_map(|span| std::str::from_utf8(&text[span]).ok())
}

/// Whether a placeholder may stand in a text, in any form.
pub(crate) fn may_be_in(text: &[u8]) -> bool {
    MARKS.is_match(text) || encoded::has_mark(text)
}

/// What a text becomes when each of its placeholders is replaced by what `new` says.
pub(crate) fn edits(text: &[u8], new: &mut dyn FnMut(&str) -> Option<String>) -> Vec<Edit<'static>> {
    edits_at(text, 0, new)
}

/// No placeholder is put deeper than the scrubber looks.
fn edits_at(text: &[u8], depth: usize, new: &mut dyn FnMut(&str) -> Option<String>) -> Vec<Edit<'static>> {
    if !may_be_in(text) {
        return Vec::new();
    }
    if depth >= DEEPEST {
        return as_they_stand(text, new);
    }
    let mut packed = |content: &[u8]| inside(content, depth + 1, new);
    if encoded::has_mark(text) {
        // What was stored without being compressed can be seen from outside, and not be changed there.
        let all = encoded::in_compressed(text, encoded::MOST, &mut packed);
        return all.map(|all| Edit::new(0..text.len(), all)).into_iter().collect();
    }
    let mut found = as_they_stand(text, new);
    found.extend(encoded::in_base64(text, &|_| true, &may_be_in, &mut |content| {
        inside(content, depth + 1, new)
    }));
    settle(found)
}

fn inside(content: &[u8], depth: usize, new: &mut dyn FnMut(&str) -> Option<String>) -> Option<Vec<u8>> {
    let edits = edits_at(content, depth, new);
    (!edits.is_empty()).then(|| apply(content, &edits))
}

fn as_they_stand(text: &[u8], new: &mut dyn FnMut(&str) -> Option<String>) -> Vec<Edit<'static>> {
    let replaced = |span: Range<usize>| {
        let old = std::str::from_utf8(&text[span.clone()]).ok()?;
        let new = new(old).filter(|new| new != old)?;
        Some(Edit::new(span, new.into_bytes()))
    };
    placeholder::spans(text).into_iter().filter_map(replaced).collect()
}

/// Every text of an exchange that may hold a placeholder.
pub(crate) fn each_text(exchange: &Exchange, look: &mut dyn FnMut(&[u8])) {
    let request = &exchange.request;
    look(request.url.path.as_bytes());
    request.url.query.iter().for_each(|query| look(query.as_bytes()));
    request.headers.iter().chain(request.trailers.iter()).for_each(|header| look(header.value()));
    request.body.bytes().into_iter().for_each(|body| look(body));
    if let Some(response) = exchange.reply.response() {
        each_text_of_reply(response, look);
    }
}

pub(crate) fn each_text_of_reply(response: &Response, look: &mut dyn FnMut(&[u8])) {
    response.headers.iter().chain(response.trailers.iter()).for_each(|header| look(header.value()));
    response.body.bytes().into_iter().for_each(|body| look(body));
    for message in &response.messages {
        match &message.piece {
            Piece::Text(text) => look(text.as_bytes()),
            Piece::Binary(bytes) => look(bytes),
            Piece::Close(_) => {}
        }
    }
}

/// How a placeholder begins, also in base64 at each of the three offsets.
static MARKS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut marks = vec![placeholder::OPEN.as_bytes().to_vec()];
    for skipped in 0..3 {
        let bytes = [&b"\0\0"[..skipped], placeholder::OPEN.as_bytes()].concat();
        let encoded = STANDARD_NO_PAD.encode(&bytes).into_bytes();
        marks.push(encoded[(skipped * 8).div_ceil(6)..bytes.len() * 8 / 6].to_vec());
    }
    AhoCorasick::new(marks).expect("four short marks make an automaton")
});
