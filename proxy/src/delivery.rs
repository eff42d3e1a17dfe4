//! Whether a played reply reached the client.

use std::{sync::Arc, time::Duration};

use cassettes::{Delivery, Ticket};
use exchange::{Message, Outcome, Peer, Piece, Provenance};
use matchers::{Difference, Policy};

use crate::{call_in_hand::CallInHand, deck::Deck, session::Why};

/// Holds an exchange's ticket while it is delivered. Dropped early, it says that the delivery broke off.
pub(crate) struct DeliveryGuard {
    ticket: Option<Ticket>,
    /// Where the ticket is from.
    deck: Arc<Deck>,
    call: CallInHand,
    exchange: u32,
}

impl DeliveryGuard {
    pub(crate) fn new(deck: Arc<Deck>, ticket: Ticket, call: CallInHand, exchange: u32) -> Self {
        Self { ticket: Some(ticket), deck, call, exchange }
    }

    /// What counts when this exchange is compared.
    pub(crate) fn policy(&self) -> &Policy {
        self.deck.policy()
    }

    /// What a client said, as it is compared with the recording.
    pub(crate) fn scrubbed(&self, piece: &Piece) -> Piece {
        let message = Message { from: Peer::Client, after: Duration::ZERO, piece: piece.clone() };
        self.deck.scrubbed_message(&message).into_inner().piece
    }

    /// The client is being given this.
    pub(crate) fn playing(&mut self, outcome: Outcome) {
        self.call.answered(Provenance::Cassette, Some(self.exchange), outcome);
    }

    /// A WebSocket client said something that the recorded one did not: nothing more is played.
    pub(crate) fn contradicted(&mut self, differences: Vec<Difference>) {
        self.settle(Delivery::Broken);
        self.call.missed(Why::Message { exchange: self.exchange, differences });
    }

    pub(crate) fn delivered(&mut self) {
        self.settle(Delivery::Whole);
    }

    fn settle(&mut self, delivery: Delivery) {
        if let Some(ticket) = self.ticket.take() {
            self.deck.settle(ticket, delivery);
            if delivery == Delivery::Whole {
                self.call.session().note_played();
            }
        }
    }
}

impl Drop for DeliveryGuard {
    fn drop(&mut self) {
        self.settle(Delivery::Broken);
    }
}
