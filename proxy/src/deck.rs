//! A cassette while a session plays it. A session may be given another; what was taken from the first is given back to
//! the first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cassettes::{Decision, Delivery, Index, Pace, Player, Scrubbed, Scrubber, Ticket};
use exchange::{Message, Request};
use matchers::Policy;

#[derive(Debug)]
pub(crate) struct Deck {
    index: Arc<Index>,
    player: Mutex<Player>,
    /// Knows what stands in for the cassette's secrets.
    scrubber: Mutex<Scrubber>,
}

/// An exchange that no call of a session got whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplayed {
    pub exchange: u32,
    pub method: String,
    pub url: String,
}

impl Deck {
    /// `scrubber` knows what the session's environment holds.
    pub(crate) fn new(player: Player, scrubber: &Scrubber) -> Self {
        let index = Arc::clone(player.index());
        let known = index.stand_ins().iter().map(|s| (s.kind.as_str(), s.number, s.dummy.as_str()));
        let scrubber = scrubber.clone().and_keeping(&index.policy().headers).standing_in(known);
        Self { index, player: Mutex::new(player), scrubber: Mutex::new(scrubber) }
    }

    /// A live request as it is compared.
    pub(crate) fn scrubbed(&self, request: Request) -> Scrubbed<Request> {
        self.with_scrubber(|scrubber| scrubber.request(request))
    }

    /// What a live WebSocket client said, as it is compared.
    pub(crate) fn scrubbed_message(&self, message: &Message) -> Scrubbed<Message> {
        self.with_scrubber(|scrubber| scrubber.message(message))
    }

    /// Words for a person, without any secret that is known by now.
    pub(crate) fn scrubbed_words(&self, words: &str) -> String {
        self.with_scrubber(|scrubber| scrubber.words(words))
    }

    /// Scrubs without making others wait, and keeps what was learned for them.
    fn with_scrubber<T>(&self, scrub: impl FnOnce(&mut Scrubber) -> T) -> T {
        let lock = || self.scrubber.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scrubber = lock().clone();
        let known = scrubber.known();
        let scrubbed = scrub(&mut scrubber);
        if scrubber.known() > known {
            lock().learn_from(&scrubber, known);
        }
        scrubbed
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
