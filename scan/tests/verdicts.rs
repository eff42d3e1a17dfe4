//! What is a finding and what is none, where it is said to be, and that no input breaks the scan.

// A test that cannot go on has failed: here a panic is the report.
#![allow(clippy::unwrap_used)]

#[path = "recall/made.rs"]
mod made;

use base64::{Engine, engine::general_purpose::STANDARD};
use made::{Dice, TOKENS};
use proptest::prelude::*;
use wiretape_scan::{Doubt, Layer, Place, Report, scan};

fn made(pattern: &str) -> String {
    made::make(pattern, &mut Dice::new(7))
}

fn kinds(text: &str) -> Vec<&'static str> {
    scan(text.as_bytes()).findings.iter().map(|finding| finding.kind).collect()
}

fn is_clean(text: &str) {
    let report = scan(text.as_bytes());
    assert_eq!(report, Report { findings: vec![], doubts: vec![], is_cut_short: false }, "{text}");
}

#[test]
fn placeholders_are_no_findings_wherever_they_stand() {
    for (_, pattern) in TOKENS {
        let prefix = made(pattern.split('^').next().unwrap());
        for body in
            ["{{redacted:openai_key:1}}", "<YOUR_KEY>", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "***"]
        {
            is_clean(&format!("authorization: Bearer {prefix}{body}\n"));
        }
    }
    for value in [
        "{{redacted:cookie:1}}",
        "REDACTED",
        "<SESSION>",
        "${TOKEN}",
        "test_api_key",
        "dummy-token-for-tests",
    ] {
        is_clean(&format!(
            "{{\"api_key\":\"{value}\",\"password\":\"{value}\",\"refreshToken\":\"{value}\"}}"
        ));
        is_clean(&format!("cookie: session={value}\nset-cookie:\n  - sid={value}; path=/\n"));
        is_clean(&format!("https://me:{value}@host/?sig={value}&token={value}"));
    }
}

