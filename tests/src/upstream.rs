//! The stand-in upstream: answers for the hosts that `wiretape` is made for, on loopback, with fresh
//! ids, times and texts in every reply, so that a test can tell a replayed answer from a live one.
//!
//! It runs on a thread with a runtime of its own and so serves blocking and async tests alike. It must
//! not know of `wiretape`: clients can be pointed at it directly.

mod anthropic;
mod authority;
mod codings;
mod connection;
mod faults;
mod fresh;
mod gemini;
mod git;
mod github;
mod listener;
mod openai;
mod reply;
mod routes;
mod seen;
mod websocket;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread::JoinHandle,
};

use tempfile::TempDir;
use tokio::sync::oneshot;

use self::{authority::Authority, listener::Listeners, routes::Routes};
pub use self::{
    fresh::{Fresh, Words},
    seen::{Seen, Wire},
};

/// A running stand-in; dropping it closes every listener and connection.
#[derive(Debug)]
pub struct Upstream {
    ports: Ports,
    routes: Arc<Routes>,
    folder: TempDir,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    /// Starts on free loopback ports.
    pub fn start() -> Self {
        Self::saying(Words::Fresh)
    }

    /// The same with a say in what the texts of its answers are.
    pub fn saying(words: Words) -> Self {
        let folder = TempDir::with_prefix("upstream-").expect("a temporary folder");
        let authority = Authority::new("Upstream Test CA");
        std::fs::write(folder.path().join(CA_FILE), authority.ca_pem()).expect("the CA file is written");
        let routes = Arc::new(Routes::new(folder.path().join("git"), Fresh::with(words)));

        let (stop, stopped) = oneshot::channel();
        let (report, ports) = mpsc::channel();
        let served = Arc::clone(&routes);
        let thread = std::thread::Builder::new()
            .name("upstream".into())
            .spawn(move || serve(authority, served, &report, stopped))
            .expect("a thread for the upstream");
        let ports = ports.recv().expect("the upstream says where it listens");
        Self { ports, routes, folder, stop: Some(stop), thread: Some(thread) }
    }

    /// Where HTTPS (HTTP/1.1 and HTTP/2 by ALPN) is served, for any name.
    pub fn tls_addr(&self) -> SocketAddr {
        self.ports.tls
    }

    /// Where plain HTTP is served.
    pub fn plain_addr(&self) -> SocketAddr {
        self.ports.plain
    }

    /// Where TLS is served with a certificate that its CA file does not cover.
    pub fn bad_cert_addr(&self) -> SocketAddr {
        self.ports.bad_cert
    }

    /// Where nothing listens, and nothing else can start to.
    pub fn refused_addr(&self) -> SocketAddr {
        self.ports.refused
    }

    /// The PEM file of the CA that signs for every name.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join(CA_FILE)
    }

    /// `HOST:PORT:ADDR:PORT` for every host that it stands in for, as curl spells it.
    pub fn connect_to(&self) -> Vec<String> {
        let to =
            |host: &str, port: u16, addr: SocketAddr| format!("{host}:{port}:{}:{}", addr.ip(), addr.port());
        let served =
            HOSTS.iter().flat_map(|host| [to(host, 443, self.ports.tls), to(host, 80, self.ports.plain)]);
        let broken = [
            to(REFUSED_HOST, 443, self.ports.refused),
            to(REFUSED_HOST, 80, self.ports.refused),
            to(BAD_CERT_HOST, 443, self.ports.bad_cert),
        ];
        served.chain(broken).collect()
    }

    /// Every request that arrived, in order of arrival.
    pub fn seen(&self) -> Vec<Seen> {
        self.routes.log.all()
    }

    /// The ids and times it made up so far: all that a scrubbed replay may show differently.
    pub fn minted(&self) -> Vec<String> {
        self.routes.fresh.minted()
    }

    /// The folder of the repository behind `https://github.com/o/r.git`, made at the first use.
    pub fn repository(&self) -> &Path {
        self.routes.git.repository()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic on that thread was already printed; a second one here would abort the test.
            let _ = thread.join();
        }
    }
}

/// `len` random letters and digits, which no upstream has minted.
pub(crate) fn random_text(len: usize) -> String {
    fresh::random(fresh::ALPHANUMERIC, len)
}

/// The ports of one run.
#[derive(Debug, Clone, Copy)]
struct Ports {
    tls: SocketAddr,
    plain: SocketAddr,
    bad_cert: SocketAddr,
    refused: SocketAddr,
}

fn serve(
    authority: Authority,
    routes: Arc<Routes>,
    report: &mpsc::Sender<Ports>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime for the upstream");
    runtime.block_on(async {
        let listeners = Listeners::bind(authority, routes).await;
        report.send(listeners.ports()).expect("the starter waits for the ports");
        listeners.serve(stopped).await;
    });
    runtime.shutdown_background();
}

/// The hosts with realistic answers, and the one with faults.
pub const HOSTS: &[&str] = &[
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "api.github.com",
    "github.com",
    FAULTS_HOST,
];
/// Answers for `/reset`, `/half`, `/big`, `/ws` and the rest that goes wrong or is odd.
pub const FAULTS_HOST: &str = "faults.test";
/// Its port is closed.
pub const REFUSED_HOST: &str = "refused.test";
/// Its certificate is not signed by the CA.
pub const BAD_CERT_HOST: &str = "bad-cert.test";

const CA_FILE: &str = "upstream-ca.pem";
