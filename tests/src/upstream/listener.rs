//! The sockets of the upstream: accepting, TLS, and hyper on top. What is answered is not decided here.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4},
    sync::Arc,
};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use rustls::ServerConfig;
use socket2::{Domain, Socket, Type};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::{
    Ports, Wire,
    authority::Authority,
    connection::{Control, Controlled},
    routes::Routes,
};

/// Bound and not yet serving.
#[derive(Debug)]
pub(super) struct Listeners {
    tls: TcpListener,
    plain: TcpListener,
    bad_cert: TcpListener,
    /// Bound but not listening: connecting is refused, and the port cannot go to anyone else.
    refused: Socket,
    trusted: Arc<ServerConfig>,
    untrusted: Arc<ServerConfig>,
    routes: Arc<Routes>,
}

impl Listeners {
    pub(super) async fn bind(authority: Authority, routes: Arc<Routes>) -> Self {
        let refused = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        refused.bind(&ANY_PORT.into()).expect("a free port");
        Self {
            tls: listen().await,
            plain: listen().await,
            bad_cert: listen().await,
            refused,
            trusted: authority.into_server_config(),
            untrusted: Authority::new("Nobody's CA").into_server_config(),
            routes,
        }
    }

    pub(super) fn ports(&self) -> Ports {
        let addr = |listener: &TcpListener| listener.local_addr().expect("a bound listener has an address");
        let refused = self.refused.local_addr().expect("a bound socket has an address");
        Ports {
            tls: addr(&self.tls),
            plain: addr(&self.plain),
            bad_cert: addr(&self.bad_cert),
            refused: refused.as_socket().expect("an IPv4 address"),
        }
    }

    /// Serves until `stopped` resolves; every connection ends with it.
    pub(super) async fn serve(self, mut stopped: oneshot::Receiver<()>) {
        let trusted = TlsAcceptor::from(self.trusted);
        let untrusted = TlsAcceptor::from(self.untrusted);
        let mut connections = JoinSet::new();
        loop {
            let routes = Arc::clone(&self.routes);
            tokio::select! {
                _ = &mut stopped => return,
                Some(_) = connections.join_next() => {}
                Ok((stream, _)) = self.tls.accept() => drop(connections.spawn(over_tls(stream, trusted.clone(), routes))),
                Ok((stream, _)) = self.bad_cert.accept() => drop(connections.spawn(over_tls(stream, untrusted.clone(), routes))),
                Ok((stream, _)) = self.plain.accept() => drop(connections.spawn(in_clear(stream, routes))),
            }
        }
    }
}

async fn listen() -> TcpListener {
    TcpListener::bind(ANY_PORT).await.expect("a free port")
}

// A connection's error is the client's to notice: half of these are broken on purpose.
async fn over_tls(stream: TcpStream, acceptor: TlsAcceptor, routes: Arc<Routes>) {
    let Ok((control, stream)) = controlled(stream) else {
        return;
    };
    if let Ok(stream) = acceptor.accept(stream).await {
        serve(stream, control, Wire::Tls, routes).await;
    }
}

async fn in_clear(stream: TcpStream, routes: Arc<Routes>) {
    let Ok((control, stream)) = controlled(stream) else {
        return;
    };
    serve(stream, control, Wire::Plain, routes).await;
}

fn controlled(stream: TcpStream) -> io::Result<(Control, TcpStream)> {
    stream.set_nodelay(true)?;
    Control::of(stream)
}

async fn serve<S>(stream: S, control: Control, wire: Wire, routes: Arc<Routes>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(Controlled::new(stream, control.clone()));
    let service = service_fn(move |request| {
        let (routes, control) = (Arc::clone(&routes), control.clone());
        async move { routes.answer(request, wire, control).await.map_err(io::Error::other) }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).half_close(true).auto_date_header(false);
    server.http2().timer(TokioTimer::new()).auto_date_header(false);
    let _ = server.serve_connection_with_upgrades(io, service).await;
}

const ANY_PORT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
