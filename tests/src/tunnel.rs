//! A proxy that understands nothing: it tunnels every CONNECT, and forwards every plain request, to the
//! upstream, whatever the host. It shows what a client does without `wiretape`, so that a failing client
//! test can be told from a failing client.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use crate::upstream::Upstream;

/// A running tunnel; dropping it stops the accepting, connections end with their peers.
#[derive(Debug)]
pub struct Tunnel {
    addr: SocketAddr,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Tunnel {
    pub fn start(upstream: &Upstream) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let addr = listener.local_addr().expect("a bound listener has an address");
        let stopping = Arc::new(AtomicBool::new(false));
        let (stop, tls, plain) = (Arc::clone(&stopping), upstream.tls_addr(), upstream.plain_addr());
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                // An error here is a client that left, or an upstream that did.
                thread::spawn(move || stream.and_then(|stream| carry(stream, tls, plain)));
            }
        });
        Self { addr, stopping, thread: Some(thread) }
    }

    /// For `HTTPS_PROXY` and `HTTP_PROXY`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees the flag.
        let _ = TcpStream::connect(self.addr);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn carry(stream: TcpStream, tls: SocketAddr, plain: SocketAddr) -> io::Result<()> {
    let mut client = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    client.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let upstream = if method == "CONNECT" {
        let mut skipped = String::new();
        while client.read_line(&mut skipped)? > 2 {
            skipped.clear();
        }
        (&stream).write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        TcpStream::connect(if target.ends_with(":443") { tls } else { plain })?
    } else {
        let path = target.trim_start_matches("http://").split_once('/').map_or("", |(_, path)| path);
        let mut upstream = TcpStream::connect(plain)?;
        // One request per connection: the next may have another host, and its head is not looked at.
        write!(upstream, "{method} /{path} HTTP/1.1\r\nconnection: close\r\n")?;
        upstream
    };
    let to_client = (upstream.try_clone()?, stream.try_clone()?);
    let back = thread::spawn(move || pump(to_client.0, to_client.1));
    pump(client, upstream)?;
    back.join().unwrap_or(Ok(()))
}

fn pump(mut from: impl Read, mut to: TcpStream) -> io::Result<()> {
    let copied = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    copied.map(drop)
}
