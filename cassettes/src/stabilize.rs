//! Ids and times that servers make up, replaced by ordinals of the same shape.
//!
//! Two recordings of one program then say the same, and a replay gives the same ids every time. What a value is
//! replaced by depends on the order in which the exchanges say them and on nothing else: no clock, no hash. Where they
//! stand is told by the catalogue; from there each change is carried to every other place where the value stands.

mod carry;
mod dictionary;
mod form;
mod names;
mod places;
mod stamp;

use std::collections::{HashMap, HashSet};

use exchange::{Exchange, Header, Message, Peer, Piece, Reply, Request, Response};
use matchers::{
    Catalog, Provider,
    catalog::{TimeClass, Undated},
};

use crate::{
    edits::{Edit, apply, apply_to_body, edit_message},
    scrub::Scrubbed,
};
use carry::{Carrier, Change, fitted};
use form::{Id, Kind};
pub(crate) use names::{Names, Renaming};
use places::{Part, Place, What};
use stamp::{Stamp, a_day_after};

/// Gives the exchanges of one recording, in the order of their requests, stable ids and times. The numbers go on
/// behind those of `old`, the exchanges that stay in front of them.
pub fn stabilize(exchanges: Vec<Scrubbed<Exchange>>, old: &[Scrubbed<Exchange>]) -> Vec<Scrubbed<Exchange>> {
    let plan = {
        let mut reading = Reading::default();
        for exchange in old {
            reading.keep(exchange);
        }
        for (place, exchange) in exchanges.iter().enumerate() {
            reading.read(place, exchange);
        }
        reading.plan(&exchanges)
    };
    let carrier = Carrier::new(plan.changes);
    let mut edits = plan.edits;
    let changed = |(place, exchange): (usize, Scrubbed<Exchange>)| {
        let mine = edits.remove(&place).unwrap_or_default();
        exchange.map(|exchange| carrier.carry(place, edited(exchange, &mine)))
    };
    exchanges.into_iter().enumerate().map(changed).collect()
}

/// The times at the catalogue's places of a reply, in order.
pub(crate) fn times_of(exchange: &Exchange) -> Vec<&str> {
    let mut times = Vec::new();
    each_time(exchange, &mut |place| times.push(place.text));
    times
}

/// The exchange with other times at these places.
pub(crate) fn with_times(exchange: Exchange, times: &[&str]) -> Exchange {
    let mut times = times.iter();
    let mut edits = Vec::new();
    each_time(&exchange, &mut |place| {
        if let Some(time) = times.next().filter(|time| **time != place.text) {
            edits.push((place.part, Edit::new(place.span, time.as_bytes().to_vec())));
        }
    });
    edited(exchange, &edits)
}

/// The exchange with one and the same text for all times at the catalogue's places.
pub(crate) fn without_times(exchange: Exchange) -> Exchange {
    let count = times_of(&exchange).len();
    with_times(exchange, &vec!["0"; count])
}

fn each_time<'a>(exchange: &'a Exchange, show: &mut dyn FnMut(Place<'a>)) {
    if let Some(provider) = Catalog::builtin().provider_of(exchange) {
        places::visit(exchange, provider, &mut |place| {
            if matches!(place.what, What::Time { .. }) && Stamp::read(place.text).is_some() {
                show(place);
            }
        });
    }
}

/// What was said where.
#[derive(Default)]
struct Reading<'a> {
    /// In the order in which they were first said.
    ids: Vec<Said<'a>>,
    known: HashMap<&'a str, usize>,
    /// The highest number of each kind that is in use.
    taken: HashMap<Kind, u64>,
    times: Vec<Told<'a>>,
    /// Times that a client chose.
    echoed: HashSet<&'a str>,
    /// The earliest clock of any server.
    clock: Option<i64>,
    /// The latest time in what stays.
    latest: Option<i64>,
}

struct Said<'a> {
    text: &'a str,
    /// `None`: it stays as it is.
    id: Option<Id>,
    since: (usize, Part),
}

struct Told<'a> {
    at: (usize, Part),
    span: std::ops::Range<usize>,
    text: &'a str,
    stamp: Stamp,
    owner: Option<&'a str>,
    key: &'a str,
    class: TimeClass,
    /// Whether it counts as made for the recording where no server told its clock.
    undated: Undated,
}

/// What is to be done.
struct Plan {
    changes: Vec<Change>,
    /// Times that are other than what their text is elsewhere.
    edits: HashMap<usize, Vec<(Part, Edit<'static>)>>,
}

impl<'a> Reading<'a> {
    /// What an exchange that stays uses up.
    fn keep(&mut self, exchange: &'a Exchange) {
        let Some(provider) = Catalog::builtin().provider_of(exchange) else {
            return;
        };
        places::visit(exchange, provider, &mut |place| match place.what {
            What::Time { .. } => {
                let seconds = Stamp::read(place.text).map(|stamp| stamp.seconds);
                self.latest = self.latest.max(seconds);
            }
            What::Id { .. } => {
                if let Some(id) = read_id(&place) {
                    self.take(&id, place.text);
                }
            }
        });
    }

