//! What is known of the secrets of a run, and the name that each of them has.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use super::{learned::Learned, placeholder};

/// A secret under its kind.
type Named = (Cow<'static, str>, Vec<u8>);

/// Cheap to clone while nothing new is met.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets {
    pub(super) learned: Learned,
    numbers: Arc<HashMap<Named, u32>>,
    counts: HashMap<Cow<'static, str>, u32>,
    /// Which variables hold a value.
    variables: Arc<BTreeMap<Vec<u8>, BTreeSet<String>>>,
    /// Values of variables that were met in traffic.
    met: BTreeSet<Vec<u8>>,
}

impl Secrets {
    /// A variable of the environment and what it holds.
    pub(super) fn learn_variable(&mut self, name: &str, value: &[u8], kind: Cow<'static, str>) {
        self.learned.learn(value, kind);
        if self.learned.place_of(value).is_some() {
            Arc::make_mut(&mut self.variables).entry(value.to_vec()).or_default().insert(name.to_owned());
        }
    }

    /// What stands for a secret. The kind it was first met as is the one it keeps.
    pub(super) fn placeholder(&mut self, kind: Cow<'static, str>, secret: &[u8]) -> String {
        // What is already a placeholder stays as it is: scrubbing twice is scrubbing once.
        if let Some(text) = std::str::from_utf8(secret).ok().filter(|t| placeholder::is_placeholder(t)) {
            return text.to_owned();
        }
        let kind = self.learned.place_of(secret).map_or(kind, |place| self.learned.value(place).kind.clone());
        if self.variables.contains_key(secret) {
            self.met.insert(secret.to_vec());
        }
        let key = (kind, secret.to_vec());
        // Looked up first: what is shared with other scrubbers is copied only where it changes.
        let number = self.numbers.get(&key).copied().unwrap_or_else(|| {
            let count = self.counts.entry(key.0.clone()).or_default();
            *count += 1;
            Arc::make_mut(&mut self.numbers).insert(key.clone(), *count);
            *count
        });
        placeholder::placeholder_text(&key.0, number)
    }

    /// Gives a secret the number that its placeholder on a cassette has.
    pub(super) fn number(&mut self, kind: &str, secret: &[u8], number: u32) {
        let kind: Cow<'static, str> = Cow::Owned(kind.to_owned());
        self.learned.learn(secret, kind.clone());
        Arc::make_mut(&mut self.numbers).insert((kind.clone(), secret.to_vec()), number);
        let count = self.counts.entry(kind).or_default();
        *count = (*count).max(number);
    }

    /// Leaves this number of a kind, and all below it, to others.
    pub(super) fn number_after(&mut self, kind: &str, number: u32) {
        let count = self.counts.entry(Cow::Owned(kind.to_owned())).or_default();
        *count = (*count).max(number);
    }

    /// The variables whose values were met, each with its placeholder.
    pub(super) fn variables_met(&self) -> Vec<(String, String)> {
        let mut met: Vec<(String, String)> = self
            .met
            .iter()
            .flat_map(|value| self.variables[value].iter().map(move |name| (name, value)))
            .filter_map(|(name, value)| {
                let kind = &self.learned.value(self.learned.place_of(value)?).kind;
                let number = self.numbers.get(&(kind.clone(), value.clone()))?;
                Some((name.clone(), placeholder::placeholder_text(kind, *number)))
            })
            .collect();
        met.sort();
        met
    }

    pub(super) fn count(&self) -> usize {
        self.numbers.len()
    }
}
