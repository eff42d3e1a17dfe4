//! Where in a body something may be found at all. Most values of most bodies hold nothing that could be a secret, and
//! finding that out for all of them at once costs a few passes over the bytes; looking into each costs much more.

use std::ops::Range;

use super::{
    encoded,
    learned::{self, Learned},
    query, shapes,
};

/// For one body, and for what was known when it was made.
#[derive(Debug)]
pub(super) struct Sieve<'b> {
    body: &'b [u8],
    /// In order.
    places: Vec<usize>,
    known: usize,
}

impl<'b> Sieve<'b> {
    pub(super) fn of(body: &'b [u8], learned: &Learned) -> Self {
        let mut places: Vec<usize> = shapes::starts_in(body).collect();
        if !learned.is_empty() {
            places.extend(learned::masks(body));
        }
        places.extend(learned.hits(body).into_iter().map(|hit| hit.span.start));
        places.extend(escapes(body));
        places.extend(urls(body));
        encoded::each_run(body, &mut |run| {
            if encoded::may_matter(&body[run.clone()], &|content| learned.may_matter_in(content)) {
                places.push(run.start);
            }
        });
        places.sort_unstable();
        Self { body, places, known: learned.len() }
    }

    /// Whether a text can be passed over: it stands in the body as it is, and nothing in it was noticed.
    pub(super) fn lets_pass(&self, text: &[u8], learned: &Learned) -> bool {
        let Some(span) = self.span_of(text).filter(|_| self.known == learned.len()) else {
            return false;
        };
        // A run that began before the value may reach into it.
        let first = self.places.partition_point(|place| *place < span.start);
        self.places.get(first).is_none_or(|place| *place >= span.end)
    }

    /// Where the text stands in the body, if it is a part of it and not a decoded copy.
    fn span_of(&self, text: &[u8]) -> Option<Range<usize>> {
        let start = (text.as_ptr() as usize).checked_sub(self.body.as_ptr() as usize)?;
        let end = start.checked_add(text.len())?;
        (end <= self.body.len()).then_some(start..end)
    }
}

/// Escapes of every kind. Those of a JSON string stand in no value that is passed over, but in a script they do.
fn escapes(body: &[u8]) -> impl Iterator<Item = usize> {
    memchr::memchr3_iter(b'%', b'&', b'\\', body).filter(|at| match (body[*at], body.get(at + 1)) {
        (b'%', Some(next)) => next.is_ascii_hexdigit(),
        (b'&', Some(next)) => *next == b'#' || next.is_ascii_alphabetic(),
        (_, Some(next)) => b"u/nrt\"\\".contains(next),
        (_, None) => false,
    })
}

/// URLs that have a place for a credential.
fn urls(body: &[u8]) -> impl Iterator<Item = usize> {
    // How far it is known that there is none.
    let mut harmless = 0;
    query::URLS.find_iter(body).filter(move |at| {
        let start = (at + 3).max(harmless);
        let goes_on = |b: &u8| !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'<' | b'>');
        let of_note = |b: &u8| matches!(b, b'?' | b'#' | b'@');
        match body[start..].iter().position(|b| !goes_on(b) || of_note(b)) {
            Some(place) if of_note(&body[start + place]) => true,
            place => {
                harmless = place.map_or(body.len(), |place| start + place);
                false
            }
        }
    })
}