    fn read(&mut self, number: usize, exchange: &'a Exchange) {
        let Some(provider) = Catalog::builtin().provider_of(exchange) else {
            return;
        };
        if let Some(clock) = clock(exchange) {
            self.clock = Some(self.clock.map_or(clock, |earliest| earliest.min(clock)));
        }
        let undated = undated(provider, exchange);
        let mut echoes: HashMap<(&str, &str), bool> = HashMap::new();
        places::visit(exchange, provider, &mut |place| {
            let at = (number, place.part);
            match place.what {
                What::Id { .. } => self.id(&place, at),
                What::Time { owner, key, class } => {
                    let Place { span, text, .. } = place;
                    let Some(stamp) = Stamp::read(text) else { return };
                    if *echoes.entry((key, text)).or_insert_with(|| is_echo(exchange, key, text)) {
                        self.echoed.insert(text);
                    } else {
                        self.times.push(Told { at, span, text, stamp, owner, key, class, undated });
                    }
                }
            }
        });
    }

    fn id(&mut self, place: &Place<'a>, since: (usize, Part)) {
        if self.known.contains_key(place.text) {
            return;
        }
        let Some(id) = read_id(place) else { return };
        let id = (!self.take(&id, place.text)).then_some(id);
        self.known.insert(place.text, self.ids.len());
        self.ids.push(Said { text: place.text, id, since });
    }

    /// Whether the id was made here, so that its number is in use.
    fn take(&mut self, id: &Id, text: &str) -> bool {
        let number = id.number_of(text);
        let kind = match id {
            Id::Of(kind) => kind,
            Id::OldNode(_) => &Kind::Number,
        };
        if let Some(number) = number {
            let highest = self.taken.entry(kind.clone()).or_default();
            *highest = number.max(*highest);
        }
        number.is_some()
    }

    fn plan(self, exchanges: &'a [Scrubbed<Exchange>]) -> Plan {
        let mut changes = self.id_changes(exchanges);
        let edits = self.time_changes(&mut changes);
        Plan { changes, edits }
    }

    fn id_changes(&self, exchanges: &'a [Scrubbed<Exchange>]) -> Vec<Change> {
        let from_client = self.said_by_clients(exchanges);
        let mut ordinals = Ordinals(self.taken.clone());
        // The numbers in nodes are those of the things that they name, whichever of the two is said first.
        let mut new_numbers: HashMap<&str, String> = HashMap::new();
        let mut changes = Vec::new();
        for (place, said) in self.ids.iter().enumerate() {
            let Some(id) = said.id.as_ref().filter(|_| !from_client.contains(&place)) else {
                continue;
            };
            let new = match id {
                Id::Of(Kind::Number) => {
                    new_numbers.entry(said.text).or_insert_with(|| ordinals.next(&Kind::Number)).clone()
                }
                Id::Of(kind) => ordinals.next(kind),
                Id::OldNode(node) => {
                    let number = self.known.get(node.number.as_str());
                    if number.is_some_and(|number| from_client.contains(number)) {
                        continue;
                    }
                    let new = new_numbers.entry(&node.number).or_insert_with(|| ordinals.next(&Kind::Number));
                    node.with_number(new)
                }
            };
            // No client said it before a server did, so wherever it stands it is this id.
            changes.push(Change { old: said.text.to_owned(), new, since: (0, Part::Request) });
        }
        changes
    }

    /// Ids that a client said before any server did, by their places: it will say them again on replay.
    fn said_by_clients(&self, exchanges: &[Scrubbed<Exchange>]) -> HashSet<usize> {
        let (places, changes): (Vec<usize>, Vec<Change>) = self
            .ids
            .iter()
            .enumerate()
            .filter(|(_, said)| said.id.is_some())
            .map(|(place, said)| {
                let (old, since) = (said.text.to_owned(), said.since);
                (place, Change { old, new: String::new(), since })
            })
            .unzip();
        let carrier = Carrier::new(changes);
        let mut from_client = HashSet::new();
        for (number, exchange) in exchanges.iter().enumerate() {
            said_by_client(exchange, &mut |part, text| {
                carrier.hits(text, |hit, _| {
                    if (number, part) < self.ids[places[hit]].since {
                        from_client.insert(places[hit]);
                    }
                });
            });
        }
        from_client
    }

