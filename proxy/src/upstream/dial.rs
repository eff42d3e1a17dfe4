//! Opening a connection: name look-up, a proxy in between, TLS.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    str::FromStr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use exchange::{Fault, Scheme};
use http::{HeaderValue, Uri};
use hyper_util::{
    client::legacy::connect::{Connected, Connection, HttpConnector, proxy::Tunnel},
    rt::TokioIo,
};
use rustls::{ClientConfig, pki_types::ServerName};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower_service::Service;

use super::{BoxError, UpstreamConfig};
use crate::{convert::Origin, listening::Listening};

/// `HOST:PORT:ADDR:PORT`: connections to the first pair go to the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    from_host: String,
    from_port: Option<u16>,
    to_host: String,
    to_port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not HOST:PORT:ADDR:PORT, such as api.openai.com:443:127.0.0.1:8443")]
pub struct ConnectToError(String);

/// A proxy between us and every upstream.
#[derive(Clone)]
pub struct UpstreamProxy {
    address: Uri,
    authorization: Option<HeaderValue>,
    /// Hosts that are reached without it.
    except: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UpstreamProxyError {
    #[error("the upstream proxy must be http://HOST:PORT")]
    Form,
    #[error("the upstream proxy speaks {0}, and only http:// proxies are supported")]
    Scheme(String),
}

#[derive(Debug, Error)]
pub(super) enum DialError {
    #[error("cannot resolve {host}")]
    Resolve { host: String, source: io::Error },
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: io::Error },
    #[error("cannot connect to {address} within {seconds} s")]
    Timeout { address: String, seconds: u64 },
    #[error("the upstream proxy did not open a tunnel: {0}")]
    Tunnel(String),
    #[error("TLS with {host} failed: {source}")]
    Tls { host: String, source: io::Error },
    #[error("{0} is this proxy itself")]
    Ourselves(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alpn {
    Both,
    Http1,
}

/// Opens connections the way the configuration says.
#[derive(Clone)]
pub(super) struct Dialer {
    shared: Arc<Shared>,
    alpn: Alpn,
}

struct Shared {
    tls: Arc<ClientConfig>,
    tls_http1: Arc<ClientConfig>,
    connect_to: Vec<ConnectTo>,
    proxy: Option<UpstreamProxy>,
    connect_timeout: Duration,
    ours: Arc<Listening>,
}

/// An open connection, with or without TLS.
pub(super) enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Dialer {
    pub(super) fn new(config: &UpstreamConfig, ours: Arc<Listening>, alpn: Alpn) -> Self {
        let with = |protocols: &[&[u8]]| {
            let mut tls = ClientConfig::clone(&config.tls);
            tls.alpn_protocols = protocols.iter().map(|p| p.to_vec()).collect();
            Arc::new(tls)
        };
        let shared = Shared {
            tls: with(&[b"h2", b"http/1.1"]),
            tls_http1: with(&[b"http/1.1"]),
            connect_to: config.connect_to.clone(),
            proxy: config.proxy.clone(),
            connect_timeout: config.connect_timeout,
            ours,
        };
        Self { shared: Arc::new(shared), alpn }
    }

    pub(super) fn with_alpn(&self, alpn: Alpn) -> Self {
        Self { shared: Arc::clone(&self.shared), alpn }
    }

    pub(super) async fn dial(&self, origin: &Origin) -> Result<Io, BoxError> {
        let tcp = self.tcp(origin).await?;
        let _ = tcp.set_nodelay(true);
        if origin.scheme == Scheme::Http {
            return Ok(Io::Plain(tcp));
        }
        let host = origin.host.clone();
        let failed = |source| DialError::Tls { host: host.clone(), source };
        let name = ServerName::try_from(origin.host.clone()).map_err(|e| failed(io::Error::other(e)))?;
        let config = match self.alpn {
            Alpn::Both => &self.shared.tls,
            Alpn::Http1 => &self.shared.tls_http1,
        };
        let handshake = TlsConnector::from(Arc::clone(config)).connect(name, tcp);
        let stream = match tokio::time::timeout(self.shared.connect_timeout, handshake).await {
            Ok(result) => result.map_err(failed)?,
            Err(_) => return Err(self.timeout(origin).into()),
        };
        Ok(Io::Tls(Box::new(stream)))
    }

    async fn tcp(&self, origin: &Origin) -> Result<TcpStream, DialError> {
        let mapped = self.shared.connect_to.iter().find_map(|rule| rule.apply(&origin.host, origin.port));
        let (host, port) = mapped.unwrap_or_else(|| (origin.host.clone(), origin.port));
        let connect = async {
            let is_exempt = |proxy: &UpstreamProxy| proxy.is_exempt(&origin.host) || proxy.is_exempt(&host);
            match self.shared.proxy.as_ref().filter(|proxy| !is_exempt(proxy)) {
                Some(proxy) => proxy.tunnel(&host, port).await,
                None => self.direct(&host, port).await,
            }
        };
        let limit = self.shared.connect_timeout;
        tokio::time::timeout(limit, connect).await.unwrap_or_else(|_| Err(self.timeout(origin)))
    }

    async fn direct(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let resolve = |source| DialError::Resolve { host: host.to_owned(), source };
        let addresses: Vec<SocketAddr> =
            tokio::net::lookup_host((host, port)).await.map_err(resolve)?.collect();
        let mut last = resolve(io::ErrorKind::NotFound.into());
        for address in addresses {
            // Asked of the address and not of the name: any name may lead to us.
            if self.shared.ours.is_ours(address) {
                return Err(DialError::Ourselves(address.to_string()));
            }
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(source) => last = DialError::Connect { address: address.to_string(), source },
            }
        }
        Err(last)
    }

    fn timeout(&self, origin: &Origin) -> DialError {
        DialError::Timeout { address: origin.authority(), seconds: self.shared.connect_timeout.as_secs() }
    }
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dialer({:?})", self.alpn)
    }
}

