//! Calls byte for byte: what a client says, and what the upstream answers.

use std::io::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};
use serde_json::{Value, json};

pub const HOST: &str = "canary.test";

/// One call.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub request: Request,
    pub reply: Reply,
}

#[derive(Debug, Clone, Default)]
pub struct Request {
    target: String,
    headers: Vec<String>,
    body: Vec<u8>,
    trailers: Vec<String>,
    /// Messages of the client, if this is a conversation.
    frames: Vec<u8>,
}

#[derive(Debug, Clone)]
pub struct Reply {
    status: String,
    headers: Vec<String>,
    /// What is sent in any case, as it is and as it is coded.
    content: Vec<u8>,
    /// What follows where nothing breaks off.
    rest: Vec<u8>,
    coding: Coding,
    trailers: Vec<String>,
    is_conversation: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    None,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Exchange {
    pub fn new(request: Request, reply: Reply) -> Self {
        Self { request, reply }
    }

    /// For the client.
    pub fn step(&self, number: usize, place: &str, breaks_off: bool) -> Value {
        let (_, cut, whole) = self.reply.bytes();
        json!({
            "place": place,
            "send": STANDARD.encode(self.request.bytes(number)),
            "frames": STANDARD.encode(&self.request.frames),
            "cut": cut,
            "whole": if self.reply.trailers.is_empty() { Some(whole) } else { None },
            "breaks_off": breaks_off,
            "resets": number.is_multiple_of(2),
        })
    }
}

impl Request {
    pub fn get(target: impl Into<String>) -> Self {
        Self { target: target.into(), ..Self::default() }
    }

    pub fn post(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::get("/post") }.header("content-type", media)
    }

    pub fn json(body: &Value) -> Self {
        Self::post("application/json", body.to_string())
    }

    pub fn multipart(head: &str, body: &[u8]) -> Self {
        let body = [
            b"--B0\r\ncontent-disposition: form-data; ",
            head.as_bytes(),
            b"\r\n\r\n",
            body,
            b"\r\n--B0--\r\n",
        ];
        Self::post("multipart/form-data; boundary=B0", body.concat())
    }

    /// A handshake, and then one message.
    pub fn conversation(message: &str) -> Self {
        Self { frames: frame(1, message.as_bytes(), Some([1, 2, 3, 4])), ..Self::get("/talk") }
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", KEY)
    }

    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.headers.push(format!("{name}: {}\r\n", value.as_ref()));
        self
    }

    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        self.trailers.push(format!("{name}: {value}\r\n"));
        self
    }

    fn bytes(&self, number: usize) -> Vec<u8> {
        let method = if self.body.is_empty() { "GET" } else { "POST" };
        let target = &self.target;
        let headers = self.headers.concat();
        let head = format!(
            "{method} http://{HOST}{target} HTTP/1.1\r\nhost: {HOST}\r\nx-step: {number}\r\n{headers}"
        );
        if self.trailers.is_empty() {
            let length = match self.body.len() {
                0 => String::new(),
                length => format!("content-length: {length}\r\n"),
            };
            return [format!("{head}{length}\r\n").as_bytes(), &self.body].concat();
        }
        let size = self.body.len();
        let trailers = self.trailers.concat();
        let head = format!("{head}transfer-encoding: chunked\r\n\r\n{size:x}\r\n");
        [head.as_bytes(), &self.body, format!("\r\n0\r\n{trailers}\r\n").as_bytes()].concat()
    }
}

impl Reply {
    /// A body that may break off behind `content`.
    pub fn new(media: &str, content: impl Into<Vec<u8>>, rest: impl Into<Vec<u8>>) -> Self {
        let reply = Self {
            status: "200 OK".into(),
            headers: Vec::new(),
            content: content.into(),
            rest: rest.into(),
            coding: Coding::None,
            trailers: Vec::new(),
            is_conversation: false,
        };
        reply.header("content-type", media)
    }

    pub fn ok() -> Self {
        Self::json("what came is fine")
    }

    /// JSON that has this text in it.
    pub fn json(text: &str) -> Self {
        let content = format!("{{\"message\": {}, \"pad\": \"", json!(text));
        Self::new("application/json", content, format!("{}\"}}", "pad ".repeat(60)))
    }

    pub fn text(text: &str) -> Self {
        Self::new("text/plain", text, " and so on".repeat(20))
    }

    /// Events, of which the last may not come.
    pub fn events(events: &[Value]) -> Self {
        let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        Self::new("text/event-stream", events, "data: [DONE]\n\n")
    }

    /// Messages of a conversation, of which the last may not come.
    pub fn messages(messages: &[&[u8]], opcode: u8) -> Self {
        let frames: Vec<Vec<u8>> = messages.iter().map(|message| frame(opcode, message, None)).collect();
        let reply = Self::new("", frames.concat(), frame(1, b"bye", None));
        Self { is_conversation: true, headers: Vec::new(), ..reply }
    }

