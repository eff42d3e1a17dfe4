//! Whether a played reply reached the client.

use cassettes::{Delivery, Ticket};

use crate::session::CallInHand;

/// Holds an exchange's ticket while it is delivered. Dropped early, it says that the delivery broke off.
pub(crate) struct DeliveryGuard {
    ticket: Option<Ticket>,
    call: CallInHand,
}

impl DeliveryGuard {
    pub(crate) fn new(ticket: Ticket, call: CallInHand) -> Self {
        Self { ticket: Some(ticket), call }
    }

    pub(crate) fn call(&mut self) -> &mut CallInHand {
        &mut self.call
    }

    pub(crate) fn delivered(&mut self) {
        self.settle(Delivery::Whole);
    }

    /// Gives the exchange back unplayed.
    pub(crate) fn broken(&mut self) {
        self.settle(Delivery::Broken);
    }

    fn settle(&mut self, delivery: Delivery) {
        if let Some(ticket) = self.ticket.take() {
            self.call.session().settle_ticket(ticket, delivery);
        }
    }
}

impl Drop for DeliveryGuard {
    fn drop(&mut self) {
        self.settle(Delivery::Broken);
    }
}
