//! Scrubbing: the only way from what was on the wire to anything that is kept or shown.
//!
//! Credentials in headers and URLs become placeholders before anything else happens. The same secret gets the same
//! placeholder for as long as one [`Scrubber`] lives, and never a hash: a hash is an oracle for guessing.

mod names;
mod placeholder;

use std::{collections::HashMap, ops::Deref};

use exchange::{Exchange, Header, Headers, Reply, Request, Response, Url};

pub use placeholder::Placeholders;

/// A value that holds no secret. Only the scrubber makes one from traffic, and only the store's reader from a file
/// that was scrubbed when it was written. Disk, log, terminal and matching accept nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scrubbed<T>(T);

/// Takes secrets out. Keeps those it met, in memory only, to name each of them the same way every time.
#[derive(Default)]
pub struct Scrubber {
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
        if names::is_kept_in_requests(header.name()) {
            return header;
        }
        match header.name() {
            "authorization" | "proxy-authorization" => self.authorization(&header),
            "cookie" => self.cookies(&header),
            name if names::is_credential_header(name) => self.whole(&header, token_kind(header.value())),
            _ => self.whole(&header, "header"),
        }
    }

    fn response_headers(&mut self, headers: Headers) -> Headers {
        headers
            .into_iter()
            .map(|header| match header.name() {
                "set-cookie" => self.set_cookie(&header),
                "location" | "content-location" | "link" | "refresh" => self.urls_within(&header),
                name if names::is_account_header(name) => self.whole(&header, "account"),
                name if names::is_credential_header(name) => self.whole(&header, token_kind(header.value())),
                _ => header,
            })
            .collect()
    }

    /// `Bearer` and its kin stay readable; what follows them does not.
    fn authorization(&mut self, header: &Header) -> Header {
        let Some((scheme, secret)) = header.text().and_then(|v| v.split_once(' ')) else {
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

    fn scrub_url(&mut self, mut url: Url) -> Url {
        url.query = url.query.map(|query| self.scrub_query(&query));
        url
    }

    fn scrub_query(&mut self, query: &str) -> String {
        let pairs: Vec<String> = query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) if !value.is_empty() && names::is_credential_query(name) => {
                    format!("{name}={}", self.placeholder("query", value.as_bytes()))
                }
                _ => pair.to_owned(),
            })
            .collect();
        pairs.join("&")
    }

    /// Scrubs the query of every URL inside a header such as `link: <https://…?token=…>; rel="next"`.
    fn urls_within(&mut self, header: &Header) -> Header {
        let Some(text) = header.text() else {
            return self.whole(header, "url");
        };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find('?') {
            let (before, query) = rest.split_at(start + 1);
            let end = query.find(['>', ' ', ',', '"', '#']).unwrap_or(query.len());
            out.push_str(before);
            out.push_str(&self.scrub_query(&query[..end]));
            rest = &query[end..];
        }
        out.push_str(rest);
        rebuilt(header, &out)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use exchange::{Body, End};

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Headers {
        pairs.iter().map(|(n, v)| Header::new(n, *v).unwrap()).collect()
    }

    fn request(url: &str, pairs: &[(&str, &str)]) -> Request {
        Request {
            method: "GET".into(),
            url: Url::parse(url).unwrap(),
            headers: headers(pairs),
            body: Body::empty(),
            trailers: Headers::new(),
        }
    }

    fn values(headers: &Headers) -> Vec<String> {
        headers.iter().map(|h| format!("{}: {}", h.name(), h.text().unwrap())).collect()
    }

    #[test]
    fn credentials_leave_the_request_and_the_rest_stays() {
        let scrubbed = Scrubber::new().request(request(
            "https://api.test/v1?key=abc&page=2",
            &[
                ("accept", "*/*"),
                ("authorization", "Bearer hush"),
                ("cookie", "a=1; b=2"),
                ("x-api-key", "hush2"),
                ("x-odd", "who knows"),
            ],
        ));
        assert_eq!(scrubbed.url.to_string(), "https://api.test/v1?key={{redacted:query:1}}&page=2");
        assert_eq!(
            values(&scrubbed.headers),
            [
                "accept: */*",
                "authorization: Bearer {{redacted:token:1}}",
                "cookie: a={{redacted:cookie:1}}; b={{redacted:cookie:2}}",
                "x-api-key: {{redacted:token:2}}",
                "x-odd: {{redacted:header:1}}",
            ]
        );
    }

    #[test]
    fn the_same_secret_gets_the_same_placeholder_and_another_gets_another() {
        let mut scrubber = Scrubber::new();
        let one = scrubber.request(request("https://a/", &[("authorization", "Bearer x")]));
        let two = scrubber.request(request("https://a/", &[("authorization", "Bearer y")]));
        let again = scrubber.request(request("https://a/", &[("authorization", "token x")]));
        assert_eq!(one.headers.text("authorization"), Some("Bearer {{redacted:token:1}}"));
        assert_eq!(two.headers.text("authorization"), Some("Bearer {{redacted:token:2}}"));
        assert_eq!(again.headers.text("authorization"), Some("token {{redacted:token:1}}"));
    }

    #[test]
    fn a_response_keeps_what_clients_need_and_loses_what_names_an_account() {
        let response = Response {
            status: 302,
            reason: None,
            headers: headers(&[
                ("set-cookie", "sid=hush; Path=/; HttpOnly"),
                ("location", "https://up.test/x?sig=hush&n=1"),
                ("link", "<https://a.test/?page=2&token=hush>; rel=\"next\""),
                ("x-ratelimit-remaining-tokens", "99"),
                ("openai-organization", "org-hush"),
            ]),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::empty(),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        };
        let exchange = Exchange {
            id: 1,
            at: Duration::ZERO,
            request: request("https://a/", &[]),
            reply: Reply::Response(response),
        };
        let scrubbed = Scrubber::new().exchange(exchange);
        assert_eq!(
            values(&scrubbed.reply.response().unwrap().headers),
            [
                "set-cookie: sid={{redacted:cookie:1}}; Path=/; HttpOnly",
                "location: https://up.test/x?sig={{redacted:query:1}}&n=1",
                "link: <https://a.test/?page=2&token={{redacted:query:1}}>; rel=\"next\"",
                "x-ratelimit-remaining-tokens: 99",
                "openai-organization: {{redacted:account:1}}",
            ]
        );
    }

    #[test]
    fn scrubbing_twice_changes_nothing_more() {
        let once = Scrubber::new().request(request(
            "https://a/?token=x",
            &[("authorization", "Bearer y"), ("x-odd", "z"), ("cookie", "a=b")],
        ));
        let twice = Scrubber::new().request(once.clone().into_inner());
        assert_eq!(once, twice);
    }
}
