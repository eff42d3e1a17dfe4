//! Calls that got no answer: worth recording where one records failures, and never in the way of a real answer.

use std::io::Write;

use wiretape_tests::{
    sandbox::Sandbox,
    shell::{calls, shell},
    traces::{journals, urls},
    upstream::Upstream,
};

use super::scripted::{Scripted, read_head, reset_at_the_end};

#[test]
fn auto_keeps_no_failure_and_fills_the_gap_once_there_is_an_answer() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let resetting = Scripted::start(|stream| {
        read_head(&stream);
        reset_at_the_end(&stream);
    });
    let working = Scripted::start(|mut stream| {
        read_head(&stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nback").unwrap();
    });
    let auto = |to: std::net::SocketAddr| {
        let run = sandbox.wiretape("auto").args(["--connect-to", &format!("late.test:80:{to}")]);
        shell(run, CASSETTE, "curl -sS http://late.test/; true").run().exits(0)
    };
    for (to, fault) in [(upstream.refused_addr(), "refused"), (resetting.addr, "reset")] {
        let failed = auto(to);
        assert_eq!(failed.stdout(), "");
        let said = failed.stderr();
        let upstream_failed = format!("warning: call 1: GET http://late.test/: upstream {fault}, ");
        assert!(said.contains(&upstream_failed), "{failed}");
        assert!(
            said.contains("warning: call 1: GET http://late.test/ broke off and is not kept\n"),
            "{failed}"
        );
        assert!(!sandbox.path(CASSETTE).exists(), "{failed}");
        assert!(journals(&sandbox).is_empty());
    }
    assert_eq!(auto(working.addr).stdout(), "back");
    assert_eq!(urls(&sandbox.read(CASSETTE)), ["http://late.test/"]);
    let played = auto(upstream.refused_addr());
    assert_eq!(played.stdout(), "back");
    assert!(played.stderr().contains("wiretape replayed 1 call and recorded nothing; "), "{played}");
}

#[test]
fn a_recording_in_which_every_call_failed_leaves_the_cassette_as_it_was() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), CASSETTE, &calls(&["echo"])).run().exits(0);
    let old = sandbox.read(CASSETTE);
    let failed = shell(sandbox.record(&upstream), CASSETTE, FAILING).run().exits(0);
    let kept = format!("warning: no call got an answer, so {CASSETTE} stays as it was\n");
    assert!(failed.stderr().contains(&kept), "{failed}");
    let last = format!("wiretape recorded nothing; {CASSETTE} stays as it was (");
    assert!(failed.stderr().contains(&last), "{failed}");
    assert_eq!(sandbox.read(CASSETTE), old);
    assert!(journals(&sandbox).is_empty());
}

#[test]
fn a_first_recording_in_which_every_call_failed_keeps_the_failures() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let failed = shell(sandbox.record(&upstream), CASSETTE, FAILING).run().exits(0);
    let last = format!("wiretape recorded 2 exchanges in {CASSETTE} (");
    assert!(failed.stderr().contains(&last), "{failed}");
    let cassette = sandbox.read(CASSETTE);
    assert_eq!(urls(&cassette), ["https://refused.test/", "https://faults.test/reset"]);
    let faults: Vec<&str> =
        cassette.lines().filter_map(|line| line.trim_start().strip_prefix("fault: ")).collect();
    assert_eq!(faults, ["refused", "reset"]);
    drop(upstream);
    shell(sandbox.replay().arg("--strict"), CASSETTE, FAILING).run().exits(0);
}

const FAILING: &str = "curl -sS https://refused.test/; curl -sS https://faults.test/reset; true";
const CASSETTE: &str = "cassettes/unanswered.yaml";
