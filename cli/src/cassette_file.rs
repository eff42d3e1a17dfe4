//! A cassette on disk while a run uses it: the lock, the journal, and what a killed run left behind.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use cassettes::{
    Cassette, Merge, Redaction, Scrubbed, Scrubber,
    format::RULESET,
    merge::merge,
    scrub::found_in,
    store::{self, Journal, Lock, Saved, StoreError},
};
use exchange::{Exchange, Reply};
use matchers::Policy;

use crate::{config::Config, exit::Failure, places, secrets, style};

/// A cassette that this process alone records on.
#[derive(Debug)]
pub(crate) struct CassetteFile {
    path: PathBuf,
    today: Today,
    _lock: Lock,
}

/// What a recording came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Exchanges on the cassette now.
    pub(crate) total: usize,
    /// Exchanges of this run.
    pub(crate) recorded: usize,
    /// Of those, the ones that were on the cassette already, word for word.
    pub(crate) unchanged: usize,
    pub(crate) saved: Saved,
}

/// What a journal holds.
struct Left {
    exchanges: Vec<Scrubbed<Exchange>>,
    /// The variables that the run had met, each with its placeholder.
    variables: BTreeMap<String, String>,
}

/// What holds for cassettes today, whatever held when they were recorded.
#[derive(Debug, Clone)]
pub(crate) struct Today {
    /// Knows what the environment holds and the project's own rules.
    scrubber: Scrubber,
    /// How requests are compared where a cassette says nothing of it.
    pub(crate) policy: Policy,
}

impl Today {
    pub(crate) fn of(config: &Config) -> Self {
        Self { scrubber: secrets::scrubber(config, &[]), policy: config.policy.clone() }
    }

    /// A scrubber that keeps what this policy compares.
    pub(crate) fn scrubber(&self, policy: &Policy) -> Scrubber {
        self.scrubber.clone().and_keeping(&policy.headers)
    }

    /// How the requests of a cassette are compared.
    fn policy_of<'a>(&'a self, own: Option<&'a Policy>) -> &'a Policy {
        own.unwrap_or(&self.policy)
    }

    /// Exchanges that were scrubbed by fewer rules or by somebody who knew less, scrubbed for a cassette with this
    /// policy. What is met late may stand early.
    fn rescrubbed(
        &self,
        exchanges: Vec<Scrubbed<Exchange>>,
        own: Option<&Policy>,
    ) -> Vec<Scrubbed<Exchange>> {
        let scrubber = self.scrubber(self.policy_of(own)).numbering_after(&exchanges);
        rescrubbed(scrubber, exchanges).0
    }
}

/// Loads a cassette for playing, after taking in what a killed recording left.
pub(crate) fn load(path: &Path, today: &Today) -> Result<Cassette, Failure> {
    let state = places::state_dir();
    // A folder that is not ours is not looked into: replaying needs nothing from it.
    let left = if state.exists() && places::secure_state_dir().is_ok() {
        Journal::orphans(path, &state)
    } else {
        Ok(Vec::new())
    };
    if !left.unwrap_or_default().is_empty() {
        // Another recorder may be at work: its journal is no orphan then, and the cassette is as it is.
        if let Ok(lock) = Lock::acquire(path, &state) {
            recover(path, &state, today)?;
            drop(lock);
        }
    }
    Ok(by_todays_rules(store::load(path)?, path, today))
}

/// A cassette that was scrubbed by fewer rules than there are today, or says nothing of it, is scrubbed again. The file
/// stays as it is until it is recorded again.
fn by_todays_rules(cassette: Cassette, path: &Path, today: &Today) -> Cassette {
    if cassette.redaction.as_ref().is_some_and(|redaction| redaction.ruleset >= RULESET) {
        return cassette;
    }
    let count = |exchange: &Scrubbed<Exchange>| found_in(exchange).len();
    let before: Vec<usize> = cassette.exchanges.iter().map(count).collect();
    let exchanges = today.rescrubbed(cassette.exchanges, cassette.policy.as_ref());
    // A header of which nothing is known is taken out too, and is no secret for that.
    let changed = exchanges.iter().zip(before).filter(|(exchange, before)| count(exchange) > *before).count();
    if changed > 0 {
        eprintln!(
            "{}{} holds secrets in {changed} exchange{}: they are taken out in memory, and stay in the file until it is \
             recorded again",
            style::warning(),
            style::shown(path),
            if changed == 1 { "" } else { "s" },
        );
        eprintln!("{}`wiretape scan {}` says where", style::help(), style::shown(path));
    }
    let env = cassette.redaction.map(|redaction| redaction.env).unwrap_or_default();
    Cassette { redaction: Some(Redaction { env, ..Redaction::new() }), exchanges, ..cassette }
}

/// Twice, where the first round met a secret that an exchange before it may hold.
fn rescrubbed(
    mut scrubber: Scrubber,
    exchanges: Vec<Scrubbed<Exchange>>,
) -> (Vec<Scrubbed<Exchange>>, Scrubber) {
    let first: Vec<_> = exchanges.into_iter().map(|e| (scrubber.rescrub(e), scrubber.known())).collect();
    let again = first.into_iter().map(|(exchange, known)| scrubber.again(exchange, known)).collect();
    (again, scrubber)
}

/// Loads a cassette that was named on the command line, to look at it.
pub(crate) fn look(path: &Path, today: &Today) -> Result<Cassette, Failure> {
    match load(path, today) {
        Err(Failure::Missing { message, .. }) => {
            Err(Failure::with_help(message, "check the path; `wiretape record` makes cassettes"))
        }
        other => other,
    }
}

