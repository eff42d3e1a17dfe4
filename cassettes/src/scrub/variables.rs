//! Which variables of an environment hold secrets.

use super::{
    Rules,
    keys::{self, Says},
    query, shapes,
};

/// The secrets that a variable's value is or holds, each with its kind.
pub(super) fn secrets_of(name: &str, value: &[u8], rules: &Rules) -> Vec<(Vec<u8>, &'static str)> {
    let value = value.trim_ascii();
    if rules.env_names().any(|named| named == name) {
        return vec![(value.to_vec(), shapes::kind_of(value).unwrap_or("secret"))];
    }
    if keys::is_stand_in(value) || rules.keeps_value(value) {
        return Vec::new();
    }
    let tokens = shapes::tokens_in(value);
    if let [token] = tokens.as_slice()
        && token.span == (0..value.len())
    {
        return vec![(value.to_vec(), token.kind)];
    }
    let mut secrets: Vec<_> =
        tokens.into_iter().map(|token| (value[token.span].to_vec(), token.kind)).collect();
    if let Some(password) = password_of_url(value) {
        secrets.push((password.to_vec(), "password"));
        // As the program says it elsewhere.
        let plain = query::decoded(&String::from_utf8_lossy(password)).into_bytes();
        secrets.extend((plain != password).then_some((plain, "password")));
    }
    // A list of keys, a user with a password, a document: each that was drawn is used alone.
    let parts = value.split(|b| b.is_ascii_whitespace() || b",;:\"'{}[]".contains(b));
    let drawn: Vec<&[u8]> = parts.filter(|part| part.len() < value.len() && keys::is_random(part)).collect();
    let is_secret = match name_says(name) {
        Says::Surely => true,
        // A name that may tell of anything, such as a scope or a mode, needs a value that was drawn.
        Says::Maybe => keys::is_random(value) || !drawn.is_empty(),
        Says::Nothing => false,
    };
    if is_secret && !is_plain(value) {
        secrets.push((value.to_vec(), "secret"));
        secrets
            .extend(drawn.into_iter().map(|part| (part.to_vec(), shapes::kind_of(part).unwrap_or("secret"))));
    }
    secrets
}

/// What the name of a variable says of its value: most by how it ends.
fn name_says(name: &str) -> Says {
    if NOT_SECRET.contains(&name) {
        return Says::Nothing;
    }
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let Some((last, before)) = words.split_last() else { return Says::Nothing };
    // A number behind it counts the secrets: `API_KEY_2`.
    let (last, before) = match before.split_last() {
        Some((real, before)) if last.bytes().all(|b| b.is_ascii_digit()) => (real, before),
        _ => (last, before),
    };
    let ends = |endings: &[&str]| endings.iter().any(|end| last.len() > end.len() && last.ends_with(end));
    let is_key =
        matches!(*last, "KEY" | "KEYS") && before.last().is_some_and(|word| KINDS_OF_KEYS.contains(word));
    if SURE.contains(last) || is_key || ends(SURE_ENDINGS) {
        return Says::Surely;
    }
    let may = words.iter().any(|word| SURE.contains(word) || MAYBE.contains(word));
    if may || ends(MAYBE_ENDINGS) { Says::Maybe } else { Says::Nothing }
}

fn password_of_url(value: &[u8]) -> Option<&[u8]> {
    let start = memchr::memmem::find(value, b"://")? + 3;
    let authority = value[start..].split(|b| matches!(b, b'/' | b'?' | b'#')).next()?;
    let info = &authority[..authority.iter().rposition(|b| *b == b'@')?];
    let colon = info.iter().position(|b| *b == b':')?;
    Some(&info[colon + 1..]).filter(|password| !password.is_empty())
}

/// A path, an address or a word is no secret, whatever the variable is called: `SSL_CERT_FILE`, `SSH_AUTH_SOCK`.
fn is_plain(value: &[u8]) -> bool {
    let starts = |text: &str| value.starts_with(text.as_bytes());
    starts("unix:")
        || starts("http://")
        || starts("https://")
        || starts("./")
        || starts("../")
        || starts("~/")
        || (starts("/")
            && value[1..].contains(&b'/')
            && value.iter().all(|b| b.is_ascii_graphic())
            && !keys::is_random(&value[1..]))
}

