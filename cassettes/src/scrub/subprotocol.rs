//! Keys in `sec-websocket-protocol`, where clients put them that cannot set another header.

use super::{headers::token_kind, placeholder};

/// Where the secret of an offered subprotocol starts, and of what kind it is. It goes on to the end.
pub(super) fn secret_of(token: &str) -> Option<(usize, &'static str)> {
    if let Some((prefix, kind)) = PREFIXES.iter().find(|(prefix, _)| token.starts_with(prefix)) {
        let secret = &token[prefix.len()..];
        return (!secret.is_empty())
            .then(|| (prefix.len(), kind.unwrap_or_else(|| token_kind(secret.as_bytes()))));
    }
    if let Some((start, part)) = parts(token).find(|(_, part)| is_known(part)) {
        return Some((start, token_kind(part.as_bytes())));
    }
    // What was scrubbed already is no longer than it is because of a secret.
    let is_scrubbed = parts(token).any(|(start, _)| placeholder::is_placeholder(&token[start..]));
    if token.len() < SHORTEST_SECRET || is_scrubbed {
        return None;
    }
    let words = parts(token).take_while(|(_, part)| is_word(part)).last();
    let behind_words = words.map_or(0, |(start, part)| start + part.len() + 1);
    // Words alone, but too many of them: the last is taken for the secret.
    let start =
        if behind_words > token.len() { token.rfind('.').map_or(0, |dot| dot + 1) } else { behind_words };
    Some((start, "token"))
}

/// The parts between dots, and where each starts.
fn parts(token: &str) -> impl Iterator<Item = (usize, &str)> {
    token.split('.').scan(0, |next, part| {
        let start = *next;
        *next += part.len() + 1;
        Some((start, part))
    })
}

fn is_known(part: &str) -> bool {
    token_kind(part.as_bytes()) != "token"
}

fn is_word(part: &str) -> bool {
    part.len() < LONGEST_WORD
        && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
}

/// What OpenAI (Realtime) and Kubernetes put before a secret, and its kind where the secret does not tell it.
const PREFIXES: &[(&str, Option<&str>)] = &[
    ("openai-insecure-api-key.", None),
    ("openai-organization.", Some("account")),
    ("openai-project.", Some("account")),
    ("base64url.bearer.authorization.k8s.io.", None),
];

const SHORTEST_SECRET: usize = 40;
const LONGEST_WORD: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(token: &str) -> Option<(&str, &'static str)> {
        secret_of(token).map(|(start, kind)| (&token[..start], kind))
    }

    #[test]
    fn a_short_subprotocol_is_no_secret() {
        for token in ["realtime", "openai-beta.realtime-v1", "v4.channel.k8s.io", "graphql-transport-ws", ""]
        {
            assert_eq!(kept(token), None, "{token}");
        }
        assert_eq!(kept(&"x".repeat(39)), None);
        assert_eq!(kept(&"x".repeat(40)), Some(("", "token")));
    }

    #[test]
    fn a_key_behind_a_dot_is_found_however_short() {
        assert_eq!(kept(&["a.b.s", "k-1"].concat()), Some(("a.b.", "openai_key")));
        assert_eq!(kept(&["gh", "p_1"].concat()), Some(("", "github_token")));
        assert_eq!(kept("openai-insecure-api-key.e"), Some(("openai-insecure-api-key.", "token")));
        assert_eq!(kept("openai-project.p"), Some(("openai-project.", "account")));
    }

    #[test]
    fn the_words_before_a_long_secret_stay() {
        let secret = "Zm9v".repeat(12);
        assert_eq!(kept(&format!("bearer.v1.{secret}")), Some(("bearer.v1.", "token")));
        assert_eq!(kept(&format!("eyJh.{secret}.{secret}")), Some(("", "token")));
        assert_eq!(
            kept(&format!("first.{}", "second-part-.".repeat(3) + "last")),
            Some(("first.second-part-.second-part-.second-part-.", "token"))
        );
    }
}
