//! What the modes promise whatever the client: who is asked, what is said where, and how a run exits.

use wiretape_tests::{
    sandbox::{Invocation, Sandbox},
    upstream::Upstream,
};

#[test]
fn the_child_exit_code_passes_through() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let script = "curl -sS https://faults.test/repeat && exit 7";
    shell(sandbox.record(&upstream), script).run().exits(7);
    shell(sandbox.replay(), script).run().exits(7);
}

#[test]
fn only_the_child_speaks_on_stdout() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let script = "curl -sS https://faults.test/repeat; echo aside >&2";
    let recorded = shell(sandbox.record(&upstream), script).run().exits(0);
    drop(upstream);
    let replayed = shell(sandbox.replay(), script).run().exits(0);
    for outcome in [recorded, replayed] {
        assert_eq!(outcome.stdout(), "call 1");
        assert!(outcome.stderr().contains("aside\n"), "{outcome}");
    }
}

#[test]
fn repeated_requests_replay_in_recorded_order_and_then_miss() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), "curl -sS https://faults.test/repeat https://faults.test/repeat")
        .run()
        .exits(0);
    let replay = "for n in 1 2 3; do curl -sS -w ' %{http_code}\\n' https://faults.test/repeat; done";
    let replayed = shell(sandbox.replay(), replay).run().exits(1);
    assert!(replayed.stdout().starts_with("call 1 200\ncall 2 200\n"), "{replayed}");
    assert!(replayed.stdout().ends_with(" 424\n"), "{replayed}");
    assert_eq!(upstream.seen().len(), 2);
}

#[test]
fn a_miss_fails_the_run_whatever_the_child_makes_of_it() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), "curl -sS https://faults.test/repeat?a").run().exits(0);
    let missed = shell(sandbox.replay(), "curl -sS -D - -o /dev/null https://faults.test/repeat?b; exit 0")
        .run()
        .exits(1);
    assert!(missed.stdout().contains("x-wiretape-miss: true"), "{missed}");
    assert!(missed.stdout().contains("x-should-retry: false"), "{missed}");
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn only_a_strict_replay_demands_every_exchange() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    shell(sandbox.record(&upstream), "curl -sS https://faults.test/repeat?a https://faults.test/repeat?b")
        .run()
        .exits(0);
    let half = "curl -sS https://faults.test/repeat?a";
    shell(sandbox.replay(), half).run().exits(0);
    shell(sandbox.replay().arg("--strict"), half).run().exits(1);
}

#[test]
fn auto_asks_only_for_what_is_new() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let auto = |script| shell(sandbox.auto(&upstream), script).run().exits(0).stdout().to_owned();
    assert_eq!(auto("curl -sS https://faults.test/repeat?a"), "call 1");
    assert_eq!(auto("curl -sS https://faults.test/repeat?a https://faults.test/repeat?b"), "call 1call 1");
    let asked: Vec<String> = upstream.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(asked, ["/repeat?a", "/repeat?b"]);
}

#[test]
fn a_cassette_that_is_not_there_or_not_readable_is_bad_input() {
    let sandbox = Sandbox::new();
    shell(sandbox.replay(), "true").run().exits(2);
    sandbox.write(CASSETTE, "wiretape: cassette/1\nexchanges: [{id: one}]\n");
    shell(sandbox.replay(), "true").run().exits(2);
}

#[test]
fn recording_the_same_again_leaves_the_file_alone() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    let script = "curl -sS https://faults.test/echo";
    shell(sandbox.record(&upstream), script).run().exits(0);
    let first = sandbox.read(CASSETTE);
    shell(sandbox.record(&upstream), script).run().exits(0);
    assert_eq!(sandbox.read(CASSETTE), first);
}

fn shell<'a>(run: Invocation<'a>, script: &str) -> Invocation<'a> {
    run.cassette(CASSETTE).child(["sh", "-c", script])
}

const CASSETTE: &str = "cassettes/modes.yaml";
