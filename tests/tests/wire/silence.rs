//! A replay is silent: it looks nothing up and connects to nothing.

use std::fs;

use wiretape_tests::{clients, sandbox::Sandbox, upstream::Upstream};

use super::{
    gate::{Gate, Lab},
    raw::Raw,
};

#[test]
fn a_replay_asks_no_upstream_even_when_one_could_answer() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let script = "curl -sS https://faults.test/repeat; curl -sS -o /dev/null https://faults.test/other; true";
    let child = ["sh", "-c", script];
    sandbox
        .record(&upstream)
        .cassette(CASSETTE)
        .child(["curl", "-sS", "https://faults.test/repeat"])
        .run()
        .exits(0);
    assert_eq!(upstream.seen().len(), 1);
    sandbox.replay().cassette(CASSETTE).child(child).run().exits(1);
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn the_process_of_a_replay_opens_no_connection_and_looks_nothing_up() {
    let lab = Lab::new();
    let get = |gate: &Gate, host: &str| {
        let mut raw = Raw::https(gate, host);
        raw.get(host, "/repeat", "");
        raw.answer().unwrap().status()
    };
    let wiretape = lab.record(|gate| {
        assert_eq!(get(gate, "faults.test"), 200);
        fs::read_link(format!("/proc/{}/exe", gate.pid)).unwrap()
    });

    let traced = lab
        .home
        .program(clients::command("strace"))
        .args(["-f", "-e", "trace=network", "-o", "trace.txt"])
        .arg(wiretape)
        .args(["proxy", "--mode", "replay"])
        .cassette("cassettes/wire.yaml");
    let gate = Gate::open(&lab.home, traced);
    assert_eq!(get(&gate, "faults.test"), 200);
    assert_eq!(get(&gate, "unknown.test"), 424);
    gate.stop().exits(1);

    let calls = lab.home.read("trace.txt");
    assert!(calls.contains("listen("), "the listener is seen: {calls}");
    let outward =
        |line: &&str| line.contains("connect(") || line.contains("SOCK_DGRAM") || line.contains("sendmmsg(");
    assert_eq!(calls.lines().filter(outward).collect::<Vec<_>>(), Vec::<&str>::new());
}

const CASSETTE: &str = "cassettes/silence.yaml";
