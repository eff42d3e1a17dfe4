//! Secrets that are known by value: from the environment, from credential positions, and dummies that stand for
//! recorded ones. They are found wherever they stand, whatever they are wrapped in.

use std::{
    borrow::Cow,
    collections::HashMap,
    ops::Range,
    sync::{Arc, LazyLock},
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use memchr::memmem::Finder;

use super::{encoded, grams::Grams};

/// Cheap to clone: what is known is shared until one of the two learns more.
#[derive(Clone, Default)]
pub(super) struct Learned {
    values: Arc<Vec<Value>>,
    places: Arc<HashMap<Vec<u8>, usize>>,
    /// The spellings of all of them.
    forms: Arc<Forms>,
}

#[derive(Clone, Default)]
struct Forms {
    grams: Grams,
    /// Whose spelling each is.
    owners: Vec<usize>,
}

pub(super) struct Value {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: Cow<'static, str>,
    /// Another secret's word could be a part of any text; this one counts only where it stands alone.
    is_plain_word: bool,
}

/// A learned value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) span: Range<usize>,
    /// Which value it is.
    pub(super) value: usize,
}

impl Learned {
    /// Whether it was not known before.
    pub(super) fn learn(&mut self, bytes: &[u8], kind: Cow<'static, str>) -> bool {
        if bytes.len() < SHORTEST
            || bytes.len() > LONGEST
            || self.places.contains_key(bytes)
            || is_common(bytes)
        {
            return false;
        }
        let place = self.values.len();
        Arc::make_mut(&mut self.places).insert(bytes.to_vec(), place);
        let is_plain_word = bytes.len() < 16 && !bytes.iter().any(u8::is_ascii_digit);
        Arc::make_mut(&mut self.values).push(Value { bytes: bytes.to_vec(), kind, is_plain_word });
        let forms = Arc::make_mut(&mut self.forms);
        for form in forms_of(bytes) {
            forms.grams.add(form);
            forms.owners.push(place);
        }
        true
    }

    pub(super) fn place_of(&self, bytes: &[u8]) -> Option<usize> {
        self.places.get(bytes).copied()
    }

    pub(super) fn value(&self, place: usize) -> &Value {
        &self.values[place]
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Values that were learned since there were so many.
    pub(super) fn since(&self, count: usize) -> &[Value] {
        &self.values[count.min(self.values.len())..]
    }

    /// Whether what was decoded can hold a token, or holds a value.
    pub(super) fn may_matter_in(&self, content: &[u8]) -> bool {
        encoded::may_hold_text(content) || !self.hits(content).is_empty()
    }

    pub(super) fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let counts = |span: &Range<usize>, value: usize| {
            !self.values[value].is_plain_word || crate::rebind::stands_alone(text, span.start, span.len())
        };
        let found = self.forms.grams.find(text, &|span, form| counts(span, self.forms.owners[form]));
        found.into_iter().map(|(span, form)| Hit { value: self.forms.owners[form], span }).collect()
    }

    /// A value of which only the beginning and the end are shown, as providers echo a wrong key: `sk-abc***wxyz`.
    pub(super) fn masked_hits(&self, text: &[u8]) -> Vec<Hit> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut hits = Vec::new();
        let is_mask = |b: &u8| matches!(b, b'*' | b'.') || *b >= 0x80;
        let mut from = 0;
        let mut masks: Vec<usize> = masks(text).collect();
        masks.sort_unstable();
        for at in masks {
            if at < from {
                continue;
            }
            let end = at + text[at..].iter().take_while(|b| is_mask(b)).count();
            let holds = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            let before = text[..at].iter().rev().take(MOST_SHOWN).take_while(holds).count();
            let behind = text[end..].iter().take(MOST_SHOWN).take_while(holds).count();
            let (head, tail) = (&text[at - before..at], &text[end..end + behind]);
            let shows = |v: &Value| {
                let start = head.len() >= 4 && v.bytes.starts_with(head);
                let rest = tail.len() >= 3 && v.bytes.ends_with(tail);
                // One end alone may be a word: `test...`.
                let is_drawn = |shown: &[u8]| shown.len() >= 8 || shown.iter().any(u8::is_ascii_digit);
                (start && rest)
                    || (start && tail.is_empty() && is_drawn(head))
                    || (rest && tail.len() >= 4 && head.is_empty() && is_drawn(tail))
            };
            if let Some(value) = self.values.iter().position(shows) {
                hits.push(Hit { span: at - before..end + behind, value });
            }
            from = end.max(at + 1);
        }
        hits
    }
}

