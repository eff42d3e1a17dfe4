//! An HTTP/2 client through the proxy.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::{gate::Gate, raw::Raw};

pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Opens a connection to a host and lets `act` send requests over it.
pub fn speak<T>(gate: &Gate, host: &str, act: impl AsyncFnOnce(SendRequest<Body>) -> T) -> T {
    let tunnel = Raw::tunnel(gate, &format!("{host}:443")).io;
    tunnel.set_nonblocking(true).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
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