    /// The last message of a conversation says why.
    pub fn closing(mut self, code: u16, reason: &str) -> Self {
        self.content.extend(frame(8, &[&code.to_be_bytes(), reason.as_bytes()].concat(), None));
        self.rest.clear();
        self
    }

    pub fn status(mut self, status: &str) -> Self {
        self.status = status.to_owned();
        self
    }

    /// A failure, unless it has a status already.
    pub fn failing(mut self, status: &str) -> Self {
        if self.status == "200 OK" && !self.is_conversation {
            status.clone_into(&mut self.status);
        }
        self
    }

    pub fn header(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.headers.push(format!("{name}: {}\r\n", value.as_ref()));
        self
    }

    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        self.trailers.push(format!("{name}: {value}\r\n"));
        self
    }

    pub fn coded(mut self, coding: Coding) -> Self {
        self.coding = coding;
        match coding.name() {
            Some(name) => self.header("content-encoding", name),
            None => self,
        }
    }

    pub fn is_conversation(&self) -> bool {
        self.is_conversation
    }

    /// Everything, how much of it comes in any case, head included.
    pub fn wire(&self) -> (Vec<u8>, usize) {
        let (body, cut, whole) = self.bytes();
        let (status, headers) = (&self.status, self.headers.concat());
        let head = if self.is_conversation {
            let accept = tokio_tungstenite::tungstenite::handshake::derive_accept_key(KEY.as_bytes());
            format!(
                "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: {accept}\r\n{headers}\r\n"
            )
        } else if self.trailers.is_empty() {
            format!("HTTP/1.1 {status}\r\n{headers}content-length: {whole}\r\n\r\n")
        } else {
            let trailers = self.trailers.concat();
            let head = format!("HTTP/1.1 {status}\r\n{headers}transfer-encoding: chunked\r\n\r\n{cut:x}\r\n");
            let rest = format!("\r\n{:x}\r\n", whole - cut);
            let end = format!("\r\n0\r\n{trailers}\r\n");
            let all = [head.as_bytes(), &body[..cut], rest.as_bytes(), &body[cut..], end.as_bytes()].concat();
            return (all, head.len() + cut + 2);
        };
        ([head.as_bytes(), &body].concat(), head.len() + cut)
    }

    /// The body as it is coded, where it may break off, and its length.
    fn bytes(&self) -> (Vec<u8>, usize, usize) {
        let (coded, cut) = self.coding.apply(&self.content, &self.rest);
        let whole = coded.len();
        (coded, cut, whole)
    }
}

impl Coding {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            Self::Deflate => Some("deflate"),
            Self::Brotli => Some("br"),
            Self::Zstd => Some("zstd"),
        }
    }

    /// Both parts as one, and where the first ends so that it can be read.
    fn apply(self, content: &[u8], rest: &[u8]) -> (Vec<u8>, usize) {
        fn both<W: Write>(
            mut encoder: W,
            out: fn(&W) -> &Vec<u8>,
            content: &[u8],
            rest: &[u8],
        ) -> (W, usize) {
            encoder.write_all(content).unwrap();
            encoder.flush().unwrap();
            let cut = out(&encoder).len();
            encoder.write_all(rest).unwrap();
            (encoder, cut)
        }
        match self {
            Self::None => ([content, rest].concat(), content.len()),
            Self::Gzip => {
                let encoder = GzEncoder::new(Vec::new(), Compression::default());
                let (encoder, cut) = both(encoder, GzEncoder::get_ref, content, rest);
                (encoder.finish().unwrap(), cut)
            }
            Self::Deflate => {
                let encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                let (encoder, cut) = both(encoder, ZlibEncoder::get_ref, content, rest);
                (encoder.finish().unwrap(), cut)
            }
            Self::Brotli => {
                let encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
                let (encoder, cut) = both(encoder, brotli::CompressorWriter::get_ref, content, rest);
                (encoder.into_inner(), cut)
            }
            Self::Zstd => {
                let encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
                let (encoder, cut) = both(encoder, zstd::Encoder::get_ref, content, rest);
                (encoder.finish().unwrap(), cut)
            }
        }
    }
}

pub fn gzip(content: &[u8]) -> Vec<u8> {
    Coding::Gzip.apply(content, b"").0
}

/// A frame of a conversation (RFC 6455, 5.2).
pub fn frame(opcode: u8, content: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    let mut out = vec![0x80 | opcode];
    match u8::try_from(content.len()) {
        Ok(length) if length < 126 => out.push(masked | length),
        _ => {
            out.push(masked | 126);
            out.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
        }
    }
    out.extend(mask.unwrap_or_default().iter().take(if mask.is_some() { 4 } else { 0 }));
    let mask = mask.unwrap_or_default();
    out.extend(content.iter().enumerate().map(|(at, byte)| byte ^ mask[at % 4]));
    out
}

/// No secret: every handshake has one.
const KEY: &str = "d2lyZXRhcGUtdGVzdC1rZQ==";