impl DialError {
    pub(super) fn fault(&self) -> Fault {
        match self {
            Self::Resolve { .. } => Fault::Dns,
            Self::Connect { source, .. } => match source.kind() {
                io::ErrorKind::ConnectionRefused => Fault::Refused,
                io::ErrorKind::ConnectionReset => Fault::Reset,
                _ => Fault::Unreachable,
            },
            Self::Timeout { .. } | Self::Tunnel(_) | Self::Ourselves(_) => Fault::Unreachable,
            Self::Tls { source, .. } => match source.kind() {
                io::ErrorKind::ConnectionReset => Fault::Reset,
                io::ErrorKind::UnexpectedEof => Fault::Closed,
                _ => Fault::Tls,
            },
        }
    }
}

impl ConnectTo {
    fn apply(&self, host: &str, port: u16) -> Option<(String, u16)> {
        let here =
            (self.from_host.is_empty() || self.from_host == host) && self.from_port.is_none_or(|p| p == port);
        here.then(|| {
            let to_host = if self.to_host.is_empty() { host } else { &self.to_host };
            (to_host.to_owned(), self.to_port.unwrap_or(port))
        })
    }
}

impl FromStr for ConnectTo {
    type Err = ConnectToError;

    fn from_str(text: &str) -> Result<Self, ConnectToError> {
        let fail = || ConnectToError(text.to_owned());
        let parts = split_outside_brackets(text);
        let [from_host, from_port, to_host, to_port] = parts.as_slice() else {
            return Err(fail());
        };
        let host = |h: &str| h.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let port = |p: &str| match p {
            "" => Ok(None),
            number => number.parse().map(Some).map_err(|_| fail()),
        };
        Ok(Self {
            from_host: host(from_host),
            from_port: port(from_port)?,
            to_host: host(to_host),
            to_port: port(to_port)?,
        })
    }
}

