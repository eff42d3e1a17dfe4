//! What to put on the wire for a reply: a list of steps that a small interpreter performs.

use std::time::Duration;

use bytes::Bytes;
use exchange::{Coding, End, Fault, Headers, Message, Reply, Request, Response, StreamEncoder, accepts};

/// Steps in order. The last one, and no other, is [`Step::Finish`], [`Step::Abort`] or [`Step::Linger`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Wait(Duration),
    Head(Head),
    Data(Bytes),
    Trailers(Headers),
    /// The message is whole.
    Finish,
    /// The connection fails like this.
    Abort(Fault),
    /// Nothing more comes; the connection stays open until the client leaves, or for so long.
    Linger(Option<Duration>),
    /// WebSocket messages follow the `101` head.
    Converse(Vec<Message>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    pub reason: Option<String>,
    pub headers: Headers,
    /// The length of the body that follows, where it is known before it is sent.
    pub length: Option<u64>,
}

/// How fast a recorded reply is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// Without the recorded waits; pieces stay pieces.
    #[default]
    Instant,
    /// As it was recorded.
    Recorded,
}

impl Plan {
    /// The plan for playing `reply` to the client that sent `request`. `None` for a reply whose body was not kept.
    pub fn of(reply: &Reply, request: &Request, pace: Pace) -> Option<Self> {
        let mut steps = Vec::with_capacity(4);
        match reply {
            Reply::Fault { fault, after } => {
                wait(&mut steps, *after, pace);
                steps.push(if *fault == Fault::Stalled { Step::Linger(None) } else { Step::Abort(*fault) });
            }
            Reply::Response(response) => {
                wait(&mut steps, response.after, pace);
                respond(&mut steps, response, request, pace)?;
            }
        }
        Some(Self { steps })
    }
}

fn respond(steps: &mut Vec<Step>, response: &Response, request: &Request, pace: Pace) -> Option<()> {
    let has_body = response_has_body(response, request);
    let codings = response.body.codings.as_slice();
    let coded = codings.is_empty() || accepts(request.headers.text("accept-encoding"), codings);
    let mut headers = response.headers.clone();
    if !coded {
        headers.retain(|h| h.name() != "content-encoding");
    }
    let pieces =
        if has_body { body_pieces(response, if coded { codings } else { &[] })? } else { Vec::new() };
    let streamed = !response.body.frames.is_empty() || !response.trailers.is_empty();
    let length = match response.end {
        End::Whole if has_body && !streamed => Some(pieces.iter().map(|(_, b)| b.len() as u64).sum()),
        // The recorded head promised more than came; the client must see the same promise.
        End::Cut(_) => {
            headers.text("content-length").and_then(|v| v.parse().ok()).filter(|_| codings.is_empty())
        }
        _ => None,
    };
    if has_body {
        headers.retain(|h| h.name() != "content-length");
    }
    let head = Head { status: response.status, reason: response.reason.clone(), headers, length };
    steps.push(Step::Head(head));
    if response.status == 101 {
        let paced = |message: &Message| match pace {
            Pace::Recorded => message.clone(),
            Pace::Instant => Message { after: Duration::ZERO, ..message.clone() },
        };
        steps.push(Step::Converse(response.messages.iter().map(paced).collect()));
    }
    for (after, piece) in pieces {
        wait(steps, after, pace);
        steps.push(Step::Data(piece));
    }
    if !response.trailers.is_empty() && response.end == End::Whole {
        steps.push(Step::Trailers(response.trailers.clone()));
    }
    steps.push(match response.end {
        // Where nothing may follow, nothing can break off.
        _ if !has_body && response.status != 101 => Step::Finish,
        End::Whole => Step::Finish,
        End::Cut(Fault::Stalled) => Step::Linger(None),
        // The recorded client left here. One that does not must not wait for what nobody knows.
        End::ClientLeft => Step::Linger(Some(LEAVE)),
        End::Cut(fault) => Step::Abort(fault),
    });
    Some(())
}

/// A reply to HEAD, a 204 and a 304 have no body whatever their headers say (RFC 9112, 6.3).
fn response_has_body(response: &Response, request: &Request) -> bool {
    request.method != "HEAD" && !matches!(response.status, 100..=199 | 204 | 304)
}

fn body_pieces(response: &Response, codings: &[Coding]) -> Option<Vec<(Duration, Bytes)>> {
    response.body.bytes()?;
    let pieces = response.body.pieces();
    if codings.is_empty() || (pieces.is_empty() && response.body.frames.is_empty()) {
        return Some(pieces);
    }
    // An encoder that writes to memory does not fail; if one did, the reply could not be played.
    let mut encoder = StreamEncoder::new(codings).ok()?;
    let mut coded = Vec::with_capacity(pieces.len() + 1);
    for (after, piece) in pieces {
        coded.push((after, encoder.push(&piece).ok()?));
    }
    if response.end != End::Whole {
        // What broke off has no end in its coding either.
        return Some(coded);
    }
    let tail = encoder.finish().ok()?;
    match coded.last_mut() {
        Some((_, last)) => *last = [last.as_ref(), tail.as_ref()].concat().into(),
        None => coded.push((Duration::ZERO, tail)),
    }
    Some(coded)
}

fn wait(steps: &mut Vec<Step>, after: Duration, pace: Pace) {
    if pace == Pace::Recorded && !after.is_zero() {
        steps.push(Step::Wait(after));
    }
}

