//! What a program is started with: the variables of its caller, all of them or the harmless ones, and dummies where a
//! recording used secrets.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
};

use cassettes::{
    Redaction, Scrubber,
    scrub::{
        dummy::dummy_of_variable,
        rules::{EnvGlob, Rules},
    },
};
use suite::{
    Environment,
    allowlist::{Sieve, can_be_dummy},
};

use crate::{
    config::Config,
    secrets,
    style::{self, tame},
};

/// What a child takes over from us.
#[derive(Debug, Default)]
pub(crate) enum Inherits {
    /// A shell of a person's own, or a program that talks to real hosts.
    #[default]
    Everything,
    /// A replayed program: what the allowlist lets pass, and what was asked for.
    Allowed { keep: Vec<EnvGlob> },
}

/// The variables that a recording used, and what a project says of variables.
#[derive(Debug, Default)]
pub(crate) struct KnownVariables {
    /// Names on the cassette, each with the placeholder of its value.
    used: BTreeMap<String, String>,
    rules: Rules,
    /// Knows the secrets of our own environment.
    scrubber: Scrubber,
}

/// A child's environment, and what it does not have.
#[derive(Debug, Default)]
pub(crate) struct ChildEnvironment {
    pub(crate) environment: Environment,
    withheld: BTreeSet<String>,
}

impl KnownVariables {
    pub(crate) fn new(redaction: Option<&Redaction>, config: &Config) -> Self {
        let used = redaction.map(|redaction| redaction.env.clone()).unwrap_or_default();
        // Where programs look for their way, a cassette has no say.
        let used = used.into_iter().filter(|(name, _)| can_be_dummy(name)).collect();
        Self { used, rules: config.rules.clone(), scrubber: secrets::scrubber(config, &[]) }
    }

    /// A dummy for each variable that the recording used. One that the project keeps stays as the caller has it.
    pub(crate) fn dummies(&self) -> impl Iterator<Item = (&str, String)> {
        self.dummies_beside(|name| self.rules.keeps_env(name))
    }

    fn dummies_beside(&self, is_kept: impl Fn(&str) -> bool) -> impl Iterator<Item = (&str, String)> {
        let stays = move |name: &str| is_kept(name) && env::var_os(name).is_some();
        let replaced = self.used.iter().filter(move |(name, _)| !stays(name));
        replaced.map(|(name, placeholder)| (name.as_str(), dummy_of_variable(name, placeholder)))
    }

    /// Starts an environment; what leads through the proxy is still to be added.
    pub(crate) fn environment(&self, inherits: &Inherits) -> ChildEnvironment {
        let keep: &[EnvGlob] = match inherits {
            Inherits::Everything => &[],
            Inherits::Allowed { keep } => keep,
        };
        let is_kept = |name: &str| self.rules.keeps_env(name) || keep.iter().any(|glob| glob.matches(name));
        let mut given = match inherits {
            Inherits::Everything => ChildEnvironment::default(),
            Inherits::Allowed { .. } => self.allowed(&is_kept),
        };
        for (name, dummy) in self.dummies_beside(is_kept) {
            given.environment.set(name, dummy);
        }
        given
    }

    fn allowed(&self, is_kept: &dyn Fn(&str) -> bool) -> ChildEnvironment {
        let sieve = Sieve {
            is_kept,
            is_secret: &|name| self.used.contains_key(name) || self.rules.env_names().any(|env| env == name),
            looks_secret: &|value| self.scrubber.looks_secret(value),
        };
        let sifted = sieve.sift(env::vars_os());
        if !sifted.exposed.is_empty() {
            let names = in_short(&sifted.exposed);
            eprintln!(
                "{}the program gets what may be a secret, as it was asked for: {names}",
                style::warning()
            );
        }
        ChildEnvironment { environment: Environment::only(sifted.passed), withheld: sifted.withheld }
    }
}

impl ChildEnvironment {
    /// What to try when the child failed: it may have needed what it was not given. Names only.
    pub(crate) fn help(&self) -> Option<String> {
        let replaced: BTreeSet<&str> = self.environment.changes().map(|(name, _)| name).collect();
        let missing: BTreeSet<String> =
            self.withheld.iter().filter(|name| !replaced.contains(name.as_str())).cloned().collect();
        let names = in_short(&missing);
        match missing.len() {
            0 => None,
            1 => Some(format!(
                "1 environment variable was not passed on: {names} (--keep-env NAME passes it on)"
            )),
            count => Some(format!(
                "{count} environment variables were not passed on: {names} (--keep-env NAME passes one on)"
            )),
        }
    }
}

/// The first few names, and that there are more.
fn in_short(names: &BTreeSet<String>) -> String {
    let shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| tame(name)).collect();
    let more = if names.len() > MOST_NAMES { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

const MOST_NAMES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn withholding(names: &[&str]) -> ChildEnvironment {
        ChildEnvironment {
            environment: Environment::new(),
            withheld: names.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn the_help_names_what_was_not_passed_on_and_not_replaced() {
        let mut some = withholding(&["B", "A", "HTTPS_PROXY"]);
        some.environment.set("HTTPS_PROXY", "x");
        assert_eq!(
            some.help().unwrap(),
            "2 environment variables were not passed on: A, B (--keep-env NAME passes one on)"
        );
        assert_eq!(
            withholding(&["A"]).help().unwrap(),
            "1 environment variable was not passed on: A (--keep-env NAME passes it on)"
        );
        assert_eq!(withholding(&[]).help(), None);
    }

    #[test]
    fn the_help_is_short_and_tame() {
        let names = ["1", "2", "3", "4", "5", "6", "7\x1b", "8", "9"];
        assert_eq!(
            withholding(&names).help().unwrap(),
            "9 environment variables were not passed on: 1, 2, 3, 4, 5, 6, 7\u{fffd}, 8, … (--keep-env NAME passes one on)"
        );
    }

    #[test]
    fn a_cassette_says_which_dummies_there_are_and_not_where_programs_find_code() {
        let mut redaction = Redaction::new();
        for name in ["OPENAI_API_KEY", "LD_PRELOAD", "PATH"] {
            redaction.env.insert(name.to_owned(), "{{redacted:openai_key:1}}".to_owned());
        }
        let known = KnownVariables::new(Some(&redaction), &Config::default());
        let dummies: Vec<_> = known.dummies().collect();
        assert_eq!(dummies, [("OPENAI_API_KEY", cassettes::scrub::dummy::dummy("openai_key", 1))]);
    }
}