impl std::fmt::Debug for Learned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Learned({} values)", self.values.len())
    }
}

impl Clone for Value {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), kind: self.kind.clone(), is_plain_word: self.is_plain_word }
    }
}

/// The spellings that are searched for. Escapes of every kind are taken off beforehand.
fn forms_of(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    let hex: String = value.iter().map(|b| format!("{b:02x}")).collect();
    forms.push(hex.to_ascii_uppercase().into_bytes());
    forms.push(hex.into_bytes());
    for skipped in 0..3 {
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let bytes = [&[0; 2][..skipped.min(2)], value].concat();
            let encoded = engine.encode(&bytes).into_bytes();
            // Only characters that are made of nothing but the value.
            let first = (skipped * 8).div_ceil(6);
            let last = bytes.len() * 8 / 6;
            if last - first >= SHORTEST {
                forms.push(encoded[first..last].to_vec());
            }
        }
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Where a part of a value may have been left out.
pub(super) fn masks(text: &[u8]) -> impl Iterator<Item = usize> {
    let stars = STARS.find_iter(text);
    let dots = DOTS.find_iter(text);
    let signs = memchr::memchr_iter(0xe2, text)
        .filter(|at| text[*at..].starts_with("…".as_bytes()) || text[*at..].starts_with("•••".as_bytes()));
    stars.chain(dots).chain(signs)
}

static STARS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("***"));
static DOTS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("..."));

/// Words that are somebody's password, and everybody's word.
fn is_common(value: &[u8]) -> bool {
    let same = value.iter().all(|b| *b == value[0]);
    same || COMMON.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

const COMMON: &[&str] = &[
    "anonymous",
    "application",
    "automatic",
    "changeit",
    "changeme",
    "default-key",
    "development",
    "disabled",
    "localhost",
    "password",
    "postgres",
    "production",
    "redacted",
    "required",
    "test-key",
    "testing123",
    "undefined",
    "username",
];

/// Shorter values are too likely to be a part of something else.
pub(super) const SHORTEST: usize = Grams::SHORTEST;
const LONGEST: usize = 64 * 1024;
/// So much of a key is shown beside a mask at the most.
const MOST_SHOWN: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(values: &[&str]) -> Learned {
        let mut learned = Learned::default();
        for value in values {
            assert!(learned.learn(value.as_bytes(), Cow::Borrowed("token")));
        }
        learned
    }

    fn found<'t>(learned: &Learned, text: &'t str) -> Vec<&'t str> {
        learned.hits(text.as_bytes()).into_iter().map(|hit| &text[hit.span]).collect()
    }

    #[test]
    fn a_value_is_found_in_base64_at_any_offset_and_in_hex() {
        let secret = "q9Zr_7-tKe/Y";
        let learned = learned(&[secret]);
        for before in ["", "u", "us", "use", "user:"] {
            let text = STANDARD_NO_PAD.encode(format!("{before}{secret} and more"));
            assert_eq!(found(&learned, &text).len(), 1, "{before}");
            let text = URL_SAFE_NO_PAD.encode(format!("{before}{secret}"));
            assert_eq!(found(&learned, &text).len(), 1, "{before}");
        }
        let hex: String = secret.bytes().map(|b| format!("{b:02X}")).collect();
        assert_eq!(found(&learned, &format!("x{hex}y")), [hex]);
    }

    #[test]
    fn a_word_counts_where_it_stands_alone_and_a_common_one_never() {
        let learned = learned(&["dragonfly"]);
        assert_eq!(found(&learned, "a dragonfly, dragonflys"), ["dragonfly"]);
        assert!(!Learned::default().learn(b"postgres", Cow::Borrowed("token")));
        assert!(!Learned::default().learn(b"short", Cow::Borrowed("token")));
    }

    #[test]
    fn a_masked_echo_is_found_by_what_it_shows() {
        let learned = learned(&["tk-Zq81LmnoPQ77wxyz"]);
        let masked = |text: &str| {
            let hits = learned.masked_hits(text.as_bytes());
            hits.into_iter().map(|hit| text[hit.span].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(masked("key: tk-Zq81****wxyz. See"), ["tk-Zq81****wxyz"]);
        assert_eq!(masked("tk-Z...wxyz"), ["tk-Z...wxyz"]);
        assert_eq!(masked("**bold*** words... and more"), Vec::<String>::new());
    }

    #[test]
    fn hundreds_of_values_are_all_found() {
        let values: Vec<String> = (0..200).map(|n| format!("value-{n:05}-x")).collect();
        let learned = learned(&values.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found(&learned, &values.join(" ")), values);
    }
}
