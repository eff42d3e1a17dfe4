//! `faults.test`: all that goes wrong or is odd, each at a path of its own.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    Fresh, codings,
    connection::Control,
    reply::{Answer, Reply, Script, broken},
    routes::Asked,
    websocket,
};

/// What the faulty host remembers between requests.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// How often each `/repeat` was asked, by its query.
    repeats: Mutex<HashMap<String, u64>>,
}

impl Faults {
    /// Whether a path must not be given its body whole, or at all.
    pub(super) fn reads_the_body_itself(path: &str) -> bool {
        matches!(path, "/upload" | "/continue" | "/ws")
    }

    pub(super) async fn answer_unread(request: Request<Incoming>, fresh: &Fresh) -> Answer {
        match request.uri().path() {
            "/ws" => websocket::accept(request, fresh),
            // Not reading the body is how a hyper server declines `Expect: 100-continue`.
            "/continue" if request.uri().query() == Some("decline") => {
                Reply::new(StatusCode::PAYLOAD_TOO_LARGE, "declined")
                    .header(header::CONNECTION, "close")
                    .answer()
            }
            _ => digest_of(request.into_body(), fresh).await,
        }
    }

    pub(super) async fn answer(&self, asked: &Asked, fresh: &Fresh, control: &Control) -> Answer {
        let gap = Duration::from_millis(asked.number("gap").unwrap_or(20));
        let count = asked.number("events").unwrap_or(3);
        match asked.path() {
            "/reset" => {
                control.reset();
                Err(broken().into())
            }
            "/close" => {
                control.close();
                Err(broken().into())
            }
            "/half" => Reply::script(Script::default().data("half of ").close(), control)
                .header(header::CONTENT_TYPE, "text/plain")
                .header(header::CONTENT_LENGTH, "1000")
                .answer(),
            "/half-sse" => sse(Script::events(events(count, fresh), gap).reset(), control),
            "/slow-sse" => sse(Script::events(events(count, fresh), gap), control),
            "/stall" if asked.parameter("before") == Some("head") => std::future::pending().await,
            "/stall" => sse(Script::events(events(1, fresh), gap).stall(), control),
            "/big" => big(asked),
            "/echo" => echo(asked),
            "/trailers" => trailers(fresh, control),
            "/early-hints" => {
                // hyper can only be given a 1xx of its own making; on HTTP/2 there is none.
                if asked.is_http1() {
                    control.send_ahead(EARLY_HINTS);
                }
                Reply::text(format!("after the hints {}", fresh.word())).answer()
            }
            "/gzip" => coded("gzip", codings::gzip, fresh),
            "/br" => coded("br", codings::brotli, fresh),
            "/zstd" => coded("zstd", codings::zstd, fresh),
            "/deflate" => coded("deflate", codings::deflate, fresh),
            "/latin1" => {
                let body = [b"caf\xe9 ".as_slice(), fresh.word().as_bytes()].concat();
                Reply::new(StatusCode::OK, body)
                    .header(header::CONTENT_TYPE, "text/plain; charset=iso-8859-1")
                    .answer()
            }
            "/cookie" => Reply::text(format!("cookie was {}", asked.header("cookie").unwrap_or("absent")))
                .header(header::SET_COOKIE, format!("session={}; Path=/; HttpOnly", fresh.id("", 32)))
                .header(header::SET_COOKIE, "theme=dark; Path=/")
                .answer(),
            "/redirect" => Reply::new(StatusCode::FOUND, "")
                .header(header::LOCATION, asked.parameter("to").unwrap_or("/redirected"))
                .answer(),
            "/redirected" => Reply::text(format!("redirected {}", fresh.word())).answer(),
            "/repeat" => Reply::text(format!("call {}", self.count(asked.query()))).answer(),
            "/uuid-echo" => {
                let body = json!({"echo": asked.json()["request_id"], "text": format!("seen {}", asked.json()["request_id"].as_str().unwrap_or("none")), "word": fresh.word()});
                Reply::json(StatusCode::OK, &body).answer()
            }
            path => match path.strip_prefix("/status/").and_then(|code| code.parse::<StatusCode>().ok()) {
                Some(status @ (StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)) => {
                    Reply::new(status, "").answer()
                }
                Some(status) => {
                    Reply::new(status, format!("status {} {}", status.as_u16(), fresh.word())).answer()
                }
                None => Reply::not_found(path).answer(),
            },
        }
    }

