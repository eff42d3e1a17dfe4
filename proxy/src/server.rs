//! Listeners, connections, and the four ways in which clients speak to a proxy.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use certs::Minter;
use exchange::Scheme;
use http::{Method, Request, Response, Uri, Version};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use thiserror::Error;
use time::OffsetDateTime;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_rustls::LazyConfigAcceptor;
use tokio_util::sync::CancellationToken;

use crate::{
    abort::Aborted,
    answers,
    body::ReplyBody,
    control::{self, Control, ControlConfig, ControlError},
    convert::Origin,
    handler::{self, Client, Permit},
    listening::Listening,
    opener::{Opener, Refusal},
    session::Session,
    session_name::SessionName,
    sessions::Sessions,
    upstream::{BoxError, Upstream, UpstreamConfig},
    wire::{Breaker, Wire},
};

/// What a proxy needs to start.
pub struct ProxyConfig {
    pub listen: SocketAddr,
    /// Listeners that stand in for one origin each.
    pub reverse: Vec<Origin>,
    pub minter: Arc<Minter>,
    /// None where nothing may leave.
    pub upstream: Option<UpstreamConfig>,
    /// Opens the sessions that user names ask for.
    pub opener: Arc<dyn Opener>,
    pub control: Option<ControlConfig>,
}

impl std::fmt::Debug for ProxyConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProxyConfig({})", self.listen)
    }
}

#[derive(Debug, Error)]
pub enum ProxyError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// A running proxy. Dropped, it stops.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    reverse: Vec<SocketAddr>,
    sessions: Arc<Sessions>,
    control: Option<Control>,
    stop: CancellationToken,
}

