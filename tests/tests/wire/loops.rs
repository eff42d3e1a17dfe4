//! Requests that lead back to the proxy, or elsewhere than their tunnel, are refused and never go round.

use super::{
    gate::{Gate, Lab},
    raw::Raw,
};

#[test]
fn a_request_to_the_proxy_itself_is_refused_by_whatever_name() {
    let lab = Lab::new();
    let refused = lab.record(|gate| {
        let port = gate.addr.port();
        NAMES.map(|name| (name, absolute(gate, &format!("http://{name}:{port}/"))))
    });
    assert_eq!(refused, NAMES.map(|name| (name, 421)));
}

#[test]
fn a_tunnel_to_the_proxy_itself_is_refused() {
    let lab = Lab::new();
    let refused = lab.record(|gate| {
        let target = gate.addr.to_string();
        let mut raw = Raw::tunnel(gate, &target);
        raw.get(&target, "/", "");
        let plain = raw.answer().unwrap().status();
        let mut raw = Raw::tunnel(gate, &target).tls(gate, "127.0.0.1", &[]);
        raw.get(&target, "/", "");
        [plain, raw.answer().unwrap().status()]
    });
    assert_eq!(refused, [421, 421]);
}

#[test]
fn a_websocket_to_the_proxy_itself_is_refused() {
    let refused = Lab::new().record(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get(
            "self",
            &format!("http://{}/", gate.addr),
            "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
        );
        raw.answer().unwrap().status()
    });
    assert_eq!(refused, 421);
}

#[test]
fn a_request_to_the_proxy_itself_leaves_nothing_on_the_cassette() {
    let lab = Lab::new();
    lab.record(|gate| {
        absolute(gate, &format!("http://{}/", gate.addr));
        let mut raw = Raw::open(gate.addr);
        raw.get("faults.test", "http://faults.test/repeat", "");
        raw.answer().unwrap()
    });
    let cassette = lab.cassette();
    assert_eq!(cassette.matches("url: ").count(), 1, "{cassette}");
}

#[test]
fn an_origin_form_request_to_the_proxy_port_is_told_what_this_is() {
    let answer = Lab::new().record(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get(&gate.addr.to_string(), "/", "");
        raw.answer().unwrap()
    });
    assert_eq!(answer.status(), 400);
    assert!(answer.text().contains("this is a proxy"), "{}", answer.text());
}

#[test]
fn a_host_inside_a_tunnel_that_is_not_the_tunnel_s_is_refused() {
    let lab = Lab::new();
    let answers = lab.record(|gate| {
        ["api.github.com", "faults.test:444", "faults.test"].map(|host| {
            let mut raw = Raw::https(gate, "faults.test");
            raw.get(host, "/repeat", "");
            raw.answer().unwrap().status()
        })
    });
    assert_eq!(answers, [421, 421, 200]);
    assert_eq!(lab.upstream().seen().len(), 1);
}

fn absolute(gate: &Gate, url: &str) -> u16 {
    let mut raw = Raw::open(gate.addr);
    raw.send(format!("GET {url} HTTP/1.1\r\nhost: self\r\n\r\n"));
    raw.answer().unwrap().status()
}

const NAMES: [&str; 5] = ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "127.0.0.1."];
