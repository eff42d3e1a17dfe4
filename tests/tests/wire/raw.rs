//! A client that says exactly the bytes it is told and shows exactly what came back, as no HTTP library does.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use rustls::{ClientConnection, StreamOwned, pki_types::ServerName};

use super::gate::Gate;

pub type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A connection to the proxy.
#[derive(Debug)]
pub struct Raw<S> {
    pub io: S,
    /// Read and not yet taken.
    ahead: Vec<u8>,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// `HTTP/1.1 200 OK`
    pub line: String,
    /// As they came, names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub trailers: Vec<(String, Vec<u8>)>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Closed,
    Reset,
    /// Nothing came for as long as this client waits.
    Silent,
}

impl Raw<TcpStream> {
    pub fn open(addr: SocketAddr) -> Self {
        let io = TcpStream::connect(addr).unwrap();
        io.set_read_timeout(Some(PATIENCE)).unwrap();
        io.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { io, ahead: Vec::new() }
    }

    /// A tunnel to `target`, opened.
    pub fn tunnel(gate: &Gate, target: &str) -> Self {
        let mut raw = Self::open(gate.addr);
        raw.send(format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n\r\n"));
        let head = raw.head().unwrap();
        assert_eq!(head.status(), 200, "{head:?}");
        raw
    }

    /// TLS with a host through a tunnel to its port 443.
    pub fn https(gate: &Gate, host: &str) -> Raw<Tls> {
        Self::tunnel(gate, &format!("{host}:443")).tls(gate, host, &["http/1.1"])
    }

    pub fn tls(self, gate: &Gate, name: &str, alpn: &[&str]) -> Raw<Tls> {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let connection = ClientConnection::new(gate.client_config(alpn), name).unwrap();
        Raw { io: StreamOwned::new(connection, self.io), ahead: self.ahead }
    }
}

impl<S: Read + Write> Raw<S> {
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.io.write_all(bytes.as_ref()).unwrap();
        self.io.flush().unwrap();
    }

    /// `GET path`, with more header lines if there are any.
    pub fn get(&mut self, host: &str, path: &str, more: &str) {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{more}\r\n"));
    }

    /// A head, without the body that follows it.
    pub fn head(&mut self) -> Result<Answer, Ending> {
        let head = self.until(b"\r\n\r\n")?;
        let text: Vec<u8> = head[..head.len() - 4].to_vec();
        let mut lines = text.split(|byte| *byte == b'\n').map(trim);
        let line = String::from_utf8(lines.next().unwrap().to_vec()).unwrap();
        Ok(Answer { line, headers: lines.map(field).collect(), body: Vec::new(), trailers: Vec::new() })
    }

    /// A head and the whole of its body, however it is framed.
    pub fn answer(&mut self) -> Result<Answer, Ending> {
        let mut answer = self.head()?;
        let status = answer.status();
        if matches!(status, 100..=199 | 204 | 304) {
            return Ok(answer);
        }
        if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk()? {
                answer.body.extend(chunk);
            }
            answer.trailers = self.trailers()?;
        } else {
            let length: usize = answer.header("content-length").unwrap().parse().unwrap();
            answer.body = self.exactly(length)?;
        }
        Ok(answer)
    }

    /// The next chunk of a chunked body; none after the last. [`Raw::trailers`] must follow.
    pub fn chunk(&mut self) -> Result<Option<Vec<u8>>, Ending> {
        let line = self.until(b"\r\n")?;
        let size =
            usize::from_str_radix(std::str::from_utf8(trim(&line[..line.len() - 1])).unwrap(), 16).unwrap();
        if size == 0 {
            return Ok(None);
        }
        let chunk = self.exactly(size)?;
        self.exactly(2)?;
        Ok(Some(chunk))
    }

    pub fn trailers(&mut self) -> Result<Vec<(String, Vec<u8>)>, Ending> {
        let mut fields = Vec::new();
        loop {
            let line = self.until(b"\r\n")?;
            match trim(&line[..line.len() - 1]) {
                b"" => return Ok(fields),
                line => fields.push(field(line)),
            }
        }
    }

    pub fn exactly(&mut self, count: usize) -> Result<Vec<u8>, Ending> {
        while self.ahead.len() < count {
            self.fill()?;
        }
        Ok(self.ahead.drain(..count).collect())
    }

    /// Reads so many bytes and forgets them; gives the count that came.
    pub fn skip(&mut self, count: u64) -> u64 {
        let ahead = self.ahead.len() as u64;
        self.ahead.clear();
        ahead + io::copy(&mut (&mut self.io).take(count - ahead), &mut io::sink()).unwrap()
    }

    /// Everything up to the end of the connection, and how that came.
    pub fn rest(&mut self) -> (Vec<u8>, Ending) {
        loop {
            if let Err(ending) = self.fill() {
                return (std::mem::take(&mut self.ahead), ending);
            }
        }
    }

    fn until(&mut self, mark: &[u8]) -> Result<Vec<u8>, Ending> {
        loop {
            if let Some(place) = self.ahead.windows(mark.len()).position(|window| window == mark) {
                return Ok(self.ahead.drain(..place + mark.len()).collect());
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<(), Ending> {
        let mut buffer = [0; 64 * 1024];
        match self.io.read(&mut buffer) {
            Ok(0) => Err(Ending::Closed),
            Ok(count) => {
                self.ahead.extend_from_slice(&buffer[..count]);
                Ok(())
            }
            Err(error) => Err(ending(&error)),
        }
    }
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(n, _)| n == name)?;
        std::str::from_utf8(value).ok()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

fn ending(error: &io::Error) -> Ending {
    match error.kind() {
        ErrorKind::ConnectionReset => Ending::Reset,
        // A TLS connection that ends without its goodbye.
        ErrorKind::UnexpectedEof => Ending::Closed,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Ending::Silent,
        kind => panic!("{kind:?}: {error}"),
    }
}

fn field(line: &[u8]) -> (String, Vec<u8>) {
    let colon = line.iter().position(|byte| *byte == b':').unwrap();
    let name = String::from_utf8(line[..colon].to_ascii_lowercase()).unwrap();
    (name, line[colon + 1..].trim_ascii().to_vec())
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

const PATIENCE: Duration = Duration::from_secs(20);