/// How long a client may take to leave where the recorded one left.
const LEAVE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use exchange::{Body, Frame, Header, Peer, Piece, Url, decode_frames};

    use super::*;

    fn request(method: &str, pairs: &[(&str, &str)]) -> Request {
        Request {
            method: method.into(),
            url: Url::parse("https://a.test/").unwrap(),
            headers: pairs.iter().map(|(n, v)| Header::new(n, *v).unwrap()).collect(),
            body: Body::empty(),
            trailers: Headers::new(),
        }
    }

    fn response(pairs: &[(&str, &str)], body: Body) -> Response {
        Response {
            status: 200,
            reason: None,
            headers: pairs.iter().map(|(n, v)| Header::new(n, *v).unwrap()).collect(),
            after: Duration::from_millis(7),
            informational: Vec::new(),
            body,
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }
    }

    fn frames(lens: &[(usize, u64)]) -> Vec<Frame> {
        lens.iter().map(|&(len, ms)| Frame { len, after: Duration::from_millis(ms) }).collect()
    }

    fn plan(response: Response, request: &Request, pace: Pace) -> Vec<Step> {
        Plan::of(&Reply::Response(response), request, pace).unwrap().steps
    }

    #[test]
    fn a_stream_keeps_its_pieces_and_at_the_recorded_pace_its_waits() {
        let body = Body { frames: frames(&[(3, 5), (3, 0)]), ..Body::from_bytes("abcdef") };
        let steps = plan(response(&[], body.clone()), &request("GET", &[]), Pace::Instant);
        assert!(matches!(steps[0], Step::Head(Head { length: None, .. })));
        assert_eq!(steps[1..], [Step::Data("abc".into()), Step::Data("def".into()), Step::Finish]);
        let steps = plan(response(&[], body), &request("GET", &[]), Pace::Recorded);
        assert_eq!(steps[0], Step::Wait(Duration::from_millis(7)));
        assert_eq!(
            steps[2..],
            [
                Step::Wait(Duration::from_millis(5)),
                Step::Data("abc".into()),
                Step::Data("def".into()),
                Step::Finish
            ]
        );
    }

    #[test]
    fn a_coding_is_put_on_again_only_for_a_client_that_takes_it() {
        let body = Body { codings: vec![Coding::Gzip], ..Body::from_bytes("hello") };
        let recorded = response(&[("content-encoding", "gzip")], body);
        let steps = plan(recorded.clone(), &request("GET", &[("accept-encoding", "gzip")]), Pace::Instant);
        let [Step::Head(head), Step::Data(data), Step::Finish] = steps.as_slice() else {
            panic!("{steps:?}")
        };
        assert_eq!(head.length, Some(data.len() as u64));
        assert!(head.headers.has("content-encoding"));
        assert_eq!(decode_frames(&[Coding::Gzip], [data.as_ref()].into_iter(), 99).unwrap().0, b"hello");
        let steps = plan(recorded, &request("GET", &[]), Pace::Instant);
        let [Step::Head(head), Step::Data(data), Step::Finish] = steps.as_slice() else {
            panic!("{steps:?}")
        };
        assert!(!head.headers.has("content-encoding"));
        assert_eq!(data.as_ref(), b"hello");
    }

    #[test]
    fn a_body_that_broke_off_promises_what_it_promised_and_breaks_off() {
        let cut = Response {
            end: End::Cut(Fault::Reset),
            ..response(&[("content-length", "100")], Body::from_bytes("half"))
        };
        let steps = plan(cut, &request("GET", &[]), Pace::Instant);
        let [Step::Head(head), Step::Data(data), Step::Abort(Fault::Reset)] = steps.as_slice() else {
            panic!("{steps:?}")
        };
        assert_eq!((head.length, data.as_ref()), (Some(100), b"half".as_slice()));
    }

    #[test]
    fn a_reply_to_head_keeps_its_length_and_sends_no_body() {
        let steps =
            plan(response(&[("content-length", "42")], Body::empty()), &request("HEAD", &[]), Pace::Instant);
        let [Step::Head(head), Step::Finish] = steps.as_slice() else { panic!("{steps:?}") };
        assert_eq!(head.headers.text("content-length"), Some("42"));
    }

    #[test]
    fn a_fault_in_place_of_a_reply_aborts_and_a_stall_lingers() {
        let of = |fault| {
            let reply = Reply::Fault { fault, after: Duration::ZERO };
            Plan::of(&reply, &request("GET", &[]), Pace::Recorded).unwrap().steps
        };
        assert_eq!(of(Fault::Refused), [Step::Abort(Fault::Refused)]);
        assert_eq!(of(Fault::Stalled), [Step::Linger(None)]);
    }

    #[test]
    fn a_conversation_that_was_cut_is_cut_again() {
        let message = Message { from: Peer::Server, after: Duration::ZERO, piece: Piece::Text("hi".into()) };
        let talk = Response {
            status: 101,
            messages: vec![message.clone()],
            end: End::Cut(Fault::Reset),
            ..response(&[], Body::empty())
        };
        let steps = plan(talk, &request("GET", &[]), Pace::Instant);
        assert_eq!(steps[1..], [Step::Converse(vec![message]), Step::Abort(Fault::Reset)]);
    }
}
