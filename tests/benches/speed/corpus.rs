//! What is asked and answered: one reply of a kibibyte for the load, and chats with a model for the cassettes.

use std::time::Duration;

use bytes::Bytes;
use cassettes::{Scrubbed, Scrubber};
use exchange::{Body, End, Exchange, Header, Headers, Reply, Request, Response, Url};
use http_body_util::Full;

/// A JSON text of 1 KiB.
pub(crate) fn one_kib() -> String {
    const AROUND: usize = r#"{"text":""}"#.len();
    format!(r#"{{"text":"{}"}}"#, "w".repeat(1024 - AROUND))
}

/// The exchanges that the load asks for: one without a body, one with.
pub(crate) fn load() -> Vec<Scrubbed<Exchange>> {
    let get = request("GET", GET_PATH, None);
    let post = request("POST", POST_PATH, Some(&chat_request(0)));
    [get, post].into_iter().zip(1..).map(|(request, id)| exchange(id, request, one_kib())).collect()
}

/// The `number`th of many chats, all different.
pub(crate) fn chat(number: usize) -> Scrubbed<Exchange> {
    let id = u32::try_from(number + 1).expect("a cassette of fewer exchanges than that");
    let asked = request("POST", POST_PATH, Some(&chat_request(number)));
    exchange(id, asked, chat_reply(number))
}

/// The request of a chat, as the player gets it.
pub(crate) fn chat_asked(number: usize) -> Scrubbed<Request> {
    Scrubber::new().request(request("POST", POST_PATH, Some(&chat_request(number))))
}

/// The request of the load without a body, as a client sends it.
pub(crate) fn get() -> http::Request<Full<Bytes>> {
    on_the_wire("GET", GET_PATH, String::new())
}

/// A chat's request as a client sends it.
pub(crate) fn post(number: usize) -> http::Request<Full<Bytes>> {
    on_the_wire("POST", POST_PATH, chat_request(number))
}

/// A request for a stream, as a client sends it.
pub(crate) fn stream() -> http::Request<Full<Bytes>> {
    on_the_wire("POST", STREAM_PATH, chat_request(0))
}

/// About 250 bytes.
pub(crate) fn chat_request(number: usize) -> String {
    format!(
        concat!(
            r#"{{"model":"gpt-4o-mini","temperature":0.2,"messages":["#,
            r#"{{"role":"system","content":"You label issues. Answer with one word."}},"#,
            r#"{{"role":"user","content":"Issue {number}: the button of page {page} does nothing when pressed"}}"#,
            r#"],"max_tokens":64}}"#
        ),
        number = number,
        page = number % 97
    )
}

/// About 350 bytes.
pub(crate) fn chat_reply(number: usize) -> String {
    format!(
        concat!(
            r#"{{"id":"chatcmpl-{number:06}","object":"chat.completion","created":1700000000,"model":"gpt-4o-mini","#,
            r#""choices":[{{"index":0,"message":{{"role":"assistant","content":"bug, area {area}"}},"#,
            r#""finish_reason":"stop"}}],"usage":{{"prompt_tokens":41,"completion_tokens":5,"total_tokens":46}}}}"#
        ),
        number = number,
        area = number % 13
    )
}

fn exchange(id: u32, request: Request, reply: String) -> Scrubbed<Exchange> {
    let response = Response {
        status: 200,
        reason: None,
        headers: headers(&[("content-type", "application/json")]),
        after: Duration::from_millis(180),
        informational: Vec::new(),
        body: Body::from_bytes(reply),
        trailers: Headers::new(),
        messages: Vec::new(),
        end: End::Whole,
    };
    let scrubbed = Scrubber::new().exchange(Exchange {
        id,
        at: Duration::from_millis(u64::from(id)),
        request,
        reply: Reply::Response(response),
    });
    scrubbed.expect("a plain body can be looked into")
}

fn request(method: &str, path: &str, body: Option<&str>) -> Request {
    let headers = match body {
        Some(_) => headers(&[("accept", "*/*"), ("content-type", "application/json")]),
        None => headers(&[("accept", "*/*")]),
    };
    Request {
        method: method.to_owned(),
        url: Url::parse(&format!("https://{HOST}{path}")).expect("a URL"),
        headers,
        body: body.map_or_else(Body::empty, |body| Body::from_bytes(body.to_owned())),
        trailers: Headers::new(),
    }
}

fn headers(pairs: &[(&str, &str)]) -> Headers {
    let header = |(name, value): &(&str, &str)| Header::new(name, *value).expect("a legal header");
    pairs.iter().map(header).collect()
}

fn on_the_wire(method: &str, path: &str, body: String) -> http::Request<Full<Bytes>> {
    let mut request =
        http::Request::builder().method(method).uri(path).header("host", HOST).header("accept", "*/*");
    if !body.is_empty() {
        request = request.header("content-type", "application/json");
    }
    request.body(Full::new(Bytes::from(body))).expect("a legal request")
}

pub(crate) const HOST: &str = "speed.test";
pub(crate) const STREAM_PATH: &str = "/v1/stream";
pub(crate) const GET_PATH: &str = "/v1/models";
pub(crate) const POST_PATH: &str = "/v1/chat/completions";
