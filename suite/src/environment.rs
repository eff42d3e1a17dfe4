//! The environment of a child process: the caller's, changed on purpose and in one place.

use std::{collections::BTreeMap, ffi::OsString};

use certs::Variables;

/// Changes to what a child inherits.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Environment {
    changes: BTreeMap<String, Option<OsString>>,
}

impl Environment {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.changes.insert(name.to_owned(), Some(value.into()));
    }

    pub fn unset(&mut self, name: &str) {
        self.changes.insert(name.to_owned(), None);
    }

    /// Takes over what sends a child through the proxy.
    pub fn apply(&mut self, variables: Variables) {
        for name in variables.unset {
            self.unset(name);
        }
        for (name, value) in variables.set {
            self.set(&name, value);
        }
    }

    /// What is set or taken away, by name.
    pub fn changes(&self) -> impl Iterator<Item = (&str, Option<&OsString>)> {
        self.changes.iter().map(|(name, value)| (name.as_str(), value.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_change_of_a_name_replaces_an_earlier_one() {
        let mut environment = Environment::new();
        environment.set("A", "1");
        environment.set("B", "2");
        environment.apply(Variables { set: vec![("A".into(), "3".into())], unset: vec!["B"] });
        let changes: Vec<_> = environment.changes().collect();
        assert_eq!(changes, [("A", Some(&OsString::from("3"))), ("B", None)]);
    }
}
