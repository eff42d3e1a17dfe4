//! Dummies have the form of what they stand for, and nothing of its worth.

use std::collections::HashSet;

use proptest::prelude::*;
use regex::Regex;

use super::*;

/// Every kind with the form that others check it by.
const FORMS: &[(&str, &str)] = &[
    ("anthropic_admin_key", r"sk-ant-admin01-[\w-]{93}AA"),
    ("anthropic_key", r"sk-ant-api03-[\w-]{93}AA"),
    ("anthropic_oauth", r"sk-ant-oat01-[\w-]{93}AA"),
    ("aws_key_id", r"AKIA[A-Z2-7]{16}"),
    ("aws_secret", r"[A-Za-z0-9+/]{40}"),
    ("azure_openai_key", r"[0-9a-f]{32}"),
    ("azure_secret", r"[\w~.]{3}\dQ~[\w~.-]{31,34}"),
    ("bedrock_key", r"ABSK[A-Za-z0-9+/]{109,269}={0,2}"),
    ("cohere_key", r"[A-Za-z0-9]{40}"),
    ("databricks_token", r"dapi[0-9a-f]{32}"),
    ("deepseek_key", r"sk-[a-z0-9]{32}"),
    ("digitalocean_token", r"dop_v1_[0-9a-f]{64}"),
    ("docker_token", r"dckr_pat_[\w-]{27}"),
    ("figma_token", r"figd_[\w-]{40}"),
    ("github_pat", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    ("github_token", r"gh[pousr]_[0-9A-Za-z]{36}"),
    ("gitlab_token", r"glpat-[\w-]{20}"),
    ("google_client_secret", r"GOCSPX-[\w-]{28}"),
    ("google_key", r"AIza[\w-]{35}"),
    ("google_oauth", r"ya29\.[\w-]{20,}"),
    ("google_refresh", r"1//[\w-]{30,}"),
    ("grafana_token", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    ("groq_key", r"gsk_[A-Za-z0-9]{52}"),
    ("huggingface_token", r"hf_[A-Za-z]{34}"),
    ("jwt", r"ey[\w-]{15,}\.ey[\w-]{15,}\.[\w-]{43}"),
    ("langsmith_key", r"lsv2_(pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    ("linear_key", r"lin_api_[A-Za-z0-9]{40}"),
    ("mistral_key", r"[A-Za-z0-9]{32}"),
    ("notion_token", r"ntn_[0-9]{11}[A-Za-z0-9]{35}"),
    ("npm_token", r"npm_[A-Za-z0-9]{36}"),
    ("nvidia_key", r"nvapi-[\w-]{64}"),
    ("openai_admin_key", r"sk-admin-[\w-]{74}T3BlbkFJ[\w-]{74}"),
    ("openai_key", r"sk-proj-[\w-]{74}T3BlbkFJ[\w-]{74}"),
    ("openrouter_key", r"sk-or-v1-[0-9a-f]{64}"),
    ("perplexity_key", r"pplx-[A-Za-z0-9]{48}"),
    ("pypi_token", r"pypi-AgEIcHlwaS5vcmc[\w-]{50,}"),
    ("replicate_token", r"r8_[\w-]{37}"),
    ("sendgrid_key", r"SG\.[\w-]{22}\.[\w-]{43}"),
    ("shopify_token", r"shpat_[0-9a-f]{32}"),
    ("slack_token", r"xoxb-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9]{24}"),
    ("slack_webhook", r"https://hooks\.slack\.com/services/T[A-Z0-9]{10}/B[A-Z0-9]{10}/[A-Za-z0-9]{24}"),
    ("stripe_key", r"[sr]k_(live|test|prod)_[A-Za-z0-9]{10,99}"),
    ("telegram_token", r"[0-9]{8,10}:[A-Za-z0-9_-]{35}"),
    ("together_key", r"[0-9a-f]{64}"),
    ("url", r"https://redacted\.invalid/[0-9]+"),
    ("uuid", r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
    ("vault_token", r"hvs\.[\w-]{90,120}"),
    ("xai_key", r"xai-\w{80}"),
];

/// Kinds that are known and have no form: the place a value stood in, not what it was.
const WORDS: &[&str] = &["cookie", "query", "token", "header", "account", "secret", "password", "customer"];

fn kinds<'a>() -> impl Iterator<Item = &'a str> {
    FORMS.iter().map(|(kind, _)| *kind).chain(["basic", "private_key"]).chain(WORDS.iter().copied())
}

#[test]
fn every_shape_has_a_form_that_it_is_held_against() {
    let known: HashSet<&str> = kinds().collect();
    let untested = SHAPES.iter().map(|(kind, _)| kind).chain(OF_THEIR_OWN);
    assert_eq!(untested.filter(|kind| !known.contains(*kind)).collect::<Vec<_>>(), [] as [&&str; 0]);
    for (name, kind) in VARIABLES {
        assert!(has_shape(kind), "{name}: {kind}");
    }
}

#[test]
fn a_dummy_has_the_form_of_its_kind() {
    for (kind, form) in FORMS {
        let form = Regex::new(&format!("(?-u)^{form}$")).unwrap();
        for number in (0..40).chain([999_999, 1_000_000, u32::MAX]) {
            assert!(form.is_match(&dummy(kind, number)), "{kind}: {}", dummy(kind, number));
        }
    }
}

proptest! {
    #[test]
    fn a_dummy_is_the_same_each_time_and_no_other_ones(a in any::<u32>(), b in any::<u32>()) {
        let mut seen = HashSet::new();
        for kind in kinds() {
            prop_assert_eq!(dummy(kind, a), dummy(kind, a));
            prop_assert!(seen.insert(dummy(kind, a)), "{kind} {a}");
            prop_assert!(a == b || seen.insert(dummy(kind, b)), "{kind} {a} {b}");
        }
    }

    #[test]
    fn a_dummy_stands_in_a_header_and_in_json_as_it_is(number in any::<u32>(), own in "[a-z_]{1,20}") {
        for kind in kinds().filter(|kind| *kind != "private_key").chain([own.as_str()]) {
            let dummy = dummy(kind, number);
            prop_assert!(dummy.bytes().all(|b| b.is_ascii_graphic() && !b"\"\\".contains(&b)), "{kind}: {dummy}");
        }
    }

    #[test]
    fn a_kind_without_a_form_gets_a_word_that_needs_no_escaping(number in any::<u32>(), own in "[a-z_]{1,20}") {
        prop_assume!(!has_shape(&own));
        for kind in WORDS.iter().copied().chain([own.as_str()]) {
            let word = dummy(kind, number);
            prop_assert!(word.len() >= 16 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{word}");
        }
    }

    #[test]
    fn the_checksum_of_a_token_is_wrong(number in any::<u32>()) {
        for kind in ["github_token", "npm_token"] {
            let token = dummy(kind, number);
            let (body, checksum) = token.split_at(token.len() - 6);
            for checked in [body, &body[4..]] {
                prop_assert_ne!(base62(crc32fast::hash(checked.as_bytes())), checksum);
            }
        }
    }
}

/// As GitHub writes its checksums: six digits, `0-9A-Za-z`.
fn base62(mut number: u32) -> String {
    let digits: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
    let mut text = Vec::new();
    for _ in 0..6 {
        text.push(digits[number as usize % 62]);
        number /= 62;
    }
    text.iter().rev().collect()
}

#[test]
fn the_first_dummies_are_these() {
    assert_eq!(dummy("cookie", 1), "redacted-cookie-000001");
    assert_eq!(dummy("connection_string", 1_234_567), "redacted-connection-string-1234567");
    assert_eq!(dummy("url", 3), "https://redacted.invalid/3");
    assert_eq!(STANDARD.decode(dummy("basic", 2)).unwrap(), b"user-2:password-2");
    assert!(dummy("uuid", 1).starts_with("00000001-"));
    for (kind, start) in
        [("google_key", "AIzaDUMMY"), ("together_key", "d0d0d0"), ("github_token", "ghp_DUMMY")]
    {
        assert!(dummy(kind, 1).starts_with(start), "{}", dummy(kind, 1));
    }
}

#[test]
fn a_token_that_claims_to_be_unsigned_carries_a_signature() {
    let token = dummy("jwt", 5);
    let parts: Vec<&str> = token.split('.').collect();
    let read = |part: &str| -> serde_json::Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    assert_eq!(read(parts[0]), serde_json::json!({"alg": "none", "typ": "JWT"}));
    assert_eq!(read(parts[1]), serde_json::json!({"sub": "dummy-5", "iat": 0, "exp": 4_102_444_800_u64}));
    assert_eq!(parts[2].len(), 43);
}

#[test]
fn a_key_block_is_well_formed_and_holds_no_key() {
    let block = dummy("private_key", 1);
    let lines: Vec<&str> = block.lines().collect();
    assert_eq!(lines.len(), 5);
    let edge = |word: &str| format!("-----{word} {} KEY-----", "PRIVATE");
    assert_eq!([lines[0], lines[4]], [edge("BEGIN"), edge("END")]);
    let content = STANDARD.decode(lines[1..4].concat()).unwrap();
    // A key is a DER sequence, and its first byte is 0x30.
    assert_ne!(content[0], 0x30);
}

#[test]
fn a_variable_gets_what_its_readers_expect() {
    for (name, start) in [
        ("OPENAI_API_KEY", "sk-proj-"),
        ("ANTHROPIC_API_KEY", "sk-ant-api03-"),
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("GH_TOKEN", "ghp_"),
        ("GEMINI_API_KEY", "AIza"),
        ("HF_TOKEN", "hf_"),
        ("GROQ_API_KEY", "gsk_"),
        ("ACME_LICENSE", "redacted-acme-license-"),
    ] {
        assert!(variable_dummy(name).starts_with(start), "{name}: {}", variable_dummy(name));
    }
    assert_eq!(variable_dummy("MISTRAL_API_KEY").len(), 32);
    assert_eq!(variable_dummy("AWS_SECRET_ACCESS_KEY").len(), 40);
    assert_ne!(variable_dummy("GH_TOKEN"), variable_dummy("GITHUB_TOKEN"));
}

#[test]
fn what_the_placeholder_tells_counts_before_the_name() {
    assert_eq!(
        dummy_of_variable("OPENAI_API_KEY", "{{redacted:anthropic_key:2}}"),
        dummy("anthropic_key", 2)
    );
    assert_eq!(dummy_of_variable("OPENAI_API_KEY", "{{redacted:token:2}}"), variable_dummy("OPENAI_API_KEY"));
    assert_eq!(dummy_of_variable("ACME_TOKEN", "{{redacted:token:2}}"), "redacted-token-000002");
}
