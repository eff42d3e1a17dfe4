//! Names of fields in bodies whose value is a credential.

/// What a name says of the value under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Nothing,
    /// It may be a credential: what it looks like decides.
    Maybe,
    /// It is one, whatever it looks like.
    Surely,
}

/// In a JSON document, a form or a multipart body.
pub(super) fn says(name: &str, in_grant: bool) -> Says {
    if name.len() > LONGEST {
        return Says::Nothing;
    }
    let name = normalized(name);
    let name = name.as_str();
    if SURE.contains(&name) || (in_grant && GRANT.contains(&name)) {
        return Says::Surely;
    }
    if SURE_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Says::Surely;
    }
    if NOT.contains(&name) || is_harmless(name) {
        return Says::Nothing;
    }
    if MAYBE.contains(&name) || MAYBE_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return Says::Maybe;
    }
    Says::Nothing
}

fn is_harmless(name: &str) -> bool {
    // An account is nothing that is counted.
    let words = name.replace("account", "");
    !name.ends_with("secret") && HARMLESS.iter().any(|word| words.contains(word))
}

/// Whether a value can have been drawn: long, of one piece, letters and digits mixed.
pub(super) fn is_random(value: &[u8]) -> bool {
    if !(16..=8192).contains(&value.len()) {
        return false;
    }
    let mut seen = [false; 256];
    let (mut digits, mut letters) = (0, 0);
    for &b in value {
        match b {
            b'0'..=b'9' => digits += 1,
            b'a'..=b'z' | b'A'..=b'Z' => letters += 1,
            b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=' | b'|' | b'%' | b'!' | b'$' => {}
            _ => return false,
        }
        seen[usize::from(b)] = true;
    }
    digits >= 2 && letters >= 2 && seen.iter().filter(|seen| **seen).count() >= 8
}

/// Whether a value that stood where a secret stands is to be looked for elsewhere: what is a word, or several, may be
/// the text of an error.
pub(super) fn is_worth_knowing(value: &[u8]) -> bool {
    let has = |of: fn(&u8) -> bool| value.iter().any(of);
    let is_word =
        value.iter().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'_' | b'.' | b'\'' | b','));
    !has(u8::is_ascii_whitespace) && !is_word
}

/// Whether a value only says that something was taken out, or is to be put in.
pub(super) fn is_stand_in(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let text = text.trim();
    let word = text.trim_start_matches(['[', '<', '(', '*']).to_ascii_lowercase();
    text.is_empty()
        || text.bytes().all(|b| matches!(b, b'*' | b'x' | b'X' | b'.' | b'-' | b'_'))
        || text.contains("***")
        || text.contains("{{redacted:")
        || (text.starts_with('<') && text.ends_with('>'))
        || (text.starts_with("${") && text.ends_with('}'))
        || ["redacted", "scrubbed", "filtered", "removed", "none", "null", "true", "false"]
            .iter()
            .any(|w| word.starts_with(w) && word.len() <= w.len() + 2)
}

pub(super) fn normalized(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

const SURE: &[&str] = &[
    "accesskeyid",
    "accesstoken",
    "accountkey",
    "apikey",
    "apisecret",
    "apitoken",
    "authorization",
    "authtoken",
    "awsaccesskeyid",
    "awssecretaccesskey",
    "awssessiontoken",
    "bearertoken",
    "clientassertion",
    "clientsecret",
    "codeverifier",
    "connectionstring",
    "cookie",
    "devicecode",
    "idtoken",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "proxyauthorization",
    "refreshtoken",
    "sastoken",
    "secret",
    "secretaccesskey",
    "secretkey",
    "securitytoken",
    "sessiontoken",
    "setcookie",
    "sharedaccesskey",
    "webhooksecret",
    "xapikey",
];

const SURE_ENDINGS: &[&str] = &[
    "accesstoken",
    "refreshtoken",
    "apikey",
    "password",
    "passwd",
    "clientsecret",
    "privatekey",
    "secretkey",
    "passphrase",
];

/// In a request for a token.
const GRANT: &[&str] = &["assertion", "code", "subjecttoken", "actortoken", "username"];

const MAYBE: &[&str] = &[
    "auth",
    "authkey",
    "bearer",
    "credential",
    "credentials",
    "jwt",
    "masterkey",
    "otp",
    "pass",
    "pat",
    "pwd",
    "sas",
    "sig",
    "token",
];

const MAYBE_ENDINGS: &[&str] = &["token", "secret", "accesskey", "signingkey", "encryptionkey", "credential"];

/// Names with an ending of the above that say where in a list one is, how many tokens there are, or what a model
/// thought. Their values have to come back as they were.
const HARMLESS: &[&str] = &[
    "continuation",
    "count",
    "cursor",
    "eos",
    "marker",
    "max",
    "next",
    "page",
    "prompt",
    "skip",
    "special",
    "stop",
    "sync",
    "thought",
    "total",
];

const NOT: &[&str] = &["encryptedcontent", "signature", "thoughtsignature", "tokens"];

const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_every_spelling() {
        for name in
            ["api_key", "apiKey", "API-KEY", "x-api-key", "openai_api_key", "clientSecret", "db.password"]
                .into_iter()
                .chain(["accountPassword", "account_api_key", "page_access_token", "prompt_api_key"])
        {
            assert_eq!(says(name, false), Says::Surely, "{name}");
        }
        for name in ["token", "webhook_token", "github_secret", "jwt", "account_token", "nextauth_secret"] {
            assert_eq!(says(name, false), Says::Maybe, "{name}");
        }
        for name in [
            "max_tokens",
            "next_page_token",
            "continuationToken",
            "signature",
            "encrypted_content",
            "tokens",
            "key",
            "keyword",
            "completion_tokens",
            "code",
            "username",
        ] {
            assert_eq!(says(name, false), Says::Nothing, "{name}");
        }
        assert_eq!(says("code", true), Says::Surely);
    }

    #[test]
    fn a_random_value_mixes_letters_and_digits() {
        assert!(is_random(b"a1b2c3d4e5f6g7h8"));
        for value in
            ["internationalization", "1234567890123456", "a b1c2d3e4f5g6h7i8", "short1", "aaaaaaaaaaaaaaa11"]
        {
            assert!(!is_random(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn what_was_taken_out_already_is_no_secret() {
        for value in [
            "",
            "***",
            "REDACTED",
            "[REDACTED]",
            "<API_KEY>",
            "${KEY}",
            "{{redacted:token:1}}",
            "xxxxxxxx",
            "null",
        ] {
            assert!(is_stand_in(value.as_bytes()), "{value}");
        }
        assert!(!is_stand_in(b"hunter2hunter2"));
        assert!(!is_stand_in(b"nonesuch"));
    }
}