impl Proxy {
    /// `own` is the session of calls without a user name; without it there are none.
    pub async fn start(config: ProxyConfig, own: Option<Session>) -> Result<Self, ProxyError> {
        let sessions = Arc::new(Sessions::new(own.map(Arc::new), config.opener));
        let ours = Arc::new(Listening::default());
        let shared = Arc::new(Shared {
            sessions: Arc::clone(&sessions),
            upstream: config.upstream.map(|upstream| Upstream::new(&upstream, Arc::clone(&ours))),
            minter: config.minter,
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            stop: CancellationToken::new(),
        });
        let stop = shared.stop.clone();
        let address = listen(config.listen, None, &shared, &ours).await?;
        let mut reverse = Vec::with_capacity(config.reverse.len());
        for origin in config.reverse {
            let any_port = SocketAddr::new(config.listen.ip(), 0);
            reverse.push(listen(any_port, Some(origin), &shared, &ours).await?);
        }
        let control = match config.control {
            Some(config) => Some(control::start(config, address, Arc::clone(&sessions), &ours, &stop).await?),
            None => None,
        };
        Ok(Self { address, reverse, sessions, control, stop })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where each reverse origin is reached, in the order they were given.
    pub fn reverse_addresses(&self) -> &[SocketAddr] {
        &self.reverse
    }

    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Where and how the control API is reached, if it was asked for.
    pub fn control(&self) -> Option<&Control> {
        self.control.as_ref()
    }

    /// Lets replies that are being recorded come to an end, stops listening, and ends every session. Our own is still to
    /// be written; of the others, what could not be is told.
    pub async fn stop(self) -> (Option<Arc<Session>>, Result<(), Refusal>) {
        self.sessions.settle().await;
        // Clients that are still connected lose us now; what they were being sent is kept as far as it came.
        self.stop.cancel();
        let finished = self.sessions.finish().await;
        (self.sessions.own().cloned(), finished)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct Shared {
    sessions: Arc<Sessions>,
    upstream: Option<Upstream>,
    minter: Arc<Minter>,
    connections: Arc<Semaphore>,
    stop: CancellationToken,
}

async fn listen(
    address: SocketAddr,
    reverse: Option<Origin>,
    shared: &Arc<Shared>,
    ours: &Listening,
) -> Result<SocketAddr, ProxyError> {
    let failed = |source| ProxyError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    ours.add(local);
    tokio::spawn(accept(listener, reverse, Arc::clone(shared)));
    Ok(local)
}

async fn accept(listener: TcpListener, reverse: Option<Origin>, shared: Arc<Shared>) {
    loop {
        let Ok(permit) = Arc::clone(&shared.connections).acquire_owned().await else {
            return;
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file handles, most likely: the connections we have may give some back.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = shared.stop.cancelled() => return,
        };
        let _ = stream.set_nodelay(true);
        let (shared, reverse) = (Arc::clone(&shared), reverse.clone());
        tokio::spawn(async move {
            let stop = shared.stop.clone();
            tokio::select! {
                () = connection(stream, reverse, shared, Arc::new(permit)) => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

async fn connection(stream: TcpStream, reverse: Option<Origin>, shared: Arc<Shared>, permit: Permit) {
    let wire = Wire::new(stream);
    let link = Link { shared, breaker: wire.breaker(), permit };
    let entry = match (reverse, link.shared.sessions.own()) {
        (None, _) => Entry::Proxy,
        (Some(origin), Some(own)) => Entry::Reverse(origin, Arc::clone(own)),
        // Whoever starts a proxy opens no such port without a session for it.
        (Some(_), None) => return,
    };
    serve(wire, link, entry).await;
}

/// One connection of a client, whatever is asked on it.
#[derive(Clone)]
struct Link {
    shared: Arc<Shared>,
    breaker: Breaker,
    permit: Permit,
}

impl Link {
    fn client(self, session: Arc<Session>) -> Client {
        let upstream = self.shared.upstream.clone();
        Client { session, upstream, breaker: self.breaker, _permit: self.permit }
    }
}

/// How a request came to us, which tells where it is going and to which session it belongs.
#[derive(Clone)]
enum Entry {
    /// Straight to the proxy port: CONNECT, or an absolute-form target.
    Proxy,
    /// Inside a tunnel to this origin.
    Tunnel(Origin, Arc<Session>),
    /// To a port that stands in for this origin.
    Reverse(Origin, Arc<Session>),
}

async fn serve<I>(io: I, link: Link, entry: Entry)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let ending = entry.ending(&link.shared.sessions);
    let service = service_fn(move |request: Request<Incoming>| {
        let (link, entry) = (link.clone(), entry.clone());
        async move { route(link, entry, request).await }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // It would also close idle keep-alive connections, which clients race against.
        .header_read_timeout(None)
        .half_close(true)
        .auto_date_header(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_LIST)
        .adaptive_window(true);
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(io), service));
    let ended = match ending {
        None => connection.await,
        Some(ending) => {
            tokio::select! {
                biased;
                ended = connection.as_mut() => ended,
                () = ending.cancelled() => {
                    // The client's next request needs a tunnel of another session.
                    connection.as_mut().graceful_shutdown();
                    tokio::time::timeout(LAST_WORDS, connection).await.unwrap_or(Ok(()))
                }
            }
        }
    };
    // A client that breaks off is no error of ours.
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

impl Entry {
    /// What tells that a tunnel's session is over. Our own session outlives every connection.
    fn ending(&self, sessions: &Sessions) -> Option<CancellationToken> {
        match self {
            Self::Tunnel(_, session) if sessions.own().is_none_or(|own| !Arc::ptr_eq(own, session)) => {
                Some(session.ending().clone())
            }
            _ => None,
        }
    }
}

async fn route(link: Link, entry: Entry, request: Request<Incoming>) -> Result<Response<ReplyBody>, Aborted> {
    match entry {
        Entry::Proxy if request.method() == Method::CONNECT => Ok(connect(link, request).await),
        _ if request.method() == Method::CONNECT => {
            Ok(answers::bad_request("CONNECT only opens a tunnel to this proxy"))
        }
        Entry::Proxy => match absolute_origin(request.uri()) {
            Some(origin) => match session_of(&request, &link.shared.sessions).await {
                Ok(session) => handler::handle(link.client(session), origin, request).await,
                Err(refused) => Ok(*refused),
            },
            None => Ok(answers::bad_request(
                "this is a proxy; set it as HTTPS_PROXY and HTTP_PROXY, or use --reverse for a client that cannot",
            )),
        },
        Entry::Tunnel(origin, session) => match inner_host(&request) {
            Some(inner) if !names(&inner, &origin) => Ok(answers::misdirected(&origin.authority(), &inner)),
            _ => handler::handle(link.client(session), origin, request).await,
        },
        Entry::Reverse(origin, session) => handler::handle(link.client(session), origin, request).await,
    }
}

/// The session that a request to the proxy itself belongs to, by its user name.
async fn session_of(
    request: &Request<Incoming>,
    sessions: &Arc<Sessions>,
) -> Result<Arc<Session>, Box<Response<ReplyBody>>> {
    match SessionName::of(request.headers()) {
        Ok(None) => sessions.own().cloned().ok_or_else(|| Box::new(answers::no_session())),
        // Most requests need no session to be opened: the rest of this is boxed for their sake.
        Ok(Some(name)) => Box::pin(sessions.choose(name))
            .await
            .map_err(|refusal| Box::new(answers::session_refused(&refusal))),
        Err(bad) => Err(Box::new(answers::bad_credentials(bad))),
    }
}

async fn connect(link: Link, request: Request<Incoming>) -> Response<ReplyBody> {
    let target = request.uri().authority().and_then(|a| Some((a.host().to_owned(), a.port_u16()?)));
    let Some((host, port)) = target.filter(|(host, port)| !host.is_empty() && *port != 0) else {
        return answers::bad_request("CONNECT needs HOST:PORT");
    };
    if request.version() == Version::HTTP_2 {
        return answers::not_served("CONNECT over HTTP/2");
    }
    match session_of(&request, &link.shared.sessions).await {
        Ok(session) => open_tunnel(link, request, host, port, session),
        Err(refused) => *refused,
    }
}

/// Opens a tunnel that ends here: what the client sends through it is read by us.
fn open_tunnel(
    link: Link,
    request: Request<Incoming>,
    host: String,
    port: u16,
    session: Arc<Session>,
) -> Response<ReplyBody> {
    tokio::spawn(async move {
        let stop = link.shared.stop.clone();
        let Ok(upgraded) = hyper::upgrade::on(request).await else {
            return;
        };
        let Ok(parts) = auto::upgrade::downcast::<TokioIo<Wire>>(upgraded) else {
            return;
        };
        let mut wire = parts.io.into_inner();
        wire.unread(parts.read_buf);
        tokio::select! {
            () = tunnel(wire, link, &host, port, session) => {}
            () = stop.cancelled() => {}
        }
    });
    Response::new(ReplyBody::empty())
}

async fn tunnel(mut wire: Wire, link: Link, host: &str, port: u16, session: Arc<Session>) {
    let Ok(first) = tokio::time::timeout(SILENCE, wire.peek()).await else { return };
    match first {
        Ok(Some(TLS_HANDSHAKE)) => {
            let origin = Origin::new(Scheme::Https, host, Some(port));
            match tokio::time::timeout(HANDSHAKE, accept_tls(wire, &origin, &link.shared.minter)).await {
                Ok(Ok(stream)) => serve(stream, link, Entry::Tunnel(origin, session)).await,
                Ok(Err(error)) => {
                    tracing::debug!(host, %error, "TLS handshake with the client failed");
                }
                Err(_) => tracing::debug!(host, "the client did not finish its TLS handshake"),
            }
        }
        // Some clients tunnel plain HTTP too.
        Ok(Some(_)) => {
            let origin = Origin::new(Scheme::Http, host, Some(port));
            serve(wire, link, Entry::Tunnel(origin, session)).await;
        }
        Ok(None) | Err(_) => {}
    }
}

async fn accept_tls(
    wire: Wire,
    origin: &Origin,
    minter: &Minter,
) -> Result<tokio_rustls::server::TlsStream<Wire>, BoxError> {
    let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), wire).await?;
    let name = start.client_hello().server_name().map(str::to_owned);
    // A client that connects by address sends no name.
    let name = name.as_deref().unwrap_or(&origin.host);
    let config = minter.server_config(name, OffsetDateTime::now_utc())?;
    Ok(start.into_stream(config).await?)
}

fn absolute_origin(uri: &Uri) -> Option<Origin> {
    let scheme = match uri.scheme_str()? {
        "http" | "ws" => Scheme::Http,
        "https" | "wss" => Scheme::Https,
        _ => return None,
    };
    // A port that is written and is none must not become the default one.
    let port = match uri.port() {
        Some(port) => Some(port.as_str().parse::<u16>().ok()?),
        None if uri.authority()?.as_str().rsplit(']').next()?.contains(':') => return None,
        None => None,
    };
    Some(Origin::new(scheme, uri.host()?, port))
}

fn inner_host(request: &Request<Incoming>) -> Option<String> {
    let authority = request.uri().authority().map(|a| a.as_str().to_owned());
    authority.or_else(|| Some(request.headers().get(http::header::HOST)?.to_str().ok()?.to_owned()))
}

/// Whether a `host` value names the origin that the tunnel leads to.
fn names(inner: &str, origin: &Origin) -> bool {
    if inner == origin.host {
        return true;
    }
    let inner = inner.rsplit_once('@').map_or(inner, |(_, host)| host);
    let Ok(inner) = inner.parse::<http::uri::Authority>() else {
        return false;
    };
    let inner = Origin::new(origin.scheme, inner.host(), inner.port_u16());
    inner.host == origin.host && (inner.port == origin.port || inner.port == origin.scheme.default_port())
}

const TLS_HANDSHAKE: u8 = 0x16;
/// How long an open tunnel may stay silent before its first byte. Some clients open one ahead of need.
const SILENCE: Duration = Duration::from_secs(300);
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a tunnel may go on with an answer once its session is over.
const LAST_WORDS: Duration = Duration::from_secs(1);
const MAX_CONNECTIONS: usize = 512;
const MAX_STREAMS: u32 = 100;
const MAX_HEADER_LIST: u32 = 64 << 10;
