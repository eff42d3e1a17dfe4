//! The client of all servers alike: TCP, CONNECT where the way leads through a proxy, TLS, HTTP/1.1.

use std::{io, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use super::corpus::HOST;

/// Where requests go, and whom to trust there.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    address: SocketAddr,
    route: Route,
    tls: Arc<ClientConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Direct,
    Connect,
}

/// A connection that has been opened.
#[derive(Debug)]
pub(crate) struct Connection(SendRequest<Full<Bytes>>);

impl Target {
    pub(crate) fn new(address: SocketAddr, route: Route, ca: &[u8]) -> Self {
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(
            CertificateDer::pem_slice_iter(ca)
                .map(|certificate| certificate.expect("a CA file holds certificates")),
        );
        assert!(added > 0, "no CA certificate to trust");
        let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring speaks TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        tls.resumption = Resumption::disabled();
        Self { address, route, tls: Arc::new(tls) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) async fn connect(&self) -> Connection {
        match self.try_connect().await {
            Ok(connection) => connection,
            Err(error) => panic!("cannot connect to {}: {error}", self.address),
        }
    }

    async fn try_connect(&self) -> io::Result<Connection> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        if self.route == Route::Connect {
            open_tunnel(&mut stream).await?;
        }
        let name = ServerName::try_from(HOST).map_err(io::Error::other)?;
        let stream = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // Ends when its sender is dropped.
        tokio::spawn(connection);
        Ok(Connection(sender))
    }
}

impl Connection {
    /// Sends a request and gives the reply as soon as its head is there.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        self.0.ready().await.expect("the server keeps the connection");
        let response = self.0.send_request(request).await.expect("the server replies");
        assert_eq!(response.status(), StatusCode::OK, "every request is answered");
        response
    }

    /// Sends a request and reads the whole reply.
    pub(crate) async fn exchange(&mut self, request: Request<Full<Bytes>>) -> Bytes {
        let reply = self.send(request).await.into_body().collect().await;
        reply.expect("the reply is whole").to_bytes()
    }
}

async fn open_tunnel(stream: &mut TcpStream) -> io::Result<()> {
    let head = format!("CONNECT {HOST}:443 HTTP/1.1\r\nhost: {HOST}:443\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::with_capacity(256);
    // Nothing can follow the head: the client speaks first in TLS.
    while !answer.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    match answer.starts_with(b"HTTP/1.1 200") {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&answer).into_owned())),
    }
}
