//! Scrubbing: the only way from what was on the wire to anything that is kept or shown.
//!
//! Credentials in headers and URLs become placeholders before anything else happens. The same secret gets the same
//! placeholder for as long as one [`Scrubber`] lives, and never a hash: a hash is an oracle for guessing.

pub mod dummy;
mod found;
mod names;
mod placeholder;
mod query;
pub mod rules;
mod subprotocol;

use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
};

use exchange::{Exchange, Header, Headers, Reply, Request, Response, Url};

use query::Query;

pub use found::{Found, found_in};
pub(crate) use names::is_credential_header;
pub use placeholder::Placeholders;
pub(crate) use placeholder::split_placeholders;

/// A value that holds no secret. Only the scrubber makes one from traffic, and only the store's reader from a file
/// that was scrubbed when it was written. Disk, log, terminal and matching accept nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed<T>(T);

/// Takes secrets out. Keeps those it met, in memory only, to name each of them the same way every time.
#[derive(Default)]
pub struct Scrubber {
    /// Request headers that are kept although nothing is known about them, in lower case.
    kept: HashSet<String>,
    known: HashMap<(&'static str, Vec<u8>), u32>,
    counts: HashMap<&'static str, u32>,
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
        Self { kept: names.iter().map(|name| name.to_ascii_lowercase()).collect(), ..Self::default() }
    }

    pub fn exchange(&mut self, exchange: Exchange) -> Scrubbed<Exchange> {
        let request = self.request(exchange.request).into_inner();
        let reply = match exchange.reply {
            Reply::Response(response) => Reply::Response(self.response(response)),
            fault @ Reply::Fault { .. } => fault,
        };
        Scrubbed::attest(Exchange { request, reply, ..exchange })
    }

    pub fn request(&mut self, request: Request) -> Scrubbed<Request> {
        let url = self.scrub_url(request.url);
        let headers = request.headers.into_iter().map(|h| self.request_header(h)).collect();
        let trailers = request.trailers.into_iter().map(|h| self.request_header(h)).collect();
        Scrubbed::attest(Request { url, headers, trailers, ..request })
    }

    /// A URL alone, for a line that a person reads.
    pub fn url(&mut self, url: Url) -> Scrubbed<Url> {
        Scrubbed::attest(self.scrub_url(url))
    }

    fn response(&mut self, response: Response) -> Response {
        let headers = self.response_headers(response.headers);
        let trailers = self.response_headers(response.trailers);
        let informational = response
            .informational
            .into_iter()
            .map(|mut i| {
                i.headers = self.response_headers(i.headers);
                i
            })
            .collect();
        Response { headers, trailers, informational, ..response }
    }

    fn request_header(&mut self, header: Header) -> Header {
        match header.name() {
            "authorization" | "proxy-authorization" => self.authorization(&header),
            "cookie" => self.cookies(&header),
            SUBPROTOCOL => self.subprotocols(&header),
            name if names::is_kept_in_requests(name) => header,
            name if names::is_credential_header(name) => self.whole(&header, token_kind(header.value())),
            name if self.kept.contains(name) => header,
            _ => self.whole(&header, "header"),
        }
    }

    fn response_headers(&mut self, headers: Headers) -> Headers {
        headers
            .into_iter()
            .map(|header| match header.name() {
                "set-cookie" => self.set_cookie(&header),
                SUBPROTOCOL => self.subprotocols(&header),
                name if names::is_account_header(name) => self.whole(&header, "account"),
                name if names::is_credential_header(name) => self.whole(&header, token_kind(header.value())),
                name if names::holds_urls(name) || query::is_url(header.value()) => self.urls_within(&header),
                _ => header,
            })
            .collect()
    }

    /// `Bearer` and its kin stay readable; what follows them does not. A first word that is none of them may be a
    /// part of the secret.
    fn authorization(&mut self, header: &Header) -> Header {
        let words = header.text().and_then(|v| v.split_once(' '));
        let Some((scheme, secret)) = words.filter(|(scheme, _)| names::is_scheme(scheme)) else {
            return self.whole(header, token_kind(header.value()));
        };
        let kind = if scheme.eq_ignore_ascii_case("basic") { "basic" } else { token_kind(secret.as_bytes()) };
        let placeholder = self.placeholder(kind, secret.as_bytes());
        rebuilt(header, &format!("{scheme} {placeholder}"))
    }

    fn cookies(&mut self, header: &Header) -> Header {
        let Some(text) = header.text() else {
            return self.whole(header, "cookie");
        };
        let scrubbed: Vec<String> = text.split(';').map(|pair| self.cookie_pair(pair.trim())).collect();
        rebuilt(header, &scrubbed.join("; "))
    }

