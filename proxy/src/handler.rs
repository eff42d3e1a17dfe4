//! One request: from the cassette, from upstream, or refused.

use std::{collections::VecDeque, future, sync::Arc};

use bytes::Bytes;
use cassettes::{Decision, Head, Plan, Scrubber, Step};
use exchange::{Fault, Headers, Outcome, Provenance, Request, Url};
use http::{Response, StatusCode, Version};
use hyper::body::Incoming;

use crate::{
    abort::{Abort, Aborted},
    answers,
    body::{PIECE, ReplyBody},
    capture::{Capture, Extent},
    convert::{self, Origin, Upgrade},
    delivery::DeliveryGuard,
    forward,
    hosts::HostPolicy,
    session::{CallInHand, Mode, Session, Why},
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
}

/// A request's head in our words.
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
    let abort = Abort::new(client.breaker.clone(), request.version());
    let mut call = CallInHand::new(Arc::clone(&client.session), request.method().as_str(), url.clone());
    let is_websocket = websocket::is_handshake(&request);
    let keep = if is_websocket { Upgrade::Keep } else { Upgrade::Drop };
    let asked = Asked {
        method: request.method().as_str().to_owned(),
        url,
        headers: convert::end_to_end(request.headers(), keep),
    };
    let session = &client.session;
    match session.hosts().of(&origin.host) {
        HostPolicy::Deny => {
            let report = call.missed(Why::Denied);
            return Ok(answers::miss(&report, &origin.host));
        }
        HostPolicy::Live => return forward::live(&client, origin, asked, request, call, abort).await,
        HostPolicy::Follow => {}
    }
    match session.mode() {
        Mode::Replay => replay(&client, origin, asked, request, call, abort, is_websocket).await,
        Mode::Auto => auto(&client, origin, asked, request, call, abort, is_websocket).await,
        Mode::Record => {
            if let Some(reason) = session.broken() {
                return Ok(answers::broken(&reason));
            }
            if is_websocket {
                return websocket::record(&client, origin, asked, request, call, abort).await;
            }
            let upload = Upload::new(request, session.max_body(), call.began());
            forward::record(&client, origin, asked, upload, call, abort).await
        }
        Mode::Passthrough => forward::live(&client, origin, asked, request, call, abort).await,
    }
}

async fn replay(
    client: &Client,
    origin: Origin,
    asked: Asked,
    mut request: http::Request<Incoming>,
    mut call: CallInHand,
    abort: Abort,
    is_websocket: bool,
) -> Result<Response<ReplyBody>, Aborted> {
    let upgrade = is_websocket.then(|| hyper::upgrade::on(&mut request));
    let head = websocket::Handshake::of(&request);
    let upload = Upload::new(request, client.session.max_body(), call.began());
    let (capture, trailers) = upload.read_all().await?;
    let live = Scrubber::new().request(asked.with(capture, Extent::Whole, trailers));
    match client.session.decide(call.seq(), &live) {
        Some(Decision::Play { ticket, exchange, plan }) => {
            let guard = DeliveryGuard::new(ticket, call);
            match upgrade {
                Some(upgrade) => websocket::replay(client, upgrade, head, plan, exchange, guard, abort).await,
                None => perform(plan, exchange, guard, abort).await,
            }
        }
        Some(Decision::Miss(miss)) => {
            let report = call.missed(Why::Miss(miss));
            Ok(answers::miss(&report, &origin.host))
        }
        None => Ok(answers::broken("this session has no cassette to play")),
    }
}

async fn auto(
    client: &Client,
    origin: Origin,
    asked: Asked,
    request: http::Request<Incoming>,
    call: CallInHand,
    abort: Abort,
    is_websocket: bool,
) -> Result<Response<ReplyBody>, Aborted> {
    if is_websocket {
        return websocket::auto(client, origin, asked, request, call, abort).await;
    }
    let mut upload = Upload::new(request, client.session.max_body(), call.began());
    upload.buffer().await?;
    // A body too large to keep is not on the cassette either.
    if let Some((capture, trailers)) = upload.copy() {
        let head =
            Asked { method: asked.method.clone(), url: asked.url.clone(), headers: asked.headers.clone() };
        let live = Scrubber::new().request(head.with(capture, Extent::Whole, trailers));
        if let Some(Decision::Play { ticket, exchange, plan }) = client.session.decide(call.seq(), &live) {
            return perform(plan, exchange, DeliveryGuard::new(ticket, call), abort).await;
        }
    }
    if let Some(reason) = client.session.broken() {
        return Ok(answers::broken(&reason));
    }
    forward::record(client, origin, asked, upload, call, abort).await
}

/// Performs a plan up to and including its head; the body performs the rest.
pub(crate) async fn perform(
    plan: Plan,
    exchange: u32,
    mut guard: DeliveryGuard,
    abort: Abort,
) -> Result<Response<ReplyBody>, Aborted> {
    let mut steps: VecDeque<Step> = plan.steps.into();
    while let Some(step) = steps.pop_front() {
        match step {
            Step::Wait(duration) => tokio::time::sleep(duration).await,
            Step::Head(head) => {
                guard.call().answered(Provenance::Cassette, Some(exchange), Outcome::Status(head.status));
                let length = head.length;
                let body = body_of(steps, length, abort.clone(), guard);
                return Ok(response(head, body, abort.version()));
            }
            Step::Abort(fault) => {
                guard.call().answered(Provenance::Cassette, Some(exchange), Outcome::Fault(fault));
                guard.delivered();
                return Err(abort.now(fault));
            }
            Step::Linger => {
                guard.call().answered(Provenance::Cassette, Some(exchange), Outcome::Fault(Fault::Stalled));
                guard.delivered();
                // Ends when the client gives up: hyper drops this future then.
                future::pending::<()>().await;
            }
            Step::Data(_) | Step::Trailers(_) | Step::Finish | Step::Converse(_) => break,
        }
    }
    // A plan starts with a head or a fault; one without says nothing at all.
    Err(abort.now(Fault::Closed))
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
