//! To the upstream and back, frame by frame, with a copy for the cassette.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use exchange::{
    End, Exchange, Fault, Headers, Informational, Outcome, Provenance, Reply, Response as OurResponse,
};
use http::{Request, Response, Uri, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::mpsc;

use crate::{
    abort::{Abort, Aborted},
    answers,
    body::{LivePiece, ReplyBody},
    call_in_hand::CallInHand,
    capture::{Capture, Extent, whole_ms},
    convert::{self, Origin, Upgrade},
    handler::{Asked, Asking, Client},
    upload::{CopyHandle, Upload},
    upstream::{BoxError, Outgoing, UpstreamError, classify},
    websocket,
};

/// Forwards a request and keeps the exchange.
pub(crate) async fn record(
    client: &Client,
    asking: Asking,
    upload: Upload,
) -> Result<Response<ReplyBody>, Aborted> {
    let copy = Some(upload.handle());
    forward(client, asking, upload, copy).await
}

/// Forwards a request and keeps nothing.
pub(crate) async fn live(
    client: &Client,
    asking: Asking,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Aborted> {
    if websocket::is_handshake(&request) {
        return websocket::pass(client, asking, request).await;
    }
    // A limit of nothing: the copy costs no memory.
    let upload = Upload::new(request, 0, asking.call.began());
    forward(client, asking, upload, None).await
}

async fn forward(
    client: &Client,
    asking: Asking,
    upload: Upload,
    copy: Option<CopyHandle>,
) -> Result<Response<ReplyBody>, Aborted> {
    let Asking { origin, asked, call, abort } = asking;
    let Some(upstream) = &client.upstream else {
        return Ok(answers::broken("this session has no way out"));
    };
    let mut request = outgoing(&origin, &asked, upload)?;
    let recording = Recording::new(call, asked, copy);
    let hints = Arc::clone(&recording.informational);
    hyper::ext::on_informational(&mut request, move |interim| {
        let status = interim.status().as_u16();
        if (102..=199).contains(&status) {
            let headers = convert::end_to_end(interim.headers(), Upgrade::Drop);
            let mut hints = hints.lock().unwrap_or_else(PoisonError::into_inner);
            if hints.len() < MOST_HINTS {
                hints.push(Informational { status, headers });
            }
        }
    });
    match upstream.send(request).await {
        Ok(response) => recording.respond(response, abort).await,
        Err(error) => recording.failed(error, &abort).await,
    }
}

/// The request as the upstream gets it.
pub(crate) fn outgoing<B>(origin: &Origin, asked: &Asked, body: B) -> Result<Request<Outgoing>, http::Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let uri: Uri =
        format!("{}://{}{}", origin.scheme.as_str(), origin.authority(), asked.url.target()).parse()?;
    let is_empty = body.is_end_stream();
    let mut request = Request::builder()
        .method(asked.method.as_str())
        .uri(uri)
        .body(body.map_err(Into::into).boxed_unsync())?;
    let headers = request.headers_mut();
    *headers = convert::to_map(&asked.headers);
    // We answer the client's wait ourselves and send the body at once.
    headers.remove(header::EXPECT);
    // The body's own size decides the framing; of an empty one hyper says nothing, and some servers insist.
    if !is_empty {
        headers.remove(header::CONTENT_LENGTH);
    }
    headers.insert(header::HOST, header::HeaderValue::try_from(origin.authority())?);
    Ok(request)
}

/// An exchange in the making. Whatever happens to it, it is kept exactly once.
pub(crate) struct Recording {
    pub(crate) call: CallInHand,
    pub(crate) asked: Asked,
    copy: Option<CopyHandle>,
    /// Whether all of the request was read, once that is known.
    request: Option<Extent>,
    informational: Arc<Mutex<Vec<Informational>>>,
    kept: bool,
}

impl Recording {
    pub(crate) fn new(call: CallInHand, asked: Asked, copy: Option<CopyHandle>) -> Self {
        Self { call, asked, copy, request: None, informational: Arc::default(), kept: false }
    }

    pub(crate) async fn respond(
        mut self,
        response: Response<Incoming>,
        abort: Abort,
    ) -> Result<Response<ReplyBody>, Aborted> {
        let after = self.call.began().elapsed();
        let (parts, body) = response.into_parts();
        // A client that sees an error before it has sent all of its request stops sending, and what it would have sent
        // is what the next run sends.
        if parts.status.is_client_error() || parts.status.is_server_error() {
            self.read_request().await;
        }
        self.call.answered(Provenance::Live, None, Outcome::Status(parts.status.as_u16()));
        let mut headers = convert::end_to_end(&parts.headers, Upgrade::Drop);
        if parts.headers.contains_key(header::TRANSFER_ENCODING) {
            // The chunks tell the length; whatever else claims one is wrong (RFC 9112, 6.3).
            headers.retain(|h| h.name() != "content-length");
        }
        let reason = parts.extensions.get::<hyper::ext::ReasonPhrase>();
        let reason = reason.and_then(|r| String::from_utf8(r.as_bytes().to_vec()).ok());
        let usual = parts.status.canonical_reason();
        let head = OurResponse {
            status: parts.status.as_u16(),
            reason: reason.filter(|r| Some(r.as_str()) != usual && !r.is_empty()),
            headers: headers.clone(),
            after: whole_ms(after),
            informational: std::mem::take(
                &mut *self.informational.lock().unwrap_or_else(PoisonError::into_inner),
            ),
            body: exchange::Body::empty(),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        };
        let length = body.size_hint().exact();
        let announced =
            cassettes::Head { status: head.status, reason: head.reason.clone(), headers, length: None };
        let session = Arc::clone(self.call.session());
        let limit = if self.copy.is_some() { session.max_body() } else { 0 };
        let mut pump =
            Pump { recording: self, head, capture: Capture::new(limit, Instant::now()), expected: length };
        if body.is_end_stream() {
            pump.recording.read_request().await;
            return match pump.keep(End::Whole, Headers::new()) {
                Ok(()) => Ok(crate::handler::response(announced, ReplyBody::empty(), abort.version())),
                Err(reason) => Ok(answers::broken(&reason)),
            };
        }
        let (pieces, receiver) = mpsc::channel(1);
        session.tasks().spawn(pump.run(body, pieces));
        let version = abort.version();
        Ok(crate::handler::response(announced, ReplyBody::live(receiver, length, abort), version))
    }

    /// The upstream gave no response: the client loses its connection as it would have without us.
    pub(crate) async fn failed(
        mut self,
        error: UpstreamError,
        abort: &Abort,
    ) -> Result<Response<ReplyBody>, Aborted> {
        match error {
            UpstreamError::Ourselves(address) => {
                self.kept = true;
                self.call.answered(Provenance::Miss, None, Outcome::Denied);
                Ok(answers::ourselves(&address))
            }
            UpstreamError::Fault { fault, detail } => {
                self.call.failed(fault, detail);
                self.read_request().await;
                self.keep_fault(fault);
                Err(abort.now(fault))
            }
        }
    }

    /// An upstream may fail or answer before it has read all of the request; the recording wants all of it.
    async fn read_request(&mut self) {
        // A client that did not send the rest when it was first waited for is not waited for again.
        let Some(copy) = self.copy.as_ref().filter(|_| self.request.is_none()) else { return };
        let extent = copy.read_rest(AFTER_REPLY).await;
        self.request = Some(extent);
        if extent == Extent::Part {
            let seq = self.call.seq();
            self.call.session().warn(format!(
                "call {seq}: the request was answered before it was whole, and is kept in part"
            ));
        }
    }

    fn keep_fault(&mut self, fault: Fault) {
        let after = whole_ms(self.call.began().elapsed());
        // A failure to write is noted by the session, and the client loses its connection either way.
        let _ = self.keep(Reply::Fault { fault, after });
    }

    /// Writes the exchange down. After this it survives whatever happens to the process.
    pub(crate) fn keep(&mut self, reply: Reply) -> Result<(), String> {
        let first = !std::mem::replace(&mut self.kept, true);
        let Some(copy) = self.copy.as_ref().filter(|_| first) else {
            return Ok(());
        };
        let (capture, trailers) = copy.take();
        let exchange = Exchange {
            id: self.call.seq(),
            at: whole_ms(self.call.at()),
            request: self.asked.clone().with(capture, self.request.unwrap_or(Extent::Whole), trailers),
            reply,
        };
        self.call.session().keep(self.call.seq(), exchange).map_err(|e| e.to_string())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Nobody answered and nobody failed: the client gave up waiting.
        if !self.kept && self.copy.is_some() {
            self.keep_fault(Fault::Stalled);
        }
        self.kept = true;
    }
}

/// Carries a body from the upstream to the client and keeps a copy.
struct Pump {
    recording: Recording,
    head: OurResponse,
    capture: Capture,
    expected: Option<u64>,
}

impl Pump {
    async fn run(mut self, mut body: Incoming, pieces: mpsc::Sender<LivePiece>) {
        let mut left: Option<tokio::time::Instant> = None;
        // The last frames, kept back from the client until the exchange is written down.
        let mut held: Vec<Frame<Bytes>> = Vec::new();
        loop {
            let give_up = left.map_or(tokio::time::Instant::now() + IDLE, |left| left + AFTER_CLIENT_LEFT);
            let next = tokio::select! {
                frame = body.frame() => frame,
                () = pieces.closed(), if left.is_none() => {
                    // The upstream may be about to finish: what it still says belongs to the recording.
                    left = Some(tokio::time::Instant::now());
                    continue;
                }
                () = tokio::time::sleep_until(give_up) => {
                    let end = if left.is_some() { End::ClientLeft } else { End::Cut(Fault::Stalled) };
                    let _ = self.keep_in_background(end, Headers::new()).await;
                    let _ = pieces.send(LivePiece::Abort(Fault::Stalled)).await;
                    return;
                }
            };
            match next {
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.capture.push(data, Instant::now());
                    }
                    let trailers = frame.trailers_ref().map(|t| convert::end_to_end(t, Upgrade::Drop));
                    let is_all = self.expected.is_some_and(|expected| self.capture.size() >= expected);
                    if trailers.is_some() || body.is_end_stream() {
                        held.push(frame);
                        self.finish(trailers.unwrap_or_default(), &pieces, held).await;
                        return;
                    }
                    if is_all {
                        // Trailers may follow on HTTP/2, but the client has its last byte with this one.
                        held.push(frame);
                    } else {
                        let _ = pieces.send(LivePiece::Frame(frame)).await;
                    }
                }
                None => {
                    self.finish(Headers::new(), &pieces, held).await;
                    return;
                }
                Some(Err(error)) => {
                    let (fault, detail) = match classify(&error) {
                        UpstreamError::Fault { fault, detail } => (fault, detail),
                        UpstreamError::Ourselves(address) => (Fault::Closed, address),
                    };
                    self.recording.call.failed(fault, detail);
                    let _ = self.keep_in_background(End::Cut(fault), Headers::new()).await;
                    for frame in held {
                        let _ = pieces.send(LivePiece::Frame(frame)).await;
                    }
                    let _ = pieces.send(LivePiece::Abort(fault)).await;
                    return;
                }
            }
        }
    }

    /// Written down before the client gets the last byte of it.
    async fn finish(self, trailers: Headers, pieces: &mpsc::Sender<LivePiece>, last: Vec<Frame<Bytes>>) {
        if self.keep_in_background(End::Whole, trailers).await.is_err() {
            let _ = pieces.send(LivePiece::Abort(Fault::Closed)).await;
            return;
        }
        for frame in last {
            let _ = pieces.send(LivePiece::Frame(frame)).await;
        }
        let _ = pieces.send(LivePiece::End).await;
    }

    /// Large bodies take a while to decode and to write: not on a thread that others wait for.
    async fn keep_in_background(mut self, end: End, trailers: Headers) -> Result<(), String> {
        self.recording.read_request().await;
        if self.capture.size() < WORTH_A_THREAD {
            return self.keep(end, trailers);
        }
        let kept = tokio::task::spawn_blocking(move || self.keep(end, trailers)).await;
        kept.unwrap_or_else(|error| Err(error.to_string()))
    }

    fn keep(self, end: End, trailers: Headers) -> Result<(), String> {
        let Self { mut recording, mut head, capture, .. } = self;
        if recording.copy.is_none() {
            return Ok(());
        }
        let extent = if end == End::Whole { Extent::Whole } else { Extent::Part };
        head.body = capture.into_body(&head.headers, extent);
        let is_head = recording.asked.method == "HEAD" || matches!(head.status, 204 | 304);
        if end == End::Whole && !is_head {
            head.headers.retain(|h| h.name() != "content-length");
        }
        head.trailers = trailers;
        head.end = end;
        recording.keep(Reply::Response(head))
    }
}

/// For as long as nothing comes in between.
const IDLE: Duration = Duration::from_secs(300);
/// How long an upstream may go on after the client has left, for the recording's sake.
const AFTER_CLIENT_LEFT: Duration = Duration::from_secs(2);
/// How long a client may take to send the rest of a request that was answered before its end.
const AFTER_REPLY: Duration = Duration::from_secs(2);
/// No honest server sends more interim responses than this before its answer.
const MOST_HINTS: usize = 16;
const WORTH_A_THREAD: u64 = 256 * 1024;