    fn count(&self, name: &str) -> u64 {
        let mut repeats = self.repeats.lock().unwrap();
        let count = repeats.entry(name.to_owned()).or_default();
        *count += 1;
        *count
    }
}

fn events(count: u64, fresh: &Fresh) -> Vec<String> {
    (1..=count).map(|number| format!("id: {number}\ndata: {} {number}\n\n", fresh.word())).collect()
}

fn sse(script: Script, control: &Control) -> Answer {
    Reply::script(script, control).header(header::CONTENT_TYPE, "text/event-stream").answer()
}

/// `bytes=N` bytes of a pattern without end, with their length ahead if `length=known`.
fn big(asked: &Asked) -> Answer {
    let total = asked.number("bytes").unwrap_or(1 << 20);
    let block = Bytes::from((0..BLOCK).map(|i| b'a' + (i % 23) as u8).collect::<Vec<_>>());
    let blocks = stream::unfold(total, move |left| {
        let block = block.clone();
        async move {
            let size = left.min(BLOCK);
            (size > 0).then(|| (Ok(Frame::data(block.slice(..size as usize))), left - size))
        }
    });
    let reply = Reply::with_body(StatusCode::OK, StreamBody::new(blocks).boxed_unsync())
        .header(header::CONTENT_TYPE, "application/octet-stream");
    match asked.parameter("length") {
        Some("known") => reply.header(header::CONTENT_LENGTH, total.to_string()).answer(),
        _ => reply.answer(),
    }
}

fn echo(asked: &Asked) -> Answer {
    let headers: Vec<Value> = asked
        .headers()
        .iter()
        .map(|(name, value)| json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())]))
        .collect();
    let body = match std::str::from_utf8(&asked.body) {
        Ok(text) => json!({ "text": text }),
        Err(_) => json!({ "base64": BASE64.encode(&asked.body) }),
    };
    let echo = json!({"method": asked.method().as_str(), "path": asked.path(), "query": asked.query(), "headers": headers, "body": body});
    Reply::json(StatusCode::OK, &echo).answer()
}

fn trailers(fresh: &Fresh, control: &Control) -> Answer {
    let mut trailers = HeaderMap::new();
    trailers.insert(HeaderName::from_static("x-checksum"), HeaderValue::from_str(&fresh.word())?);
    trailers.insert(HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"));
    let script = Script::default().data(format!("before the trailers {}", fresh.word())).trailers(trailers);
    Reply::script(script, control)
        .header(header::CONTENT_TYPE, "text/plain")
        .header(header::TRAILER, "x-checksum, grpc-status")
        .answer()
}

fn coded(coding: &str, encode: fn(&[u8]) -> Vec<u8>, fresh: &Fresh) -> Answer {
    let text = json!({"coding": coding, "word": fresh.word(), "filler": "again and ".repeat(40)}).to_string();
    Reply::new(StatusCode::OK, encode(text.as_bytes()))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONTENT_ENCODING, coding)
        .answer()
}

async fn digest_of(mut body: Incoming, fresh: &Fresh) -> Answer {
    let (mut digest, mut length) = (Sha256::new(), 0_u64);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            digest.update(&data);
            length += data.len() as u64;
        }
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Reply::json(StatusCode::OK, &json!({"sha256": hex, "length": length, "word": fresh.word()})).answer()
}

const BLOCK: u64 = 64 * 1024;
const EARLY_HINTS: &[u8] = b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n";