#[test]
fn what_models_and_pages_say_is_no_finding() {
    let random = made("^w200");
    let short = made("^a32");
    for text in [
        format!(r#"{{"type":"thinking","thinking":"a","signature":"{random}"}}"#),
        format!(r#"{{"encrypted_content":"{random}"}}"#),
        format!(r#"{{"next_page_token":"{short}","nextPageToken":"{short}","continuationToken":"{short}"}}"#),
        format!(r#"{{"public_key":"{short}","publishableKey":"{short}","key_id":"{short}"}}"#),
        r#"{"logprobs":{"content":[{"token":" the","logprob":-0.1},{"token":"Hello","bytes":[72]}]}}"#.into(),
        r#"{"max_tokens":1024,"usage":{"prompt_tokens":31},"password":"required","token_type":"bearer"}"#
            .into(),
        r#"{"id":"chatcmpl-000001","system_fingerprint":"fp_000001","api_key":"sk-000001"}"#.into(),
        format!("-----BEGIN PUBLIC KEY-----\n{random}\n-----END PUBLIC KEY-----\n"),
        format!(r#"{{"kty":"EC","crv":"P-256","x":"{short}{short}","y":"{short}{short}"}}"#),
        r#"["/etc/passwd", "a/../../b1"]"#.into(),
        "vary: Authorization, Cookie, X-GitHub-OTP\n".into(),
    ] {
        is_clean(&text);
    }
}

#[test]
fn a_prefix_inside_of_a_word_is_no_token() {
    let body = made("^a48");
    for before in ["task", "ri", "x"] {
        is_clean(&format!("{before}{}{body}", made("sk|-")));
    }
    is_clean(&format!("{}short", made("gh|p_")));
    is_clean(&format!("{}{}", made("AK|IA^u16"), "LOWERANDLONGER"));
}

#[test]
fn a_token_of_github_with_a_right_checksum_counts_even_inside_of_other_text() {
    let random = made("^a30");
    let mut sum = crc32fast::hash(random.as_bytes());
    let mut digits = Vec::new();
    for _ in 0..6 {
        digits.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[sum as usize % 62]);
        sum /= 62;
    }
    digits.reverse();
    let token = format!("{}{random}{}", made("gh|p_"), String::from_utf8(digits).unwrap());
    let around = made("^a400");
    assert_eq!(kinds(&format!("{around}{token}{around}")), ["github_token"]);
    let wrong = format!("{}{random}000000", made("gh|p_"));
    assert_eq!(kinds(&format!("a {wrong} b")), ["github_token"]);
    is_clean(&format!("{around}/{wrong}/{around}"));
}

#[test]
fn media_in_base64_holds_no_secret() {
    let mut dice = Dice::new(11);
    let sound: Vec<u8> = (0..2_000_000).map(|_| dice.below(256) as u8).collect();
    let standard = STANDARD.encode(&sound);
    is_clean(&format!("{{\"audio\":{{\"data\":\"{standard}\"}}}}"));
    is_clean(&standard.replace('+', "-").replace('/', "_"));
    let lines: Vec<&str> =
        standard.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect();
    is_clean(&format!("body:\n  base64: |\n    {}\n", lines.join("\n    ")));
}

#[test]
fn a_finding_has_the_place_in_the_file_through_every_layer() {
    let token = made("sk|-proj-^a60");
    let at = |text: &str| {
        let report = scan(text.as_bytes());
        assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
        (report.findings[0].place, report.findings[0].through.clone())
    };
    assert_eq!(at(&format!("a\né {token}\n")), (Place { line: 2, column: 3 }, vec![]));
    let inner = STANDARD.encode(format!("123456{token}").replace("123456s", "12345 s"));
    assert_eq!(at(&format!("x: {inner}")), (Place { line: 1, column: 12 }, vec![Layer::Base64]));
    let escaped = format!("\"%0a\\u0073{}\"", &token[1..]);
    assert_eq!(at(&escaped), (Place { line: 1, column: 5 }, vec![Layer::Percent, Layer::Escapes]));
    let (a, b) = token.split_at(9);
    let events = format!("data: {{\"d\":\"x {a}\"}}\n\ndata: {{\"d\":\"{b}\"}}\n\n");
    assert_eq!(at(&events), (Place { line: 1, column: 15 }, vec![Layer::Split(2)]));
}

#[test]
fn streams_side_by_side_are_not_mixed_up() {
    let token = made("sk|-proj-^a60");
    let (a, b) = token.split_at(20);
    let event = |index: usize, text: &str| format!("data: {{\"index\":{index},\"delta\":\"{text}\"}}\n\n");
    let both = [event(0, a), event(1, "other words"), event(0, b), event(1, " of it")].concat();
    assert_eq!(kinds(&both), ["openai_key"]);
    is_clean(&[event(0, a), event(1, b)].concat());
}

#[test]
fn one_secret_seen_in_several_views_is_one_finding() {
    let token = made("sk|-proj-^a60");
    let text = format!(r#"{{"headers":"{{\"authorization\":\"Bearer {token}\",\"api_key\":\"{token}\"}}"}}"#);
    assert_eq!(kinds(&text), ["openai_key", "openai_key"]);
}

#[test]
fn a_bomb_is_cut_short_and_says_so() {
    let zeros = vec![b' '; 80 << 20];
    let bomb = zstd::encode_all(&zeros[..], 3).unwrap();
    assert!(scan(&bomb).is_cut_short);
    let twice = STANDARD.encode(zstd::encode_all(&bomb[..], 3).unwrap());
    assert!(scan(twice.as_bytes()).is_cut_short);
}

#[test]
fn a_random_value_under_a_name_that_sounds_secret_is_a_doubt() {
    let report = scan(format!("routing_key: {}\n", made("^a48")).as_bytes());
    assert!(report.findings.is_empty());
    assert!(matches!(report.doubts[..], [Doubt::HighEntropy { place: Place { line: 1, column: 14 }, .. }]));
}

proptest! {
    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = scan(&bytes);
    }

    #[test]
    fn no_pieces_of_what_it_knows_break_it(words in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = words.iter().map(|word| PIECES[*word]).collect();
        let _ = scan(text.as_bytes());
    }
}

const PIECES: &[&str] = &[
    "data: ",
    "{\"",
    "\":\"",
    "\"}",
    "\n",
    "\\",
    "\\u",
    "d83d",
    "%2",
    "%",
    "&#",
    ";",
    "&amp;",
    "eyJ",
    ".",
    "://",
    "@",
    ":",
    "kty",
    "\"d\"",
    "cookie: ",
    "set-cookie:\n  - ",
    "authorization",
    "Basic ",
    "Bearer ",
    "PRIVATE KEY-----",
    "-----BEGIN ",
    "AAAA",
    "H4sIAAAA",
    "eJw",
    "= ",
    "é",
    "- text: '",
    "'",
    "text: ",
    "base64: ",
    "from: a\n",
    "Q~",
    "3",
    "SG.",
    "glsa_",
    "PMAK-",
    "xapp-",
    "lsv2_pt_",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "0123456789",
    "sig=",
    "?",
    "&",
    "password",
    "token",
    "|\n",
    "AWS4-HMAC-SHA256 Signature=",
    "hooks.slack.com/services/",
    "[",
    "{",
    "}",
    "]",
    ",",
];
