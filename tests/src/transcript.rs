//! Compares what a client printed while recording with what it printed on replay. The live client gets
//! the server's own ids and times, a replay gives them stable names; all else must be the same bytes.

use std::{collections::HashMap, fmt, ops::Range};

/// How a replay is not the same as its recording.
#[derive(Debug, PartialEq, Eq)]
pub enum Discrepancy {
    /// This text of the recording is not where it should be in the replay.
    Missing(String),
    /// The replay goes on after the recording has ended.
    Extra(String),
    /// One minted value came back under two names.
    Renamed { minted: String, first: String, second: String },
}

/// Holds `replayed` against `recorded`, in which every value of `minted` may have another name as long
/// as it is the same one throughout.
pub fn compare(recorded: &str, replayed: &str, minted: &[String]) -> Result<(), Discrepancy> {
    let places = places(recorded, minted);
    let mut names = HashMap::new();
    let (mut at, mut rest) = (0, replayed);
    for (index, place) in places.iter().enumerate() {
        let before = &recorded[at..place.start];
        rest = rest.strip_prefix(before).ok_or_else(|| Discrepancy::Missing(before.to_owned()))?;
        let end = places.get(index + 1).map_or(recorded.len(), |next| next.start);
        let after = &recorded[place.end..end];
        let name = name_before(rest, after, index + 1 == places.len())?;
        rest = &rest[name.len()..];
        let value = &recorded[place.clone()];
        let first = *names.entry(value).or_insert(name);
        if first != name {
            let (minted, first, second) = (value.to_owned(), first.to_owned(), name.to_owned());
            return Err(Discrepancy::Renamed { minted, first, second });
        }
        at = place.end;
    }
    match rest.strip_prefix(&recorded[at..]) {
        Some("") => Ok(()),
        Some(extra) => Err(Discrepancy::Extra(extra.to_owned())),
        None => Err(Discrepancy::Missing(recorded[at..].to_owned())),
    }
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(text) => write!(f, "the replay lacks {text:?}"),
            Self::Extra(text) => write!(f, "the replay goes on with {text:?}"),
            Self::Renamed { minted, first, second } => {
                write!(f, "the replay calls {minted:?} once {first:?} and once {second:?}")
            }
        }
    }
}

/// The name at the start of `rest`: all up to the text that follows it in the recording.
fn name_before<'a>(rest: &'a str, after: &str, last: bool) -> Result<&'a str, Discrepancy> {
    let end = match (after, last) {
        ("", true) => Some(rest.len()),
        (after, true) => rest
            .len()
            .checked_sub(after.len())
            .filter(|&end| rest.is_char_boundary(end) && rest[end..] == *after),
        (after, false) => rest.find(after),
    };
    end.map(|end| &rest[..end]).ok_or_else(|| Discrepancy::Missing(after.to_owned()))
}

/// Where minted values stand in a text, longest first where one lies in another.
fn places(text: &str, minted: &[String]) -> Vec<Range<usize>> {
    let mut values: Vec<&String> = minted.iter().filter(|value| !value.is_empty()).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    let mut places: Vec<Range<usize>> = Vec::new();
    for value in values {
        for (start, _) in text.match_indices(value.as_str()) {
            let place = start..start + value.len();
            if places.iter().all(|other| place.end <= other.start || other.end <= place.start) {
                places.push(place);
            }
        }
    }
    places.sort_by_key(|place| place.start);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minted() -> Vec<String> {
        vec!["chatcmpl-A1".into(), "1700000001".into()]
    }

    #[test]
    fn the_same_text_is_the_same() {
        assert_eq!(compare("id chatcmpl-A1 hello\n", "id chatcmpl-A1 hello\n", &minted()), Ok(()));
    }

    #[test]
    fn a_minted_value_may_have_another_name() {
        let recorded = "id chatcmpl-A1 at 1700000001\nagain chatcmpl-A1";
        assert_eq!(compare(recorded, "id chatcmpl-01 at 1\nagain chatcmpl-01", &minted()), Ok(()));
    }

    #[test]
    fn a_minted_value_may_not_have_two_names() {
        let renamed = compare("chatcmpl-A1, chatcmpl-A1\n", "chatcmpl-1, chatcmpl-2\n", &minted());
        let (first, second) = ("chatcmpl-1".into(), "chatcmpl-2".into());
        assert_eq!(renamed, Err(Discrepancy::Renamed { minted: "chatcmpl-A1".into(), first, second }));
    }

    #[test]
    fn any_other_text_must_be_repeated() {
        let other = compare("chatcmpl-A1 says pong\n", "chatcmpl-A1 says ping\n", &minted());
        assert_eq!(other, Err(Discrepancy::Missing(" says pong\n".into())));
        assert_eq!(compare("pong\n", "pong\nmore", &minted()), Err(Discrepancy::Extra("more".into())));
    }
}
