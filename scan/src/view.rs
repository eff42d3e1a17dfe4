//! A file as it looks through its encodings: every view knows how its bytes lead back to the file.

use std::{borrow::Cow, ops::Range};

use crate::{
    detect::{self, Certainty},
    encoded, events, packed,
    report::Layer,
    unescape,
};

/// The bytes of a file, or what one decoding made of a part of another view.
#[derive(Debug)]
pub(crate) struct View<'a> {
    bytes: Cow<'a, [u8]>,
    parent: Option<&'a View<'a>>,
    way: Way,
    depth: u8,
}

/// How a byte of a view leads to the view it was made from.
#[derive(Debug)]
pub(crate) enum Way {
    /// The file itself.
    Same,
    /// Unpacked from what starts there; nothing inside has a place of its own.
    Packed { start: usize, layer: Layer },
    /// Decoded from runs of characters: one run, or one for each line it was wrapped into.
    Coded { pieces: Vec<Piece>, layer: Layer },
    /// Cut out of it and put together.
    Joined(Vec<Piece>),
    /// The same but for escapes.
    Unescaped(Vec<Escape>),
}

/// From `out` on, bytes (or characters of a code) come from `source` on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) out: usize,
    pub(crate) source: usize,
}

/// The bytes at `out` were made of an escape at `source`; behind it all is as it was, up to the next one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Escape {
    pub(crate) out: usize,
    pub(crate) source: usize,
    pub(crate) made: usize,
    pub(crate) taken: usize,
    /// `None` for a stretch without escapes that was left out.
    pub(crate) layer: Option<Layer>,
}

/// A secret in the file.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: &'static str,
    pub(crate) certainty: Certainty,
    pub(crate) through: Vec<Layer>,
    pub(crate) is_packed: bool,
}

/// What was found so far, and how much may still be decoded.
#[derive(Debug)]
pub(crate) struct Search {
    pub(crate) found: Vec<Found>,
    pub(crate) is_cut_short: bool,
    budget: usize,
    pub(crate) unpacked: usize,
}

impl Search {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            found: Vec::new(),
            is_cut_short: false,
            budget: size * 24 + packed::MOST_BYTES * 8,
            unpacked: 0,
        }
    }

    /// The work on one file is bounded by its size, however cleverly it nests.
    fn spend(&mut self, bytes: usize) -> bool {
        let left = self.budget.checked_sub(bytes);
        self.is_cut_short |= left.is_none();
        self.budget = left.unwrap_or(0);
        left.is_some()
    }
}

impl<'a> View<'a> {
    pub(crate) fn root(bytes: &'a [u8]) -> Self {
        Self { bytes: Cow::Borrowed(bytes), parent: None, way: Way::Same, depth: 0 }
    }

    fn made(parent: &'a Self, bytes: Vec<u8>, way: Way) -> Self {
        // What is unpacked mostly lies in a code that was counted.
        let is_counted = matches!((&way, &parent.way), (Way::Packed { .. }, Way::Coded { .. }));
        let depth = parent.depth + u8::from(!is_counted);
        Self { bytes: Cow::Owned(bytes), parent: Some(parent), way, depth }
    }

    pub(crate) fn look(&self, search: &mut Search) {
        if !search.spend(self.bytes.len()) {
            return;
        }
        let unpacked = if self.depth > MOST_DEPTH { None } else { self.unpack(search) };
        // What is packed may stand unpacked in it too, where packing it gained nothing. A file may go on behind it.
        if unpacked.is_none() || self.parent.is_none() {
            self.detect(search);
        }
        if let Some((unpacked, layer)) = unpacked {
            View::made(self, unpacked, Way::Packed { start: 0, layer }).look(search);
            return;
        }
        if self.depth > MOST_DEPTH {
            return;
        }
        for (start, entry) in packed::zip_entries(&self.bytes, search) {
            View::made(self, entry, Way::Packed { start, layer: Layer::Zip }).look(search);
        }
        if self.depth == MOST_DEPTH || !(self.parent.is_none() || is_text(&self.bytes)) {
            return;
        }
        encoded::each_run(
            &self.bytes,
            |start, end| self.is_new(start, end),
            |bytes, pieces, layer| {
                let view = View::made(self, bytes, Way::Coded { pieces, layer });
                if is_text(&view.bytes) || packed::is_packed(&view.bytes) {
                    view.look(search);
                } else if let Some((inflated, layer)) = packed::inflate(&view.bytes, search) {
                    View::made(&view, inflated, Way::Packed { start: 0, layer }).look(search);
                } else {
                    view.detect(search);
                }
            },
        );
        for (bytes, pieces) in events::joined(&self.bytes) {
            View::made(self, bytes, Way::Joined(pieces)).look(search);
        }
        if let Some((bytes, escapes)) = unescape::unescape(&self.bytes) {
            View::made(self, bytes, Way::Unescaped(escapes)).look(search);
        }
    }

    fn unpack(&self, search: &mut Search) -> Option<(Vec<u8>, Layer)> {
        match &self.way {
            Way::Joined(_) | Way::Unescaped(_) => None,
            Way::Same | Way::Coded { .. } | Way::Packed { .. } => packed::unpack(&self.bytes, search),
        }
    }

