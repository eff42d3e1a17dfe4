//! WebSocket: the handshake over HTTP/1.1, then messages both ways.
//!
//! Extensions are not offered to either side, so that what passes is what was said: a compressed message could
//! neither be scrubbed nor read in a review.

use std::{sync::Arc, time::Instant};

use cassettes::{Decision, Dialogue, Head, Plan, Scrubber, Step, Turn};
use exchange::{Body, End, Fault, Header, Headers, Message, Outcome, Peer, Piece, Provenance, Reply};
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};
use http_body_util::Empty;
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Utf8Bytes,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use crate::{
    abort::{Abort, Aborted},
    answers,
    body::ReplyBody,
    capture::{Capture, Extent, whole_ms},
    convert::{self, Upgrade},
    delivery::DeliveryGuard,
    forward::{Recording, outgoing},
    handler::{self, Asking, Client},
    upload::Upload,
};

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// Whether a request asks for a WebSocket (RFC 6455, 4.1).
pub(crate) fn is_handshake<B>(request: &Request<B>) -> bool {
    request.version() == Version::HTTP_11
        && request.method() == http::Method::GET
        && request.headers().contains_key(header::SEC_WEBSOCKET_KEY)
        && request
            .headers()
            .get(header::UPGRADE)
            .is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// A client's handshake: what the answer to it needs, and the connection once it is answered.
pub(crate) struct Handshake {
    accept: String,
    upgrade: OnUpgrade,
}

impl Handshake {
    /// `None` for a request that asks for no WebSocket.
    pub(crate) fn of<B>(request: &mut Request<B>) -> Option<Self> {
        if !is_handshake(request) {
            return None;
        }
        let key = request.headers().get(header::SEC_WEBSOCKET_KEY)?;
        let accept = derive_accept_key(key.as_bytes());
        Some(Self { accept, upgrade: hyper::upgrade::on(request) })
    }

    /// The answer that switches protocols, and the connection that is then spoken on.
    fn answered(self, headers: &Headers) -> (Response<ReplyBody>, OnUpgrade) {
        let mut map = convert::to_map(headers);
        map.remove(header::CONTENT_LENGTH);
        map.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        map.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        if let Ok(accept) = HeaderValue::from_str(&self.accept) {
            map.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        }
        let mut response = Response::new(ReplyBody::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *response.headers_mut() = map;
        (response, self.upgrade)
    }
}

/// Forwards a conversation and keeps it.
pub(crate) async fn record(
    client: &Client,
    asking: Asking,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Aborted> {
    forward(client, asking, request, Keep::Exchange).await
}

/// Forwards a conversation and keeps nothing.
pub(crate) async fn pass(
    client: &Client,
    asking: Asking,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Aborted> {
    forward(client, asking, request, Keep::Nothing).await
}

/// Plays a conversation that the cassette knows; forwards and keeps another.
pub(crate) async fn auto(
    client: &Client,
    asking: Asking,
    mut request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Aborted> {
    let nothing = Capture::new(0, Instant::now());
    let live = Scrubber::new().request(asking.asked.clone().with(nothing, Extent::Whole, Headers::new()));
    if let Some(Decision::Play { ticket, exchange, plan }) = client.session.decide(asking.call.seq(), &live) {
        let guard = DeliveryGuard::new(ticket, asking.call, exchange);
        return match Handshake::of(&mut request) {
            Some(handshake) => replay(client, handshake, plan, guard, asking.abort).await,
            None => handler::perform(plan, guard, asking.abort).await,
        };
    }
    match client.session.broken() {
        Some(reason) => Ok(answers::broken(&reason)),
        None => record(client, asking, request).await,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Exchange,
    Nothing,
}

async fn forward(
    client: &Client,
    asking: Asking,
    mut request: Request<Incoming>,
    keep: Keep,
) -> Result<Response<ReplyBody>, Aborted> {
    let Asking { origin, asked, call, abort } = asking;
    let (Some(upstream), Some(handshake)) = (&client.upstream, Handshake::of(&mut request)) else {
        return Ok(answers::broken("this session has no way out"));
    };
    let mut out = outgoing(&origin, &asked, Empty::new())?;
    prepare(out.headers_mut(), request.headers());
    let upload = Upload::new(request, client.session.max_body(), call.began());
    let copy = (keep == Keep::Exchange).then(|| upload.handle());
    let mut recording = Recording::new(call, asked, copy);
    let mut response = match upstream.upgrade(&origin, out).await {
        Ok(response) => response,
        Err(error) => return recording.failed(error, &abort),
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return recording.respond(response, abort);
    }
    let after = recording.call.began().elapsed();
    let from_upstream = hyper::upgrade::on(&mut response);
    let headers = reply_headers(response.headers());
    recording.call.answered(Provenance::Live, None, Outcome::Status(101));
    let (answer, from_client) = handshake.answered(&headers);
    client.session.tasks().spawn(async move {
        let (Ok(theirs), Ok(ours)) = (from_upstream.await, from_client.await) else { return };
        let theirs = socket(theirs, Role::Client).await;
        let ours = socket(ours, Role::Server).await;
        let session = Arc::clone(recording.call.session());
        let (messages, end, size) = converse(ours, theirs, session.max_body()).await;
        if size > session.max_body() {
            session.warn(format!(
                "call {}: the WebSocket conversation has {size} bytes, more than are kept; its end is not on the cassette",
                recording.call.seq()
            ));
        }
        let reply = Reply::Response(exchange::Response {
            status: 101,
            reason: None,
            headers,
            after: whole_ms(after),
            informational: Vec::new(),
            body: Body::empty(),
            trailers: Headers::new(),
            messages,
            end,
        });
        let _ = recording.keep(reply, Extent::Whole);
    });
    Ok(answer)
}

/// Plays a recorded conversation.
pub(crate) async fn replay(
    client: &Client,
    handshake: Handshake,
    plan: Plan,
    mut guard: DeliveryGuard,
    abort: Abort,
) -> Result<Response<ReplyBody>, Aborted> {
    let [before @ .., Step::Head(Head { status: 101, headers, .. }), Step::Converse(messages)] =
        plan.steps.as_slice()
    else {
        return handler::perform(plan, guard, abort).await;
    };
    for step in before {
        if let Step::Wait(duration) = step {
            tokio::time::sleep(*duration).await;
        }
    }
    guard.playing(Outcome::Status(101));
    let (answer, upgrade) = handshake.answered(headers);
    let dialogue = Dialogue::new(messages.clone(), client.session.policy());
    client.session.tasks().spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        perform(socket(upgraded, Role::Server).await, dialogue, guard).await;
    });
    Ok(answer)
}

async fn perform(mut socket: Socket, mut dialogue: Dialogue, mut guard: DeliveryGuard) {
    loop {
        match dialogue.turn() {
            Turn::Send(message) => {
                tokio::time::sleep(message.after).await;
                let is_close = matches!(message.piece, Piece::Close(_));
                if socket.send(to_wire(&message.piece)).await.is_err() {
                    return;
                }
                dialogue.sent();
                if is_close {
                    // The client's own close completes the handshake, but the recording is over.
                    guard.delivered();
                    while let Some(Ok(_)) = socket.next().await {}
                    return;
                }
            }
            Turn::Listen => {
                let Some(piece) = next_piece(&mut socket).await else { return };
                let is_close = matches!(piece, Piece::Close(_));
                match dialogue.heard(&piece) {
                    Ok(()) => {}
                    // A client that closes where the recorded one went on has left early; its retry starts afresh.
                    Err(_) if is_close => return,
                    Err(differences) => {
                        guard.contradicted(differences);
                        let reason = Utf8Bytes::from_static("this message is not on the cassette");
                        let _ = socket.close(Some(CloseFrame { code: CloseCode::Policy, reason })).await;
                        return;
                    }
                }
            }
            Turn::Over => {
                guard.delivered();
                // The recording ends here without a close: stay until the client leaves.
                while let Some(piece) = next_piece(&mut socket).await {
                    if let Err(differences) = dialogue.heard(&piece) {
                        if !matches!(piece, Piece::Close(_)) {
                            guard.contradicted(differences);
                        }
                        let _ = socket.close(None).await;
                        return;
                    }
                }
                return;
            }
        }
    }
}

/// Carries messages both ways until one side is done. Notes them up to a limit, and gives the size of them all.
async fn converse(mut client: Socket, mut upstream: Socket, limit: usize) -> (Vec<Message>, End, usize) {
    let mut messages = Vec::new();
    let mut size = 0;
    let mut last = Instant::now();
    let end = loop {
        let (from, next) = tokio::select! {
            next = client.next() => (Peer::Client, next),
            next = upstream.next() => (Peer::Server, next),
        };
        let other = if from == Peer::Client { &mut upstream } else { &mut client };
        match next {
            Some(Ok(message)) => {
                size += message.len();
                let Some(piece) = from_wire(message) else { continue };
                let wire = to_wire(&piece);
                let is_close = matches!(piece, Piece::Close(_));
                if size <= limit {
                    let now = Instant::now();
                    messages.push(Message { from, after: whole_ms(now - last), piece });
                    last = now;
                }
                let sent = other.send(wire).await;
                if is_close {
                    let own = if from == Peer::Client { &mut client } else { &mut upstream };
                    let _ = own.flush().await;
                }
                if sent.is_err() || is_close {
                    break End::Whole;
                }
            }
            Some(Err(_)) | None if from == Peer::Client => {
                let _ = upstream.close(None).await;
                break End::ClientLeft;
            }
            Some(Err(tungstenite::Error::Io(error)))
                if error.kind() == std::io::ErrorKind::ConnectionReset =>
            {
                break End::Cut(Fault::Reset);
            }
            Some(Err(_)) | None => break End::Cut(Fault::Closed),
        }
    };
    (messages, if size > limit { End::ClientLeft } else { end }, size)
}

async fn next_piece(socket: &mut Socket) -> Option<Piece> {
    loop {
        if let Some(piece) = from_wire(socket.next().await?.ok()?) {
            return Some(piece);
        }
    }
}

/// `None` for pings and pongs: tungstenite answers them, and they carry no meaning.
fn from_wire(message: tungstenite::Message) -> Option<Piece> {
    match message {
        tungstenite::Message::Text(text) => Some(Piece::Text(text.as_str().to_owned())),
        tungstenite::Message::Binary(bytes) => Some(Piece::Binary(bytes)),
        tungstenite::Message::Close(frame) => {
            Some(Piece::Close(frame.map(|f| (u16::from(f.code), f.reason.as_str().to_owned()))))
        }
        _ => None,
    }
}

fn to_wire(piece: &Piece) -> tungstenite::Message {
    match piece {
        Piece::Text(text) => tungstenite::Message::text(text.clone()),
        Piece::Binary(bytes) => tungstenite::Message::binary(bytes.clone()),
        Piece::Close(frame) => tungstenite::Message::Close(
            frame
                .as_ref()
                .map(|(code, reason)| CloseFrame { code: (*code).into(), reason: reason.clone().into() }),
        ),
    }
}

async fn socket(upgraded: hyper::upgrade::Upgraded, role: Role) -> Socket {
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), role, Some(config)).await
}

/// The handshake headers of the client's request that the upstream needs to see.
fn prepare(out: &mut HeaderMap, from_client: &HeaderMap) {
    out.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    out.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    for name in [header::SEC_WEBSOCKET_KEY, header::SEC_WEBSOCKET_VERSION, header::SEC_WEBSOCKET_PROTOCOL] {
        if let Some(value) = from_client.get(&name) {
            out.insert(name, value.clone());
        }
    }
    out.remove(header::SEC_WEBSOCKET_EXTENSIONS);
}

/// The handshake answer's headers that mean something in another conversation.
fn reply_headers(map: &HeaderMap) -> Headers {
    let mut headers = convert::end_to_end(map, Upgrade::Drop);
    headers.retain(|h: &Header| !matches!(h.name(), "sec-websocket-accept" | "sec-websocket-extensions"));
    headers
}

const MAX_MESSAGE: usize = 64 << 20;