impl UpstreamProxy {
    /// `except` is a list in the manner of `NO_PROXY`.
    pub fn parse(url: &str, except: &str) -> Result<Self, UpstreamProxyError> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(UpstreamProxyError::Scheme(scheme.to_owned()));
        }
        let rest = rest.trim_end_matches('/');
        let (user, authority) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user), host));
        let address: Uri = format!("http://{authority}").parse().map_err(|_| UpstreamProxyError::Form)?;
        if address.host().is_none_or(str::is_empty) {
            return Err(UpstreamProxyError::Form);
        }
        let authorization = user.map(basic).transpose().map_err(|_| UpstreamProxyError::Form)?;
        let except = except.split(',').map(|e| e.trim().trim_start_matches('.').to_ascii_lowercase());
        Ok(Self { address, authorization, except: except.filter(|e| !e.is_empty()).collect() })
    }

    fn is_exempt(&self, host: &str) -> bool {
        self.except.iter().any(|e| {
            e == "*" || host == e || host.strip_suffix(e.as_str()).is_some_and(|rest| rest.ends_with('.'))
        })
    }

    async fn tunnel(&self, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        let mut tunnel = Tunnel::new(self.address.clone(), connector);
        if let Some(authorization) = &self.authorization {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let target: Uri = format!("https://{host}:{port}")
            .parse()
            .map_err(|e: http::uri::InvalidUri| DialError::Tunnel(e.to_string()))?;
        let io = tunnel.call(target).await.map_err(|e| DialError::Tunnel(causes(&e)))?;
        Ok(io.into_inner())
    }
}

impl std::fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UpstreamProxy({})", self.address)
    }
}

impl Service<Uri> for Dialer {
    type Response = TokioIo<Io>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Io>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialer = self.clone();
        Box::pin(async move {
            let scheme = if uri.scheme_str() == Some("http") { Scheme::Http } else { Scheme::Https };
            let origin = Origin::new(scheme, uri.host().unwrap_or(""), uri.port_u16());
            dialer.dial(&origin).await.map(TokioIo::new)
        })
    }
}

impl Connection for Io {
    fn connected(&self) -> Connected {
        match self {
            Self::Tls(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
                Connected::new().negotiated_h2()
            }
            _ => Connected::new(),
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Self::Tls(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_flush(cx),
            Self::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Self::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}

fn basic(user: &str) -> Result<HeaderValue, http::header::InvalidHeaderValue> {
    let decoded = percent_decoded(user);
    let pair = if decoded.contains(':') { decoded } else { format!("{decoded}:") };
    let mut value = HeaderValue::try_from(format!("Basic {}", BASE64.encode(pair)))?;
    value.set_sensitive(true);
    Ok(value)
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let hex = tail
            .get(..2)
            .and_then(|h| std::str::from_utf8(h).ok())
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An error and all its causes on one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(current) = cause {
        text = format!("{text}: {current}");
        cause = current.source();
    }
    text
}

fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ':' if depth == 0 => {
                parts.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_to_maps_host_and_port_as_curl_does() {
        let rule: ConnectTo = "API.test:443:127.0.0.1:8443".parse().unwrap();
        assert_eq!(rule.apply("api.test", 443), Some(("127.0.0.1".into(), 8443)));
        assert_eq!(rule.apply("api.test", 80), None);
        let any: ConnectTo = "::[::1]:9000".parse().unwrap();
        assert_eq!(any.apply("whatever.test", 1234), Some(("::1".into(), 9000)));
        assert!("api.test:443:127.0.0.1".parse::<ConnectTo>().is_err());
        assert!("api.test:x:127.0.0.1:1".parse::<ConnectTo>().is_err());
    }

    #[test]
    fn a_proxy_url_gives_address_and_exemptions_and_never_prints_its_password() {
        let proxy =
            UpstreamProxy::parse("http://me:p%40ss@proxy.test:3128/", "localhost, .corp.test").unwrap();
        assert_eq!(format!("{proxy:?}"), "UpstreamProxy(http://proxy.test:3128/)");
        assert!(
            proxy.is_exempt("a.corp.test") && proxy.is_exempt("corp.test") && !proxy.is_exempt("xcorp.test")
        );
        assert_eq!(
            UpstreamProxy::parse("socks5://a:1", "").err(),
            Some(UpstreamProxyError::Scheme("socks5".into()))
        );
    }
}
