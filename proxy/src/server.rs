//! Listeners, connections, and the four ways in which clients speak to a proxy.

use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

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
    convert::Origin,
    handler::{self, Client, Permit},
    session::{Session, forwards},
    upstream::{BoxError, Upstream, UpstreamConfig},
    wire::Wire,
};

/// What a proxy needs to start.
#[derive(Debug)]
pub struct ProxyConfig {
    pub listen: SocketAddr,
    /// Listeners that stand in for one origin each.
    pub reverse: Vec<Origin>,
    pub minter: Arc<Minter>,
    /// Not even made for a session that never forwards.
    pub upstream: Option<UpstreamConfig>,
}

#[derive(Debug, Error)]
pub enum ProxyError {
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
}

/// A running proxy. Dropped, it stops.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    reverse: Vec<SocketAddr>,
    session: Arc<Session>,
    stop: CancellationToken,
}

/// The addresses that are our own.
#[derive(Debug, Default)]
pub(crate) struct Listening(Mutex<Vec<SocketAddr>>);

impl Listening {
    fn add(&self, address: SocketAddr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    pub(crate) fn is_ours(&self, address: SocketAddr) -> bool {
        let ours = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ours.iter().any(|o| {
            let (ours, theirs) = (o.ip().to_canonical(), address.ip().to_canonical());
            let same_host = ours == theirs
                || (theirs.is_unspecified() && (ours.is_loopback() || ours.is_unspecified()))
                || (ours.is_unspecified() && is_of_this_machine(theirs));
            o.port() == address.port() && same_host
        })
    }
}

impl Proxy {
    pub async fn start(config: ProxyConfig, session: Session) -> Result<Self, ProxyError> {
        let session = Arc::new(session);
        let ours = Arc::new(Listening::default());
        let upstream = config
            .upstream
            .filter(|_| forwards(session.mode(), session.hosts()))
            .map(|upstream| Upstream::new(&upstream, Arc::clone(&ours)));
        let shared = Arc::new(Shared {
            session: Arc::clone(&session),
            upstream,
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
        Ok(Self { address, reverse, session, stop })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where each reverse origin is reached, in the order they were given.
    pub fn reverse_addresses(&self) -> &[SocketAddr] {
        &self.reverse
    }

    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Lets replies that are being recorded come to an end, stops listening, and gives the session back.
    pub async fn stop(self) -> Arc<Session> {
        self.session.settle(SETTLE).await;
        // Clients that are still connected lose us now; what they were being sent is kept as far as it came.
        self.stop.cancel();
        self.session.drain(SETTLE).await;
        Arc::clone(&self.session)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// An address that a socket can be bound to is one of ours.
fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

struct Shared {
    session: Arc<Session>,
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
    let client = Client {
        session: Arc::clone(&shared.session),
        upstream: shared.upstream.clone(),
        breaker: wire.breaker(),
        _permit: permit,
    };
    let entry = reverse.map_or(Entry::Proxy, Entry::Reverse);
    serve(wire, client, entry, shared).await;
}

/// How a request came to us, which tells where it is going.
#[derive(Clone)]
enum Entry {
    /// Straight to the proxy port: CONNECT, or an absolute-form target.
    Proxy,
    /// Inside a tunnel to this origin.
    Tunnel(Origin),
    /// To a port that stands in for this origin.
    Reverse(Origin),
}

async fn serve<I>(io: I, client: Client, entry: Entry, shared: Arc<Shared>)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (client, entry, shared) = (client.clone(), entry.clone(), Arc::clone(&shared));
        async move { route(client, entry, shared, request).await }
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
    // A client that breaks off is no error of ours.
    if let Err(error) = builder.serve_connection_with_upgrades(TokioIo::new(io), service).await {
        tracing::debug!(%error, "connection ended");
    }
}

async fn route(
    client: Client,
    entry: Entry,
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Aborted> {
    match entry {
        Entry::Proxy if request.method() == Method::CONNECT => Ok(connect(client, shared, request)),
        _ if request.method() == Method::CONNECT => {
            Ok(answers::bad_request("CONNECT only opens a tunnel to this proxy"))
        }
        Entry::Proxy => match absolute_origin(request.uri()) {
            Some(origin) => handler::handle(client, origin, request).await,
            None => Ok(answers::bad_request(
                "this is a proxy; set it as HTTPS_PROXY and HTTP_PROXY, or use --reverse for a client that cannot",
            )),
        },
        Entry::Tunnel(origin) => match inner_host(&request) {
            Some(inner) if !names(&inner, &origin) => Ok(answers::misdirected(&origin.authority(), &inner)),
            _ => handler::handle(client, origin, request).await,
        },
        Entry::Reverse(origin) => handler::handle(client, origin, request).await,
    }
}

/// Opens a tunnel that ends here: what the client sends through it is read by us.
fn connect(client: Client, shared: Arc<Shared>, request: Request<Incoming>) -> Response<ReplyBody> {
    let target = request.uri().authority().and_then(|a| Some((a.host().to_owned(), a.port_u16()?)));
    let Some((host, port)) = target.filter(|(host, port)| !host.is_empty() && *port != 0) else {
        return answers::bad_request("CONNECT needs HOST:PORT");
    };
    if request.version() == Version::HTTP_2 {
        return answers::not_served("CONNECT over HTTP/2");
    }
    tokio::spawn(async move {
        let stop = shared.stop.clone();
        let Ok(upgraded) = hyper::upgrade::on(request).await else {
            return;
        };
        let Ok(parts) = auto::upgrade::downcast::<TokioIo<Wire>>(upgraded) else {
            return;
        };
        let mut wire = parts.io.into_inner();
        wire.unread(parts.read_buf);
        tokio::select! {
            () = tunnel(wire, client, &host, port, shared) => {}
            () = stop.cancelled() => {}
        }
    });
    Response::new(ReplyBody::empty())
}

async fn tunnel(mut wire: Wire, client: Client, host: &str, port: u16, shared: Arc<Shared>) {
    let Ok(first) = tokio::time::timeout(SILENCE, wire.peek()).await else { return };
    match first {
        Ok(Some(TLS_HANDSHAKE)) => {
            let origin = Origin::new(Scheme::Https, host, Some(port));
            match tokio::time::timeout(HANDSHAKE, accept_tls(wire, &origin, &shared.minter)).await {
                Ok(Ok(stream)) => serve(stream, client, Entry::Tunnel(origin), shared).await,
                Ok(Err(error)) => {
                    tracing::debug!(host, %error, "TLS handshake with the client failed");
                }
                Err(_) => tracing::debug!(host, "the client did not finish its TLS handshake"),
            }
        }
        // Some clients tunnel plain HTTP too.
        Ok(Some(_)) => {
            let origin = Origin::new(Scheme::Http, host, Some(port));
            serve(wire, client, Entry::Tunnel(origin), shared).await;
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
/// How long the end of a run waits for replies that are still coming.
const SETTLE: Duration = Duration::from_secs(3);
const MAX_CONNECTIONS: usize = 512;
const MAX_STREAMS: u32 = 100;
const MAX_HEADER_LIST: u32 = 64 << 10;