    fn time_changes(&self, changes: &mut Vec<Change>) -> HashMap<usize, Vec<(Part, Edit<'static>)>> {
        let is_new = |told: &Told<'_>| match self.clock {
            Some(clock) => told.stamp.seconds >= clock - SLACK,
            None => told.undated == Undated::New,
        };
        // What one exchange made is as new where another fetched it.
        let new: HashSet<&str> =
            self.times.iter().filter(|told| is_new(told)).map(|told| told.text).collect();
        let is_new = |told: &Told<'_>| new.contains(told.text);
        let newest_kept = self.times.iter().filter(|told| !is_new(told)).map(|told| told.stamp.seconds).max();
        let base = newest_kept.map_or(BASE, |newest| a_day_after(newest).max(BASE));
        let used = self.latest.map_or(0, |latest| (latest - base).max(0));
        let mut seconds: HashMap<(Owner<'_>, &str, &str), i64> = HashMap::new();
        let mut first: HashMap<&str, Option<i64>> = HashMap::new();
        let mut edits: HashMap<usize, Vec<(Part, Edit<'static>)>> = HashMap::new();
        for told in self.times.iter().filter(|told| is_new(told)) {
            let owner = told.owner.map_or(Owner::Exchange(told.at.0), Owner::Id);
            let key = if told.class == TimeClass::Apart { told.key } else { "" };
            let next = base + used + 1 + i64::try_from(seconds.len()).unwrap_or(i64::MAX / 2);
            let second = *seconds.entry((owner, key, told.text)).or_insert(next);
            let elsewhere = *first.entry(told.text).or_insert_with(|| {
                if self.echoed.contains(told.text) {
                    return None;
                }
                let new = told.stamp.at(second);
                changes.push(Change { old: told.text.to_owned(), new, since: told.at });
                Some(second)
            });
            if Some(second) != elsewhere {
                let edit = Edit::new(told.span.clone(), told.stamp.at(second).into_bytes());
                edits.entry(told.at.0).or_default().push((told.at.1, edit));
            }
        }
        edits
    }
}

/// The last number of each kind. What is there keeps its number, and new things come after old ones.
struct Ordinals(HashMap<Kind, u64>);

impl Ordinals {
    fn next(&mut self, kind: &Kind) -> String {
        let last = self.0.entry(kind.clone()).or_default();
        *last += 1;
        kind.make(*last)
    }
}

/// What a time belongs to.
#[derive(PartialEq, Eq, Hash)]
enum Owner<'a> {
    Id(&'a str),
    Exchange(usize),
}

fn read_id(place: &Place<'_>) -> Option<Id> {
    place.what.forms().into_iter().find_map(|form| Id::read(form, place.text))
}

/// The server's clock when it answered.
fn clock(exchange: &Exchange) -> Option<i64> {
    Some(Stamp::read(exchange.reply.response()?.headers.text("date")?)?.seconds)
}

fn undated(provider: &Provider, exchange: &Exchange) -> Undated {
    match exchange.request.method.as_str() {
        "GET" | "HEAD" => Undated::Kept,
        _ => provider.undated,
    }
}

/// Whether the client itself named this time under this key, so that it is not the server's.
fn is_echo(exchange: &Exchange, key: &str, text: &str) -> bool {
    let Some(body) = exchange.request.body.bytes() else {
        return false;
    };
    memchr::memmem::find(body, text.as_bytes()).is_some()
        && memchr::memmem::find(body, format!("\"{key}\"").as_bytes()).is_some()
}

/// All that the client says in an exchange.
fn said_by_client(exchange: &Exchange, hear: &mut dyn FnMut(Part, &[u8])) {
    let Request { url, headers, body, trailers, .. } = &exchange.request;
    hear(Part::Request, decoded(&url.target()).as_slice());
    headers.iter().chain(trailers).for_each(|header| hear(Part::Request, header.value()));
    body.bytes().into_iter().for_each(|bytes| hear(Part::Request, bytes));
    let messages = exchange.reply.response().map_or(&[][..], |response| &response.messages);
    for (place, message) in messages.iter().enumerate().filter(|(_, m)| m.from == Peer::Client) {
        match &message.piece {
            Piece::Text(text) => hear(Part::Message(place), text.as_bytes()),
            Piece::Binary(bytes) => hear(Part::Message(place), bytes),
            Piece::Close(_) => {}
        }
    }
}

fn decoded(target: &str) -> Vec<u8> {
    crate::text::View::percent_only(target.as_bytes(), 0..target.len()).text().to_vec()
}

/// The exchange with these edits, which stand in each part in order.
fn edited(exchange: Exchange, edits: &[(Part, Edit<'static>)]) -> Exchange {
    let Exchange { reply: Reply::Response(response), .. } = &exchange else {
        return exchange;
    };
    if edits.is_empty() {
        return exchange;
    }
    let of = |part: Part| -> Vec<Edit<'static>> {
        edits.iter().filter(|(of, _)| *of == part).map(|(_, edit)| edit.clone()).collect()
    };
    let body = apply_to_body(&response.body, &of(Part::Body));
    let header = |(place, header): (usize, &Header)| match of(Part::Header(place)).as_slice() {
        [] => header.clone(),
        edits => Header::new(header.name(), apply(header.value(), edits)).unwrap_or_else(|_| header.clone()),
    };
    let headers = response.headers.iter().enumerate().map(header).collect();
    let message = |(place, message): (usize, &Message)| edit_message(message, |_| of(Part::Message(place)));
    let messages = response.messages.iter().enumerate().map(message).collect();
    let headers = fitted(headers, &response.body, &body);
    let response = Response { headers, body, messages, ..response.clone() };
    Exchange { reply: Reply::Response(response), ..exchange }
}

/// How far the clocks of two servers may be apart.
const SLACK: i64 = 600;
/// 2024-01-01T00:00:00Z
const BASE: i64 = 1_704_067_200;

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
