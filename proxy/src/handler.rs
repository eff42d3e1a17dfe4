//! One request: from the cassette, from upstream, or refused.

use std::{collections::VecDeque, future, sync::Arc, time::Duration};

use bytes::Bytes;
use cassettes::{Decision, Head, Plan, Step};
use exchange::{Fault, Headers, Outcome, Request, Url};
use http::{Response, StatusCode, Version};
use hyper::body::Incoming;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    abort::{Abort, Aborted},
    answers,
    body::{PIECE, ReplyBody},
    call_in_hand::CallInHand,
    capture::{Capture, Extent},
    convert::{self, Origin, Upgrade},
    delivery::DeliveryGuard,
    forward,
    hosts::HostPolicy,
    session::{Mode, Session, Why},
    upload::Upload,
    upstream::Upstream,
    websocket,
    wire::Breaker,
};

/// What every request on one connection shares.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) session: Arc<Session>,
    pub(crate) upstream: Option<Upstream>,
    pub(crate) breaker: Breaker,
    /// Held for as long as anything of the connection lives, a tunnel through it too.
    pub(crate) _permit: Permit,
}

/// One of the connections that we serve at a time.
pub(crate) type Permit = Arc<OwnedSemaphorePermit>;

/// One request while it is being answered.
pub(crate) struct Asking {
    pub(crate) origin: Origin,
    pub(crate) asked: Asked,
    pub(crate) call: CallInHand,
    pub(crate) abort: Abort,
}

/// A request's head in our words.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) url: Url,
    pub(crate) headers: Headers,
}

impl Asked {
    pub(crate) fn with(self, capture: Capture, extent: Extent, trailers: Headers) -> Request {
        let body = capture.into_body(&self.headers, extent);
        let mut headers = self.headers;
        // Both sides make their own framing; the body tells its length.
        headers.retain(|h| h.name() != "content-length");
        Request { method: self.method, url: self.url, headers, body, trailers }
    }
}

/// Answers one request. An error breaks the connection (or, on HTTP/2, the stream) off.
pub(crate) async fn handle(
    client: Client,
    origin: Origin,
    request: http::Request<Incoming>,
) -> Result<Response<ReplyBody>, Aborted> {
    let url = match origin.url(request.uri()) {
        Ok(url) => url,
        Err(error) => return Ok(answers::bad_request(&error.to_string())),
    };
    let is_websocket = websocket::is_handshake(&request);
    let method = request.method().as_str();
    let keep = if is_websocket { Upgrade::Keep } else { Upgrade::Drop };
    let Some(call) = CallInHand::new(Arc::clone(&client.session), method, url.clone()) else {
        return Ok(answers::session_over());
    };
    let mut asking = Asking {
        call,
        asked: Asked {
            method: method.to_owned(),
            url,
            headers: convert::end_to_end(request.headers(), keep),
        },
        abort: Abort::new(client.breaker.clone(), request.version()),
        origin,
    };
    let session = &client.session;
    match session.hosts().of(&asking.origin.host) {
        HostPolicy::Deny => {
            let report = asking.call.missed(Why::Denied);
            return Ok(answers::miss(&report, &asking.origin.host));
        }
        HostPolicy::Live => return Box::pin(forward::live(&client, asking, request)).await,
        HostPolicy::Follow => {}
    }
    // All but the most travelled way are boxed: hyper moves this future about for every request, whatever its size.
    match session.mode() {
        Mode::Replay => replay(&client, asking, request).await,
        Mode::Auto if is_websocket => Box::pin(websocket::auto(&client, asking, request)).await,
        Mode::Auto => Box::pin(auto(&client, asking, request)).await,
        Mode::Record => match session.broken() {
            Some(reason) => Ok(answers::broken(&reason)),
            None if is_websocket => Box::pin(websocket::record(&client, asking, request)).await,
            None => {
                let upload = Upload::new(request, session.max_body(), asking.call.began());
                Box::pin(forward::record(&client, asking, upload)).await
            }
        },
        Mode::Passthrough => Box::pin(forward::live(&client, asking, request)).await,
    }
}

