//! Whatever a client sends, the proxy answers or closes, and goes on serving.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use rustls::{ClientConnection, StreamOwned, pki_types::ServerName};

use super::{
    gate::{Gate, Lab},
    raw::{Ending, Raw},
};

#[test]
fn bytes_that_are_not_http_are_a_bad_request() {
    survives(|gate| {
        for sent in ["GET\r\n\r\n", "well, hello there\r\n\r\n", "GET http://a.test/ HTTP/9\r\n\r\n"] {
            let mut raw = Raw::open(gate.addr);
            raw.send(sent);
            let (answer, ending) = raw.rest();
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{sent:?}: {answer:?}");
            assert_eq!(ending, Ending::Closed);
        }
    });
}

#[test]
fn noise_is_answered_or_closed_at_once() {
    survives(|gate| {
        // A fixed scramble: the same bytes in every run.
        let noise: Vec<u8> = (1..=4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for sent in
            [noise.as_slice(), b"\0\0\0\0", b"\r\n\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense"]
        {
            let mut raw = Raw::open(gate.addr);
            let _ = raw.io.write_all(sent);
            let _ = raw.io.shutdown(Shutdown::Write);
            assert_ne!(raw.rest().1, Ending::Silent, "after {sent:?}");
        }
    });
}

#[test]
fn an_empty_line_behind_a_request_does_not_hold_its_answer_back() {
    survives(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.send("GET http://faults.test/status/201 HTTP/1.1\r\nhost: faults.test\r\n\r\n\r\n");
        assert_eq!(raw.answer().unwrap().status(), 201);
    });
}

#[test]
fn the_next_request_does_not_hold_a_stream_back() {
    survives(|gate| {
        let mut raw = Raw::open(gate.addr);
        // The stream stalls after its first event, so whatever waits for its end waits for good.
        raw.send("GET http://faults.test/stall HTTP/1.1\r\nhost: faults.test\r\n\r\nGET http://faults.test/repeat HTTP/1.1\r\n");
        raw.head().unwrap();
        assert!(raw.chunk().unwrap().unwrap().starts_with(b"id: 1\n"));
    });
}

#[test]
fn tls_to_the_proxy_port_is_refused() {
    survives(|gate| {
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connection = ClientConnection::new(gate.client_config(&[]), name).unwrap();
        let tcp = TcpStream::connect(gate.addr).unwrap();
        tcp.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut tls = StreamOwned::new(connection, tcp);
        assert!(
            tls.write_all(b"GET / HTTP/1.1\r\n\r\n").and_then(|()| tls.read_to_end(&mut Vec::new())).is_err()
        );
    });
}

#[test]
fn a_head_that_is_too_large_is_refused() {
    survives(|gate| {
        let mut raw = Raw::open(gate.addr);
        let _ = raw.io.write_all(b"GET http://faults.test/ HTTP/1.1\r\nhost: faults.test\r\nx-large: ");
        let block = [b'x'; 64 * 1024];
        // Two MiB, or as much of it as the proxy takes.
        for _ in 0..32 {
            if raw.io.write_all(&block).is_err() {
                break;
            }
        }
        let (answer, ending) = raw.rest();
        assert_ne!(ending, Ending::Silent);
        // What was not read makes the close a reset, which may overtake the answer.
        let refused = answer.starts_with(b"HTTP/1.1 431 ") || ending == Ending::Reset;
        assert!(refused, "{ending:?} {}", String::from_utf8_lossy(&answer));
    });
}

#[test]
fn more_headers_than_anyone_needs_are_refused() {
    survives(|gate| {
        let mut raw = Raw::open(gate.addr);
        let many: String = (0..300).map(|n| format!("x-{n}: 1\r\n")).collect();
        raw.send(format!("GET http://faults.test/ HTTP/1.1\r\n{many}\r\n"));
        let (answer, _) = raw.rest();
        assert!(answer.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answer));
    });
}

#[test]
fn a_connect_that_names_no_port_is_a_bad_request() {
    survives(|gate| {
        for target in ["faults.test", "faults.test:", "faults.test:99999", ":443"] {
            let mut raw = Raw::open(gate.addr);
            raw.send(format!("CONNECT {target} HTTP/1.1\r\nhost: faults.test\r\n\r\n"));
            let line = raw.head().unwrap().line;
            assert_eq!(line, "HTTP/1.1 400 Bad Request", "CONNECT {target}");
        }
    });
}

#[test]
fn a_request_that_breaks_off_costs_nothing() {
    survives(|gate| {
        for sent in [
            "GET http://faults.test/ HT",
            "POST http://faults.test/echo HTTP/1.1\r\nhost: faults.test\r\ncontent-length: 100\r\n\r\nhalf",
            "CONNECT faults.test:443 HTTP/1.1\r\nhost: faults.test\r\n\r\n",
            "CONNECT faults.test:443 HTTP/1.1\r\nhost: faults.test\r\n\r\n\x16\x03\x01",
            "CONNECT faults.test:80 HTTP/1.1\r\nhost: faults.test\r\n\r\nGE",
        ] {
            Raw::open(gate.addr).send(sent);
        }
    });
}

#[test]
fn a_request_smuggled_behind_two_lengths_is_refused() {
    survives(|gate| {
        for framing in [
            "content-length: 5\r\ncontent-length: 6\r\n",
            "content-length: +5\r\n",
            "transfer-encoding: chunked, identity\r\n",
        ] {
            let mut raw = Raw::open(gate.addr);
            raw.send(format!(
                "POST http://faults.test/echo HTTP/1.1\r\nhost: faults.test\r\n{framing}\r\nhello"
            ));
            let line = raw.head().map(|head| head.line);
            assert!(
                matches!(line.as_deref(), Ok("HTTP/1.1 400 Bad Request") | Err(_)),
                "{framing:?}: {line:?}"
            );
        }
    });
}

#[test]
fn idle_connections_take_a_place_and_give_it_back() {
    let lab = Lab::new();
    lab.record(|gate| {
        let mut idle: Vec<TcpStream> = (0..LIMIT).map(|_| TcpStream::connect(gate.addr).unwrap()).collect();
        let mut late = Raw::open(gate.addr);
        late.get("faults.test", "http://faults.test/repeat", "");
        late.io.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        assert_eq!(late.head().map(|head| head.line), Err(Ending::Silent), "all places are taken");
        idle.truncate(LIMIT - 1);
        late.io.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(late.answer().unwrap().text(), "call 1");
    });
}

/// Runs `act` against a proxy, and a good request after it.
fn survives(act: impl Fn(&Gate)) {
    Lab::new().record(|gate| {
        act(gate);
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", "/repeat", "");
        assert_eq!(raw.answer().unwrap().text(), "call 1");
    });
}

const PATIENCE: Duration = Duration::from_secs(10);
/// The most connections that the proxy serves at a time.
const LIMIT: usize = 512;
