//! How a WebSocket conversation ends, and that its recording outlives whatever ended it.

use std::net::TcpStream;

use tokio_tungstenite::tungstenite::{
    self, Error, Message, WebSocket,
    error::ProtocolError,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use super::{
    gate::{CASSETTE, Gate, Lab, says},
    raw::{Raw, Tls},
    scripted::{Scripted, reset_at_the_end},
};

#[test]
fn a_conversation_that_is_open_when_the_run_ends_is_kept_with_what_was_said() {
    let lab = Lab::new();
    let gate = lab.recorder();
    let mut socket = open(&gate);
    let hello = socket.read().unwrap();
    socket.send(Message::text("so far")).unwrap();
    assert_eq!(socket.read().unwrap(), Message::text("echo so far"));
    let outcome = gate.stop().exits(0);
    assert!(outcome.stderr().contains("wiretape recorded 1 exchange in cassettes/wire.yaml ("), "{outcome}");
    let cassette = lab.cassette();
    says(&cassette, &format!("text: {}", hello.to_text().unwrap()));
    says(&cassette, "text: so far");
    says(&cassette, "text: echo so far");
    says(&cassette, "ends: client_left");
}

#[test]
fn a_kill_after_the_close_loses_nothing_of_the_conversation() {
    for round in 1..=5 {
        let lab = Lab::new();
        let gate = lab.recorder();
        let mut socket = open(&gate);
        socket.read().unwrap();
        socket.send(Message::text(format!("round {round}"))).unwrap();
        socket.read().unwrap();
        socket.send(Message::text("bye")).unwrap();
        let goodbye = CloseFrame { code: CloseCode::Normal, reason: "goodbye".into() };
        assert_eq!(socket.read().unwrap(), Message::Close(Some(goodbye)));
        gate.kill();

        let shown = lab.home.wiretape("show").arg(CASSETTE).run().exits(0);
        let taken = format!("warning: took in 1 exchange that a killed recording left for {CASSETTE}\n");
        assert_eq!(shown.stderr(), taken);
        let cassette = lab.cassette();
        says(&cassette, &format!("text: round {round}"));
        says(&cassette, &format!("text: echo round {round}"));
        says(&cassette, "reason: goodbye");
    }
}

#[test]
fn a_conversation_that_the_upstream_resets_breaks_off_in_the_same_place() {
    let upstream = Scripted::start(|stream| {
        let mut socket = tungstenite::accept(stream).unwrap();
        socket.send(Message::text("hello")).unwrap();
        // All that was sent has been read by then, so that the reset takes nothing away.
        assert_eq!(socket.read().unwrap(), Message::text("cut"));
        reset_at_the_end(socket.get_ref());
    });
    let both = Lab::new().map("cut.test:80", upstream.addr).both(|gate| {
        let tcp = Raw::tunnel(gate, "cut.test:80").io;
        let (mut socket, _) = tungstenite::client("ws://cut.test/", tcp).unwrap();
        assert_eq!(socket.read().unwrap(), Message::text("hello"));
        socket.send(Message::text("cut")).unwrap();
        is_lost(&mut socket)
    });
    assert_eq!((both.recorded, both.replayed), (true, true), "{}", both.cassette);
    both.cassette_says("text: cut").cassette_says("ends: reset");
}

/// Whether the next thing is the end of the connection, rather than a message or nothing at all.
fn is_lost(socket: &mut WebSocket<TcpStream>) -> bool {
    match socket.read() {
        Err(Error::Io(error)) => error.kind() == std::io::ErrorKind::ConnectionReset,
        Err(Error::Protocol(error)) => error == ProtocolError::ResetWithoutClosingHandshake,
        _ => false,
    }
}

fn open(gate: &Gate) -> WebSocket<Tls> {
    let Raw::<Tls> { io, .. } = Raw::<TcpStream>::https(gate, "faults.test");
    tungstenite::client("wss://faults.test/ws", io).unwrap().0
}
