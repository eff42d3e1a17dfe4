//! Keys and names, as the catalogue writes them: `id`, `*_id`, `x-ratelimit-*`, `functionCall.id`.

use std::collections::HashMap;

/// A text with at most one `*`, which stands for anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    start: String,
    /// What stands behind the `*`, if there is one.
    end: Option<String>,
}

/// Values by the keys that they hold for.
#[derive(Debug)]
pub(super) struct Keyed<T> {
    values: Vec<T>,
    exact: HashMap<String, Vec<Entry>>,
    globs: Vec<(Glob, usize)>,
}

#[derive(Debug)]
struct Entry {
    /// The key that has to stand above.
    parent: Option<String>,
    value: usize,
}

impl Glob {
    /// `None` with more than one `*`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.split_once('*') {
            Some((_, end)) if end.contains('*') => None,
            Some((start, end)) => Some(Self { start: start.to_owned(), end: Some(end.to_owned()) }),
            None => Some(Self { start: text.to_owned(), end: None }),
        }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        match &self.end {
            None => text == self.start,
            Some(end) => {
                text.len() > self.start.len() + end.len()
                    && text.starts_with(&self.start)
                    && text.ends_with(end.as_str())
            }
        }
    }
}

impl<T> Keyed<T> {
    /// `None` where a key is no key.
    pub(super) fn new(rules: Vec<(Vec<String>, T)>) -> Option<Self> {
        let mut keyed = Self { values: Vec::new(), exact: HashMap::new(), globs: Vec::new() };
        for (value, (keys, form)) in rules.into_iter().enumerate() {
            keyed.values.push(form);
            for key in keys {
                if key.contains('*') {
                    keyed.globs.push((Glob::parse(&key)?, value));
                    continue;
                }
                let (parent, key) = match key.split_once('.') {
                    Some((parent, key)) => (Some(parent.to_owned()), key.to_owned()),
                    None => (None, key),
                };
                keyed.exact.entry(key).or_default().push(Entry { parent, value });
            }
        }
        Some(keyed)
    }

    /// The values for a key, in the order in which they were given.
    pub(super) fn of<'a>(
        &'a self,
        parent: &'a str,
        key: &'a str,
    ) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let exact = self.exact.get(key).map(Vec::as_slice).unwrap_or_default();
        let named = exact
            .iter()
            .filter(move |entry| entry.parent.as_deref().is_none_or(|above| above == parent))
            .map(|entry| entry.value);
        let matched = self.globs.iter().filter(move |(glob, _)| glob.matches(key)).map(|(_, value)| *value);
        named.chain(matched).map(|value| &self.values[value])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_something() {
        let glob = |text| Glob::parse(text).unwrap();
        assert!(glob("*_id").matches("run_id"));
        assert!(!glob("*_id").matches("_id"));
        assert!(glob("x-ratelimit-*").matches("x-ratelimit-reset"));
        assert!(glob("a*z").matches("abz") && !glob("a*z").matches("az"));
        assert!(glob("id").matches("id") && !glob("id").matches("ids"));
        assert_eq!(Glob::parse("*a*"), None);
    }

    #[test]
    fn a_key_may_ask_for_the_one_above_it() {
        let rules = vec![(vec!["call.id".to_owned()], 1), (vec!["*d".to_owned(), "name".to_owned()], 2)];
        let keyed = Keyed::new(rules).unwrap();
        let of = |parent, key| keyed.of(parent, key).copied().collect::<Vec<_>>();
        assert_eq!(of("call", "id"), [1, 2]);
        assert_eq!(of("other", "id"), [2]);
        assert_eq!(of("", "name"), [2]);
        assert_eq!(of("", "x"), [0; 0]);
    }
}
