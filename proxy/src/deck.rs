//! A cassette while a session plays it. A session may be given another; what was taken from the first is given back to
//! the first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cassettes::{Decision, Delivery, Index, Pace, Player, Scrubbed, Scrubber, Ticket};
use exchange::Request;
use matchers::Policy;

#[derive(Debug)]
pub(crate) struct Deck {
    index: Arc<Index>,
    player: Mutex<Player>,
}

/// An exchange that no call of a session got whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplayed {
    pub exchange: u32,
    pub method: String,
    pub url: String,
}

impl Deck {
    pub(crate) fn new(player: Player) -> Self {
        Self { index: Arc::clone(player.index()), player: Mutex::new(player) }
    }

    /// For a live request that is only compared: it needs no stable numbers.
    pub(crate) fn scrubber(&self) -> Scrubber {
        Scrubber::keeping(&self.policy().headers)
    }

    pub(crate) fn decide(&self, call: u32, request: &Scrubbed<Request>) -> Decision {
        let live = self.index.read(request);
        self.player().choose(call, request, &live)
    }

    pub(crate) fn settle(&self, ticket: Ticket, delivery: Delivery) {
        self.player().settle(ticket, delivery);
    }

    pub(crate) fn policy(&self) -> &Policy {
        self.index.policy()
    }

    pub(crate) fn pace(&self) -> Pace {
        self.player().pace()
    }

    pub(crate) fn exchanges(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn unplayed(&self) -> Vec<u32> {
        self.player().unplayed()
    }

    /// The same with what each of them asked for. They were scrubbed when they were recorded.
    pub(crate) fn unplayed_requests(&self) -> Vec<Unplayed> {
        // Both in the order of the cassette.
        let mut ids = self.unplayed().into_iter().peekable();
        let left = self.index.exchanges().iter().filter(|e| ids.next_if_eq(&e.id).is_some());
        left.map(|e| Unplayed {
            exchange: e.id,
            method: e.request.method.clone(),
            url: e.request.url.to_string(),
        })
        .collect()
    }

    fn player(&self) -> MutexGuard<'_, Player> {
        // A panic elsewhere does not make the player wrong: it changes in one step.
        self.player.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
