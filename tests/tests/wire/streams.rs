//! Streams go through frame by frame while they are recorded, and come back in the same pieces.

use std::{
    io::Write,
    sync::mpsc,
    time::{Duration, Instant},
};

use super::{
    gate::{Gate, Lab},
    raw::Raw,
    scripted::{Scripted, read_head},
};

#[test]
fn an_event_reaches_the_client_before_the_next_one_exists() {
    let (got_first, wait_for_client) = mpsc::channel();
    let wait_for_client = std::sync::Mutex::new(wait_for_client);
    let upstream = Scripted::start(move |mut stream| {
        read_head(&stream);
        stream.write_all(HEAD.as_bytes()).unwrap();
        stream.write_all(&chunked("data: one\n\n")).unwrap();
        // Without a client that has the first event there is no second.
        wait_for_client.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        stream.write_all(&chunked("data: two\n\n")).unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let lab = Lab::new().map("stream.test:80", upstream.addr);
    let both = lab.both(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get("stream.test", "http://stream.test/", "");
        assert_eq!(raw.head().unwrap().header("content-type"), Some("text/event-stream"));
        let first = raw.chunk().unwrap();
        got_first.send(()).unwrap();
        let pieces = [first, raw.chunk().unwrap(), raw.chunk().unwrap()];
        raw.trailers().unwrap();
        pieces
    });
    assert_eq!(both.recorded, [Some(b"data: one\n\n".to_vec()), Some(b"data: two\n\n".to_vec()), None]);
    assert_eq!(both.replayed, both.recorded);
}

#[test]
fn a_stream_comes_back_in_its_pieces_and_by_default_without_its_waits() {
    let mut lab = Lab::new();
    let act = |gate: &Gate| pieces(gate, "/slow-sse?events=3&gap=700");
    let (recorded, took) = lab.record(act);
    assert_eq!(recorded.len(), 3, "{recorded:?}");
    assert!(took[2] >= Duration::from_millis(1300), "{took:?}");
    let ((replayed, took), outcome) = lab.replay(act);
    outcome.exits(0);
    assert_eq!(replayed, recorded);
    assert!(took[2] < Duration::from_millis(700), "{took:?}");
}

#[test]
fn the_recorded_pace_keeps_the_waits() {
    let mut lab = Lab::new().replay_with(&["--pace", "recorded"]);
    let act = |gate: &Gate| pieces(gate, "/slow-sse?events=3&gap=400");
    let (recorded, _) = lab.record(act);
    let ((replayed, took), outcome) = lab.replay(act);
    outcome.exits(0);
    assert_eq!(replayed, recorded);
    for pair in took.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap >= Duration::from_millis(340) && gap < Duration::from_millis(1500), "{took:?}");
    }
}

/// The chunks of a stream, and when each came.
fn pieces(gate: &Gate, path: &str) -> (Vec<String>, Vec<Duration>) {
    let mut raw = Raw::https(gate, "faults.test");
    raw.get("faults.test", path, "");
    raw.head().unwrap();
    let start = Instant::now();
    let (mut pieces, mut times) = (Vec::new(), Vec::new());
    while let Some(chunk) = raw.chunk().unwrap() {
        pieces.push(String::from_utf8(chunk).unwrap());
        times.push(start.elapsed());
    }
    (pieces, times)
}

fn chunked(data: &str) -> Vec<u8> {
    format!("{:x}\r\n{data}\r\n", data.len()).into_bytes()
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const PATIENCE: Duration = Duration::from_secs(10);
