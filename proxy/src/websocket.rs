//! WebSocket: the handshake over HTTP/1.1, then messages both ways.
//!
//! Extensions are not offered to either side, so that what passes is what was said: a compressed message could
//! neither be scrubbed nor read in a review.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use cassettes::{Decision, Dialogue, Head, Plan, Step, Turn};
use exchange::{Body, End, Fault, Header, Headers, Message, Outcome, Peer, Piece, Provenance, Reply};
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
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
use tokio_util::sync::CancellationToken;

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
    if let Some(deck) = client.session.deck() {
        let nothing = Capture::new(0, Instant::now());
        let live = deck.scrubbed(asking.asked.clone().with(nothing, Extent::Whole, Headers::new()));
        if let Decision::Play { ticket, exchange, plan } = deck.decide(asking.call.seq(), &live) {
            let guard = DeliveryGuard::new(deck, ticket, asking.call, exchange);
            return match Handshake::of(&mut request) {
                Some(handshake) => replay(client, handshake, plan, guard, asking.abort).await,
                None => handler::perform(plan, guard, asking.abort).await,
            };
        }
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
        Err(error) => return recording.failed(error, &abort).await,
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return recording.respond(response, abort).await;
    }
    let after = recording.call.began().elapsed();
    let from_upstream = hyper::upgrade::on(&mut response);
    let headers = reply_headers(response.headers());
    recording.call.answered(Provenance::Live, None, Outcome::Status(101));
    let (answer, from_client) = handshake.answered(&headers);
    client.session.tasks().spawn(async move {
        let session = Arc::clone(recording.call.session());
        let mut talk = Talk::new(session.max_body());
        let (theirs, ours) = (from_upstream.await, from_client.await);
        let rest = match (theirs, ours) {
            (Ok(theirs), Ok(ours)) => {
                let theirs = socket(theirs, Role::Client).await;
                let ours = socket(ours, Role::Server).await;
                talk.carry(ours, theirs, session.ending()).await
            }
            (Err(_), _) => Rest::ended(End::Cut(Fault::Closed)),
            (_, Err(_)) => Rest::ended(End::ClientLeft),
        };
        if talk.size > talk.limit {
            session.warn(format!(
                "call {}: the WebSocket conversation has {} bytes, more than are kept; its end is not on the cassette",
                recording.call.seq(),
                talk.size
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
            messages: talk.messages,
            end: if talk.size > talk.limit { End::ClientLeft } else { rest.end },
        });
        // Written down before anybody hears the last word of it.
        let _ = recording.keep(reply);
        rest.say(&abort).await;
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
    let [before @ .., Step::Head(Head { status: 101, headers, .. }), Step::Converse(messages), end] =
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
    let dialogue = Dialogue::new(messages.clone(), guard.policy().clone());
    let cut = if let Step::Abort(fault) = end { Some(*fault) } else { None };
    let ending = client.session.ending().clone();
    client.session.tasks().spawn(async move {
        let Ok(upgraded) = upgrade.await else { return };
        let socket = socket(upgraded, Role::Server).await;
        tokio::select! {
            over = perform(socket, dialogue, guard, cut) => if let (Said::All(_socket), Some(fault)) = (over, cut) {
                // Dropped together with the socket, which loses its connection for it.
                drop(abort.now(fault));
            },
            () = ending.cancelled() => {}
        }
    });
    Ok(answer)
}

/// How far a recorded conversation was played.
enum Said {
    /// To its end, and the connection is still open.
    All(Box<Socket>),
    /// The client has left or was sent away, or the conversation was closed as recorded.
    Closed,
}

async fn perform(
    mut socket: Socket,
    mut dialogue: Dialogue,
    mut guard: DeliveryGuard,
    cut: Option<Fault>,
) -> Said {
    loop {
        match dialogue.turn() {
            Turn::Send(message) => {
                tokio::time::sleep(message.after).await;
                let is_close = matches!(message.piece, Piece::Close(_));
                if socket.send(to_wire(&message.piece)).await.is_err() {
                    return Said::Closed;
                }
                dialogue.sent();
                if is_close {
                    // The client's own close completes the handshake, but the recording is over.
                    guard.delivered();
                    while let Some(Ok(_)) = socket.next().await {}
                    return Said::Closed;
                }
            }
            Turn::Listen => {
                let Some(piece) = next_piece(&mut socket).await else { return Said::Closed };
                let is_close = matches!(piece, Piece::Close(_));
                match dialogue.heard(&guard.scrubbed(&piece)) {
                    Ok(()) => {}
                    // A client that closes where the recorded one went on has left early; its retry starts afresh.
                    Err(_) if is_close => return Said::Closed,
                    Err(differences) => {
                        guard.contradicted(differences);
                        let reason = Utf8Bytes::from_static("this message is not on the cassette");
                        let _ = socket.close(Some(CloseFrame { code: CloseCode::Policy, reason })).await;
                        return Said::Closed;
                    }
                }
            }
            Turn::Over => {
                guard.delivered();
                if cut.is_some() {
                    return Said::All(Box::new(socket));
                }
                // The recording ends here without a close: stay until the client leaves.
                while let Some(piece) = next_piece(&mut socket).await {
                    if let Err(differences) = dialogue.heard(&guard.scrubbed(&piece)) {
                        if !matches!(piece, Piece::Close(_)) {
                            guard.contradicted(differences);
                        }
                        let _ = socket.close(None).await;
                        return Said::Closed;
                    }
                }
                return Said::Closed;
            }
        }
    }
}

/// A conversation as it passes.
struct Talk {
    messages: Vec<Message>,
    size: usize,
    limit: usize,
    last: Instant,
}

/// What is left to say once a conversation is over.
struct Rest {
    end: End,
    /// The close, still to be handed on, and whom to.
    close: Option<(Piece, Socket, Socket)>,
}

impl Talk {
    fn new(limit: usize) -> Self {
        Self { messages: Vec::new(), size: 0, limit, last: Instant::now() }
    }

    /// Carries messages both ways until one side closes or leaves. Each way has its own pace: a peer that is slow to
    /// read does not keep the other from being heard.
    async fn carry(&mut self, client: Socket, upstream: Socket, ending: &CancellationToken) -> Rest {
        let (mut to_client, mut from_client) = client.split();
        let (mut to_upstream, mut from_upstream) = upstream.split();
        let talk = Mutex::new(self);
        let note =
            |from: Peer, piece: &Piece| talk.lock().unwrap_or_else(PoisonError::into_inner).note(from, piece);
        let upwards = one_way(Peer::Client, &mut from_client, &mut to_upstream, &note);
        let downwards = one_way(Peer::Server, &mut from_upstream, &mut to_client, &note);
        let over = tokio::select! {
            over = upwards => over,
            over = downwards => over,
            () = ending.cancelled() => Over::Left(Peer::Client),
        };
        let (Ok(client), Ok(upstream)) = (from_client.reunite(to_client), from_upstream.reunite(to_upstream))
        else {
            return Rest::ended(End::Whole);
        };
        match over {
            Over::Closed(Peer::Client, piece) => {
                Rest { end: End::Whole, close: Some((piece, client, upstream)) }
            }
            Over::Closed(Peer::Server, piece) => {
                Rest { end: End::Whole, close: Some((piece, upstream, client)) }
            }
            Over::Left(Peer::Client) => Rest::ended(End::ClientLeft),
            Over::Left(Peer::Server) => Rest::ended(End::Cut(Fault::Closed)),
            Over::Reset => Rest::ended(End::Cut(Fault::Reset)),
        }
    }

    fn note(&mut self, from: Peer, piece: &Piece) {
        let bytes = match piece {
            Piece::Text(text) => text.len(),
            Piece::Binary(bytes) => bytes.len(),
            Piece::Close(_) => 0,
        };
        // A message costs memory even when it says nothing.
        self.size += bytes + MESSAGE;
        if self.size <= self.limit {
            let now = Instant::now();
            self.messages.push(Message { from, after: whole_ms(now - self.last), piece: piece.clone() });
            self.last = now;
        }
    }
}

impl Rest {
    fn ended(end: End) -> Self {
        Self { end, close: None }
    }

    async fn say(self, abort: &Abort) {
        match (self.close, self.end) {
            (Some((piece, mut from, mut to)), _) => {
                let _ = to.send(to_wire(&piece)).await;
                // tungstenite has the answer to a close ready; it goes out with a flush.
                let _ = from.flush().await;
            }
            (None, End::Cut(fault)) => drop(abort.now(fault)),
            (None, _) => {}
        }
    }
}

/// How one way of a conversation came to its end.
enum Over {
    Closed(Peer, Piece),
    Left(Peer),
    Reset,
}

async fn one_way(
    from: Peer,
    source: &mut SplitStream<Socket>,
    sink: &mut SplitSink<Socket, tungstenite::Message>,
    note: &impl Fn(Peer, &Piece),
) -> Over {
    loop {
        let message = match source.next().await {
            Some(Ok(message)) => message,
            Some(Err(tungstenite::Error::Io(error)))
                if from == Peer::Server && error.kind() == io::ErrorKind::ConnectionReset =>
            {
                return Over::Reset;
            }
            Some(Err(_)) | None => return Over::Left(from),
        };
        let Some(piece) = from_wire(message) else { continue };
        note(from, &piece);
        if matches!(piece, Piece::Close(_)) {
            return Over::Closed(from, piece);
        }
        if sink.send(to_wire(&piece)).await.is_err() {
            return Over::Left(if from == Peer::Client { Peer::Server } else { Peer::Client });
        }
    }
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
/// About what one message takes beside its bytes.
const MESSAGE: usize = 64;
