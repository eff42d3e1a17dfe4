//! Where drafts become exchanges: URLs and headers are checked, bodies repaired, and an account is kept.

use std::collections::BTreeMap;

use bytes::Bytes;
use exchange::{
    Body, End, Exchange, Header, Headers, Message, Piece, Reply, Request, Response, Url, UrlError,
    is_hop_by_hop, is_method,
};
use matchers::Policy;
use yaml::{Problem, Span};

use super::{
    Clean, Format, Ids, Imported, MOST_BYTES, NO_ORIGIN, Options, Origin, Repair, Skipped,
    draft::Draft,
    read::Field,
    repair::{self, Stored},
    scenario::{self, Turn},
    scrubbed,
    text::Text,
};
use crate::{Cassette, format::Redaction, stabilize};

pub(super) struct Desk<'o> {
    options: &'o Options,
    text: Option<Text>,
    exchanges: Vec<Exchange>,
    /// Of each exchange.
    origins: Vec<Origin>,
    turns: Vec<Option<Turn>>,
    /// The file on the desk, and how many of its drafts were seen, taken or not.
    here: Origin,
    repairs: BTreeMap<Repair, usize>,
    skipped: Vec<Skipped>,
    /// How many of them only lack a host.
    hostless: usize,
    /// How many bytes of content there may still be.
    left: usize,
    /// What the file says of it, if it does.
    policy: Option<Option<Policy>>,
}

