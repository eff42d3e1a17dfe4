//! A client that leaves in the middle of a stream, and one that later stays where that one left.

use std::time::{Duration, Instant};

use super::{
    gate::{Gate, Lab},
    raw::{Ending, Raw, Tls},
};

#[test]
fn a_client_that_reads_on_where_the_recorded_one_left_loses_its_connection() {
    let mut lab = Lab::new();
    let first = lab.record(|gate| first_event(gate).1);
    let ((replayed, rest, took), outcome) = lab.replay(|gate| {
        let (mut raw, event) = first_event(gate);
        let begun = Instant::now();
        (event, raw.rest(), begun.elapsed())
    });
    outcome.exits(0);
    assert_eq!(replayed, first);
    assert_eq!(rest, (Vec::new(), Ending::Closed));
    assert!(took > Duration::from_millis(1500) && took < Duration::from_secs(6), "{took:?}");
}

#[test]
fn a_client_that_leaves_where_the_recorded_one_left_has_played_the_exchange() {
    let mut lab = Lab::new();
    let first = lab.record(|gate| first_event(gate).1);
    assert!(lab.cassette().contains("ends: client_left"), "{}", lab.cassette());
    let (replayed, outcome) = lab.replay(|gate| first_event(gate).1);
    let outcome = outcome.exits(0);
    assert_eq!(replayed, first);
    let played = "wiretape replayed 1 call from cassettes/wire.yaml: 1 exchange, 0 misses, 0 unplayed (";
    assert!(outcome.stderr().contains(played), "{outcome}");
}

/// The first event of a stream that then stalls, and the connection: dropping it is leaving.
fn first_event(gate: &Gate) -> (Raw<Tls>, String) {
    let mut raw = Raw::https(gate, "faults.test");
    raw.get("faults.test", "/stall", "");
    raw.head().unwrap();
    let event = String::from_utf8(raw.chunk().unwrap().unwrap()).unwrap();
    assert!(event.starts_with("id: 1\ndata: "), "{event:?}");
    (raw, event)
}
