//! Which new exchange says what an old one said, whatever its ids are called and its times are.
//!
//! Ids are counted, so a call more at the start of a program would rename all that come after it. Where a new exchange
//! differs from an old one in nothing but names, it takes the old ones, and so does everything else in the run.

use std::collections::{HashMap, HashSet};

use exchange::Exchange;
use matchers::{Key, Policy, Shape, Slot};

use super::{
    boundary::{boundary, with_boundary},
    same_content, timeless,
};
use crate::{
    scrub::Scrubbed,
    stabilize::{Names, Renaming, times_of, with_times},
};

/// New exchanges, each with its twin among the old ones, if it has one.
#[derive(Debug)]
pub(super) struct Matched {
    /// In the names of the old ones.
    pub(super) exchanges: Vec<Scrubbed<Exchange>>,
    pub(super) twins: Vec<Option<usize>>,
}

impl Matched {
    /// Nothing was looked for.
    pub(super) fn none(exchanges: Vec<Scrubbed<Exchange>>) -> Self {
        Self { twins: vec![None; exchanges.len()], exchanges }
    }
}

/// Finds the twins; each old exchange is one once. Names that are in use among `kept` are given to nothing else.
pub(super) fn match_up(
    old: &[Scrubbed<Exchange>],
    mut new: Vec<Scrubbed<Exchange>>,
    policy: &Policy,
    kept: Kept,
) -> Matched {
    let mut search = Search {
        old,
        policy,
        old_names: Names::of(old),
        new_names: Names::of(&new),
        twins: vec![None; new.len()],
        pairs: Pairs::default(),
        values: Renaming::default(),
        own: HashMap::new(),
    };
    search.word_for_word(&new);
    let mut rest = search.rest();
    for _ in 0..ROUNDS {
        if rest.is_empty() || search.twins.iter().all(Option::is_some) {
            break;
        }
        // What changed in one exchange may stand in others, in a prompt for example.
        new = std::mem::take(&mut search.values).rename_where(new, |place| search.twins[place].is_none());
        if !search.but_for_names(&new, &mut rest) {
            break;
        }
    }
    search.finish(new, kept)
}

/// Which names are in use already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Those of all old exchanges.
    Old,
    /// Those of twins.
    Twins,
}

struct Search<'a> {
    old: &'a [Scrubbed<Exchange>],
    policy: &'a Policy,
    old_names: Names,
    new_names: Names,
    twins: Vec<Option<usize>>,
    pairs: Pairs,
    /// Times and values of the client in new exchanges, and what the old ones had in their place.
    values: Renaming,
    /// Those that hold for one exchange.
    own: HashMap<usize, Renaming>,
}

/// New names and the old ones that they stand for.
#[derive(Default)]
struct Pairs {
    old_of: HashMap<String, String>,
    new_of: HashMap<String, String>,
}

/// An exchange with every name taken out.
struct Blind {
    exchange: Exchange,
    slots: Vec<Slot>,
    key: Key,
}

/// Old exchanges that are nobody's twin yet, by what their requests ask for; the first is the last of each list.
type Rest = HashMap<Key, Vec<(usize, Blind)>>;

impl Pairs {
    /// Whether all of these can hold beside what holds already; if so they do from now on.
    fn agree(&mut self, pairs: &[(&str, &str)]) -> bool {
        let mut here = Self::default();
        let is_like = |known: Option<&String>, name: &str| known.is_none_or(|known| known == name);
        for (new, old) in pairs {
            let fits = [&*self, &here]
                .iter()
                .all(|p| is_like(p.old_of.get(*new), old) && is_like(p.new_of.get(*old), new));
            if !fits {
                return false;
            }
            here.insert(new, old);
        }
        here.old_of.iter().for_each(|(new, old)| self.insert(new, old));
        true
    }

    fn insert(&mut self, new: &str, old: &str) {
        self.old_of.insert(new.to_owned(), old.to_owned());
        self.new_of.insert(old.to_owned(), new.to_owned());
    }
}