impl CassetteFile {
    pub(crate) fn open(path: &Path, today: &Today) -> Result<Self, Failure> {
        places::secure_state_dir()?;
        let state = places::state_dir();
        let lock = Lock::acquire(path, &state)?;
        recover(path, &state, today)?;
        Ok(Self { path: path.to_owned(), today: today.clone(), _lock: lock })
    }

    pub(crate) fn journal(&self) -> Result<Journal, Failure> {
        Ok(Journal::create(&self.path, &places::state_dir())?)
    }

    /// What is on the cassette, or nothing if there is none yet.
    pub(crate) fn exchanges(&self) -> Result<Cassette, Failure> {
        Ok(existing(&self.path, &self.today)?)
    }

    /// Makes the journal's exchanges part of the cassette. On failure the journal stays, and so does the cassette.
    /// `scrubber` knows all of the run's secrets, where the journal was written by and by.
    pub(crate) fn finish(
        &self,
        journal: Journal,
        how: Merge,
        policy: &Policy,
        scrubber: Scrubber,
    ) -> Result<Kept, Failure> {
        let (new, scrubber) = rescrubbed(scrubber, in_order(journal.path())?.exchanges);
        let old = existing(&self.path, &self.today)?;
        let recorded = new.len();
        if new.is_empty() {
            journal.finish()?;
            return Ok(Kept { total: old.exchanges.len(), recorded, unchanged: 0, saved: Saved::Unchanged });
        }
        let all_failed = new.iter().all(|e| matches!(e.reply, Reply::Fault { .. }));
        if all_failed && !old.exchanges.is_empty() && how != Merge::Append {
            eprintln!(
                "{}no call got an answer, so {} stays as it was",
                style::warning(),
                style::shown(&self.path)
            );
            journal.finish()?;
            return Ok(Kept {
                total: old.exchanges.len(),
                recorded: 0,
                unchanged: 0,
                saved: Saved::Unchanged,
            });
        }
        let stay = matches!(how, Merge::Append | Merge::Recover) && !old.exchanges.is_empty();
        let mut merged = merge(old.exchanges, new, how, policy);
        let met = scrubber.variables_met().into_iter();
        let env = met.map(|(name, placeholder)| (name, merged.placeholder(&placeholder))).collect();
        let new = Redaction { env, ..Redaction::new() };
        let redaction = if stay { Redaction::joined(old.redaction, new) } else { Some(new) };
        let (total, unchanged) = (merged.exchanges.len(), merged.unchanged);
        let cassette = Cassette { redaction, policy: old.policy, exchanges: merged.exchanges };
        let saved = store::save(&self.path, &cassette).map_err(|error| kept_in_journal(error, &journal))?;
        journal.finish()?;
        Ok(Kept { total, recorded, unchanged, saved })
    }
}

/// Takes in what killed runs left behind. Called under the lock.
fn recover(path: &Path, state: &Path, today: &Today) -> Result<(), Failure> {
    Journal::sweep(path, state)?;
    for orphan in Journal::orphans(path, state)? {
        let Cassette { redaction, policy, exchanges } = existing(path, today)?;
        // What the run that was killed had learned is gone; the environment may still know it.
        let Left { exchanges: left, variables } = in_order(&orphan)?;
        let left = today.rescrubbed(left, policy.as_ref());
        let before = exchanges.len();
        let how = today.policy_of(policy.as_ref());
        let mut merged = merge(exchanges, left, Merge::Recover, how);
        let count = merged.exchanges.len() - before;
        if count > 0 {
            let env = variables.into_iter().map(|(name, text)| (name, merged.placeholder(&text))).collect();
            let redaction = Redaction::joined(redaction, Redaction { env, ..Redaction::new() });
            let exchanges = merged.exchanges;
            store::save(path, &Cassette { redaction, policy, exchanges })?;
            eprintln!(
                "{}took in {count} exchange{} that a killed recording left for {}",
                style::warning(),
                if count == 1 { "" } else { "s" },
                style::shown(path)
            );
        }
        Journal::discard(&orphan)?;
    }
    Ok(())
}

fn existing(path: &Path, today: &Today) -> Result<Cassette, StoreError> {
    match store::load(path).map(|cassette| by_todays_rules(cassette, path, today)) {
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Cassette { redaction: Some(Redaction::new()), policy: None, exchanges: Vec::new() })
        }
        other => other,
    }
}

/// A journal's exchanges in the order in which their requests came; they were written as they ended. One that cannot
/// be read is told and left out: it must not stand in the way of the others.
fn in_order(journal: &Path) -> Result<Left, StoreError> {
    let mut records = Vec::new();
    let mut journal = Journal::read(journal)?;
    for record in journal.by_ref() {
        match record {
            Ok(record) => records.push(record),
            Err(StoreError::Invalid { problem, .. }) => {
                eprintln!(
                    "{}an exchange could not be read back and is left out: {problem}",
                    style::warning()
                );
            }
            Err(other) => return Err(other),
        }
    }
    records.sort_by_key(|(seq, _)| *seq);
    let exchanges = records.into_iter().map(|(_, exchange)| exchange).collect();
    Ok(Left { exchanges, variables: journal.into_variables() })
}

fn kept_in_journal(error: StoreError, journal: &Journal) -> Failure {
    let place = style::shown(journal.path());
    Failure::Runtime(anyhow::Error::new(error).context(format!(
        "the cassette could not be written; what was recorded is safe in {place} and is taken in by the next run"
    )))
}