    /// The attributes behind the first pair tell a client what to do with the cookie, so they stay.
    fn set_cookie(&mut self, header: &Header) -> Header {
        let Some(text) = header.text() else {
            return self.whole(header, "cookie");
        };
        let (pair, attributes) = text.split_once(';').map_or((text, ""), |(pair, rest)| (pair, rest));
        let pair = self.cookie_pair(pair.trim());
        let separator = if attributes.is_empty() { "" } else { ";" };
        rebuilt(header, &format!("{pair}{separator}{attributes}"))
    }

    fn cookie_pair(&mut self, pair: &str) -> String {
        match pair.split_once('=') {
            Some((name, value)) => format!("{name}={}", self.placeholder("cookie", value.as_bytes())),
            None => self.placeholder("cookie", pair.as_bytes()),
        }
    }

    fn whole(&mut self, header: &Header, kind: &'static str) -> Header {
        let placeholder = self.placeholder(kind, header.value());
        rebuilt(header, &placeholder)
    }

    /// A subprotocol is a word that both sides agree on, but some clients that cannot set headers send a key there.
    fn subprotocols(&mut self, header: &Header) -> Header {
        let Some(text) = header.text() else {
            return self.whole(header, "token");
        };
        let scrubbed: Vec<String> = text
            .split(',')
            .map(|offer| {
                let token = offer.trim();
                match subprotocol::secret_of(token) {
                    Some((start, kind)) => offer.replace(token, &self.hidden_from(start, token, kind)),
                    None => offer.to_owned(),
                }
            })
            .collect();
        rebuilt(header, &scrubbed.join(","))
    }

    fn scrub_url(&mut self, mut url: Url) -> Url {
        if let Some(text) = url.query.take() {
            let query = Query::of(&text, Some(&url.host));
            url.query = Some(self.scrub_pairs(&text, &query));
        }
        url
    }

    /// Scrubs every URL inside a header such as `link: <https://…?token=…>; rel="next"`: queries, fragments, and
    /// user information, which no recorded URL has.
    fn urls_within(&mut self, header: &Header) -> Header {
        let Some(text) = header.text() else {
            return self.whole(header, "url");
        };
        // Elsewhere a URL goes on to the end, even past a character that no URL should hold: better too much is
        // taken for a secret than too little.
        let brackets: &[char] = if header.name() == "link" { &['<', '>'] } else { &[] };
        let mut out = String::with_capacity(text.len());
        for run in text.split_inclusive(brackets) {
            let run = query::without_userinfo(run);
            let (url, end) = run.split_at(run.trim_end_matches(brackets).len());
            let (path, pairs) = url.split_at(url.find(['?', '#']).map_or(url.len(), |mark| mark + 1));
            out.push_str(path);
            out.push_str(&self.scrub_pairs(pairs, &Query::of(pairs, None)));
            out.push_str(end);
        }
        rebuilt(header, &out)
    }

    /// Scrubs the pairs of a query, and those of a fragment behind it.
    fn scrub_pairs(&mut self, text: &str, query: &Query<'_>) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive(['&', '#']) {
            let (pair, end) = piece.split_at(piece.trim_end_matches(['&', '#']).len());
            match query.secret_of(pair) {
                Some(start) => out.push_str(&self.hidden_from(start, pair, "query")),
                None => out.push_str(pair),
            }
            out.push_str(end);
        }
        out
    }

    /// The text with a placeholder for everything from `start`.
    fn hidden_from(&mut self, start: usize, text: &str, kind: &'static str) -> String {
        let (shown, secret) = text.split_at(start);
        format!("{shown}{}", self.placeholder(kind, secret.as_bytes()))
    }

    fn placeholder(&mut self, kind: &'static str, secret: &[u8]) -> String {
        // What is already a placeholder stays as it is: scrubbing twice is scrubbing once.
        if let Some(text) = std::str::from_utf8(secret).ok().filter(|t| placeholder::is_placeholder(t)) {
            return text.to_owned();
        }
        let number = *self.known.entry((kind, secret.to_vec())).or_insert_with(|| {
            let count = self.counts.entry(kind).or_default();
            *count += 1;
            *count
        });
        placeholder::text(kind, number)
    }
}

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scrubber({} secrets known)", self.known.len())
    }
}

fn rebuilt(header: &Header, value: &str) -> Header {
    Header::new(header.name(), value).expect("the name was legal and a placeholder adds no control character")
}

/// A word for what a token is, from its well-known beginning.
fn token_kind(secret: &[u8]) -> &'static str {
    let starts = |prefix: &str| secret.starts_with(prefix.as_bytes());
    match () {
        () if starts("sk-ant-") => "anthropic_key",
        () if starts("sk-") => "openai_key",
        () if starts("ghp_") || starts("gho_") || starts("ghs_") || starts("ghu_") || starts("ghr_") => {
            "github_token"
        }
        () if starts("github_pat_") => "github_token",
        () if starts("AIza") => "google_key",
        () => "token",
    }
}

const SUBPROTOCOL: &str = "sec-websocket-protocol";

#[cfg(test)]
mod tests;
