//! WebSocket conversations, recorded and replayed message by message.

use std::net::TcpStream;

use tokio_tungstenite::tungstenite::{
    self, Message, WebSocket,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use super::{
    gate::{Gate, Lab},
    raw::{Raw, Tls},
};

#[test]
fn a_conversation_replays_with_text_binary_and_unasked_messages_and_its_close() {
    let both = Lab::new().both(|gate| {
        let mut socket = open(gate);
        let mut heard = vec![socket.read().unwrap()];
        socket.send(Message::text("one")).unwrap();
        heard.push(socket.read().unwrap());
        socket.send(Message::binary(vec![0, 255, 128])).unwrap();
        heard.push(socket.read().unwrap());
        socket.send(Message::text("push 2")).unwrap();
        heard.extend([socket.read().unwrap(), socket.read().unwrap()]);
        socket.send(Message::text("bye")).unwrap();
        heard.push(socket.read().unwrap());
        heard
    });
    let goodbye = CloseFrame { code: CloseCode::Normal, reason: "goodbye".into() };
    assert!(both.recorded[0].to_text().unwrap().starts_with("hello "), "{both:?}");
    assert_eq!(
        both.recorded[1..],
        [
            Message::text("echo one"),
            Message::binary(vec![0, 255, 128]),
            Message::text("pushed 1"),
            Message::text("pushed 2"),
            Message::Close(Some(goodbye)),
        ]
    );
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("url: https://faults.test/ws")
        .cassette_says("status: 101")
        .cassette_says("text: push 2")
        .cassette_says("base64: AP+A")
        .cassette_says("code: 1000");
}

#[test]
fn a_client_that_closes_first_gets_its_close_answered() {
    let away = CloseFrame { code: CloseCode::Away, reason: "leaving".into() };
    let both = Lab::new().both(|gate| {
        let mut socket = open(gate);
        socket.read().unwrap();
        socket.close(Some(away.clone())).unwrap();
        socket.read().map_err(|error| error.to_string())
    });
    // The server's half of the closing handshake (RFC 6455, 5.5.1): without it the client sees a failure.
    assert_eq!(both.recorded, Ok(Message::Close(Some(away.clone()))));
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("code: 1001").cassette_says("reason: leaving");
}

#[test]
fn a_client_that_says_something_else_is_closed_with_1008_and_fails_the_run() {
    let mut lab = Lab::new();
    let say = |gate: &Gate, text: &str| {
        let mut socket = open(gate);
        socket.read().unwrap();
        socket.send(Message::text(text.to_owned())).unwrap();
        let heard = socket.read().unwrap();
        if heard.is_text() {
            socket.send(Message::text("bye")).unwrap();
            socket.read().unwrap();
        }
        heard
    };
    let told = lab.record(|gate| say(gate, r#"{"op":"add","n":1}"#));
    assert_eq!(told, Message::text(r#"echo {"op":"add","n":1}"#));
    let (told, outcome) = lab.replay(|gate| say(gate, r#"{"op":"add","n":2}"#));
    let refusal =
        CloseFrame { code: CloseCode::Policy, reason: "this message is not on the cassette".into() };
    assert_eq!(told, Message::Close(Some(refusal)));
    let outcome = outcome.exits(1);
    let difference = "messages[1].n\n      expected  1\n      actual    2\n";
    assert!(outcome.stderr().contains(difference), "{outcome}");
}

#[test]
fn a_websocket_in_the_clear_replays() {
    let both = Lab::new().both(|gate| {
        let tcp = Raw::tunnel(gate, "faults.test:80").io;
        let (mut socket, _) = tungstenite::client("ws://faults.test/ws", tcp).unwrap();
        let hello = socket.read().unwrap();
        socket.send(Message::text("bye")).unwrap();
        socket.read().unwrap();
        hello
    });
    assert_eq!(both.replayed, both.recorded);
    both.cassette_says("url: http://faults.test/ws");
}

#[test]
fn an_upgrade_that_is_declined_replays_as_the_answer_it_got() {
    let both = Lab::new().both(|gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get(
            "faults.test",
            "/repeat",
            "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
        );
        raw.answer().unwrap()
    });
    assert_eq!(both.recorded.text(), "call 1");
    assert_eq!(both.replayed, both.recorded);
}

fn open(gate: &Gate) -> WebSocket<Tls> {
    let Raw::<Tls> { io, .. } = Raw::<TcpStream>::https(gate, "faults.test");
    tungstenite::client("wss://faults.test/ws", io).unwrap().0
}
