//! The player: which recorded exchange answers a request.
//!
//! Finding it is a hash look-up, so its cost does not grow with the cassette; patterns are only asked to explain a
//! miss. The player decides and never does: it gives a [`Plan`] and is told later how the delivery went.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use exchange::{Content, Exchange, Peer, Request, Segment};
use matchers::{Canonical, Difference, NearMiss, OnRepeat, Pattern, Policy, Shape, Shapes, Slot};

use crate::{
    disguise::disguised,
    index::{Index, Route},
    plan::{Pace, Plan},
    rebind::{Bindings, drawn, rebind},
    scrub::Scrubbed,
};

/// One session's way through a cassette.
#[derive(Debug)]
pub struct Player {
    index: Arc<Index>,
    states: Vec<State>,
    /// Whether a call ever got the exchange whole.
    delivered: Vec<bool>,
    /// Where in each queue the first exchange may be that is still fresh.
    cursors: HashMap<Route, usize>,
    bindings: Bindings,
    pace: Pace,
}

#[derive(Debug)]
pub enum Decision {
    Play { ticket: Ticket, exchange: u32, plan: Plan },
    Miss(Miss),
}

/// The right to deliver one exchange once. Must be given back with [`Player::settle`].
#[derive(Debug)]
#[must_use = "an exchange whose ticket is not settled stays taken"]
pub struct Ticket {
    place: usize,
    /// The way it was found; the way back for a retry.
    route: Route,
    before: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The client got all of it.
    Whole,
    /// It broke off: the exchange is fresh for the client's next attempt.
    Broken,
}

/// Why nothing was played.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Miss {
    /// Exchanges match, but calls played them all: `(exchange, call)`.
    Exhausted(Vec<(u32, u32)>),
    /// No exchange matches; these come closest.
    Unknown(Vec<NearMiss>),
    /// The exchange matches, but its reply was too large to keep.
    NotKept { exchange: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Fresh,
    Taken { call: u32 },
    Played { call: u32 },
}

impl Player {
    pub fn new(index: Arc<Index>, pace: Pace) -> Self {
        let (states, delivered) = (vec![State::Fresh; index.len()], vec![false; index.len()]);
        Self { index, states, delivered, cursors: HashMap::new(), bindings: Bindings::default(), pace }
    }

    pub fn policy(&self) -> &Policy {
        self.index.policy()
    }

    pub fn pace(&self) -> Pace {
        self.pace
    }

    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Chooses the exchange for a request. `call` is the caller's number for it, named in explanations.
    pub fn decide(&mut self, call: u32, request: &Scrubbed<Request>) -> Decision {
        let live = self.index.read(request);
        self.choose(call, request, &live)
    }

    /// As [`Player::decide`], for a request whose canonical form was made beforehand, where nobody waits for it.
    pub fn choose(&mut self, call: u32, request: &Scrubbed<Request>, live: &Canonical) -> Decision {
        let index = Arc::clone(&self.index);
        let exact = Route::Exact(live.exact);
        // A request that the cassette knows to the letter is never answered from one that only looks like it.
        let route = match index.queue(exact).is_empty() && index.policy().shapes == Shapes::Loose {
            true => Route::Loose(live.loose),
            false => exact,
        };
        let by_size = self.by_size(request);
        let queue = Some(index.queue(route)).filter(|queue| !queue.is_empty()).unwrap_or(&by_size);
        let found =
            self.first_fresh(route, queue, &live.slots).or_else(|| self.repeat(route, queue, &live.slots));
        let Some(place) = found else {
            return Decision::Miss(self.explain(queue, request));
        };
        let exchange = index.exchange(place);
        if exchange.reply.response().is_some_and(|r| r.body.bytes().is_none()) {
            return Decision::Miss(Miss::NotKept { exchange: exchange.id });
        }
        let mut bound = self.bindings.bind(&index.canonical(place).slots, &live.slots);
        bound.extend(drawn(&exchange.request, request));
        let mut reply = Cow::Borrowed(&exchange.reply);
        if !bound.is_empty() {
            reply = Cow::Owned(rebind(&reply, &bound));
        }
        if index.is_disguised(place) {
            reply = Cow::Owned(disguised(&reply));
        }
        let plan = Plan::of(&reply, request, self.pace);
        let Some(plan) = plan else {
            return Decision::Miss(Miss::NotKept { exchange: exchange.id });
        };
        let before = std::mem::replace(&mut self.states[place], State::Taken { call });
        Decision::Play { ticket: Ticket { place, route, before }, exchange: exchange.id, plan }
    }

    /// Says how the delivery went.
    pub fn settle(&mut self, ticket: Ticket, delivery: Delivery) {
        let Ticket { place, route, before } = ticket;
        match (delivery, self.states[place]) {
            (Delivery::Whole, State::Taken { call }) => {
                self.states[place] = State::Played { call };
                self.delivered[place] = true;
            }
            (Delivery::Whole, _) => self.delivered[place] = true,
            (Delivery::Broken, _) => {
                self.states[place] = before;
                self.cursors.remove(&route);
            }
        }
    }

