//! A proxy just big enough to prove that a client came through it and trusted our certificate.
//!
//! It answers every request with `hello from TARGET`, and keeps connections open as real servers do.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConnection, StreamOwned};
use time::OffsetDateTime;
use wiretape_certs::Minter;

/// One request that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// `HOST:PORT` as the client asked for it.
    pub target: String,
    /// `https/1.1`, `h2` or `http/1.1`.
    pub protocol: &'static str,
    /// The `Proxy-Authorization` header.
    pub authorization: Option<String>,
}

/// Listens until the test process ends.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    minter: Minter,
    seen: Mutex<Vec<Seen>>,
}

impl Proxy {
    pub fn start(minter: Minter) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { minter, seen: Mutex::default() });
        let proxy = Self { address, shared: shared.clone() };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                thread::spawn(move || shared.serve(stream));
            }
        });
        proxy
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let head = read_head(&mut stream)?;
        let mut words = head.split(' ');
        let (method, target) = (words.next()?, words.next()?.to_owned());
        let authorization = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("proxy-authorization").then(|| value.to_owned())
        });
        let seen = |target: &str, protocol| Seen {
            target: target.to_owned(),
            protocol,
            authorization: authorization.clone(),
        };
        if method != "CONNECT" {
            let host = target.strip_prefix("http://")?.split('/').next()?;
            let target = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
            self.answer_http1(&mut stream, &seen(&target, "http/1.1"));
            return self.serve_http1(stream, &seen(&target, "http/1.1"));
        }
        if target.starts_with("refused.") {
            return stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").ok();
        }
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").ok()?;
        let mut first = [0];
        stream.peek(&mut first).ok()?;
        if first[0] != TLS_HANDSHAKE {
            return self.serve_http1(stream, &seen(&target, "http/1.1"));
        }
        let (host, _port) = target.rsplit_once(':')?;
        let config = self.minter.server_config(host, OffsetDateTime::now_utc()).unwrap();
        let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        tls.conn.complete_io(&mut tls.sock).ok()?;
        if tls.conn.alpn_protocol() == Some(b"h2") {
            self.serve_http2(tls, &seen(&target, "h2"))
        } else {
            self.serve_http1(tls, &seen(&target, "https/1.1"))
        }
    }

    fn serve_http1(&self, mut stream: impl Read + Write, seen: &Seen) -> Option<()> {
        loop {
            read_head(&mut stream)?;
            self.answer_http1(&mut stream, seen)?;
        }
    }

    fn answer_http1(&self, stream: &mut impl Write, seen: &Seen) -> Option<()> {
        self.seen.lock().unwrap().push(seen.clone());
        let body = format!("hello from {}", seen.target);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).ok()?;
        stream.flush().ok()
    }

    fn serve_http2(&self, mut stream: impl Read + Write, seen: &Seen) -> Option<()> {
        let mut preface = [0; 24];
        stream.read_exact(&mut preface).ok()?;
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        write_frame(&mut stream, SETTINGS, 0, 0, &[])?;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).ok()?;
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let mut payload = vec![0; length as usize];
            stream.read_exact(&mut payload).ok()?;
            match head[3] {
                SETTINGS if head[4] & ACK == 0 => write_frame(&mut stream, SETTINGS, ACK, 0, &[])?,
                HEADERS => {
                    self.seen.lock().unwrap().push(seen.clone());
                    write_frame(&mut stream, HEADERS, END_HEADERS, id, &[STATUS_200])?;
                    let body = format!("hello from {}", seen.target);
                    write_frame(&mut stream, DATA, END_STREAM, id, body.as_bytes())?;
                }
                _ => {}
            }
        }
    }
}

fn write_frame(stream: &mut impl Write, kind: u8, flags: u8, id: u32, payload: &[u8]) -> Option<()> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(id.to_be_bytes());
    frame.extend(payload);
    stream.write_all(&frame).ok()?;
    stream.flush().ok()
}

/// Up to the empty line; `None` when the client left.
fn read_head(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

const TLS_HANDSHAKE: u8 = 0x16;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200` in HPACK's static table.
const STATUS_200: u8 = 0x88;
