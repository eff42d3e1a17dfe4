//! What breaks below HTTP breaks in the same way on replay.

use std::{error::Error, time::Duration};

use http::Request;
use http_body_util::{BodyExt, Empty};

use super::{
    gate::{Both, Gate, Lab},
    h2,
    raw::{Ending, Raw},
    scripted::{Scripted, read_head},
};

#[test]
fn a_reset_instead_of_an_answer_is_a_reset_again() {
    let both = Lab::new().both(|gate| outcome_of(gate, "faults.test", "/reset"));
    assert_eq!(both.recorded, (Vec::new(), Ending::Reset));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("fault: reset");
}

#[test]
fn a_reset_in_the_clear_is_a_reset_again() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get("faults.test", "http://faults.test/reset", "");
        raw.rest()
    });
    assert_eq!(both.recorded, (Vec::new(), Ending::Reset));
    assert_eq!(both.replayed, both.recorded);
}

#[test]
fn a_close_instead_of_an_answer_is_a_close_again() {
    let upstream = Scripted::start(|stream| drop(read_head(&stream)));
    let both = Lab::new().map("close.test:80", upstream.addr).both(|gate| {
        let mut raw = Raw::tunnel(gate, "close.test:80");
        raw.get("close.test", "/", "");
        raw.rest()
    });
    assert_eq!(both.recorded, (Vec::new(), Ending::Closed));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("fault: closed");
}

#[test]
fn half_a_body_keeps_its_promise_of_length_and_ends_where_it_ended() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", "/half", "");
        let head = raw.head().unwrap();
        (head.header("content-length").map(str::to_owned), raw.rest())
    });
    let half = (Some("1000".to_owned()), (b"half of ".to_vec(), Ending::Closed));
    assert_eq!(both.recorded, half);
    assert_eq!(both.replayed, half);
    both.cassette_says("ends: closed");
}

#[test]
fn a_stream_that_is_reset_gives_its_events_first() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", "/half-sse?events=2", "");
        raw.head().unwrap();
        let events = [raw.chunk().unwrap().unwrap(), raw.chunk().unwrap().unwrap()];
        (events.map(|event| String::from_utf8(event).unwrap()), raw.chunk())
    });
    assert!(both.recorded.0[1].starts_with("id: 2\ndata: "), "{both:?}");
    assert_eq!(both.recorded.1, Err(Ending::Reset));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("ends: reset");
}

#[test]
fn a_refused_connection_is_a_reset_for_the_client() {
    let both = Lab::new().both(|gate| outcome_of(gate, "refused.test", "/"));
    assert_same_break(&both, Ending::Reset);
    both.cassette_says("fault: refused");
}

#[test]
fn a_certificate_that_is_not_trusted_breaks_the_connection() {
    let both = Lab::new().both(|gate| outcome_of(gate, "bad-cert.test", "/"));
    assert_same_break(&both, Ending::Reset);
    both.cassette_says("fault: tls");
}

#[test]
fn a_name_that_does_not_resolve_breaks_the_connection() {
    let both = Lab::new().both(|gate| outcome_of(gate, "nowhere.invalid", "/"));
    assert_same_break(&both, Ending::Reset);
    both.cassette_says("fault: dns");
}

#[test]
fn an_answer_that_never_comes_does_not_come_again() {
    let both = Lab::new().both(|gate| gives_up(gate, "/stall?before=head").rest());
    assert_eq!(both.recorded, (Vec::new(), Ending::Silent));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("fault: stalled");
}

#[test]
fn calls_that_are_open_when_the_run_ends_are_kept() {
    let lab = Lab::new();
    let gate = lab.recorder();
    let mut one = Raw::https(&gate, "faults.test");
    one.get("faults.test", "/stall?before=head", "");
    h2::speak(&gate, "faults.test", async |mut sender| {
        let request = Request::get("https://faults.test/stall?before=head&h2");
        let request = request.body(Empty::new().boxed_unsync()).unwrap();
        let waiting = tokio::spawn(sender.send_request(request));
        while lab.upstream().seen().len() < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        gate.terminate();
        gate.wait_for("recorded 2 exchanges");
        waiting.abort();
    });
    let cassette = lab.cassette();
    assert_eq!(cassette.matches("fault: stalled").count(), 2, "{cassette}");
}

#[test]
fn a_stream_that_stalls_gives_what_came_and_stalls_again() {
    let both = Lab::new().both(|gate| {
        let mut raw = gives_up(gate, "/stall");
        raw.head().unwrap();
        let first = String::from_utf8(raw.chunk().unwrap().unwrap()).unwrap();
        (first, raw.rest())
    });
    assert!(both.recorded.0.starts_with("id: 1\ndata: "), "{both:?}");
    assert_eq!(both.recorded.1, (Vec::new(), Ending::Silent));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("ends: client_left");
}

#[test]
fn a_fault_over_http2_breaks_its_stream_and_leaves_the_others_alone() {
    let both = Lab::new().both(|gate| {
        h2::speak(gate, "faults.test", async |mut sender| {
            let mut answers = Vec::new();
            for path in ["/repeat", "/reset", "/repeat"] {
                let request = Request::get(format!("https://faults.test{path}"));
                let request = request.body(Empty::new().boxed_unsync()).unwrap();
                answers.push(match sender.send_request(request).await {
                    Ok(response) => {
                        let body = response.into_body().collect().await.unwrap().to_bytes();
                        String::from_utf8(body.to_vec()).unwrap()
                    }
                    Err(error) => error.source().unwrap().to_string(),
                });
            }
            answers
        })
    });
    let reset = "stream error received: unexpected internal error encountered";
    assert_eq!(both.recorded, ["call 1", reset, "call 2"]);
    assert_eq!(both.replayed, both.recorded);
}

#[track_caller]
fn assert_same_break(both: &Both<(Vec<u8>, Ending)>, ending: Ending) {
    assert_eq!(both.recorded, (Vec::new(), ending));
    assert_eq!(both.replayed, both.recorded);
}

/// All that comes back for a request until the connection ends.
fn outcome_of(gate: &Gate, host: &str, path: &str) -> (Vec<u8>, Ending) {
    let mut raw = Raw::https(gate, host);
    raw.get(host, path, "");
    raw.rest()
}

/// A client that waits 300 ms for something to come.
fn gives_up(gate: &Gate, path: &str) -> Raw<super::raw::Tls> {
    let mut raw = Raw::https(gate, "faults.test");
    raw.get("faults.test", path, "");
    let patience = Some(Duration::from_millis(300));
    raw.io.sock.set_read_timeout(patience).unwrap();
    raw
}
