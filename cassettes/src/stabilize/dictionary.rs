//! Finds any of many values in a text at once, each where it stands by itself.
//!
//! A value that stands by itself begins and ends where words do. So the words of a text are looked up, and not its
//! bytes: the cost does not grow with the number of values.

use std::{collections::HashMap, ops::Range};

#[derive(Debug, Default)]
pub(super) struct Dictionary {
    values: HashMap<Box<[u8]>, usize>,
    /// The longest word of each value, with where a value may begin before it and how long it may be.
    words: HashMap<Box<[u8]>, Vec<(usize, usize)>>,
    /// The lengths that such words have, a bit for each.
    lengths: u64,
}

impl Dictionary {
    /// A value's place is what a hit tells. Values without a letter or digit are never found.
    pub(super) fn new<'v>(values: impl IntoIterator<Item = &'v str>) -> Self {
        let mut dictionary = Self::default();
        for (place, value) in values.into_iter().enumerate() {
            let value = value.as_bytes();
            let Some(word) = words(value).rev().max_by_key(|word| word.len()) else { continue };
            let shape = (word.start, value.len());
            dictionary.lengths |= bit(word.len());
            let shapes = dictionary.words.entry(value[word].into()).or_default();
            if !shapes.contains(&shape) {
                shapes.push(shape);
            }
            dictionary.values.entry(value.into()).or_insert(place);
        }
        dictionary
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Shows the values in the order in which they stand; of two that overlap the first, of those the longest.
    pub(super) fn hits(&self, text: &[u8], mut hit: impl FnMut(usize, Range<usize>)) {
        if self.is_empty() {
            return;
        }
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        for word in words(text) {
            if self.lengths & bit(word.len()) == 0 {
                continue;
            }
            let Some(shapes) = self.words.get(&text[word.clone()]) else { continue };
            for &(before, len) in shapes {
                let Some(start) = word.start.checked_sub(before) else { continue };
                let Some(value) = text.get(start..start + len) else { continue };
                if let Some(place) = self.values.get(value)
                    && stands_alone(text, start..start + len)
                {
                    found.push((start..start + len, *place));
                }
            }
        }
        found.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
        let mut end = 0;
        for (span, place) in found {
            if span.start >= end {
                end = span.end;
                hit(place, span);
            }
        }
    }
}

fn bit(len: usize) -> u64 {
    1 << len.min(63)
}

/// Where the words of a text are.
fn words(text: &[u8]) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let is_word = |run: &&[u8]| run.first().is_some_and(u8::is_ascii_alphanumeric);
    let base = text.as_ptr() as usize;
    let place = move |run: &[u8]| {
        let start = run.as_ptr() as usize - base;
        start..start + run.len()
    };
    text.chunk_by(|a, b| a.is_ascii_alphanumeric() == b.is_ascii_alphanumeric()).filter(is_word).map(place)
}

/// A value counts only where it is not part of a longer word or number.
fn stands_alone(text: &[u8], span: Range<usize>) -> bool {
    if !crate::rebind::stands_alone(text, span.start, span.len()) {
        return false;
    }
    // `0.123456` and `123456.7` are numbers of their own.
    let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(u8::is_ascii_digit);
    let point = |at: Option<usize>| at.and_then(|at| text.get(at)) == Some(&b'.');
    let before = point(span.start.checked_sub(1)) && digit(span.start.checked_sub(2));
    let after = point(Some(span.end)) && digit(Some(span.end + 1));
    !((before || after) && text[span].iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(values: &[&str], text: &str) -> Vec<String> {
        let mut found = Vec::new();
        Dictionary::new(values.iter().copied())
            .hits(text.as_bytes(), |place, span| found.push(format!("{place} at {}", span.start)));
        found
    }

    #[test]
    fn a_value_is_found_where_it_stands_by_itself() {
        let values = ["call_abc", "call_abc-1", "123456", "2026-11-18T20:00:00Z", "files/x1y2"];
        assert_eq!(found(&values, "call_abc, xcall_abc call_abcd call_abc-1"), ["0 at 0", "1 at 30"]);
        assert_eq!(found(&values, "123456 123456.5 0.123456 #123456. v123456"), ["2 at 0", "2 at 26"]);
        assert_eq!(found(&values, "(2026-11-18T20:00:00Z)/files/x1y2"), ["3 at 1", "4 at 23"]);
        assert_eq!(found(&[], "anything"), [""; 0]);
    }

    proptest! {
        #[test]
        fn it_finds_what_looking_at_every_byte_finds(
            values in proptest::collection::hash_set("[ab]{1,3}([-_][ab]{1,2})?", 1..5), text in "[ab_ -]{0,24}",
        ) {
            let values: Vec<String> = values.into_iter().collect();
            let mut slow = Vec::new();
            let mut at = 0;
            while at < text.len() {
                let here = values.iter().enumerate().filter(|(_, v)| {
                    text[at..].starts_with(v.as_str()) && stands_alone(text.as_bytes(), at..at + v.len())
                });
                match here.max_by_key(|(_, v)| v.len()) {
                    Some((place, value)) => {
                        slow.push(format!("{place} at {at}"));
                        at += value.len();
                    }
                    None => at += 1,
                }
            }
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            prop_assert_eq!(found(&values, &text), slow);
        }
    }
}
