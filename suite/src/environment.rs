//! The environment of a child process: the caller's or a part of it, changed on purpose and in one place.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
};

use certs::Variables;

/// What a child starts with, and the changes to it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Environment {
    base: Base,
    changes: BTreeMap<String, Option<OsString>>,
}

/// What a child would have without any change.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub enum Base {
    /// All that its caller has.
    #[default]
    Inherited,
    /// This and nothing else.
    Only(BTreeMap<OsString, OsString>),
}

impl Environment {
    pub fn new() -> Self {
        Self::default()
    }

    /// An environment that has nothing but these variables.
    pub fn only(variables: BTreeMap<OsString, OsString>) -> Self {
        Self { base: Base::Only(variables), changes: BTreeMap::new() }
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

    /// What the child starts with.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// What the child would have under this name without the changes.
    pub fn before(&self, name: impl AsRef<OsStr>) -> Option<OsString> {
        match &self.base {
            Base::Inherited => env::var_os(name),
            Base::Only(variables) => variables.get(name.as_ref()).cloned(),
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

    #[test]
    fn an_environment_of_its_own_knows_nothing_of_the_callers() {
        let environment = Environment::only([("A".into(), "1".into())].into());
        assert_eq!(environment.before("A"), Some("1".into()));
        assert_eq!(environment.before("PATH"), None);
        assert_eq!(Environment::new().before("PATH"), env::var_os("PATH"));
    }
}
