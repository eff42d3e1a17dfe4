//! Which headers may be kept, and which name a credential.

/// Request headers that are kept word for word. Everything else keeps its name only: nothing on replay depends on it.
pub(super) fn is_kept_in_requests(name: &str) -> bool {
    KEPT.contains(&name)
        || (KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !is_credential_header(name))
}

/// Names whose value is a credential in a request and in a response.
pub(crate) fn is_credential_header(name: &str) -> bool {
    if NOT_CREDENTIALS.contains(&name) || name.contains("ratelimit") || name.contains("rate-limit") {
        return false;
    }
    CREDENTIALS.contains(&name) || CREDENTIAL_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Response headers that name an account or its project.
pub(super) fn is_account_header(name: &str) -> bool {
    matches!(
        name,
        "openai-organization" | "openai-project" | "anthropic-organization-id" | "x-oauth-client-id"
    )
}

/// Response headers whose value is, or holds, URLs; any other header may be one.
pub(super) fn holds_urls(name: &str) -> bool {
    matches!(name, "location" | "content-location" | "link" | "refresh" | "x-github-sso")
}

/// Response headers that were computed from the body.
pub(super) fn is_digest(name: &str) -> bool {
    matches!(name, "content-md5" | "digest" | "content-digest" | "repr-digest" | "x-goog-hash")
        || name.starts_with("x-amz-checksum-")
}

/// Response headers of which it is known what they hold: no secret, whatever it looks like.
pub(super) fn is_known_in_replies(name: &str) -> bool {
    KNOWN_IN_REPLIES.contains(&name)
        || KNOWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || KNOWN_WORDS.iter().any(|word| name.contains(word))
}

/// Whether the value of a header can have been drawn and not written.
pub(super) fn is_random_header(value: &[u8]) -> bool {
    value.len() >= LONG_HEADER && super::keys::is_random(value)
}

/// Whether the first word of an `authorization` is a scheme.
pub(super) fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

const KEPT: &[&str] = &[
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "anthropic-beta",
    "anthropic-version",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-length",
    "content-range",
    "content-type",
    "expect",
    "git-protocol",
    "graphql-features",
    "host",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "mcp-protocol-version",
    "openai-beta",
    "origin",
    "pragma",
    "prefer",
    "range",
    "sec-fetch-mode",
    "sec-websocket-extensions",
    "sec-websocket-version",
    "te",
    "time-zone",
    "traceparent",
    "upgrade",
    "user-agent",
    "x-client-request-id",
    "x-correlation-id",
    "x-github-api-version",
    "x-goog-api-client",
    "x-http-method-override",
    "x-idempotency-key",
    "x-ms-client-request-id",
    "x-request-id",
    "x-requested-with",
];

const KEPT_PREFIXES: &[&str] = &["x-stainless-", "amz-sdk-request", "x-amz-user-agent"];

const CREDENTIALS: &[&str] = &[
    "api-key",
    "apikey",
    "authorization",
    "cookie",
    "cookie2",
    "proxy-authorization",
    "set-cookie",
    "set-cookie2",
    "x-amz-security-token",
    "x-api-key",
    "x-auth",
    "x-goog-api-key",
    "x-goog-upload-url",
    "x-goog-user-project",
    "x-guploader-uploadid",
    "x-hub-signature",
    "x-hub-signature-256",
];

const CREDENTIAL_ENDINGS: &[&str] = &[
    "-token",
    "-secret",
    "-signature",
    "-api-key",
    "-apikey",
    "-password",
    "-credential",
    "-access-key",
    "-auth-key",
];

/// Names with a credential's ending that hold none.
const NOT_CREDENTIALS: &[&str] = &["x-next-page-token", "x-continuation-token", "x-time-per-token"];

const KNOWN_IN_REPLIES: &[&str] = &[
    "age",
    "alt-svc",
    "cache-control",
    "cf-cache-status",
    "cf-ray",
    "connection",
    "date",
    "etag",
    "expires",
    "last-modified",
    "nel",
    "pragma",
    "referrer-policy",
    "report-to",
    "reporting-endpoints",
    "retry-after",
    "server",
    "server-timing",
    "strict-transport-security",
    "upgrade",
    "vary",
    "via",
    "www-authenticate",
    "x-amz-cf-pop",
    "x-powered-by",
    "x-served-by",
];

const KNOWN_PREFIXES: &[&str] =
    &["access-control-", "accept-", "content-", "sec-websocket-", "x-github-", "openai-", "anthropic-"];

/// What such a name tells of: which request, which version, how many are left.
const KNOWN_WORDS: &[&str] = &[
    "amz-cf-id",
    "amz-id",
    "cache",
    "correlation",
    "digest",
    "generation",
    "hash",
    "hostname",
    "inference",
    "limit",
    "policy",
    "request-id",
    "requestid",
    "revision",
    "sha",
    "trace",
    "version",
];

/// Shorter values are words and numbers.
const LONG_HEADER: usize = 24;

const SCHEMES: &[&str] = &[
    "api-key",
    "apikey",
    "aws",
    "aws4-ecdsa-p256-sha256",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "bot",
    "digest",
    "dpop",
    "googlelogin",
    "hmac",
    "jwt",
    "key",
    "negotiate",
    "ntlm",
    "oauth",
    "sharedaccesssignature",
    "sharedkey",
    "sharedkeylite",
    "signature",
    "token",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limit_headers_are_no_credentials_though_they_speak_of_tokens() {
        assert!(!is_credential_header("x-ratelimit-limit-tokens"));
        assert!(!is_credential_header("anthropic-ratelimit-output-token"));
        assert!(is_credential_header("x-gitlab-token"));
        assert!(is_credential_header("x-goog-api-key"));
    }
}
