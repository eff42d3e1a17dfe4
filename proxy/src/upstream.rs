//! The way out: connections to real hosts. A replaying session has none of this.

mod dial;

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use exchange::Fault;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use rustls::ClientConfig;
use thiserror::Error;

use dial::{Alpn, Dialer};
pub use dial::{ConnectTo, ConnectToError, UpstreamProxy, UpstreamProxyError};

use crate::convert::Origin;

/// A body on its way to an upstream.
pub(crate) type Outgoing = UnsyncBoxBody<Bytes, BoxError>;
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How to reach upstreams.
#[derive(Debug, Clone)]
pub struct UpstreamConfig {
    pub tls: Arc<ClientConfig>,
    pub connect_to: Vec<ConnectTo>,
    pub proxy: Option<UpstreamProxy>,
    /// How long a connection attempt may take.
    pub connect_timeout: Duration,
    /// How long to wait for the first byte of a response.
    pub first_byte_timeout: Duration,
}

/// A pool of connections to upstreams, HTTP/1.1 or HTTP/2 as each of them prefers.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    pooled: Client<Dialer, Outgoing>,
    dialer: Dialer,
    first_byte_timeout: Duration,
}

/// Why an upstream gave no response.
#[derive(Debug, Error)]
pub(crate) enum UpstreamError {
    #[error("{detail}")]
    Fault { fault: Fault, detail: String },
    /// The address is one of our own: going there would go round in circles.
    #[error("{0} is this proxy itself")]
    Ourselves(String),
}

impl Upstream {
    pub(crate) fn new(config: &UpstreamConfig, ours: Arc<crate::listening::Listening>) -> Self {
        let dialer = Dialer::new(config, ours, Alpn::Both);
        let pooled = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http2_adaptive_window(true)
            .http1_max_headers(MAX_HEADERS)
            .build(dialer.clone());
        Self { pooled, dialer, first_byte_timeout: config.first_byte_timeout }
    }

    /// Sends a request over a pooled connection.
    pub(crate) async fn send(&self, request: Request<Outgoing>) -> Result<Response<Incoming>, UpstreamError> {
        self.in_time(self.pooled.request(request)).await
    }

    /// Sends a request that may switch protocols, over an HTTP/1.1 connection of its own.
    pub(crate) async fn upgrade(
        &self,
        origin: &Origin,
        request: Request<Outgoing>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        let io = self.dialer.with_alpn(Alpn::Http1).dial(origin).await.map_err(|e| classify(&*e))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake::<_, Outgoing>(TokioIo::new(io))
            .await
            .map_err(|e| classify(&e))?;
        // Owned by the exchange: it ends when the upgraded connection is dropped.
        tokio::spawn(connection.with_upgrades());
        self.in_time(sender.send_request(request)).await
    }

    async fn in_time<E: std::error::Error + 'static>(
        &self,
        answer: impl Future<Output = Result<Response<Incoming>, E>>,
    ) -> Result<Response<Incoming>, UpstreamError> {
        match tokio::time::timeout(self.first_byte_timeout, answer).await {
            Ok(answered) => answered.map_err(|error| classify(&error)),
            Err(_) => Err(UpstreamError::Fault {
                fault: Fault::Stalled,
                detail: format!("no answer within {} s", self.first_byte_timeout.as_secs()),
            }),
        }
    }
}

/// What went wrong, as far as the error's chain of causes tells.
pub(crate) fn classify(error: &(dyn std::error::Error + 'static)) -> UpstreamError {
    let fault = |fault, detail: String| UpstreamError::Fault { fault, detail };
    let mut cause = Some(error);
    let mut last = String::new();
    while let Some(current) = cause {
        last = current.to_string();
        if let Some(error) = current.downcast_ref::<dial::DialError>() {
            return match error {
                dial::DialError::Ourselves(address) => UpstreamError::Ourselves(address.clone()),
                other => fault(other.fault(), other.to_string()),
            };
        }
        if let Some(error) = current.downcast_ref::<h2::Error>()
            && error.get_io().is_none_or(|io| fault_of(io) == Some(Fault::Reset))
        {
            return fault(Fault::Reset, error.to_string());
        }
        if let Some(io) = current.downcast_ref::<io::Error>()
            && let Some(kind) = fault_of(io)
        {
            return fault(kind, io.to_string());
        }
        if let Some(error) = current.downcast_ref::<hyper::Error>() {
            if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
                return fault(
                    Fault::Closed,
                    "the connection was closed before the message was whole".to_owned(),
                );
            }
            if error.is_parse() {
                return fault(Fault::Protocol, error.to_string());
            }
        }
        cause = current.source();
    }
    fault(Fault::Closed, last)
}

fn fault_of(error: &io::Error) -> Option<Fault> {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Some(Fault::Reset),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionAborted => Some(Fault::Closed),
        io::ErrorKind::TimedOut => Some(Fault::Stalled),
        _ => None,
    }
}

const MAX_HEADERS: usize = 256;
