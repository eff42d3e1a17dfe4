//! Many texts looked for at once, by the few bytes that each of them must hold.
//!
//! Nearly every place of nearly every body is passed over by one look into a table. With texts of at least
//! [`Grams::SHORTEST`] bytes only every fifth place has to be looked at.

use std::{collections::HashMap, ops::Range};

/// Finds any of a growing list of texts.
#[derive(Debug, Clone)]
pub(super) struct Grams {
    table: Table,
    /// For four bytes, which texts hold them, and where.
    holders: HashMap<u32, Vec<(u32, u16)>>,
    texts: Vec<Vec<u8>>,
}

impl Default for Grams {
    fn default() -> Self {
        Self { table: Table::new(), holders: HashMap::new(), texts: Vec::new() }
    }
}

impl Grams {
    pub(super) const SHORTEST: usize = 8;

    /// Its number is how many there were before.
    pub(super) fn add(&mut self, text: Vec<u8>) {
        debug_assert!(text.len() >= Self::SHORTEST);
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        // Where fewest others are: tokens of one issuer begin alike.
        let held = |window: &[u8]| self.holders.get(&gram_of(window)).map_or(0, Vec::len);
        let loads: Vec<usize> = text.windows(4).take(FARTHEST).map(held).collect();
        let load = |start: &usize| -> usize { loads[*start..*start + STEP].iter().sum() };
        let start = (0..=loads.len() - STEP).min_by_key(load).unwrap_or_default();
        for (offset, window) in (0u16..).zip(text.windows(4)).skip(start).take(STEP) {
            let gram = gram_of(window);
            self.table.insert(gram);
            self.holders.entry(gram).or_default().push((number, offset));
        }
        self.texts.push(text);
    }

    /// Where those texts stand that `count`, in order; of two that overlap the first, and of two at one place the longer.
    pub(super) fn find(
        &self,
        text: &[u8],
        count: &dyn Fn(&Range<usize>, usize) -> bool,
    ) -> Vec<(Range<usize>, usize)> {
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        if self.texts.is_empty() {
            return found;
        }
        for place in (0..text.len().saturating_sub(3)).step_by(STEP) {
            let gram = gram_of(&text[place..place + 4]);
            if !self.table.holds(gram) {
                continue;
            }
            for (number, offset) in self.holders.get(&gram).into_iter().flatten() {
                let wanted = &self.texts[*number as usize];
                let start = place.checked_sub(usize::from(*offset));
                if let Some(start) = start.filter(|start| text[*start..].starts_with(wanted)) {
                    let (span, number) = (start..start + wanted.len(), *number as usize);
                    if count(&span, number) {
                        found.push((span, number));
                    }
                }
            }
        }
        found.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
        let mut last_end = 0;
        found.retain(|(span, _)| {
            let is_free = span.start >= last_end;
            if is_free {
                last_end = span.end;
            }
            is_free
        });
        found
    }
}

/// Finds where one of a fixed list of short marks stands.
#[derive(Debug)]
pub(super) struct Marks {
    /// For two bytes, the group of the marks that begin with them; zero where none does.
    group_of: Box<[u8]>,
    /// The longest mark of a group comes first.
    groups: Vec<Vec<usize>>,
    marks: Vec<&'static [u8]>,
}

impl Marks {
    pub(super) fn new(marks: impl Iterator<Item = &'static str>) -> Self {
        let marks: Vec<&'static [u8]> = marks.map(str::as_bytes).collect();
        let mut group_of = vec![0u8; 1 << 16].into_boxed_slice();
        let mut groups = vec![Vec::new()];
        for (number, mark) in marks.iter().enumerate() {
            let group = &mut group_of[pair(mark[0], mark[1])];
            if *group == 0 {
                *group = u8::try_from(groups.len())
                    .expect("there are fewer beginnings than marks, and of those about a hundred");
                groups.push(Vec::new());
            }
            groups[usize::from(*group)].push(number);
        }
        for group in &mut groups {
            group.sort_by_key(|number| std::cmp::Reverse(marks[*number].len()));
        }
        Self { group_of, groups, marks }
    }

    /// Every mark with its number, in order; of those that begin at one place, the longest.
    pub(super) fn find<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (Range<usize>, usize)> + 't {
        let candidates = text.windows(2).enumerate().filter_map(|(at, window)| {
            let group = self.group_of[pair(window[0], window[1])];
            (group != 0).then_some((at, group))
        });
        candidates.filter_map(|(at, group)| {
            let numbers = &self.groups[usize::from(group)];
            let number = numbers.iter().find(|number| text[at..].starts_with(self.marks[**number]))?;
            Some((at..at + self.marks[*number].len(), *number))
        })
    }
}

/// A set of hashes that says no for certain, and yes nearly so.
#[derive(Debug, Clone)]
struct Table(Box<[u64; 1024]>);

impl Table {
    fn new() -> Self {
        Self(Box::new([0; 1024]))
    }

    fn insert(&mut self, gram: u32) {
        let slot = Self::slot(gram);
        self.0[slot >> 6] |= 1 << (slot & 63);
    }

    fn holds(&self, gram: u32) -> bool {
        let slot = Self::slot(gram);
        self.0[slot >> 6] >> (slot & 63) & 1 == 1
    }

    fn slot(gram: u32) -> usize {
        (gram.wrapping_mul(0x9e37_79b1) >> 16) as usize
    }
}

fn gram_of(window: &[u8]) -> u32 {
    u32::from_le_bytes([window[0], window[1], window[2], window[3]])
}

fn pair(a: u8, b: u8) -> usize {
    usize::from(a) << 8 | usize::from(b)
}

/// Any text of eight bytes has five places at which four bytes of it begin.
const STEP: usize = 5;
/// So far into a text a place is looked for.
const FARTHEST: usize = 96;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_found_wherever_it_stands(
            wanted in prop::collection::vec("[ab]{8,12}", 1..5), before in "[abc]{0,20}", behind in "[abc]{0,20}", pick in 0usize..5,
        ) {
            let mut grams = Grams::default();
            wanted.iter().for_each(|text| grams.add(text.clone().into_bytes()));
            let text = format!("{before}{}{behind}", wanted[pick % wanted.len()]);
            let found = grams.find(text.as_bytes(), &|_, _| true);
            let first = wanted.iter().filter_map(|wanted| text.find(wanted.as_str())).min().unwrap();
            prop_assert_eq!(found[0].0.start, first);
            for (span, number) in &found {
                prop_assert_eq!(&text[span.clone()], &wanted[*number]);
            }
        }
    }

    #[test]
    fn the_longest_of_the_marks_at_a_place_is_the_one() {
        let marks = Marks::new(["sk-", "sk-ant-", "ghp"].into_iter());
        let found: Vec<_> = marks.find(b"sk-ant-x sk-y aghp sk").collect();
        assert_eq!(found, [(0..7, 1), (9..12, 0), (15..18, 2)]);
    }
}
