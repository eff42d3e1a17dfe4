//! The strings of a JSON text with the paths they stand at. It forgives everything: what is no JSON has fewer strings.

use std::ops::Range;

/// A path, as far as two of them need to be told apart.
pub(crate) type Path = u64;

/// Hands on every string that is a value, with its path and where it stands between its quotes.
///
/// Numbers named `index` count as a part of the path: streams that run beside each other are told apart by them.
pub(crate) fn strings(text: &[u8], root: Path, mut hand: impl FnMut(Path, Range<usize>)) {
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' | b'[' => {
                if levels.len() >= MOST_LEVELS {
                    return;
                }
                let path = levels.last().map_or(root, Level::here);
                levels.push(Level { path, key: None, place: 0, is_list: *byte == b'[' });
            }
            b'}' | b']' => {
                levels.pop();
                if levels.is_empty() {
                    return;
                }
            }
            b',' => {
                if let Some(level) = levels.last_mut() {
                    level.key = None;
                    level.place += 1;
                }
            }
            b'"' => {
                let start = at + 1;
                let end = string_end(text, start);
                at = end;
                let Some(level) = levels.last_mut() else { continue };
                let is_key = !level.is_list && level.key.is_none();
                if is_key {
                    level.key = Some(mixed(level.path, &text[start..end]));
                    at += number_of_stream(text, start..end, level);
                } else {
                    hand(level.here(), start..end);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

struct Level {
    path: Path,
    key: Option<Path>,
    place: u64,
    is_list: bool,
}

impl Level {
    fn here(&self) -> Path {
        if self.is_list { step(self.path, self.place) } else { self.key.unwrap_or(self.path) }
    }
}

/// Where the closing quote stands, or would.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(next) = memchr::memchr2(b'"', b'\\', &text[at.min(text.len())..]) {
        match text[at + next] {
            b'"' => return at + next,
            _ => at += next + 2,
        }
    }
    text.len()
}

/// Puts the number behind an `index` key into the path; says how many bytes were read.
fn number_of_stream(text: &[u8], key: Range<usize>, level: &mut Level) -> usize {
    if !text[key.clone()].ends_with(b"index") {
        return 0;
    }
    let rest = &text[(key.end + 1).min(text.len())..];
    let lead = rest.iter().take(8).take_while(|b| matches!(b, b':' | b' ')).count();
    let digits = rest[lead..].iter().take(10).take_while(|b| b.is_ascii_digit()).count();
    if digits > 0 {
        level.path = mixed(level.path, &rest[lead..lead + digits]);
    }
    lead + digits
}

pub(crate) fn mixed(path: Path, name: &[u8]) -> Path {
    name.iter().fold(step(path, name.len() as u64), |path, byte| step(path, u64::from(*byte)))
}

fn step(path: Path, value: u64) -> Path {
    (path ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
}

const MOST_LEVELS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(text: &str) -> Vec<(Path, &str)> {
        let mut found = Vec::new();
        strings(text.as_bytes(), 1, |path, range| found.push((path, &text[range])));
        found
    }

    #[test]
    fn the_same_path_in_two_events_is_the_same() {
        let (a, b) = (leaves(r#"{"a":[{"b":"x","c":"y"}]}"#), leaves(r#"{ "a": [ { "c": "z" } ] }"#));
        assert_eq!(a.iter().map(|l| l.1).collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(b[0].1, "z");
        assert_eq!(a[1].0, b[0].0);
        assert_ne!(a[0].0, a[1].0);
    }

    #[test]
    fn streams_with_an_index_are_told_apart() {
        let (a, b) = (leaves(r#"{"index":0,"delta":"x"}"#), leaves(r#"{"index":1,"delta":"x"}"#));
        assert_ne!(a[0].0, b[0].0);
    }

    #[test]
    fn broken_json_ends_quietly() {
        for text in ["{\"a", "{\"a\":\"b\\", "}}}}", "{\"index", "{\"index\":", "[[[[", "\"\\"] {
            leaves(text);
        }
    }
}
