//! The look-up alone: what the player takes to decide on a request that has arrived, in nanoseconds.

use std::{hint, sync::Arc, time::Instant};

use cassettes::{Decision, Delivery, Index, Pace, Player, Scrubbed};
use exchange::Request;

use super::{
    corpus,
    statistics::{Samples, Shuffler},
};

/// Nanoseconds for `decide` and `settle`.
#[derive(Debug)]
pub(crate) struct LookUps {
    /// Ten requests over and over: what they touch stays in the caches.
    pub(crate) same: f64,
    /// Every exchange once, in random order: a large cassette does not fit into the caches.
    pub(crate) scattered: f64,
}

pub(crate) fn measure(index: &Arc<Index>) -> LookUps {
    LookUps { same: same(index), scattered: scattered(index) }
}

fn same(index: &Arc<Index>) -> f64 {
    let mut player = Player::new(Arc::clone(index), Pace::Instant);
    let step = index.len() / 10;
    let places: Vec<usize> = (0..10).map(|place| place * step).collect();
    let runs = (0..RUNS).map(|_| {
        let passes = (0..BATCHES).map(|_| batch(&mut player, &places));
        Samples::new(passes).median()
    });
    Samples::new(runs).median()
}

fn scattered(index: &Arc<Index>) -> f64 {
    let mut shuffler = Shuffler::new();
    let mut batches = Vec::new();
    while batches.len() < BATCHES {
        let mut player = Player::new(Arc::clone(index), Pace::Instant);
        let order = shuffler.order(index.len());
        batches.extend(order.chunks(10).map(|places| batch(&mut player, places)));
    }
    Samples::new(batches).median()
}

/// The mean over a few requests, which are made just before, as if they had come off the wire.
fn batch(player: &mut Player, places: &[usize]) -> f64 {
    let requests: Vec<Scrubbed<Request>> = places.iter().map(|&place| corpus::chat_asked(place)).collect();
    let began = Instant::now();
    for (request, place) in requests.iter().zip(places) {
        let Decision::Play { ticket, exchange, plan } = player.decide(1, request) else {
            panic!("exchange {} is on the cassette", place + 1);
        };
        assert_eq!(exchange as usize, place + 1);
        hint::black_box(plan);
        player.settle(ticket, Delivery::Whole);
    }
    began.elapsed().as_nanos() as f64 / places.len() as f64
}

const BATCHES: usize = 2_000;
const RUNS: usize = 5;
