//! curl commands for a POSIX shell, one for each exchange.
//!
//! Everything from the cassette stands in single quotes, where a shell expands nothing. A placeholder becomes a
//! variable that the person sets; the shell stops with the variable's name if it is not set.

use exchange::{Content, Exchange, Header, Request};

use crate::{Cassette, scrub::split_placeholders};

pub(super) fn script(cassette: &Cassette) -> String {
    let mut script = "#!/bin/sh\n".to_owned();
    for exchange in &cassette.exchanges {
        script.push_str(&command(exchange));
    }
    script
}

fn command(exchange: &Exchange) -> String {
    let request = &exchange.request;
    let outcome = exchange.reply.status().map_or("no answer".to_owned(), |status| status.to_string());
    let mut comments = format!("\n# exchange {}: {outcome}\n", exchange.id);
    if request.is_websocket() {
        comments.push_str("# a WebSocket conversation: curl asks for the handshake alone\n");
    }
    let mut words = vec!["curl --silent --show-error --globoff --path-as-is".to_owned()];
    words.push(match request.method.as_str() {
        // Told to send HEAD as a method, curl would wait for a body.
        "HEAD" => "--head".to_owned(),
        method => format!("--request {}", quoted(method)),
    });
    for header in &request.headers {
        match header.text() {
            Some(value) => words.push(format!("--header {}", header_word(header, value))),
            None => {
                comments.push_str(&format!("# the header {} is not text, and is left out\n", header.name()))
            }
        }
    }
    // What curl would add by itself.
    for name in ["accept", "user-agent", "content-type"] {
        if !request.headers.has(name) {
            words.push(format!("--header '{name}:'"));
        }
    }
    let before = match body(request) {
        Sent::Nothing => String::new(),
        Sent::Word(word) => {
            words.push(format!("--data-raw {word}"));
            String::new()
        }
        Sent::Piped(text) => {
            words.push("--data-binary @-".to_owned());
            format!("printf '{text}' | ")
        }
        Sent::Unknown(size) => {
            comments
                .push_str(&format!("# the body of {size} bytes was too large to keep, and is left out\n"));
            String::new()
        }
    };
    words.push(format!("--url {}", quoted(&request.url.to_string())));
    format!("{comments}{before}{}\n", words.join(" \\\n  "))
}

/// An empty value is written with a semicolon: with a colon curl would leave the header out.
fn header_word(header: &Header, value: &str) -> String {
    if value.is_empty() {
        quoted(&format!("{};", header.name()))
    } else {
        quoted(&format!("{}: {value}", header.name()))
    }
}

enum Sent {
    Nothing,
    Word(String),
    /// For `printf`, which takes bytes that no argument can hold, and more of them.
    Piped(String),
    Unknown(u64),
}

fn body(request: &Request) -> Sent {
    let bytes = match &request.body.content {
        Content::Bytes(bytes) if bytes.is_empty() => return Sent::Nothing,
        Content::Bytes(bytes) => bytes,
        Content::Omitted { size, .. } => return Sent::Unknown(*size),
    };
    // The coding goes on again: the header says that it is there.
    let coded;
    let bytes = match request.body.codings.as_slice() {
        [] => bytes.as_ref(),
        codings => {
            coded = exchange::encode(codings, bytes).unwrap_or_else(|_| bytes.to_vec());
            coded.as_slice()
        }
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') && text.len() < LONGEST_ARGUMENT => Sent::Word(quoted(text)),
        _ => Sent::Piped(bytes.iter().map(|byte| octal(*byte)).collect()),
    }
}

/// What `printf` writes as itself, or its number.
fn octal(byte: u8) -> String {
    match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b' ' | b'.' | b',' | b':' | b'=' | b'/' | b'+' => {
            char::from(byte).to_string()
        }
        byte => format!("\\{byte:03o}"),
    }
}

/// One word for the shell: single quotes, and variables where placeholders stood.
fn quoted(text: &str) -> String {
    let mut word = String::new();
    for (plain, placeholder) in split_placeholders(text) {
        if !plain.is_empty() || placeholder.is_none() {
            word.push('\'');
            word.push_str(&plain.replace('\'', "'\\''"));
            word.push('\'');
        }
        if let Some((kind, number)) = placeholder {
            let name = kind.to_ascii_uppercase();
            word.push_str(&format!("\"${{REDACTED_{name}_{number}:?}}\""));
        }
    }
    word
}

/// Linux takes 128 KiB in one argument.
const LONGEST_ARGUMENT: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_so_that_nothing_expands() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's $(id) `id` \"x\""), "'it'\\''s $(id) `id` \"x\"'");
        assert_eq!(quoted("Bearer {{redacted:openai_key:2}}!"), "'Bearer '\"${REDACTED_OPENAI_KEY_2:?}\"'!'");
        assert_eq!(quoted("{{redacted:x;id:1}}"), "'{{redacted:x;id:1}}'");
    }
}
