//! Secrets that are known by what stands around them.

/// A kind with how one of it looks, marked like the tokens.
pub const FRAMED: &[(&str, &str)] = &[
    ("private_key", "-----BEGIN RSA PRIV|ATE KEY-----\n^a64\n^a64\n^a40\n-----END RSA PRIV|ATE KEY-----\n"),
    ("jwk_private_key", r#"{"kty": "EC", "crv": "P-256", "x": "^w43", "d": "^w43"}"#),
    ("jwk_private_key", "kty: RSA\ne: AQAB\nn: ^w342\nd: ^w342\n"),
    ("slack_webhook", "https://hooks.slack.com/services/T^u8/B^u8/^a24"),
    (
        "sigv4_signature",
        "AWS4-HMAC-SHA256 Credential={{redacted:aws:1}}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=^h64",
    ),
    ("url_password", "postgres://app:^a16@db.local/main"),
    ("url_credential", "https://x.blob.core.windows.net/c/f?sv=2024&sig=^a43%3D"),
    ("url_credential", "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=^h64"),
    ("bearer_token", "Authorization: Bearer ^a40"),
    ("bearer_token", r#"{"name": "Authorization", "value": "Bearer ^a40"}"#),
    ("authorization", "authorization:\n  - token ^h40\n"),
    ("cookie", "Cookie: theme=dark; session=^w43"),
    ("cookie", "set-cookie:\n  - lang=en; path=/\n  - sid=^w43; HttpOnly\n"),
    ("credential", r#"{"api_key": "^a32"}"#),
    ("credential", r#"{"client_secret": "^w40", "id": 1}"#),
    ("credential", "refresh_token: ^w40\n"),
    ("credential", "grant_type=refresh_token&access_token=^a40&scope=a"),
    ("credential", "export SERVICE_API_KEY='^h32'"),
    ("password", r#"{"user": "me", "password": "^p14"}"#),
    ("bearer_token", "curl -H 'X-Upstream: Bearer ^a40' https://a.example.org"),
];