    /// Exchanges that no call got whole.
    pub fn unplayed(&self) -> Vec<u32> {
        let left = self.delivered.iter().enumerate().filter(|(_, whole)| !**whole);
        left.map(|(place, _)| self.index.exchange(place).id).collect()
    }

    pub fn exchanges(&self) -> usize {
        self.states.len()
    }

    fn first_fresh(&mut self, route: Route, queue: &[u32], live: &[Slot]) -> Option<usize> {
        let start = self.cursors.get(&route).copied().unwrap_or(0);
        let mut skipped_any = false;
        for (offset, &place) in queue.iter().enumerate().skip(start) {
            let place = place as usize;
            if self.states[place] != State::Fresh {
                continue;
            }
            if matches!(route, Route::Loose(_)) && !self.may_stand_in(place, live) {
                skipped_any = true;
                continue;
            }
            if !skipped_any {
                self.cursors.insert(route, offset);
            }
            return Some(place);
        }
        None
    }

    /// Exchanges that only a comparison can find: a body that was too large to keep has no canonical form.
    fn by_size(&self, request: &Request) -> Vec<u32> {
        let is_omitted = matches!(request.body.content, Content::Omitted { .. });
        if !is_omitted && !self.index.has_omitted() {
            return Vec::new();
        }
        let pattern = |exchange: &Exchange| {
            Pattern::new(&exchange.request, self.index.policy()).check(request).is_match()
        };
        let candidates = (0u32..).zip(self.index.exchanges());
        let same_size = candidates.filter(|(_, e)| e.request.body.len() == request.body.len());
        same_size.filter(|(_, e)| pattern(e)).map(|(place, _)| place).collect()
    }

    /// Whether a live request may be answered from an exchange whose UUIDs and times are other than its own.
    fn may_stand_in(&self, place: usize, live: &[Slot]) -> bool {
        let recorded = &self.index.canonical(place).slots;
        let made_up = |(l, r): (&Slot, &Slot)| {
            // What a reply brought into the recording the client must have from there, and what stands elsewhere in
            // the recording is another thing: neither is a value that the client made up.
            l.value == r.value
                || r.shape != Shape::Uuid
                || (self.index.maker_of(&r.value) != Some(Peer::Server)
                    && self.index.maker_of(&l.value).is_none())
        };
        self.bindings.allow(recorded, live) && live.iter().zip(recorded).all(made_up)
    }

    /// An exchange that was played already, where the policy has it played again.
    fn repeat(&mut self, route: Route, queue: &[u32], live: &[Slot]) -> Option<usize> {
        let fits = |place: &usize| !matches!(route, Route::Loose(_)) || self.may_stand_in(*place, live);
        let played: Vec<usize> = queue.iter().map(|&place| place as usize).filter(fits).collect();
        match self.index.policy().on_repeat {
            OnRepeat::Miss => None,
            OnRepeat::Last => played.last().copied(),
            OnRepeat::Cycle => {
                for &place in &played {
                    if matches!(self.states[place], State::Played { .. }) {
                        self.states[place] = State::Fresh;
                    }
                }
                self.cursors.remove(&route);
                played.into_iter().find(|&place| self.states[place] == State::Fresh)
            }
        }
    }

    fn explain(&self, queue: &[u32], request: &Scrubbed<Request>) -> Miss {
        let played: Vec<(u32, u32)> = queue
            .iter()
            .filter_map(|&place| match self.states[place as usize] {
                State::Taken { call } | State::Played { call } => {
                    Some((self.index.exchange(place as usize).id, call))
                }
                State::Fresh => None,
            })
            .collect();
        if !played.is_empty() {
            return Miss::Exhausted(played);
        }
        let candidates = self.index.exchanges().iter().map(|e| (e.id, &e.request));
        let mut near = matchers::nearest(candidates, request, self.index.policy(), NEAR_MISSES);
        // Next to a request for the same thing, one for another thing explains nothing.
        for elsewhere in [&PLACE[..], &HOST[..]] {
            if near.iter().any(|miss| !differs_in(miss, elsewhere)) {
                near.retain(|miss| !differs_in(miss, elsewhere));
            }
        }
        Miss::Unknown(near)
    }
}

/// Whether a candidate differs in one of these parts of a request.
fn differs_in(miss: &NearMiss, parts: &[&str]) -> bool {
    let part = |d: &Difference| matches!(d.path.0.first(), Some(Segment::Key(root)) if parts.contains(&root.as_str()));
    miss.differences.iter().any(part)
}

const NEAR_MISSES: usize = 3;
const PLACE: [&str; 5] = ["method", "scheme", "host", "port", "path"];
const HOST: [&str; 2] = ["host", "port"];

#[cfg(test)]
mod tests;
