//! What of a URL is a credential: pairs of its query or fragment, and user information.
//!
//! Some keys always name one, some only in certain company: `state` filters issues on GitHub, and is a secret beside
//! an authorization code.

use std::{collections::HashSet, sync::LazyLock};

use memchr::memmem::Finder;

use super::headers::token_kind;

/// What must be known of a whole query to judge one of its pairs.
pub(super) struct Query<'a> {
    /// `None`: not known.
    host: Option<&'a str>,
    /// The keys that stand in it, normalized.
    keys: HashSet<String>,
}

impl<'a> Query<'a> {
    pub(super) fn of(text: &str, host: Option<&'a str>) -> Self {
        let keys = text.split(['&', '#', '?']).map(|pair| normalized(pair.split('=').next().unwrap_or(pair)));
        Self { host, keys: keys.collect() }
    }

    /// Where the secret of a pair starts; it goes on to the end. The value of one that holds no secret may be a URL
    /// whose own query does.
    pub(super) fn secret_of(&self, pair: &str) -> Option<usize> {
        let mut start = 0;
        loop {
            let rest = &pair[start..];
            let mark = rest.find(['=', '?'])?;
            if rest[mark..].starts_with('?') {
                start += mark + 1;
                continue;
            }
            let (key, value) = (&rest[..mark], &rest[mark + 1..]);
            if !value.is_empty() && self.is_credential(key, value) {
                return Some(start + mark + 1);
            }
            start += mark + 1 + value.find('?')? + 1;
        }
    }

    fn is_credential(&self, key: &str, value: &str) -> bool {
        let has = |keys: &[&str]| keys.iter().any(|key| self.keys.contains(*key));
        match normalized(key).as_str() {
            "code" => has(&["state"]) || has(AUTHORIZATION_FLOW),
            "state" => has(&["code"]) || has(AUTHORIZATION_FLOW),
            "policy" => has(&["signature", "keypairid"]),
            "auth" => decoded(value).len() >= SHORTEST_AUTH,
            "key" => self.is_key(value),
            key => CREDENTIALS.contains(&key) || is_named_like_a_credential(key),
        }
    }

    /// `key` is the key of a cache or a file on GitHub, and an API key nearly everywhere else.
    fn is_key(&self, value: &str) -> bool {
        let host = self.host.unwrap_or_default();
        let names_things = host == "github.com" || host.ends_with(".github.com");
        host.ends_with(".googleapis.com")
            || is_like_a_key(value, if names_things { LONG_KEY } else { SHORTEST_KEY })
    }
}

/// Where an address may begin.
pub(super) static URLS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("://"));

/// Keys such as `job_token` or `webhook_secret`. The tokens with which lists are paged are none.
fn is_named_like_a_credential(key: &str) -> bool {
    let pages = PAGING.iter().any(|word| key.contains(word)) && !key.ends_with("accesstoken");
    ENDINGS.iter().any(|ending| key.ends_with(ending)) && !pages
}

