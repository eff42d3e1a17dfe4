//! A recorded WebSocket conversation, played back turn by turn.

use exchange::{Body, Header, Headers, Message, Peer, Piece, Request};
use matchers::{Difference, Pattern, Policy};

/// Keeps the place in a recorded conversation. The server's messages go out in order; where the recording has the
/// client speak, the live client must say the same before anything more is sent.
#[derive(Debug)]
pub struct Dialogue {
    messages: Vec<Message>,
    next: usize,
    policy: Policy,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub enum Turn<'a> {
    Send(&'a Message),
    Listen,
    /// The recording has nothing more.
    Over,
}

impl Dialogue {
    pub fn new(messages: Vec<Message>, policy: Policy) -> Self {
        Self { messages, next: 0, policy }
    }

    pub fn turn(&self) -> Turn<'_> {
        match self.messages.get(self.next) {
            Some(message) if message.from == Peer::Server => Turn::Send(message),
            Some(_) => Turn::Listen,
            None => Turn::Over,
        }
    }

    /// The message that [`Turn::Send`] named has gone out.
    pub fn sent(&mut self) {
        self.next += 1;
    }

    /// The client said something. The error tells how it differs from the recording.
    pub fn heard(&mut self, piece: &Piece) -> Result<(), Vec<Difference>> {
        // A client that speaks while the recorded server still has the word is early, not wrong.
        let ahead = self.messages.iter().skip(self.next).position(|m| m.from == Peer::Client);
        let Some(place) = ahead.map(|ahead| self.next + ahead) else {
            return Err(vec![Difference {
                path: exchange::FieldPath::root("messages").index(self.messages.len()),
                expected: None,
                actual: Some(shown(piece)),
            }]);
        };
        let expected = &self.messages[place].piece;
        let differences = self.differences(place, expected, piece);
        if !differences.is_empty() {
            return Err(differences);
        }
        // Taken out of its place, so that the server's earlier messages still go out first.
        self.messages.remove(place);
        Ok(())
    }

    fn differences(&self, place: usize, expected: &Piece, actual: &Piece) -> Vec<Difference> {
        let here = || exchange::FieldPath::root("messages").index(place);
        match (expected, actual) {
            (Piece::Close(_), Piece::Close(_)) => Vec::new(),
            (Piece::Text(_) | Piece::Binary(_), Piece::Text(_) | Piece::Binary(_)) => {
                let (expected, actual) = (as_request(expected), as_request(actual));
                let mut differences = Pattern::new(&expected, &self.policy).check(&actual).differences;
                for difference in &mut differences {
                    let mut path = here();
                    path.0.extend(difference.path.0.drain(..).skip(1));
                    difference.path = path;
                }
                differences
            }
            _ => vec![Difference {
                path: here(),
                expected: Some(shown(expected)),
                actual: Some(shown(actual)),
            }],
        }
    }
}

/// A message in the clothes of a request, so that one comparison serves both.
fn as_request(piece: &Piece) -> Request {
    let (media, body) = match piece {
        Piece::Text(text) => ("text/plain", Body::from_bytes(text.clone())),
        Piece::Binary(bytes) => ("application/octet-stream", Body::from_bytes(bytes.clone())),
        Piece::Close(_) => ("text/plain", Body::empty()),
    };
    let headers: Headers = Header::new("content-type", media).into_iter().collect();
    let url = exchange::Url {
        scheme: exchange::Scheme::Https,
        host: "message".into(),
        port: 443,
        path: "/".into(),
        query: None,
    };
    Request { method: "MESSAGE".into(), url, headers, body, trailers: Headers::new() }
}

fn shown(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) if text.chars().count() > 80 => {
            format!("{:?}…", text.chars().take(80).collect::<String>())
        }
        Piece::Text(text) => format!("{text:?}"),
        Piece::Binary(bytes) => format!("{} bytes", bytes.len()),
        Piece::Close(Some((code, _))) => format!("close {code}"),
        Piece::Close(None) => "close".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn message(from: Peer, text: &str) -> Message {
        Message { from, after: Duration::ZERO, piece: Piece::Text(text.into()) }
    }

    fn dialogue() -> Dialogue {
        use Peer::{Client, Server};
        let messages = [(Server, "hello"), (Client, r#"{"a":1,"b":2}"#), (Server, "done"), (Client, "bye")];
        Dialogue::new(messages.map(|(from, text)| message(from, text)).to_vec(), Policy::default())
    }

    #[test]
    fn the_server_waits_for_the_client_where_the_recording_did() {
        let mut dialogue = dialogue();
        assert_eq!(dialogue.turn(), Turn::Send(&message(Peer::Server, "hello")));
        dialogue.sent();
        assert_eq!(dialogue.turn(), Turn::Listen);
        dialogue.heard(&Piece::Text(r#"{"b":2,"a":1}"#.into())).unwrap();
        assert_eq!(dialogue.turn(), Turn::Send(&message(Peer::Server, "done")));
        dialogue.sent();
        dialogue.heard(&Piece::Text("bye".into())).unwrap();
        assert_eq!(dialogue.turn(), Turn::Over);
    }

    #[test]
    fn a_client_that_speaks_early_is_heard_and_nothing_is_skipped() {
        let mut dialogue = dialogue();
        dialogue.heard(&Piece::Text(r#"{"a":1,"b":2}"#.into())).unwrap();
        assert_eq!(dialogue.turn(), Turn::Send(&message(Peer::Server, "hello")));
        dialogue.sent();
        assert_eq!(dialogue.turn(), Turn::Send(&message(Peer::Server, "done")));
    }

    #[test]
    fn another_message_is_a_difference_with_its_place() {
        let mut dialogue = dialogue();
        dialogue.sent();
        let differences = dialogue.heard(&Piece::Text(r#"{"a":1,"b":3}"#.into())).unwrap_err();
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].path.to_string(), "messages[1].b");
        assert_eq!(differences[0].expected.as_deref(), Some("2"));
        assert_eq!(differences[0].actual.as_deref(), Some("3"));
    }
}
