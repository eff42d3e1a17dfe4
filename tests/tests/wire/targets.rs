//! Requests for a place that cannot be: refused, and no harm to those beside them.

use std::io::{Read, Write};

use wiretape_tests::traces::urls;

use super::{
    gate::{Gate, Lab},
    raw::Raw,
};

#[test]
fn a_port_that_is_none_is_a_bad_request_and_the_recording_goes_on() {
    let lab = Lab::new();
    lab.record(|gate| {
        for (number, bad) in [
            "GET http://127.0.0.1:0/ HTTP/1.1\r\nhost: 127.0.0.1:0\r\n\r\n",
            "GET http://h:65536/ HTTP/1.1\r\nhost: h:65536\r\n\r\n",
            "GET http://h:/ HTTP/1.1\r\nhost: h\r\n\r\n",
            "CONNECT h:65536 HTTP/1.1\r\nhost: h:65536\r\n\r\n",
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(status(&mut Raw::open(gate.addr), bad), 400, "{bad}");
            assert_eq!(good(gate, number), 200);
        }
    });
    assert_good_ones(&lab, 4);
}

#[test]
fn a_tunnel_to_no_port_is_a_bad_request_and_the_recording_goes_on() {
    let lab = Lab::new();
    lab.record(|gate| {
        let mut raw = Raw::open(gate.addr);
        assert_eq!(status(&mut raw, "CONNECT h:0 HTTP/1.1\r\nhost: h:0\r\n\r\n"), 400);
        assert_eq!(good(gate, 0), 200);
    });
    assert_good_ones(&lab, 1);
}

#[test]
fn a_tunnel_in_a_tunnel_is_a_bad_request_and_the_recording_goes_on() {
    let lab = Lab::new();
    let inner = "CONNECT faults.test:443 HTTP/1.1\r\nhost: faults.test:443\r\n\r\n";
    lab.record(|gate| {
        assert_eq!(status(&mut Raw::https(gate, "faults.test"), inner), 400);
        assert_eq!(good(gate, 0), 200);
        assert_eq!(status(&mut Raw::tunnel(gate, "faults.test:80"), inner), 400);
        assert_eq!(good(gate, 1), 200);
    });
    assert_good_ones(&lab, 2);
}

fn status<S: Read + Write>(raw: &mut Raw<S>, request: &str) -> u16 {
    raw.send(request);
    raw.head().unwrap().status()
}

fn good(gate: &Gate, number: usize) -> u16 {
    let mut raw = Raw::https(gate, "faults.test");
    raw.get("faults.test", &format!("/repeat?n={number}"), "");
    raw.answer().unwrap().status()
}

#[track_caller]
fn assert_good_ones(lab: &Lab, count: usize) {
    let expected: Vec<String> =
        (0..count).map(|number| format!("https://faults.test/repeat?n={number}")).collect();
    assert_eq!(urls(&lab.cassette()), expected);
}
