//! An answer that did not reach the client whole leaves its exchange for the retry.

use std::net::Shutdown;

use super::{
    gate::{Gate, Lab},
    raw::Raw,
};

#[test]
fn a_client_that_leaves_amid_a_large_body_gets_it_whole_on_its_retry() {
    retried("/big?bytes=16777216&length=known", 16 << 20);
}

#[test]
fn a_client_that_leaves_amid_a_large_chunked_body_gets_it_whole_on_its_retry() {
    retried("/big?bytes=16777216", 16 << 20);
}

#[test]
fn a_client_that_leaves_amid_a_stream_gets_it_whole_on_its_retry() {
    let mut lab = Lab::new().replay_with(&["--pace", "recorded"]);
    let path = "/slow-sse?events=4&gap=300";
    let events = |gate: &Gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", path, "");
        raw.answer().unwrap().text().to_owned()
    };
    let recorded = lab.record(events);
    assert!(recorded.contains("id: 4\n"), "{recorded}");
    let (replayed, outcome) = lab.replay(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", path, "");
        raw.head().unwrap();
        assert!(raw.chunk().unwrap().unwrap().starts_with(b"id: 1\n"));
        drop(raw);
        gate.wait_for("/slow-sse");
        events(gate)
    });
    assert_eq!(replayed, recorded);
    outcome.exits(0);
}

/// Leaves after the first part of the body, and comes back for all of it.
fn retried(path: &str, size: usize) {
    let mut lab = Lab::new();
    let whole = |gate: &Gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", path, "");
        raw.answer().unwrap().body.len()
    };
    assert_eq!(lab.record(whole), size);
    let (replayed, outcome) = lab.replay(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", path, "");
        raw.head().unwrap();
        raw.exactly(1000).unwrap();
        raw.io.sock.shutdown(Shutdown::Both).unwrap();
        drop(raw);
        // The proxy says so when the call has ended.
        gate.wait_for("/big");
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", path, "");
        let answer = raw.answer().unwrap();
        (answer.status(), answer.body.len())
    });
    assert_eq!(replayed, (200, size));
    outcome.exits(0);
}