impl<'o> Desk<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self {
            options,
            text: None,
            exchanges: Vec::new(),
            origins: Vec::new(),
            turns: Vec::new(),
            here: Origin { source: 0, number: 0 },
            repairs: BTreeMap::new(),
            skipped: Vec::new(),
            hostless: 0,
            left: MOST_CONTENT,
            policy: None,
        }
    }

    /// From now on drafts come from this file.
    pub(super) fn open(&mut self, source: usize) {
        self.here = Origin { source, number: 0 };
        self.text = None;
    }

    /// From now on spans are places in this text.
    pub(super) fn enter(&mut self, text: &Text) {
        self.text = Some(text.clone());
    }

    /// Nothing was taken, though something could be if the host were known.
    pub(super) fn is_lost_without_origin(&self) -> bool {
        self.exchanges.is_empty() && self.hostless > 0
    }

    pub(super) fn origin(&self) -> Option<&Url> {
        self.options.origin.as_ref()
    }

    /// Says how the recorder compared requests, where the file tells.
    pub(super) fn compare_as(&mut self, policy: Policy) {
        self.policy = Some(Some(policy));
    }

    /// Takes over what a cassette of ours said, even if that is nothing.
    pub(super) fn compare_just_as(&mut self, policy: Option<Policy>) {
        self.policy = Some(policy);
    }

    /// Makes an exchange of a draft, or notes why there is none.
    pub(super) fn take(&mut self, mut draft: Draft) -> Result<(), Problem> {
        self.here.number += 1;
        let is_websocket = draft.status == 101 || !draft.messages.is_empty();
        if is_websocket {
            speak_http1(&mut draft);
        }
        let url = match self.url(&draft) {
            Ok(url) => url,
            Err(reason) => {
                self.note_skipped(draft.url_span, reason);
                return Ok(());
            }
        };
        if !(200..=999).contains(&draft.status) && draft.status != 101 {
            self.note_skipped(draft.span, format!("{} is no status of a response", draft.status));
            return Ok(());
        }
        if !is_method(&draft.method) {
            return Err(Problem::new(draft.span, format!("{:?} is no method", draft.method)));
        }
        let kept = if is_websocket { Upgrade::Keep } else { Upgrade::Drop };
        let request_headers = self.headers(draft.request_headers, kept, Length::Drop)?;
        let has_content = !draft.response_body.bytes.is_empty();
        let length = if has_content { Length::Check(&draft.response_body) } else { Length::Keep };
        let response_headers = self.headers(draft.response_headers, kept, length)?;
        let trailers = self.headers(draft.response_trailers, Upgrade::Drop, Length::Drop)?;
        let request_body = self.body(draft.request_body, &request_headers, draft.span)?;
        let response_body = self.body(draft.response_body, &response_headers, draft.span)?;
        self.spend(draft.messages.iter().map(said).sum(), draft.span)?;
        let exchange = Exchange {
            id: 0,
            at: whole_ms(draft.at),
            request: Request {
                method: draft.method,
                url,
                headers: request_headers,
                body: request_body,
                trailers: Headers::new(),
            },
            reply: Reply::Response(Response {
                reason: draft.reason.filter(|reason| is_unusual(draft.status, reason)),
                status: draft.status,
                headers: response_headers,
                after: whole_ms(draft.after),
                informational: Vec::new(),
                body: response_body,
                trailers,
                messages: draft.messages,
                end: End::Whole,
            }),
        };
        self.keep(exchange, draft.turn);
        Ok(())
    }

    /// The body that was on the wire. All of them are held at once, so it is their sum that is bounded: a few bytes
    /// may unpack to many, and an alias or a file beside the recording may be named again and again.
    fn body(&mut self, stored: Stored, headers: &Headers, span: Span) -> Result<Body, Problem> {
        let repairs = &mut self.repairs;
        let mut note = |repair| *repairs.entry(repair).or_default() += 1;
        let limit = self.left.min(MOST_BYTES);
        let body = repair::body(stored, headers, limit, &mut note).map_err(|_| too_much(limit, span))?;
        self.spend(body.bytes().map_or(0, Bytes::len), span)?;
        Ok(body)
    }

    fn spend(&mut self, bytes: usize, span: Span) -> Result<(), Problem> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| too_much(self.left, span))?;
        Ok(())
    }

    /// Takes an exchange that needs no repair: one of our own that another format carried.
    pub(super) fn take_whole(&mut self, exchange: Exchange, span: Span) -> Result<(), Problem> {
        self.here.number += 1;
        let response = exchange.reply.response();
        let bodies = response.map(|response| &response.body).into_iter().chain([&exchange.request.body]);
        let messages = response.map_or(0, |response| response.messages.iter().map(said).sum());
        self.spend(bodies.map(|body| body.bytes().map_or(0, Bytes::len)).sum::<usize>() + messages, span)?;
        self.keep(exchange, None);
        Ok(())
    }

    fn keep(&mut self, exchange: Exchange, turn: Option<Turn>) {
        self.exchanges.push(exchange);
        self.origins.push(self.here);
        self.turns.push(turn);
    }

    /// An entry of the file that is no exchange.
    pub(super) fn skip(&mut self, span: Span, reason: impl Into<String>) {
        self.here.number += 1;
        self.note_skipped(span, reason.into());
    }

    pub(super) fn close(mut self, format: Format) -> Imported {
        self.put_in_order();
        let Clean { exchanges, origins, found, skipped } = scrubbed(self.exchanges, self.origins);
        let exchanges = match self.options.ids {
            Ids::AsRecorded => exchanges,
            Ids::Stable => stabilize(exchanges, &[]),
        };
        let mut policy = self.policy.unwrap_or_else(|| format.policy());
        if let Some(compare) = self.options.compare {
            let chosen = Policy { compare, ..policy.unwrap_or_default() };
            policy = Some(chosen).filter(|policy| *policy != Policy::default());
        }
        Imported {
            format,
            cassette: Cassette { redaction: Some(Redaction::new()), policy, exchanges },
            origins,
            repairs: self.repairs.into_iter().collect(),
            skipped: self.skipped.into_iter().chain(skipped).collect(),
            found,
        }
    }

    /// The stubs of a scenario may stand in any order, and in files of any names.
    fn put_in_order(&mut self) {
        if self.turns.iter().all(Option::is_none) {
            return;
        }
        let order = scenario::order(&self.turns);
        let mut exchanges: Vec<Option<Exchange>> = self.exchanges.drain(..).map(Some).collect();
        self.exchanges = order.iter().filter_map(|place| exchanges[*place].take()).collect();
        self.origins = order.iter().map(|place| self.origins[*place]).collect();
    }

    pub(super) fn note(&mut self, repair: Repair) {
        *self.repairs.entry(repair).or_default() += 1;
    }

    fn note_skipped(&mut self, span: Span, reason: String) {
        let position = self.text.as_ref().map(|text| text.position(span));
        self.skipped.push(Skipped { origin: self.here, position, reason });
    }

    /// The URL that a client would ask for. The error says why none can.
    fn url(&mut self, draft: &Draft) -> Result<Url, String> {
        let mut text = draft.url.clone();
        for (from, to) in &self.options.substitutes {
            text = text.replace(from.as_str(), to);
        }
        // WebSocket's own schemes are HTTP's on the wire.
        for (from, to) in [("ws://", "http://"), ("wss://", "https://")] {
            if let Some(rest) = text.strip_prefix(from) {
                text = format!("{to}{rest}");
            }
        }
        if text.starts_with('/') {
            let Some(origin) = &self.options.origin else {
                self.hostless += 1;
                return Err(format!("{NO_ORIGIN}: name it with --origin https://HOST"));
            };
            text = format!("{}://{}{text}", origin.scheme.as_str(), origin.authority());
        }
        // What stands there is made by the recorder each time it plays: no client asks for the template.
        if text.contains("<%") {
            return Err(unusable(&text, "it is a template of the recorder's"));
        }
        let escaped = escaped(&text);
        if escaped != text {
            self.note(Repair::UrlEscaped);
        }
        if authority(&escaped).contains('@') {
            self.note(Repair::UserDropped);
        }
        let url = Url::parse(&escaped).map_err(|error| match error {
            UrlError::Scheme => unusable(&text, "it does not start with http:// or https://"),
            error => unusable(&text, &error.to_string()),
        })?;
        match url.host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:".contains(&b)) {
            true => Ok(url),
            false => Err(unusable(&text, "its host holds characters that no host name has")),
        }
    }

    fn headers(
        &mut self,
        fields: Vec<Field>,
        upgrade: Upgrade,
        length: Length<'_>,
    ) -> Result<Headers, Problem> {
        let mut headers = Headers::new();
        for field in fields {
            let name = field.name.to_ascii_lowercase();
            // Pseudo-headers of HTTP/2, which browsers list among the others, are in the URL and the status.
            if name.starts_with(':') {
                continue;
            }
            if name == "transfer-encoding" {
                self.note(Repair::TransferEncodingDropped);
                continue;
            }
            if is_hop_by_hop(&name) && !(name == "upgrade" && upgrade == Upgrade::Keep) {
                continue;
            }
            if name == "content-length" {
                match &length {
                    Length::Keep => {}
                    Length::Drop => continue,
                    Length::Check(stored) => {
                        let promised =
                            std::str::from_utf8(&field.value).ok().and_then(|v| v.trim().parse().ok());
                        if promised != Some(stored.bytes.len()) {
                            self.note(Repair::LengthCorrected);
                        }
                        continue;
                    }
                }
            }
            let value = trimmed(&field.value);
            headers.push(
                Header::new(&name, value).map_err(|error| Problem::new(field.span, error.to_string()))?,
            );
        }
        Ok(headers)
    }
}

