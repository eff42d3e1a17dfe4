//! Which header and query names may be kept, and which name a credential.

/// Request headers that are kept word for word. Everything else keeps its name only: nothing on replay depends on it.
pub(super) fn is_kept_in_requests(name: &str) -> bool {
    KEPT.contains(&name)
        || (KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !is_credential_header(name))
}

/// Names whose value is a credential in a request and in a response.
pub(super) fn is_credential_header(name: &str) -> bool {
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

/// Query keys whose value is a credential, whatever their case and separators.
pub(super) fn is_credential_query(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect();
    CREDENTIAL_QUERY.contains(&plain.as_str())
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
    "sec-websocket-protocol",
    "sec-websocket-version",
    "te",
    "time-zone",
    "upgrade",
    "user-agent",
    "x-github-api-version",
    "x-goog-api-client",
    "x-http-method-override",
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
const NOT_CREDENTIALS: &[&str] = &["x-next-page-token", "x-continuation-token"];

const CREDENTIAL_QUERY: &[&str] = &[
    "accesstoken",
    "apikey",
    "auth",
    "authtoken",
    "awsaccesskeyid",
    "clientassertion",
    "clientsecret",
    "code",
    "codeverifier",
    "googleaccessid",
    "idtoken",
    "jwt",
    "key",
    "keypairid",
    "password",
    "policy",
    "refreshtoken",
    "sas",
    "secret",
    "sessiontoken",
    "sig",
    "signature",
    "state",
    "token",
    "xamzcredential",
    "xamzsecuritytoken",
    "xamzsignature",
    "xgoogcredential",
    "xgoogsignature",
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

    #[test]
    fn query_keys_are_known_in_every_spelling() {
        for name in ["access_token", "Access-Token", "X-Amz-Signature", "KEY"] {
            assert!(is_credential_query(name), "{name}");
        }
        for name in ["page", "q", "keyword", "api-version"] {
            assert!(!is_credential_query(name), "{name}");
        }
    }
}