/// Whether the whole value of a header is a URL.
pub(super) fn is_url(value: &[u8]) -> bool {
    let starts = |scheme: &str| {
        value.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    starts("http://") || starts("https://")
}

pub(super) fn without_userinfo(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(slashes) = rest.find("//") {
        let (before, authority) = rest.split_at(slashes + 2);
        out.push_str(before);
        rest = authority;
        // Elsewhere two slashes are part of a path.
        let starts_authority =
            before == "//" && out.len() == 2 || before[..slashes].ends_with([':', '=', ',', '\'']);
        if starts_authority {
            let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
            rest = &rest[authority.rfind('@').map_or(0, |at| at + 1)..];
        }
    }
    out.push_str(rest);
    out
}

fn is_like_a_key(value: &str, shortest: usize) -> bool {
    let value = decoded(value);
    let is_plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.~+/=".contains(&b));
    let is_long = if shortest == LONG_KEY {
        value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    } else {
        is_plain
    };
    token_kind(value.as_bytes()) != "token" || (value.len() >= shortest && is_long)
}

/// Without percent-encoding, case and separators.
fn normalized(key: &str) -> String {
    decoded(key)
        .chars()
        .filter(|c| !matches!(c, '-' | '_' | '.' | '[' | ']' | '$'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

pub(super) fn decoded(text: &str) -> String {
    let hex = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, behind @ ..]) => match (hex(high), hex(low)) {
                (Some(high), Some(low)) => {
                    out.push(high << 4 | low);
                    rest = behind;
                }
                _ => out.push(b'%'),
            },
            _ => out.push(*first),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Keys that tell of OAuth, in whose company `code` and `state` are secrets.
const AUTHORIZATION_FLOW: &[&str] = &["redirecturi", "granttype", "clientid", "codechallenge"];

/// A shorter `auth` is a word such as `none`.
const SHORTEST_AUTH: usize = 20;

/// A shorter `key` may be the key of anything: a project, a file, a cache.
const SHORTEST_KEY: usize = 16;

/// Where keys name things, only what no person would write is one.
const LONG_KEY: usize = 30;

/// How the names of credentials end.
const ENDINGS: &[&str] =
    &["token", "secret", "password", "apikey", "appkey", "signature", "credential", "assertion"];

/// Words in the names of tokens that only say where in a list one is.
const PAGING: &[&str] = &["page", "next", "continuation", "cursor", "sync", "skip", "marker"];

/// Keys whose value is a credential in any company, normalized.
const CREDENTIALS: &[&str] = &[
    "accesskey",
    "accesskeyid",
    "accesstoken",
    "apikey",
    "apisecret",
    "apitoken",
    "authorization",
    "authorizationrequest",
    "authtoken",
    "awsaccesskeyid",
    "clientassertion",
    "clientsecret",
    "codeverifier",
    "googleaccessid",
    "idtoken",
    "jwt",
    "keypairid",
    "oauthsignature",
    "oauthtoken",
    "ocpapimsubscriptionkey",
    "passwd",
    "password",
    "privatetoken",
    "pwd",
    "refreshtoken",
    "sas",
    "secret",
    "secretkey",
    "sessiontoken",
    "sig",
    "signature",
    "subscriptionkey",
    "token",
    "uploadid",
    "xamzcredential",
    "xamzsecuritytoken",
    "xamzsignature",
    "xgoogcredential",
    "xgoogsignature",
    "xgooguploadid",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of a query whose values are credentials.
    fn credentials<'t>(host: Option<&str>, text: &'t str) -> Vec<&'t str> {
        let query = Query::of(text, host);
        let pairs = text.split('&').filter(|pair| query.secret_of(pair).is_some());
        pairs.map(|pair| pair.split_once('=').unwrap().0).collect()
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn query_keys_are_known_in_every_spelling() {
        for key in
            ["access_token", "Access-Token", "X-Amz-Signature", "SIG", "access%5Ftoken", "%74oken", "%54oken"]
        {
            assert_eq!(credentials(None, &format!("{key}=x")), [key]);
        }
        for key in ["page", "q", "keyword", "api-version", "page_token", "nextPageToken", "token%"] {
            assert_eq!(credentials(None, &format!("{key}=x")), NONE, "{key}");
        }
        assert_eq!(credentials(Some("a.googleapis.com"), "%6bey=x"), ["%6bey"]);
    }

    #[test]
    fn keys_of_gitlab_azure_oauth_1_and_uploads_are_known() {
        for key in [
            "private_token",
            "subscription-key",
            "Ocp-Apim-Subscription-Key",
            "oauth_token",
            "oauth_signature",
            "api_token",
            "access_key",
            "passwd",
            "pwd",
            "upload_id",
            "authorization_request",
            "X-Goog-Upload-Id",
        ] {
            assert_eq!(credentials(None, &format!("{key}=x")), [key]);
        }
    }

    #[test]
    fn code_and_state_are_credentials_together_or_beside_a_word_of_oauth() {
        assert_eq!(credentials(None, "code=a&state=b"), ["code", "state"]);
        for word in ["redirect_uri", "grant_type", "client_id", "code_challenge", "client%5fid"] {
            assert_eq!(credentials(None, &format!("code=a&{word}=b")), ["code"]);
            assert_eq!(credentials(None, &format!("{word}=b&state=a")), ["state"]);
        }
        assert_eq!(credentials(None, "code=a&page=1"), NONE);
        assert_eq!(credentials(None, "state=open&page=1"), NONE);
    }

    #[test]
    fn a_key_is_a_credential_at_google_or_if_it_looks_like_one() {
        assert_eq!(credentials(Some("maps.googleapis.com"), "key=short"), ["key"]);
        for host in [None, Some("googleapis.com.evil.test"), Some("api.test")] {
            assert_eq!(credentials(host, "key=short"), NONE);
            assert_eq!(credentials(host, &format!("key={}", "a_".repeat(7))), NONE);
            assert_eq!(credentials(host, &format!("key={}", "a-".repeat(8))), ["key"]);
            assert_eq!(credentials(host, &format!("key={}", "a%2F".repeat(8))), ["key"]);
            assert_eq!(credentials(host, &format!("key={}", "a%20".repeat(8))), NONE);
            assert_eq!(credentials(host, &format!("key={}", ["AI", "za1"].concat())), ["key"]);
            assert_eq!(credentials(host, &format!("key={}", ["sk%2", "D1"].concat())), ["key"]);
        }
    }

    #[test]
    fn the_key_of_a_cache_on_github_is_no_credential() {
        let github = Some("api.github.com");
        assert_eq!(credentials(github, "key=Linux-x64-build-4f1c2d3e5a6b"), NONE);
        assert_eq!(credentials(github, &format!("key={}", "a_".repeat(15))), ["key"]);
    }

    #[test]
    fn names_that_end_like_a_credential_are_one_unless_they_page() {
        for key in
            ["job_token", "token[]", "webhook_secret", "x-api-key", "client_assertion", "page_access_token"]
        {
            assert_eq!(credentials(None, &format!("{key}=x")), [key]);
        }
        for key in ["continuationToken", "sync_token", "nextPageToken"] {
            assert_eq!(credentials(None, &format!("{key}=x")), NONE, "{key}");
        }
    }

    #[test]
    fn a_policy_is_a_credential_beside_its_signature_alone() {
        assert_eq!(credentials(None, "policy=a&Signature=b"), ["policy", "Signature"]);
        assert_eq!(credentials(None, "Policy=a&Key-Pair-Id=b"), ["Policy", "Key-Pair-Id"]);
        assert_eq!(credentials(None, "policy=strict&page=1"), NONE);
    }

    #[test]
    fn a_short_auth_is_a_word() {
        assert_eq!(credentials(None, &format!("auth={}", "a".repeat(19))), NONE);
        assert_eq!(credentials(None, &format!("auth={}", "a".repeat(20))), ["auth"]);
    }

    #[test]
    fn the_secret_of_a_url_inside_a_value_is_found() {
        let secret = |pair: &str| Query::of(pair, None).secret_of(pair).map(|start| pair[start..].to_owned());
        assert_eq!(secret("next=/a?token=x").as_deref(), Some("x"));
        assert_eq!(secret("a?b?token=x?y").as_deref(), Some("x?y"));
        assert_eq!(secret("token="), None);
        assert_eq!(secret("??="), None);
        assert_eq!(secret(&"?".repeat(1_000_000)), None);
    }

    #[test]
    fn user_information_goes_and_an_at_sign_elsewhere_stays() {
        for (text, expected) in [
            ("https://u:p@h/a@b?c=d@e", "https://h/a@b?c=d@e"),
            ("https://u@v:p@h", "https://h"),
            ("//u:p@h/", "//h/"),
            ("url=https://u:p@h", "url=https://h"),
            ("https://h/a//@scope/b", "https://h/a//@scope/b"),
            ("https://h?x@y", "https://h?x@y"),
            ("/a//@b", "/a//@b"),
        ] {
            assert_eq!(without_userinfo(text), expected);
        }
    }
}
