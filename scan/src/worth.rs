//! Whether a value can be a secret at all: not a placeholder, not a word, not a stable id.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Evidently put there in place of a secret.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    is_stand_in(value) || is_made_of_words(value)
}

/// The same for what follows a known prefix: there a word needs separators, since chance writes some without.
pub(crate) fn is_stand_in(value: &[u8]) -> bool {
    is_evident(value) || (value.iter().any(|b| SEPARATORS.contains(b)) && is_made_of_words(value))
}

/// The same for what may itself be a word, such as the name of an account.
pub(crate) fn is_evident(value: &[u8]) -> bool {
    let value = &value[..value.len().min(MOST_LOOKED_AT)].trim_ascii();
    let Some((first, last)) = value.first().zip(value.last()) else { return true };
    let is_wrapped =
        matches!((first, last), (b'<', b'>') | (b'{', b'}') | (b'[', b']') | (b'(', b')') | (b'%', b'%'));
    is_wrapped
        || *first == b'$'
        || has(value, b"{{")
        || has(value, b"${")
        || has(value, b"***")
        || has(value, "…".as_bytes())
        || has(value, b"...")
        || (has(value, b"<") && has(value, b">"))
        || STAND_INS.is_match(*value)
        || is_monotonous(value)
}

/// As random as what a machine makes: letters with digits or cases mixed, and no words.
pub(crate) fn is_random(value: &[u8]) -> bool {
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    if letters < 3 || entropy(value) < LEAST_ENTROPY {
        return false;
    }
    let digit_runs = value.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let digit_runs = digit_runs.filter(|run| run[0].is_ascii_digit()).count();
    let has_digits = digit_runs >= 3 && digits * 10 >= value.len();
    // In words a capital or a digit starts something new every four or five letters.
    let has_lower = value.iter().any(u8::is_ascii_lowercase);
    let turns = value.windows(2).filter(|w| {
        let is_new_word = w[1].is_ascii_uppercase() && w[0].is_ascii_alphabetic();
        (is_new_word && has_lower) || (w[0].is_ascii_digit() != w[1].is_ascii_digit())
    });
    (has_digits || turns.count() * 7 >= value.len() * 2) && !is_placeholder(value)
}

/// A password that a person may have chosen. A plain word is as likely a description of one.
pub(crate) fn is_password(value: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let kinds = [
        has(u8::is_ascii_lowercase),
        has(u8::is_ascii_uppercase),
        has(u8::is_ascii_digit),
        has(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'-' | b'.')),
    ];
    (6..=MOST_PASSWORD).contains(&value.len())
        && kinds.iter().filter(|k| **k).count() >= 2
        && !is_placeholder(value)
}

/// Bits for each byte.
pub(crate) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let all = value.len() as f64;
    let part = |n: &u32| -> f64 {
        let share = f64::from(*n) / all;
        -share * share.log2()
    };
    counts.iter().filter(|n| **n > 0).map(part).sum()
}

/// `xxxxxxxx`, `0000-0000`, `abcdefgh`, `12345678`: most steps are by one or none. Ids with a counter are of this kind.
fn is_monotonous(value: &[u8]) -> bool {
    let plain: Vec<u8> = value.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    if plain.len() < 4 {
        return true;
    }
    let steps = plain.windows(2).filter(|w| matches!(w[1].wrapping_sub(w[0]), 0 | 1 | 0xff)).count();
    let mut is_there = [false; 256];
    plain.iter().for_each(|b| is_there[usize::from(*b)] = true);
    let kinds = is_there.iter().filter(|there| **there).count();
    steps * 2 >= plain.len() || (plain.len() >= 12 && kinds <= 4)
}

/// Words with separators between them, such as `test_api_key` or `My-Secret-1`.
fn is_made_of_words(value: &[u8]) -> bool {
    if value.iter().any(|b| b.is_ascii_punctuation() && !SEPARATORS.contains(b)) {
        return false;
    }
    let parts = value.split(|b| !b.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let plain: usize = parts.clone().filter(|part| is_word_like(part)).map(<[u8]>::len).sum();
    let all: usize = parts.map(<[u8]>::len).sum();
    plain * 10 >= all * 7
}

fn is_word_like(part: &[u8]) -> bool {
    let digits = part.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let letters = &part[..part.len() - digits];
    let Some((_, rest)) = letters.split_first() else { return digits <= 4 };
    let is_one_case = letters.iter().all(u8::is_ascii_uppercase) || rest.iter().all(u8::is_ascii_lowercase);
    letters.iter().all(u8::is_ascii_alphabetic)
        && is_one_case
        && digits <= 4
        && digits <= letters.len()
        && is_speakable(letters)
}

fn is_speakable(letters: &[u8]) -> bool {
    let is_vowel = |b: &u8| matches!(b.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let vowels = letters.iter().filter(|b| is_vowel(b)).count();
    letters.len() < 4
        || (letters.len() <= 18
            && vowels * 5 >= letters.len()
            && letters.split(|b| is_vowel(b)).all(|run| run.len() <= 4))
}

fn has(value: &[u8], part: &[u8]) -> bool {
    value.windows(part.len()).any(|window| window == part)
}

static STAND_INS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let words = AhoCorasick::builder().ascii_case_insensitive(true).build(STAND_IN_WORDS);
    words.expect("a few dozen words fit an automaton")
});

/// Long enough that chance does not write them into a random value.
#[rustfmt::skip]
const STAND_IN_WORDS: &[&str] = &[
    "redacted", "placeholder", "example", "sanitized", "scrubbed", "filtered", "censored", "removed",
    "hidden", "xxxxxx", "changeme", "change_me", "change-me", "your_api", "your-api", "yourapi", "your_key",
    "your-key", "your_token", "your-token", "dummykey", "dummy_", "dummy-", "fake_", "fake-", "_fake",
    "-fake", "fakekey", "faketoken", "invalid", "notreal", "not-a-real", "not_a_real", "mock_", "mock-",
    "_mock", "-mock", "insert_", "abcdefgh", "12345678", "deadbeef", "obfuscated", "anonymized",
    "secret-value", "secret_value",
];
/// Between words.
const SEPARATORS: &[u8] = b"-_. :/,";
/// Nobody chooses a longer one.
const MOST_PASSWORD: usize = 128;
const MOST_LOOKED_AT: usize = 512;
const LEAST_ENTROPY: f64 = 2.4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_for_a_secret_is_a_placeholder() {
        let stand_ins = [
            "<OPENAI_API_KEY>",
            "***",
            "xxxxx",
            "REDACTED",
            "${VAR}",
            "$TOKEN",
            "test_api_key",
            "my-secret-token-1",
            "{{redacted:openai_key:1}}",
            "sk-...",
            "OPENAI_API_KEY",
            "",
            "foo",
            "testapikey123",
        ];
        for value in stand_ins {
            assert!(is_placeholder(value.as_bytes()), "{value}");
            assert!(!is_random(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn a_stable_id_is_not_random() {
        for id in ["chatcmpl-000001", "req_000012", "msg_0000000000000000000003", "org-000001", "call_000104"]
        {
            assert!(!is_random(id.as_bytes()), "{id}");
        }
    }

    #[test]
    fn a_chosen_password_is_told_from_a_word() {
        assert!(is_password(b"hunter2!x"));
        assert!(is_password(b"Tr0ub4dor"));
        for word in ["password", "string", "a password of 8 letters", "required", "Password1"] {
            assert!(!is_password(word.as_bytes()), "{word}");
        }
    }
}