const SURE: &[&str] = &[
    "APIKEY",
    "COOKIE",
    "CRED",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "JWT",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PSK",
    "PW",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
];

const SURE_ENDINGS: &[&str] = &["APIKEY", "PASSPHRASE", "PASSWD", "PASSWORD", "SECRET", "TOKEN"];

/// What stands before `KEY` where it is a secret one.
const KINDS_OF_KEYS: &[&str] = &[
    "ACCESS",
    "API",
    "APP",
    "AUTH",
    "ENCRYPTION",
    "LICENSE",
    "MASTER",
    "PRIVATE",
    "SECRET",
    "SERVICE",
    "SIGNING",
    "SSH",
];

const MAYBE: &[&str] = &["AUTH", "KEY", "KEYS", "PRIVATE", "PWD", "SAS", "SESSION"];

const MAYBE_ENDINGS: &[&str] = &["KEY"];

const NOT_SECRET: &[&str] = &[
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "GDMSESSION",
    "GIT_ASKPASS",
    "OLDPWD",
    "PWD",
    "SESSION_MANAGER",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "XDG_SESSION_CLASS",
    "XDG_SESSION_DESKTOP",
    "XDG_SESSION_ID",
    "XDG_SESSION_TYPE",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(name: &str, value: &str) -> Vec<(String, &'static str)> {
        let found = secrets_of(name, value.as_bytes(), &Rules::default());
        found.into_iter().map(|(secret, kind)| (String::from_utf8(secret).unwrap(), kind)).collect()
    }

    #[test]
    fn a_variable_is_a_secret_by_its_name() {
        for name in ["OPENAI_API_KEY", "GH_TOKEN", "PGPASSWORD", "DB_PASS", "MY_APIKEY", "APP_SECRET_2"] {
            assert_eq!(secrets(name, "correct horse"), [("correct horse".to_owned(), "secret")], "{name}");
        }
        for name in ["HOME", "KEYBOARD_LAYOUT", "PWD", "AUTHOR", "XDG_SESSION_TYPE", "TOKENIZERS_PARALLELISM"]
        {
            assert_eq!(secrets(name, "correct horse"), [], "{name}");
        }
    }

    #[test]
    fn each_of_several_keys_in_a_variable_is_a_secret() {
        let (one, other) = ("q7Zr5tKe2Yb8Wm4x", "p3Lk9vNc6Hd1Fs0j");
        for value in
            [format!("{one},{other}"), format!("{one} {other}"), format!(r#"{{"a":"{one}","b":"{other}"}}"#)]
        {
            let found: Vec<String> =
                secrets("API_KEYS", &value).into_iter().map(|(secret, _)| secret).collect();
            assert_eq!(found, [value.as_str(), one, other]);
        }
        assert_eq!(secrets("BASIC_AUTH", &format!("someone:{one}"))[1].0, one);
    }

    #[test]
    fn where_the_name_may_tell_of_anything_the_value_decides() {
        for (name, value) in [
            ("MODEL_KEY", "gpt-4o-mini"),
            ("AUTH_MODE", "basic-auth"),
            ("TOKEN_SCOPE", "contents"),
            ("PRIVATE_REGISTRY", "registry.npmjs.org"),
            ("SESSION", "ubuntu-desktop"),
        ] {
            assert_eq!(secrets(name, value), [], "{name}");
            let drawn = "a8Zk17-xTTw0q-aB77f3";
            assert_eq!(secrets(name, drawn), [(drawn.to_owned(), "secret")], "{name}");
        }
    }

    #[test]
    fn a_path_or_an_address_is_none() {
        for value in
            ["/etc/ssl/certs/ca.pem", "https://auth.test/login", "unix:path=/run/user/bus", "~/.ssh/id"]
        {
            assert_eq!(secrets("MY_KEY", value), [], "{value}");
        }
    }

    #[test]
    fn the_password_of_a_url_is_one_under_any_name() {
        assert_eq!(
            secrets("DATABASE_URL", "postgres://u:hunter2x@db/x?y"),
            [("hunter2x".to_owned(), "password")]
        );
        assert_eq!(secrets("DATABASE_URL", "postgres://u:hunter%402x@db")[1].0, "hunter@2x");
        assert_eq!(secrets("DATABASE_URL", "postgres://db/x@y:z"), []);
    }
}