/// A handshake as HTTP/1.1 has it, which is how it is played: HTTP/2 has another, and some archives list none.
fn speak_http1(draft: &mut Draft) {
    draft.status = 101;
    if draft.method == "CONNECT" {
        draft.method = "GET".to_owned();
    }
    let upgrade = |fields: &[Field]| {
        let field = fields.iter().find(|field| field.name.eq_ignore_ascii_case("upgrade"))?;
        Some(field.value.eq_ignore_ascii_case(b"websocket"))
    };
    if upgrade(&draft.request_headers).is_none() && upgrade(&draft.response_headers) != Some(false) {
        let value = Bytes::from_static(b"websocket");
        draft.request_headers.push(Field { name: "upgrade".to_owned(), value, span: draft.span });
    }
}

fn said(message: &Message) -> usize {
    match &message.piece {
        Piece::Text(text) => text.len(),
        Piece::Binary(bytes) => bytes.len(),
        Piece::Close(_) => 0,
    }
}

/// `limit`: what one body could still have been.
fn too_much(limit: usize, span: Span) -> Problem {
    let message = match limit == MOST_BYTES {
        true => format!("a body of this exchange is larger than {} MiB", MOST_BYTES >> 20),
        false => format!("up to this exchange, the bodies come to more than {} MiB", MOST_CONTENT >> 20),
    };
    Problem::new(span, message).with_help("split the recording into several files")
}

/// Whether `upgrade` is part of the meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upgrade {
    Keep,
    Drop,
}

/// What becomes of a `content-length`.
enum Length<'s> {
    /// There is no body: it tells how long one would have been.
    Keep,
    /// The body tells it.
    Drop,
    /// As `Drop`, but a wrong one is noted.
    Check(&'s Stored),
}

/// White space around a value is not part of it (RFC 9110, 5.5).
fn trimmed(value: &[u8]) -> &[u8] {
    value.trim_ascii()
}

fn unusable(url: &str, why: &str) -> String {
    let shown: String = url.chars().take(100).collect();
    let help = match placeholder(url) {
        Some(name) => format!("; put something in its place with --substitute '{name}=…'"),
        None => String::new(),
    };
    format!("no client can ask for {shown:?}: {why}{help}")
}

/// A word in brackets in the place of something that somebody took out.
fn placeholder(url: &str) -> Option<&str> {
    let start = url.find('<')?;
    let end = start + url[start..].find('>')? + 1;
    let end = end + url[end..].chars().take_while(|c| *c == '>').count();
    Some(&url[start..end])
}

/// Characters that a client escapes before it sends them. The host is left as it is: there is no escape for it.
fn escaped(url: &str) -> String {
    let path = url.len() - after_authority(url).len();
    let mut out = url[..path].to_owned();
    for c in url[path..].chars() {
        match c {
            ' ' | '"' | '<' | '>' | '`' | '\u{7f}' => push_percent(&mut out, c),
            c if c.is_control() || !c.is_ascii() => push_percent(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

/// User, host and port.
fn authority(url: &str) -> &str {
    let end = url.len() - after_authority(url).len();
    url[..end].split_once("://").map_or("", |(_, authority)| authority)
}

fn after_authority(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    &url[url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at)..]
}

fn push_percent(out: &mut String, c: char) {
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        out.push_str(&format!("%{byte:02X}"));
    }
}

fn is_unusual(status: u16, reason: &str) -> bool {
    let usual = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
    // A phrase with a line break would start a header of its own.
    !reason.is_empty()
        && usual != Some(reason)
        && reason.bytes().all(|b| b == b'\t' || (b' '..0x7f).contains(&b))
}

fn whole_ms(duration: std::time::Duration) -> std::time::Duration {
    std::time::Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// All bodies and messages of one cassette together.
const MOST_CONTENT: usize = 512 << 20;
