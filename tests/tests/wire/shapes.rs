//! The ways in which clients speak to a proxy: each ends up on the cassette with the URL that was meant.

use std::io::{Read, Write};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};

use super::{
    gate::{Gate, Lab},
    h2,
    raw::Raw,
    scripted::Scripted,
};

#[test]
fn a_tunnel_with_tls_and_http1_replays() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", "/repeat?tls", "");
        raw.answer().unwrap()
    });
    assert_eq!(both.recorded.text(), "call 1");
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("url: https://faults.test/repeat?tls");
}

#[test]
fn a_tunnel_with_tls_and_http2_replays() {
    let both = Lab::new().both(|gate| {
        h2::speak(gate, "faults.test", async |mut sender| {
            let request = Request::get("https://faults.test/repeat?h2").body(Empty::new().boxed_unsync());
            let response = sender.send_request(request.unwrap()).await.unwrap();
            let status = response.status();
            (status, response.into_body().collect().await.unwrap().to_bytes())
        })
    });
    assert_eq!(both.recorded, (http::StatusCode::OK, Bytes::from_static(b"call 1")));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("url: https://faults.test/repeat?h2");
}

#[test]
fn a_tunnel_with_plain_http_replays() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::tunnel(gate, "faults.test:80");
        raw.get("faults.test", "/repeat?plain", "");
        raw.answer().unwrap()
    });
    assert_eq!(both.recorded.text(), "call 1");
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("url: http://faults.test/repeat?plain");
}

#[test]
fn an_absolute_http_target_replays() {
    let both = Lab::new().both(|gate| absolute(gate, "http://faults.test/repeat?absolute"));
    assert_eq!(both.recorded, "call 1");
    assert_eq!(both.replayed, "call 1");
    both.cassette_says("url: http://faults.test/repeat?absolute");
}

#[test]
fn an_absolute_https_target_in_the_clear_goes_out_over_tls_and_replays() {
    let mut lab = Lab::new();
    let act = |gate: &Gate| absolute(gate, "https://faults.test/repeat?clear");
    assert_eq!(lab.record(act), "call 1");
    let wires: Vec<_> = lab.upstream().seen().iter().map(|seen| seen.wire).collect();
    assert_eq!(wires, [wiretape_tests::upstream::Wire::Tls]);
    super::gate::says(&lab.cassette(), "url: https://faults.test/repeat?clear");
    let (replayed, outcome) = lab.replay(act);
    assert_eq!(replayed, "call 1");
    outcome.exits(0);
}

#[test]
fn one_connection_carries_absolute_targets_of_several_hosts() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::open(gate.addr);
        ["http://faults.test/repeat", "http://api.github.com/user"].map(|url| {
            raw.send(format!("GET {url} HTTP/1.1\r\nhost: ignored.test\r\n\r\n"));
            raw.answer().unwrap().status()
        })
    });
    assert_eq!(both.recorded, [200, 200]);
    assert_eq!(both.replayed, [200, 200]);
}

#[test]
fn a_client_that_connects_by_ipv4_address_sends_no_name_and_replays() {
    by_address("127.0.0.1", "127.0.0.1:8443");
}

#[test]
fn a_client_that_connects_by_ipv6_address_sends_no_name_and_replays() {
    by_address("::1", "[::1]:8443");
}

/// rustls sends no SNI for an address, and without ALPN nothing says which HTTP it will be.
fn by_address(address: &str, authority: &str) {
    let (upstream, certificate) = Scripted::start_tls(address, |mut stream| {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if stream.read(&mut byte).unwrap_or(0) == 0 {
                return;
            }
            head.extend(byte);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nby address").unwrap();
        stream.flush().unwrap();
    });
    let lab = Lab::new();
    let ca = lab.home.write("by-address.pem", certificate);
    let lab = lab.map(authority, upstream.addr).record_with(&["--upstream-ca", ca.to_str().unwrap()]);
    let both = lab.both(|gate| {
        let mut raw = Raw::tunnel(gate, authority).tls(gate, address, &[]);
        raw.get(authority, "/", "");
        raw.answer().unwrap()
    });
    assert_eq!(both.recorded.text(), "by address");
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says(&format!("url: https://{authority}/"));
}

fn absolute(gate: &Gate, url: &str) -> String {
    let mut raw = Raw::open(gate.addr);
    raw.send(format!("GET {url} HTTP/1.1\r\nhost: faults.test\r\n\r\n"));
    raw.answer().unwrap().text().to_owned()
}
