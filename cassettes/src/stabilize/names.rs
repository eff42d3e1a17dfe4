//! Ids that are stable already, and other names for them.

use std::collections::{HashMap, HashSet};

use exchange::{Exchange, Peer, Piece};
use matchers::Catalog;

use super::{
    carry::{Carrier, Change},
    form::{Id, Kind},
    places::{self, Part, What},
    read_id, said_by_client,
};
use crate::scrub::Scrubbed;

/// The stable ids of some exchanges, in the order in which they were first said.
pub(crate) struct Names {
    list: Vec<(String, Id)>,
    /// Takes them out.
    carrier: Carrier,
}

/// Texts, and what takes their place wherever they stand by themselves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renaming {
    changes: Vec<Change>,
    known: HashSet<String>,
}

impl Names {
    pub(crate) fn of(exchanges: &[Scrubbed<Exchange>]) -> Self {
        let mut list: Vec<(String, Id)> = Vec::new();
        let mut known: HashSet<&str> = HashSet::new();
        for exchange in exchanges {
            let Some(provider) = Catalog::builtin().provider_of(exchange) else { continue };
            places::visit(exchange, provider, &mut |place| {
                if !matches!(place.what, What::Id { .. }) || known.contains(place.text) {
                    return;
                }
                if let Some(id) = read_id(&place).filter(|id| id.number_of(place.text).is_some()) {
                    known.insert(place.text);
                    list.push((place.text.to_owned(), id));
                }
            });
        }
        let blind = list.iter().map(|(text, id)| change(text, &id.nameless()));
        Self { carrier: Carrier::new(blind.collect()), list }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|(text, _)| text.as_str())
    }

    /// The exchange with one and the same text for all ids of a kind.
    pub(crate) fn taken_out_of(&self, exchange: Exchange) -> Exchange {
        self.carrier.carry(0, exchange)
    }

    /// The names in an exchange, in the order in which they stand there.
    pub(crate) fn in_exchange(&self, exchange: &Exchange) -> Vec<&str> {
        let mut names = Vec::new();
        let mut hear = |text: &[u8]| self.carrier.hits(text, |hit, _| names.push(self.list[hit].0.as_str()));
        said_by_client(exchange, &mut |_, text| hear(text));
        if let Some(response) = exchange.reply.response() {
            response.headers.iter().for_each(|header| hear(header.value()));
            response.body.bytes().into_iter().for_each(|bytes| hear(bytes));
            for message in response.messages.iter().filter(|message| message.from == Peer::Server) {
                match &message.piece {
                    Piece::Text(text) => hear(text.as_bytes()),
                    Piece::Binary(bytes) => hear(bytes),
                    Piece::Close(_) => {}
                }
            }
        }
        names
    }

    /// Gives names that are nobody's to those without an old one, where their own are in use.
    pub(crate) fn give_others(
        &self,
        old_of: &HashMap<String, String>,
        in_use: &HashSet<&str>,
        renaming: &mut Renaming,
    ) {
        let is_new = |text: &str| !old_of.contains_key(text);
        let mut last: HashMap<&Kind, u64> = HashMap::new();
        for (text, id) in &self.list {
            let used = if is_new(text) { Some(text) } else { old_of.get(text) };
            if let (Id::Of(kind), Some(used)) = (id, used) {
                let last = last.entry(kind).or_default();
                *last = kind.number_of(used).unwrap_or(0).max(*last);
            }
        }
        for text in in_use {
            for (kind, last) in &mut last {
                *last = kind.number_of(text).unwrap_or(0).max(*last);
            }
        }
        let mut numbers: HashMap<&str, String> = HashMap::new();
        for (text, id) in self.list.iter().filter(|(text, _)| is_new(text) && in_use.contains(text.as_str()))
        {
            if let Id::Of(kind) = id {
                let last = last.entry(kind).or_default();
                *last += 1;
                let other = kind.make(*last);
                renaming.add(text, &other);
                numbers.insert(text, other);
            }
        }
        for (text, id) in self.list.iter().filter(|(text, _)| is_new(text)) {
            if let Id::OldNode(node) = id {
                let number = old_of.get(&node.number).or_else(|| numbers.get(node.number.as_str()));
                number.into_iter().for_each(|number| renaming.add(text, &node.with_number(number)));
            }
        }
    }
}

impl Renaming {
    /// The first name that is given to a text stays.
    pub(crate) fn add(&mut self, text: &str, other: &str) {
        if text != other && self.known.insert(text.to_owned()) {
            self.changes.push(change(text, other));
        }
    }

    pub(crate) fn rename(&self, exchange: Exchange) -> Exchange {
        Carrier::new(self.changes.clone()).carry(0, exchange)
    }

    /// The exchanges with other names in those at some places.
    pub(crate) fn rename_where(
        self,
        exchanges: Vec<Scrubbed<Exchange>>,
        at: impl Fn(usize) -> bool,
    ) -> Vec<Scrubbed<Exchange>> {
        if self.changes.is_empty() {
            return exchanges;
        }
        let carrier = Carrier::new(self.changes);
        let renamed = |(place, exchange): (usize, Scrubbed<Exchange>)| match at(place) {
            true => exchange.map(|exchange| carrier.carry(place, exchange)),
            false => exchange,
        };
        exchanges.into_iter().enumerate().map(renamed).collect()
    }
}

fn change(old: &str, new: &str) -> Change {
    Change { old: old.to_owned(), new: new.to_owned(), since: (0, Part::Request) }
}
