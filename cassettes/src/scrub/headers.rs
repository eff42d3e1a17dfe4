//! Headers: which are kept, which are secrets, and what of a value stays.

use exchange::{Header, Headers};

use super::{
    Scrubber, encoded, keys, names,
    query::{self, Query},
    shapes, subprotocol,
};
use crate::text::{Form, View, settle, unescaped};

impl Scrubber {
    pub(super) fn request_header(&mut self, header: Header) -> Header {
        match header.name() {
            "authorization" | "proxy-authorization" => self.authorization(&header),
            "cookie" => self.cookies(&header),
            SUBPROTOCOL => self.subprotocols(&header),
            name if self.rules.redacts_header(name) => self.whole(&header, "rule"),
            name if names::is_kept_in_requests(name) => self.value(header),
            name if names::is_credential_header(name) => self.whole(&header, token_kind(header.value())),
            name if self.kept.contains(name) || self.rules.keeps_header(name) => self.value(header),
            _ => {
                let placeholder = self.placeholder("header", header.value());
                rebuilt(&header, &placeholder)
            }
        }
    }

    pub(super) fn response_headers(&mut self, headers: Headers) -> Headers {
        headers
            .into_iter()
            .map(|header| match header.name() {
                "set-cookie" => self.set_cookie(&header),
                SUBPROTOCOL => self.subprotocols(&header),
                name if self.rules.redacts_header(name) => self.whole(&header, "rule"),
                name if names::is_account_header(name) => {
                    // The name of a company is nothing to look for elsewhere.
                    let placeholder = self.placeholder("account", header.value());
                    rebuilt(&header, &placeholder)
                }
                name if names::holds_urls(name) || query::is_url(header.value()) => {
                    let header = self.urls_within(&header);
                    self.value(header)
                }
                name if names::is_credential_header(name) => self.whole(&header, token_kind(header.value())),
                name if !names::is_known_in_replies(name)
                    && !self.rules.keeps_header(name)
                    && names::is_random_header(header.value()) =>
                {
                    // A client may ask for what it names.
                    self.whole(&header, "opaque")
                }
                _ => self.value(header),
            })
            .collect()
    }

    /// A value that is kept but for the secrets in it.
    fn value(&mut self, header: Header) -> Header {
        let form = if header.text().is_some() { Form::Text } else { Form::Binary };
        let edits = self.edits(header.value(), form);
        if edits.is_empty() {
            return header;
        }
        // What was packed and is packed again may hold what no header may.
        Header::new(header.name(), crate::edits::apply(header.value(), &edits))
            .unwrap_or_else(|_| self.whole(&header, "header"))
    }

    /// `Bearer` and its kin stay readable; what follows them does not. A first word that is none of them may be a
    /// part of the secret.
    fn authorization(&mut self, header: &Header) -> Header {
        let words = header.text().and_then(|v| v.split_once(' '));
        let Some((scheme, secret)) = words.filter(|(scheme, _)| names::is_scheme(scheme)) else {
            return self.whole(header, token_kind(header.value()));
        };
        let is_basic = scheme.eq_ignore_ascii_case("basic");
        let kind = if is_basic { "basic" } else { token_kind(secret.as_bytes()) };
        if is_basic {
            self.learn_basic(secret);
        }
        let placeholder = self.credential(kind, secret.as_bytes());
        rebuilt(header, &format!("{scheme} {placeholder}"))
    }

    /// The password of a user is a secret without its user too. So is a token that stands in the user's place.
    fn learn_basic(&mut self, encoded: &str) {
        let Some(pair) = encoded::decoded_base64(encoded.trim().as_bytes()) else { return };
        let Some(colon) = pair.iter().position(|b| *b == b':') else { return };
        let (user, password) = (&pair[..colon], &pair[colon + 1..]);
        if !keys::is_stand_in(password) {
            let kind = shapes::kind_of(password).unwrap_or("password");
            self.secrets.learned.learn(password, kind.into());
        }
        if keys::is_random(user) {
            self.secrets.learned.learn(user, shapes::kind_of(user).unwrap_or("token").into());
        }
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
        let attributes = self.text(attributes.to_owned());
        rebuilt(header, &format!("{pair}{separator}{attributes}"))
    }

