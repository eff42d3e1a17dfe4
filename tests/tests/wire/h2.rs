//! HTTP/2 at both ends: a client through the proxy, and an upstream of a few lines.

use std::{
    convert::Infallible,
    future,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    thread,
};

use bytes::Bytes;
use http::Response;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::{
    client::conn::http2::{self, SendRequest},
    server,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::{net::TcpListener, runtime, sync::oneshot};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::{gate::Gate, raw::Raw, scripted::certified};

pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Opens a connection to a host and lets `act` send requests over it.
pub fn speak<T>(gate: &Gate, host: &str, act: impl AsyncFnOnce(SendRequest<Body>) -> T) -> T {
    let tunnel = Raw::tunnel(gate, &format!("{host}:443")).io;
    tunnel.set_nonblocking(true).unwrap();
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tcp = tokio::net::TcpStream::from_std(tunnel).unwrap();
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let tls = TlsConnector::from(Arc::clone(&gate.client_config(&["h2"])));
        let tls = tls.connect(name, tcp).await.unwrap();
        assert_eq!(tls.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(tls)).await.unwrap();
        let driver = tokio::spawn(connection);
        let done = act(sender).await;
        driver.abort();
        done
    })
}

/// A server that gives every request the same kind of answer; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    pub addr: SocketAddr,
    /// To be trusted, in PEM.
    pub certificate: String,
    _stop: oneshot::Sender<()>,
}

impl Server {
    pub fn start(name: &str, answer: fn() -> Response<Body>) -> Self {
        let (config, certificate) = certified(name, &["h2"]);
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let addr = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, TlsAcceptor::from(config), answer) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { addr, certificate, _stop: stop }
    }
}

async fn serve(listener: std::net::TcpListener, acceptor: TlsAcceptor, answer: fn() -> Response<Body>) {
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let tls = acceptor.accept(stream).await.unwrap();
            let service = service_fn(move |_| future::ready(Ok::<_, Infallible>(answer())));
            let server = server::conn::http2::Builder::new(TokioExecutor::new());
            // The client's to notice: it leaves when it has its answer.
            let _ = server.serve_connection(TokioIo::new(tls), service).await;
        });
    }
}
