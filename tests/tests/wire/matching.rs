//! What counts when a request is compared, and that nothing else plays.

use tokio_tungstenite::tungstenite::{self, Error, Message};
use wiretape_tests::{
    sandbox::{Outcome, Sandbox},
    shell::shell,
    upstream::Upstream,
};

use super::{
    gate::{Gate, Lab, says},
    raw::{Answer, Raw},
};

#[test]
fn a_header_that_counts_is_kept_in_clear_and_compared() {
    let (sandbox, upstream) = (Sandbox::new(), Upstream::start());
    sandbox.write("wiretape.yaml", "match: {headers: [X-Tenant]}\n");
    let ask = |tenant: &str| {
        format!(
            "curl -sS -o /dev/null -w '%{{http_code}}' -H 'x-tenant: {tenant}' https://faults.test/repeat"
        )
    };
    shell(sandbox.record(&upstream), CASSETTE, &ask("north")).run().exits(0);
    drop(upstream);
    says(&sandbox.read(CASSETTE), "x-tenant: north");
    let replay = |script: &str| -> Outcome { shell(sandbox.replay(), CASSETTE, script).run() };
    assert_eq!(replay(&ask("north")).exits(0).stdout(), "200");
    let missed = replay(&ask("south")).exits(1);
    assert_eq!(missed.stdout(), "424");
    let difference = "near: exchange 1\n    headers.x-tenant\n      expected  north\n      actual    south\n";
    assert!(missed.stderr().contains(difference), "{missed}");
    let missed = replay("curl -sS -o /dev/null -w '%{http_code}' https://faults.test/repeat").exits(1);
    assert_eq!(missed.stdout(), "424");
}

#[test]
fn a_credential_cannot_be_made_to_count() {
    let sandbox = Sandbox::new();
    sandbox.write("wiretape.yaml", "match: {headers: [x-tenant, authorization]}\n");
    for command in ["record", "replay", "auto"] {
        let refused = shell(sandbox.wiretape(command), CASSETTE, "touch ran").run().exits(2);
        let said = refused.stderr();
        assert!(said.starts_with("error: `authorization` holds a credential\n"), "{refused}");
        assert!(said.contains("wiretape.yaml:1:29\n"), "{refused}");
        assert!(
            said.ends_with("help: a credential is never compared: remove it from the headers that count\n"),
            "{refused}"
        );
    }
    assert!(!sandbox.path("ran").exists());
}

#[test]
fn a_plain_request_does_not_play_a_websocket() {
    let mut lab = Lab::new().lenient();
    lab.record(|gate| {
        let mut socket = websocket(gate).unwrap();
        socket.read().unwrap();
        socket.send(Message::text("bye")).unwrap();
        socket.read().unwrap();
    });
    let (answer, outcome) = lab.replay(|gate| get(gate, "faults.test", "/ws"));
    assert_eq!(answer.status(), 424);
    let outcome = outcome.exits(1);
    let difference =
        "near: exchange 1\n    method\n      expected  GET, to speak WebSocket\n      actual    GET\n";
    assert!(outcome.stderr().contains(difference), "{outcome}");
}

#[test]
fn a_websocket_does_not_play_a_plain_request() {
    let mut lab = Lab::new().lenient();
    assert_eq!(lab.record(|gate| get(gate, "faults.test", "/ws").status()), 426);
    let (status, outcome) = lab.replay(|gate| match websocket(gate) {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("{other:?}"),
    });
    assert_eq!(status, 424);
    let outcome = outcome.exits(1);
    let difference =
        "near: exchange 1\n    method\n      expected  GET\n      actual    GET, to speak WebSocket\n";
    assert!(outcome.stderr().contains(difference), "{outcome}");
}

#[test]
fn open_issues_are_not_played_for_closed_ones() {
    let mut lab = Lab::new().lenient();
    let issues = |gate: &Gate, state: &str| {
        get(gate, "api.github.com", &format!("/repos/o/r/issues?state={state}&per_page=2"))
    };
    let recorded = lab.record(|gate| issues(gate, "open"));
    assert_eq!(recorded.status(), 200);
    let minted = lab.upstream().minted();
    says(&lab.cassette(), "url: https://api.github.com/repos/o/r/issues?state=open&per_page=2");
    let ((same, other), outcome) = lab.replay(|gate| (issues(gate, "open"), issues(gate, "closed")));
    let text = |answer: &Answer| String::from_utf8(answer.body.clone()).unwrap();
    assert_eq!(wiretape_tests::transcript::compare(&text(&recorded), &text(&same), &minted), Ok(()));
    assert_eq!(other.status(), 424);
    outcome.exits(1);
    let (_, outcome) = lab.replay(|gate| issues(gate, "closed"));
    let outcome = outcome.exits(1);
    let difference = "near: exchange 1\n    query.state\n      expected  open\n      actual    closed\n";
    assert!(outcome.stderr().contains(difference), "{outcome}");
}

fn get(gate: &Gate, host: &str, path: &str) -> Answer {
    let mut raw = Raw::https(gate, host);
    raw.get(host, path, "");
    raw.answer().unwrap()
}

type Socket = tungstenite::WebSocket<super::raw::Tls>;

fn websocket(gate: &Gate) -> Result<Socket, Error> {
    let io = Raw::https(gate, "faults.test").io;
    match tungstenite::client("wss://faults.test/ws", io) {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::HandshakeError::Failure(error)) => Err(error),
        Err(tungstenite::HandshakeError::Interrupted(_)) => panic!("the handshake has not ended"),
    }
}

const CASSETTE: &str = "cassettes/matching.yaml";
