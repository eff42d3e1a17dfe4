//! The control API: what runs beside a proxy may ask about its sessions and tell them what to do.
//!
//! It is reached over a Unix socket that only its owner can open, and over loopback TCP where that was asked for. The
//! routes are given nothing but [`auth::Authenticated`] requests, which only the check of who asks can make.

mod auth;
mod fields;
mod reply;
mod routes;
mod shapes;

use std::{
    fs::{self, Permissions},
    io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::sync::CancellationToken;

use crate::{listening::Listening, session::Mode, sessions::Sessions};
use auth::Entrance;
use routes::Desk;

/// Where the control API is to be reached.
#[derive(Debug)]
pub struct ControlConfig {
    /// In a folder that nobody else can enter.
    pub socket: Option<PathBuf>,
    /// A loopback address.
    pub tcp: Option<SocketAddr>,
    /// What the proxy as a whole was started for.
    pub mode: Mode,
}

/// Where the control API is reached.
#[derive(Debug)]
pub struct Control {
    pub socket: Option<PathBuf>,
    pub tcp: Option<Door>,
}

/// An address, and the token that opens it.
pub struct Door {
    pub address: SocketAddr,
    pub token: String,
}

#[derive(Debug, Error)]
pub enum ControlError {
    #[error("cannot open the control socket {}: {source}", path.display())]
    Socket { path: PathBuf, source: io::Error },
    #[error("cannot listen for control on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("{0} is not a loopback address, and control is for this machine alone")]
    NotLoopback(SocketAddr),
    #[error(transparent)]
    Token(#[from] certs::CertError),
}

/// Opens the doors. They close when `stop` is cancelled.
pub(crate) async fn start(
    config: ControlConfig,
    proxy: SocketAddr,
    sessions: Arc<Sessions>,
    ours: &Listening,
    stop: &CancellationToken,
) -> Result<Control, ControlError> {
    let house = House {
        desk: Arc::new(Desk { sessions, proxy, mode: config.mode }),
        connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        stop: stop.clone(),
    };
    if let Some(path) = &config.socket {
        let failed = |source| ControlError::Socket { path: path.clone(), source };
        let listener = UnixListener::bind(path).map_err(failed)?;
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
        tokio::spawn(house.clone().receive_local(listener));
    }
    let tcp = match config.tcp {
        Some(address) => Some(open_tcp(address, &house, ours).await?),
        None => None,
    };
    Ok(Control { socket: config.socket, tcp })
}

async fn open_tcp(address: SocketAddr, house: &House, ours: &Listening) -> Result<Door, ControlError> {
    if !address.ip().is_loopback() {
        return Err(ControlError::NotLoopback(address));
    }
    let failed = |source| ControlError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    // Known before the first client can ask the proxy to go there.
    ours.add(address);
    let token = certs::token()?;
    let entrance = Entrance::Tcp { port: address.port(), token: token.as_str().into() };
    tokio::spawn(house.clone().receive(listener, entrance));
    Ok(Door { address, token })
}

/// What all doors lead to.
#[derive(Clone)]
struct House {
    desk: Arc<Desk>,
    connections: Arc<Semaphore>,
    stop: CancellationToken,
}

impl House {
    async fn receive_local(self, listener: UnixListener) {
        while let Some(permit) = self.permit().await {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            };
            let peer = stream.peer_cred().ok().map(|peer| peer.uid());
            self.clone().serve(stream, Entrance::Socket { peer }, permit);
        }
    }

    async fn receive(self, listener: TcpListener, entrance: Entrance) {
        while let Some(permit) = self.permit().await {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stop.cancelled() => return,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(AFTER_ERROR).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            self.clone().serve(stream, entrance.clone(), permit);
        }
    }

    /// One of the connections that are served at a time; none when the house is closed.
    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        tokio::select! {
            permit = Arc::clone(&self.connections).acquire_owned() => permit.ok(),
            () = self.stop.cancelled() => None,
        }
    }

    fn serve<I>(self, io: I, entrance: Entrance, permit: OwnedSemaphorePermit)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { desk, stop, .. } = self;
        let service = service_fn(move |request: http::Request<Incoming>| {
            let (desk, entrance) = (Arc::clone(&desk), entrance.clone());
            async move {
                let answer = match auth::admit(request, &entrance).await {
                    Ok(request) => routes::answer(&desk, request).await,
                    Err(refused) => refused,
                };
                Ok::<_, std::convert::Infallible>(answer.into_response())
            }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(MAX_HEAD)
            // One request each: an idle connection would have to be told from a slow one.
            .keep_alive(false);
        tokio::spawn(async move {
            let _permit = permit;
            tokio::select! {
                ended = builder.serve_connection(TokioIo::new(io), service) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "control connection ended");
                    }
                }
                () = stop.cancelled() => {}
            }
        });
    }
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Door({})", self.address)
    }
}

/// Every test that waits for a call holds one.
const MAX_CONNECTIONS: usize = 512;
const MAX_HEAD: usize = 64 << 10;
/// How long a client may take for the head of its request.
const HEAD: Duration = Duration::from_secs(5);
/// Out of file handles, most likely: the connections we have may give some back.
const AFTER_ERROR: Duration = Duration::from_millis(50);