async fn replay(
    client: &Client,
    mut asking: Asking,
    mut request: http::Request<Incoming>,
) -> Result<Response<ReplyBody>, Aborted> {
    let handshake = websocket::Handshake::of(&mut request);
    let upload = Upload::new(request, client.session.max_body(), asking.call.began());
    let (capture, trailers) = upload.read_all().await?;
    let Some(deck) = client.session.deck() else {
        return Ok(answers::broken("this session has no cassette to play"));
    };
    let live = deck.scrubbed(asking.asked.with(capture, Extent::Whole, trailers));
    match deck.decide(asking.call.seq(), &live) {
        Decision::Play { ticket, exchange, plan } => {
            let guard = DeliveryGuard::new(deck, ticket, asking.call, exchange);
            match handshake {
                Some(handshake) => {
                    Box::pin(websocket::replay(client, handshake, plan, guard, asking.abort)).await
                }
                None => perform(plan, guard, asking.abort).await,
            }
        }
        Decision::Miss(miss) => {
            let report = asking.call.missed(Why::Miss(miss));
            Ok(answers::miss(&report, &asking.origin.host))
        }
    }
}

async fn auto(
    client: &Client,
    asking: Asking,
    request: http::Request<Incoming>,
) -> Result<Response<ReplyBody>, Aborted> {
    let mut upload = Upload::new(request, client.session.max_body(), asking.call.began());
    upload.buffer().await?;
    // A body too large to keep is not on the cassette either.
    if let (Some(deck), Some((capture, trailers))) = (client.session.deck(), upload.copy()) {
        let live = deck.scrubbed(asking.asked.clone().with(capture, Extent::Whole, trailers));
        if let Decision::Play { ticket, exchange, plan } = deck.decide(asking.call.seq(), &live) {
            let guard = DeliveryGuard::new(deck, ticket, asking.call, exchange);
            return perform(plan, guard, asking.abort).await;
        }
    }
    match client.session.broken() {
        Some(reason) => Ok(answers::broken(&reason)),
        None => forward::record(client, asking, upload).await,
    }
}

/// Performs a plan up to and including its head; the body performs the rest.
pub(crate) async fn perform(
    plan: Plan,
    mut guard: DeliveryGuard,
    abort: Abort,
) -> Result<Response<ReplyBody>, Aborted> {
    let mut steps: VecDeque<Step> = plan.steps.into();
    while let Some(step) = steps.pop_front() {
        match step {
            Step::Wait(duration) => tokio::time::sleep(duration).await,
            Step::Head(head) => {
                guard.playing(Outcome::Status(head.status));
                let version = abort.version();
                let body = body_of(steps, head.length, abort, guard);
                return Ok(response(head, body, version));
            }
            Step::Abort(fault) => {
                guard.playing(Outcome::Fault(fault));
                guard.delivered();
                return Err(abort.now(fault));
            }
            Step::Linger(limit) => {
                guard.playing(Outcome::Fault(Fault::Stalled));
                guard.delivered();
                linger(limit).await;
                return Err(abort.now(Fault::Closed));
            }
            Step::Data(_) | Step::Trailers(_) | Step::Finish | Step::Converse(_) => break,
        }
    }
    // A plan starts with a head or a fault; one without says nothing at all.
    Err(abort.now(Fault::Closed))
}

/// Ends early when the client gives up: hyper drops this future then.
async fn linger(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => future::pending().await,
    }
}

fn body_of(
    mut steps: VecDeque<Step>,
    length: Option<u64>,
    abort: Abort,
    mut guard: DeliveryGuard,
) -> ReplyBody {
    // Most replies are one piece: no timer, no state.
    match steps.make_contiguous() {
        [Step::Finish] => {
            guard.delivered();
            ReplyBody::empty()
        }
        [Step::Data(data), Step::Finish] if length.is_some() && data.len() <= PIECE => {
            ReplyBody::tracked(Bytes::clone(data), guard)
        }
        _ => ReplyBody::steps(steps, length, abort, guard),
    }
}

pub(crate) fn response(head: Head, body: ReplyBody, version: Version) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(head.status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = convert::to_map(&head.headers);
    if let Some(length) = head.length {
        response.headers_mut().insert(http::header::CONTENT_LENGTH, length.into());
    }
    if version < Version::HTTP_2
        && let Some(reason) = head.reason.and_then(|r| hyper::ext::ReasonPhrase::try_from(r).ok())
    {
        response.extensions_mut().insert(reason);
    }
    response
}
