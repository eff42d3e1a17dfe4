//! Scrubbing: the only way from what was on the wire to anything that is kept or shown.
//!
//! Secrets become placeholders before anything else happens: by the place where they stand, by their shape, and by
//! their value once it is known, whatever they are wrapped in. The same secret gets the same placeholder for as long as
//! one [`Scrubber`] lives, and never a hash: a hash is an oracle for guessing.

mod detect;
pub mod dummy;
mod encoded;
mod found;
mod grams;
mod headers;
mod keys;
mod learned;
mod names;
mod placeholder;
pub(crate) mod placeholders;
mod query;
pub mod rules;
mod secrets;
mod shapes;
mod sieve;
mod subprotocol;
mod variables;

use std::{borrow::Cow, collections::HashSet, ops::Deref, sync::Arc};

use exchange::{Body, Exchange, Headers, Message, Reply, Request, Response, Url};
use thiserror::Error;

use crate::{
    edits::{Edit, apply, apply_to_str},
    text::{self, Form, View},
};

use detect::Detector;
use secrets::Secrets;

pub use found::{Found, found_in};
pub(crate) use names::is_credential_header;
pub use placeholder::Placeholders;
pub(crate) use placeholder::split_placeholders;
pub use rules::Rules;

/// A value that holds no secret. Only the scrubber makes one from traffic, and only the store's reader from a file
/// that was scrubbed when it was written. Disk, log, terminal and matching accept nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed<T>(T);

/// Takes secrets out. Keeps those it met, in memory only, to name each of them the same way every time and to find it
/// again wherever it stands. A clone starts with what is known; it costs little.
#[derive(Clone, Default)]
pub struct Scrubber {
    /// Request headers that are kept although nothing is known about them, in lower case.
    kept: Arc<HashSet<String>>,
    rules: Arc<Rules>,
    has_rules: bool,
    secrets: Secrets,
    /// How often a text was changed.
    changes: usize,
    /// Whether something was too large to be looked into.
    gave_up: bool,
}

/// Why an exchange cannot be kept: something in it cannot be looked into.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unscrubbable {
    #[error(
        "the {part} says that it is coded as {coding}, and cannot be decoded: nobody can tell what is in it"
    )]
    Undecodable { part: &'static str, coding: String },
    #[error("what is packed in it comes to more than {} MiB, which are looked into at the most", encoded::MOST >> 20)]
    TooMuch,
}

impl<T> Scrubbed<T> {
    /// For the scrubber and the store's reader alone.
    pub(crate) fn attest(value: T) -> Self {
        Self(value)
    }

    /// Changes that cannot bring a secret in, such as numbering exchanges anew.
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Scrubbed<U> {
        Scrubbed(change(self.0))
    }

    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Scrubbed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Scrubber {
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the request headers of these names, in any case, unless they are credentials: what a match policy
    /// compares must still be there to be compared.
    pub fn keeping(names: &[String]) -> Self {
        let kept = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { kept: Arc::new(kept), ..Self::default() }
    }

    /// The same for other names.
    #[must_use]
    pub fn and_keeping(mut self, names: &[String]) -> Self {
        self.kept = Self::keeping(names).kept;
        self
    }

    /// The same with a project's own rules.
    #[must_use]
    pub fn with_rules(mut self, rules: Arc<Rules>) -> Self {
        self.has_rules = !rules.is_empty();
        self.rules = rules;
        self
    }

    /// The same with what the environment holds. Variables whose values are no secrets are passed over.
    #[must_use]
    pub fn knowing<'v>(mut self, variables: impl IntoIterator<Item = (&'v str, &'v [u8])>) -> Self {
        for (name, value) in variables {
            for (secret, kind) in variables::secrets_of(name, value, &self.rules) {
                self.secrets.learn_variable(name, &secret, Cow::Borrowed(kind));
            }
        }
        self
    }

