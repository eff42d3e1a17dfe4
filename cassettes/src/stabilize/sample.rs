//! Exchanges for tests: what was asked, and what came back.

use std::time::Duration;

use exchange::{End, Exchange, Header, Headers, Message, Peer, Piece, Reply, Request, Response, Url};

use crate::scrub::Scrubbed;

/// A call, and what came back: by default JSON in answer to a POST, at one moment.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) url: String,
    pub(crate) sent: String,
    pub(crate) media: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) messages: Vec<(Peer, String)>,
}

pub(crate) fn call(url: &str, body: &str) -> Call {
    Call {
        method: "POST",
        url: url.into(),
        sent: String::new(),
        media: "application/json",
        headers: vec![("date", NOW.into())],
        body: body.into(),
        messages: Vec::new(),
    }
}

pub(crate) fn openai(body: &str) -> Call {
    call("https://api.openai.com/v1/chat/completions", body)
}

pub(crate) fn github(path: &str, body: &str) -> Call {
    Call { method: "GET", ..call(&format!("https://api.github.com{path}"), body) }
}

impl Call {
    pub(crate) fn sending(self, sent: &str) -> Self {
        Self { sent: sent.into(), ..self }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn without_date(mut self) -> Self {
        self.headers.retain(|(name, _)| *name != "date");
        self
    }

    pub(crate) fn events(self) -> Self {
        Self { media: "text/event-stream", ..self }
    }

    pub(crate) fn exchange(&self) -> Scrubbed<Exchange> {
        let header = |(name, value): &(&str, String)| Header::new(name, value.as_str()).unwrap();
        let mut headers: Headers = self.headers.iter().map(header).collect();
        headers.push(Header::new("content-type", self.media).unwrap());
        let message = |(from, text): &(Peer, String)| Message {
            from: *from,
            after: Duration::ZERO,
            piece: Piece::Text(text.clone()),
        };
        Scrubbed::attest(Exchange {
            id: 1,
            at: Duration::ZERO,
            request: Request {
                method: self.method.into(),
                url: Url::parse(&self.url).unwrap(),
                headers: [Header::new("content-type", "application/json").unwrap()].into_iter().collect(),
                body: exchange::Body::from_bytes(self.sent.clone()),
                trailers: Headers::new(),
            },
            reply: Reply::Response(Response {
                status: 200,
                reason: None,
                headers,
                after: Duration::ZERO,
                informational: Vec::new(),
                body: exchange::Body::from_bytes(self.body.clone()),
                trailers: Headers::new(),
                messages: self.messages.iter().map(message).collect(),
                end: End::Whole,
            }),
        })
    }
}

pub(crate) fn said(body: &exchange::Body) -> String {
    String::from_utf8(body.bytes().unwrap().to_vec()).unwrap()
}

pub(crate) fn sent(exchange: &Exchange) -> String {
    said(&exchange.request.body)
}

pub(crate) fn body(exchange: &Exchange) -> String {
    said(&exchange.reply.response().unwrap().body)
}

pub(crate) const NOW: &str = "Wed, 18 Nov 2026 20:00:00 GMT";
/// The same.
pub(crate) const EPOCH: i64 = 1_795_032_000;