    fn cookie_pair(&mut self, pair: &str) -> String {
        match pair.split_once('=') {
            Some((name, value)) => format!("{}={}", self.text(name.to_owned()), self.cookie_value(value)),
            None => self.cookie_value(pair),
        }
    }

    /// A cookie's value is never kept, but `dark` or `en-US` is nothing to look for elsewhere.
    fn cookie_value(&mut self, value: &str) -> String {
        match keys::is_random(value.as_bytes()) {
            true => self.credential("cookie", value.as_bytes()),
            false => self.placeholder("cookie", value.as_bytes()),
        }
    }

    fn whole(&mut self, header: &Header, kind: &'static str) -> Header {
        let placeholder = self.credential(kind, header.value());
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
        let joined = scrubbed.join(",");
        self.value(rebuilt(header, &joined))
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

    /// The query of a URL.
    pub(super) fn query(&mut self, text: String, host: Option<&str>) -> String {
        let query = Query::of(&text, host);
        let scrubbed = self.scrub_pairs(&text, &query);
        let text = self.text(scrubbed);
        // A secret of several words.
        let view = View::percent(text.as_bytes(), 0..text.len());
        if !text.contains('+') {
            return text;
        }
        let edits = self.edits(view.text(), Form::Text);
        {
            let new = crate::edits::apply(text.as_bytes(), &settle(view.in_source(edits, unescaped)));
            String::from_utf8_lossy(&new).into_owned()
        }
    }

    /// Scrubs the pairs of a query, and those of a fragment behind it.
    fn scrub_pairs(&mut self, text: &str, query: &Query<'_>) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive(['&', '#']) {
            let (pair, end) = piece.split_at(piece.trim_end_matches(['&', '#']).len());
            match self.secret_of(pair, query) {
                Some(start) => out.push_str(&self.hidden_from(start, pair, "query")),
                None => out.push_str(pair),
            }
            out.push_str(end);
        }
        out
    }

    /// Where the secret of a pair starts. A project's own rules come before what is known of all.
    fn secret_of(&self, pair: &str, query: &Query<'_>) -> Option<usize> {
        if self.has_rules
            && let Some((key, value)) = pair.split_once('=')
        {
            let key = query::decoded(key);
            if self.rules.redacts_query(&key) && !value.is_empty() {
                return Some(pair.len() - value.len());
            }
            if self.rules.keeps_query(&key) {
                return None;
            }
        }
        query.secret_of(pair)
    }

    /// The text with a placeholder for everything from `start`.
    fn hidden_from(&mut self, start: usize, text: &str, kind: &'static str) -> String {
        let (shown, secret) = text.split_at(start);
        let plain = query::decoded(secret);
        let kind = shapes::kind_of(plain.as_bytes()).unwrap_or(kind);
        // A short value, such as a code of four digits, is a secret here and a number elsewhere.
        let placeholder = match keys::is_random(plain.as_bytes()) {
            true => self.credential(kind, plain.as_bytes()),
            false => self.placeholder(kind, plain.as_bytes()),
        };
        format!("{shown}{placeholder}")
    }
}

fn rebuilt(header: &Header, value: &str) -> Header {
    Header::new(header.name(), value).expect("the name was legal and a placeholder adds no control character")
}

/// A word for what a token is: by its shape, or from its well-known beginning where the rest is not as it should be.
pub(super) fn token_kind(secret: &[u8]) -> &'static str {
    let starts = |prefix: &str| secret.starts_with(prefix.as_bytes());
    if let Some(kind) = shapes::kind_of(secret) {
        return kind;
    }
    match () {
        () if starts("sk-ant-") => "anthropic_key",
        () if starts("sk-") => "openai_key",
        () if starts("ghp_") || starts("gho_") || starts("ghs_") || starts("ghu_") || starts("ghr_") => {
            "github_token"
        }
        () if starts("github_pat_") => "github_pat",
        () if starts("AIza") => "google_key",
        () => "token",
    }
}

const SUBPROTOCOL: &str = "sec-websocket-protocol";