    /// The same with values that stand for recorded secrets: the dummies of a replay. Each is the placeholder that it
    /// was made for.
    #[must_use]
    pub fn standing_in<'v>(mut self, dummies: impl IntoIterator<Item = (&'v str, u32, &'v str)>) -> Self {
        for (kind, number, dummy) in dummies {
            self.secrets.number(kind, dummy.as_bytes(), number);
        }
        self
    }

    /// The same with no number for a new secret that a placeholder of these exchanges has already.
    #[must_use]
    pub fn numbering_after(mut self, exchanges: &[Scrubbed<Exchange>]) -> Self {
        let mut note = |text: &[u8]| {
            placeholders::edits(text, &mut |placeholder| {
                for (kind, number) in split_placeholders(placeholder).into_iter().filter_map(|(_, p)| p) {
                    // Nobody counts as far as what is left out here.
                    if let Some(number) = number.parse().ok().filter(|number| *number <= u32::MAX / 2) {
                        self.secrets.number_after(kind, number);
                    }
                }
                None
            });
        };
        for exchange in exchanges {
            placeholders::each_text(exchange, &mut note);
            for informational in exchange.reply.response().into_iter().flat_map(|r| &r.informational) {
                informational.headers.iter().for_each(|header| note(header.value()));
            }
        }
        self
    }

    /// Whether a value is a secret by its looks or because it is known. For what is not traffic, such as a variable.
    pub fn looks_secret(&self, value: &[u8]) -> bool {
        !self.clone().edits(value, Form::Text).is_empty()
    }

    /// Values that are known so far. Where there are more than before, what was scrubbed earlier may hold one of the new.
    pub fn known(&self) -> usize {
        self.secrets.learned.len()
    }

    /// Whether a text holds one of the values that were learned after the first `known`, as it is, in base64 or hexadecimal,
    /// or behind escapes. Not inside of what is packed, nor in pieces: that is for whoever reads all of it again.
    pub fn holds_newer(&self, known: usize, text: &[u8]) -> bool {
        let mut newer = learned::Learned::default();
        for value in self.secrets.learned.since(known) {
            newer.learn(&value.bytes, value.kind.clone());
        }
        if !newer.hits(text).is_empty() {
            return true;
        }
        // A file of ours escapes what is escaped in it already.
        let all = 0..text.len();
        let once = View::json_string(text, all.clone());
        let twice = View::json_string(once.text(), 0..once.text().len());
        let others = [View::percent_only(text, all.clone()), View::html(text, all)];
        [&once, &twice]
            .into_iter()
            .chain(&others)
            .any(|view| !view.is_plain() && !newer.hits(view.text()).is_empty())
    }

    /// Takes over what a clone has learned beyond the first `known` values.
    pub fn learn_from(&mut self, other: &Self, known: usize) {
        for value in other.secrets.learned.since(known) {
            self.secrets.learned.learn(&value.bytes, value.kind.clone());
        }
    }

    /// The variables whose values were met in traffic, each with the placeholder that stands for it.
    pub fn variables_met(&self) -> Vec<(String, String)> {
        self.secrets.variables_met()
    }

    pub fn exchange(&mut self, exchange: Exchange) -> Result<Scrubbed<Exchange>, Unscrubbable> {
        readable("request", &exchange.request.headers, &exchange.request.body)?;
        if let Some(response) = exchange.reply.response() {
            readable("reply", &response.headers, &response.body)?;
        }
        self.gave_up = false;
        let scrubbed = self.until_nothing_changes(exchange, Self::once);
        match self.gave_up {
            true => Err(Unscrubbable::TooMuch),
            false => Ok(Scrubbed::attest(scrubbed)),
        }
    }

    /// Scrubs an exchange for what was learned after it was scrubbed, when `known` values were known.
    pub fn again(&mut self, exchange: Scrubbed<Exchange>, known: usize) -> Scrubbed<Exchange> {
        if self.known() == known { exchange } else { self.rescrub(exchange) }
    }

    /// Scrubs what was scrubbed by other rules, or by somebody who knew less.
    pub fn rescrub(&mut self, exchange: Scrubbed<Exchange>) -> Scrubbed<Exchange> {
        exchange.map(|exchange| self.until_nothing_changes(exchange, Self::once))
    }

    pub fn request(&mut self, request: Request) -> Scrubbed<Request> {
        Scrubbed::attest(self.until_nothing_changes(request, Self::request_once))
    }

    /// What is learned late may stand early, and what is taken out of a text may leave something to find.
    fn until_nothing_changes<T>(&mut self, value: T, once: fn(&mut Self, T) -> T) -> T {
        let mut value = value;
        for _ in 0..MOST_ROUNDS {
            let before = (self.known(), self.changes);
            value = once(self, value);
            if (self.known(), self.changes) == before {
                break;
            }
        }
        value
    }

    /// A URL alone, for a line that a person reads.
    pub fn url(&mut self, url: Url) -> Scrubbed<Url> {
        Scrubbed::attest(self.scrub_url(url))
    }

    /// Words for a person, which may have been cut out of something longer.
    pub fn words(&mut self, words: &str) -> String {
        self.text(words.to_owned())
    }

    /// A text alone, such as a message of one peer.
    pub fn message(&mut self, message: &Message) -> Scrubbed<Message> {
        let mut messages = self.messages(std::slice::from_ref(message));
        Scrubbed::attest(messages.pop().expect("one message stays one"))
    }

    fn once(&mut self, exchange: Exchange) -> Exchange {
        let request = self.request_once(exchange.request);
        let reply = match exchange.reply {
            Reply::Response(response) => Reply::Response(self.response(response)),
            fault @ Reply::Fault { .. } => fault,
        };
        Exchange { request, reply, ..exchange }
    }

    fn request_once(&mut self, request: Request) -> Request {
        let url = self.scrub_url(request.url);
        let body = self.body(&request.body, &request.headers);
        let headers = request.headers.into_iter().map(|h| self.request_header(h)).collect();
        let trailers = request.trailers.into_iter().map(|h| self.request_header(h)).collect();
        Request { url, headers, body, trailers, ..request }
    }

    fn response(&mut self, response: Response) -> Response {
        let body = self.body(&response.body, &response.headers);
        let has_changed = body != response.body;
        // Nothing depends on these words: where they hold a secret, they go.
        let reason = response.reason.filter(|reason| self.edits(reason.as_bytes(), Form::Text).is_empty());
        let mut headers = self.response_headers(response.headers);
        if has_changed {
            // They tell of what is no longer there.
            headers.retain(|h| !names::is_digest(h.name()));
        }
        let trailers = self.response_headers(response.trailers);
        let messages = self.messages(&response.messages);
        let informational = response
            .informational
            .into_iter()
            .map(|mut i| {
                i.headers = self.response_headers(i.headers);
                i
            })
            .collect();
        Response { reason, headers, trailers, informational, body, messages, ..response }
    }

    fn body(&mut self, body: &Body, headers: &Headers) -> Body {
        let bytes = body.bytes().map(|bytes| &bytes[..]).unwrap_or_default();
        let mut detector = Detector::of_body(&mut self.secrets, &self.rules, bytes);
        let new = text::rewrite_body(body, headers, &mut |leaf| detector.in_leaf(leaf));
        self.gave_up = self.gave_up || detector.gave_up();
        self.changes += usize::from(new.content != body.content);
        new
    }

    fn messages(&mut self, messages: &[Message]) -> Vec<Message> {
        if messages.is_empty() {
            return Vec::new();
        }
        let mut detector = Detector::new(&mut self.secrets, &self.rules);
        let new = text::rewrite_messages(messages, &mut |leaf| detector.in_leaf(leaf));
        self.changes += usize::from(new != messages);
        new
    }

    fn edits(&mut self, text: &[u8], form: Form) -> Vec<Edit<'static>> {
        let edits = Detector::new(&mut self.secrets, &self.rules).in_text(text, form);
        self.changes += usize::from(!edits.is_empty());
        edits
    }

    /// A text that has no name and no structure.
    fn text(&mut self, text: String) -> String {
        let edits = self.edits(text.as_bytes(), Form::Text);
        if edits.is_empty() {
            return text;
        }
        apply_to_str(&text, &edits)
            .unwrap_or_else(|| String::from_utf8_lossy(&apply(text.as_bytes(), &edits)).into_owned())
    }

    fn scrub_url(&mut self, mut url: Url) -> Url {
        url.path = self.text(url.path);
        if let Some(query) = url.query.take() {
            url.query = Some(self.query(query, Some(&url.host)));
        }
        url
    }

    fn placeholder(&mut self, kind: &'static str, secret: &[u8]) -> String {
        self.secrets.placeholder(Cow::Borrowed(kind), secret)
    }

    /// A placeholder for what stood where only credentials stand; it is from now on known everywhere.
    fn credential(&mut self, kind: &'static str, secret: &[u8]) -> String {
        let kind = shapes::kind_of(secret).unwrap_or(kind);
        if !keys::is_stand_in(secret) {
            self.secrets.learned.learn(secret, Cow::Borrowed(kind));
        }
        self.placeholder(kind, secret)
    }
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} secrets known)", self.secrets.count())
    }
}