impl Search<'_> {
    /// The usual case: nothing changed, and nothing has another name.
    fn word_for_word(&mut self, new: &[Scrubbed<Exchange>]) {
        let key = |exchange: &Exchange| matchers::canonical(&exchange.request, self.policy).exact;
        let mut unclaimed: HashMap<Key, Vec<usize>> = HashMap::new();
        for (place, exchange) in self.old.iter().enumerate().rev() {
            unclaimed.entry(key(exchange)).or_default().push(place);
        }
        for (place, exchange) in new.iter().enumerate() {
            let Some(places) = unclaimed.get_mut(&key(exchange)) else { continue };
            let is_twin = |&twin: &usize| same_content(&self.old[twin], exchange);
            let Some(hit) = places.iter().rposition(is_twin) else { continue };
            let names = self.new_names.in_exchange(exchange);
            let pairs: Vec<_> = names.iter().map(|name| (*name, *name)).collect();
            if self.pairs.agree(&pairs) {
                let twin = places.remove(hit);
                self.twins[place] = Some(twin);
                self.learn_times(exchange, twin);
            }
        }
    }

    fn rest(&self) -> Rest {
        let mut rest = Rest::new();
        if self.twins.iter().all(Option::is_some) {
            return rest;
        }
        let claimed: HashSet<usize> = self.twins.iter().flatten().copied().collect();
        for place in (0..self.old.len()).rev().filter(|place| !claimed.contains(place)) {
            let blind = self.blind(&self.old_names, &self.old[place]);
            rest.entry(blind.key).or_default().push((place, blind));
        }
        rest
    }

    /// Exchanges that differ from an old one in names and in values of the client. Whether there was any.
    fn but_for_names(&mut self, new: &[Scrubbed<Exchange>], rest: &mut Rest) -> bool {
        let mut found = false;
        for (place, exchange) in new.iter().enumerate() {
            if self.twins[place].is_some() {
                continue;
            }
            let blind = self.blind(&self.new_names, exchange);
            let Some(places) = rest.get_mut(&blind.key) else { continue };
            let hit = places.iter().enumerate().rev().find_map(|(hit, (twin, old))| {
                self.difference(exchange, &blind, *twin, old).map(|values| (hit, values))
            });
            if let Some((hit, values)) = hit {
                let (twin, _) = places.remove(hit);
                self.twins[place] = Some(twin);
                self.learn_times(exchange, twin);
                self.own.insert(place, values);
                found = true;
            }
        }
        found
    }

    /// The values of the client that alone tell the two apart; `None` where something else does.
    fn difference(&mut self, new: &Exchange, blind: &Blind, twin: usize, old: &Blind) -> Option<Renaming> {
        let mut values = Renaming::default();
        let made_up: Vec<(&Slot, &Slot)> =
            blind.slots.iter().zip(&old.slots).filter(|(new, old)| new.value != old.value).collect();
        made_up.iter().for_each(|(new, old)| values.add(&new.value, &old.value));
        let is_same = match made_up.is_empty() {
            true => blind.exchange == old.exchange,
            false => timeless(&values.rename(blind.exchange.clone())) == old.exchange,
        };
        let new_names = self.new_names.in_exchange(new);
        let old_names = self.old_names.in_exchange(&self.old[twin]);
        if !is_same || new_names.len() != old_names.len() {
            return None;
        }
        let uuids = || made_up.iter().filter(|(new, _)| new.shape == Shape::Uuid);
        let pairs = uuids().map(|(new, old)| (new.value.as_str(), old.value.as_str()));
        let pairs: Vec<_> = new_names.into_iter().zip(old_names).chain(pairs).collect();
        if !self.pairs.agree(&pairs) {
            return None;
        }
        uuids().for_each(|(new, old)| self.values.add(&new.value, &old.value));
        Some(values)
    }

    fn blind(&self, names: &Names, exchange: &Exchange) -> Blind {
        let blind = with_boundary(names.taken_out_of(exchange.clone()), "boundary");
        let matchers::Canonical { loose: key, slots, .. } = matchers::canonical(&blind.request, self.policy);
        Blind { exchange: timeless(&blind), slots, key }
    }

    fn learn_times(&mut self, new: &Exchange, twin: usize) {
        for (new, old) in times_of(new).iter().zip(&times_of(&self.old[twin])) {
            self.values.add(new, old);
        }
    }

    fn finish(self, new: Vec<Scrubbed<Exchange>>, kept: Kept) -> Matched {
        let mut names = Renaming::default();
        self.pairs.old_of.iter().for_each(|(new, old)| names.add(new, old));
        let in_use: HashSet<&str> = match kept {
            Kept::Old => self.old_names.texts().collect(),
            Kept::Twins => self.pairs.new_of.keys().map(String::as_str).collect(),
        };
        self.new_names.give_others(&self.pairs.old_of, &in_use, &mut names);
        let as_before = |(place, exchange): (usize, Scrubbed<Exchange>)| match self.twins[place] {
            Some(twin) => {
                let times = times_of(&self.old[twin]);
                let own = self.own.get(&place);
                exchange.map(|exchange| {
                    let exchange = own.map_or_else(|| exchange.clone(), |own| own.rename(exchange.clone()));
                    let exchange = match boundary(&self.old[twin].request) {
                        Some(boundary) => with_boundary(exchange, &boundary),
                        None => exchange,
                    };
                    with_times(exchange, &times)
                })
            }
            None => exchange,
        };
        let exchanges = names.rename_where(new, |_| true).into_iter().enumerate().map(as_before).collect();
        Matched { exchanges, twins: self.twins }
    }
}

/// An exchange in a prompt, its answer in another: chains are short.
const ROUNDS: usize = 4;

#[cfg(test)]
mod tests;