    fn detect(&self, search: &mut Search) {
        for hit in detect::detect(&self.bytes, &self.news()) {
            // In a piece alone, it was seen in the view the pieces come from.
            if !matches!(self.way, Way::Joined(_)) || self.is_new(hit.start, hit.end) {
                let mut through = Vec::new();
                let is_packed = self.trace(hit.start, hit.end, &mut through);
                through.reverse();
                search.found.push(Found {
                    start: self.origin(hit.start),
                    end: self.origin(hit.end.saturating_sub(1)).max(self.origin(hit.start)) + 1,
                    kind: hit.kind,
                    certainty: hit.certainty,
                    through,
                    is_packed,
                });
            }
        }
    }

    /// The parts worth a look: around escapes, where they are few. The rest was seen before they were undone.
    fn news(&self) -> Vec<Range<usize>> {
        let whole = 0..self.bytes.len();
        let Way::Unescaped(escapes) = &self.way else { return vec![whole] };
        let mut parts: Vec<Range<usize>> = Vec::new();
        for escape in escapes {
            let at = escape.out;
            let part = at.saturating_sub(BEFORE_ESCAPE)..whole.end.min(at + BEHIND_ESCAPE);
            match parts.last_mut() {
                Some(last) if part.start <= last.end => last.end = part.end,
                _ => parts.push(part),
            }
        }
        parts
    }

    /// Whether the decoding that made this view touched these bytes, or those beside them.
    fn is_new(&self, start: usize, end: usize) -> bool {
        match &self.way {
            Way::Unescaped(escapes) => {
                let first = escapes.partition_point(|e| e.out + e.made < start);
                escapes[first..].iter().take_while(|e| e.out <= end).any(|e| e.layer.is_some())
            }
            Way::Joined(pieces) => {
                let first = pieces.partition_point(|p| p.out <= start);
                pieces.get(first).is_some_and(|p| p.out < end)
            }
            _ => true,
        }
    }

    /// Where in the file a byte of this view comes from.
    fn origin(&self, at: usize) -> usize {
        match self.parent {
            Some(parent) => parent.origin(self.up(at)),
            None => at,
        }
    }

    fn up(&self, at: usize) -> usize {
        match &self.way {
            Way::Same => at,
            Way::Packed { start, .. } => *start,
            Way::Coded { pieces, layer } => {
                let character = if *layer == Layer::Hex { at * 2 } else { at * 4 / 3 };
                in_piece(pieces, character)
            }
            Way::Joined(pieces) => in_piece(pieces, at),
            Way::Unescaped(escapes) => {
                let behind = escapes.partition_point(|e| e.out <= at);
                let Some(escape) = behind.checked_sub(1).and_then(|i| escapes.get(i)) else { return at };
                let (source, past) = (escape.source, at - escape.out);
                match past.checked_sub(escape.made) {
                    None => source,
                    Some(past) => source + escape.taken + past,
                }
            }
        }
    }

    /// The layers around these bytes, the innermost first; true if they have no place of their own.
    fn trace(&self, start: usize, end: usize, through: &mut Vec<Layer>) -> bool {
        let Some(parent) = self.parent else { return false };
        let mut is_packed = false;
        match &self.way {
            Way::Same => {}
            Way::Packed { layer, .. } => {
                through.push(*layer);
                is_packed = true;
            }
            Way::Coded { layer, .. } => through.push(*layer),
            Way::Joined(pieces) => {
                let first = pieces.partition_point(|p| p.out <= start);
                let over = pieces[first..].iter().take_while(|p| p.out < end).count() + 1;
                if over > 1 {
                    through.push(Layer::Split(over));
                }
            }
            Way::Unescaped(escapes) => {
                let first = escapes.partition_point(|e| e.out + e.made < start);
                let touched = escapes[first..].iter().take_while(|e| e.out <= end);
                let mut layers: Vec<Layer> = touched.filter_map(|e| e.layer).collect();
                layers.sort_unstable();
                layers.dedup();
                // Of one pass all are as deep; the caller turns the order round.
                through.extend(layers.into_iter().rev());
            }
        }
        let last = self.up(end.saturating_sub(1)).max(self.up(start)) + 1;
        parent.trace(self.up(start), last, through) || is_packed
    }
}

fn in_piece(pieces: &[Piece], at: usize) -> usize {
    let behind = pieces.partition_point(|p| p.out <= at);
    behind.checked_sub(1).and_then(|i| pieces.get(i)).map_or(at, |p| p.source + (at - p.out))
}

/// Judged by its start and its middle: a picture or a sound is not text at either.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let middle = &bytes[bytes.len() / 2..];
    [bytes, middle].iter().any(|part| {
        let sample = &part[..part.len().min(SAMPLE)];
        let readable = sample.iter().filter(|b| matches!(b, b' '..=b'~' | b'\t' | b'\n' | b'\r')).count();
        !sample.is_empty() && readable * 10 >= sample.len() * 7
    })
}

/// Decodings inside of decodings.
const MOST_DEPTH: u8 = 4;
const SAMPLE: usize = 1024;
/// A secret with an escape inside of it starts before that.
const BEFORE_ESCAPE: usize = 512;
/// One with an escape before it starts right there.
const BEHIND_ESCAPE: usize = 64;