/// A body that wears a coding which could not be taken off holds nobody knows what. A damaged gzip or zstd stream can
/// still be read as far as any client could, and what is a text after all, or not coded at all, needs no decoding.
fn readable(part: &'static str, headers: &Headers, body: &Body) -> Result<(), Unscrubbable> {
    let Some(bytes) = body.bytes().filter(|bytes| !bytes.is_empty() && body.codings.is_empty()) else {
        return Ok(());
    };
    let named: Vec<String> = headers
        .all("content-encoding")
        .filter_map(|header| header.text())
        .flat_map(|value| value.split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !OPEN_CODINGS.contains(&coding.as_str()))
        .collect();
    if named.is_empty() || std::str::from_utf8(bytes).is_ok() || encoded::can_be_read(bytes) {
        return Ok(());
    }
    // Without its mark it is not what it says it is.
    match named.iter().all(|coding| matches!(coding.as_str(), "gzip" | "x-gzip" | "zstd"))
        && !encoded::has_mark(bytes)
    {
        true => Ok(()),
        false => Err(Unscrubbable::Undecodable { part, coding: named.join(", ") }),
    }
}

/// What changes no byte of the content, or only cuts it.
const OPEN_CODINGS: &[&str] = &["", "identity", "aws-chunked", "none", "utf-8", "utf8"];
/// Rounds after which nothing new can turn up but by somebody's design.
const MOST_ROUNDS: usize = 5;

#[cfg(test)]
mod tests;
