//! An upstream of a few lines: each connection in the clear is handed to a closure of the test.

use std::{
    io::{BufRead, BufReader},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rcgen::{CertificateParams, KeyPair};
use rustls::{ServerConfig, ServerConnection, StreamOwned, crypto::ring, pki_types::PrivatePkcs8KeyDer};
use socket2::SockRef;

/// A running stand-in; dropping it stops the accepting.
#[derive(Debug)]
pub struct Scripted {
    pub addr: SocketAddr,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Scripted {
    pub fn start(script: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let addr = listener.local_addr().unwrap();
        let stopping = Arc::new(AtomicBool::new(false));
        let (stop, script) = (Arc::clone(&stopping), Arc::new(script));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (script, stream) = (Arc::clone(&script), stream.unwrap());
                thread::spawn(move || script(stream));
            }
        });
        Self { addr, stopping, thread: Some(thread) }
    }

    /// The same under TLS, for one name or address; gives the certificate to trust too, in PEM.
    pub fn start_tls(
        name: &str,
        script: impl Fn(StreamOwned<ServerConnection, TcpStream>) + Send + Sync + 'static,
    ) -> (Self, String) {
        let (config, certificate) = certified(name, &[]);
        let server = Self::start(move |stream| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            script(StreamOwned::new(connection, stream));
        });
        (server, certificate)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees the flag.
        let _ = TcpStream::connect(self.addr);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a server of one name or address needs for TLS, and its certificate in PEM.
pub fn certified(name: &str, alpn: &[&str]) -> (Arc<ServerConfig>, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    (Arc::new(config), certificate.pem())
}

/// Makes a connection end with a RST instead of a FIN, once it is dropped.
pub fn reset_at_the_end(stream: &TcpStream) {
    SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
}

/// Reads a request's head, line by line.
pub fn read_head(stream: &TcpStream) -> Vec<String> {
    let mut lines = Vec::new();
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        match line.unwrap_or_default() {
            line if line.is_empty() => break,
            line => lines.push(line),
        }
    }
    lines
}
