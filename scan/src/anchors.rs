//! The texts that are looked for, all at once; what they mean is for the rules to say.

use std::{ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use crate::{detect::Rule, shapes::SHAPES};

/// Hands on every anchor in the `parts` with its place: the longest, where one starts with another.
pub(crate) fn each(text: &[u8], parts: &[Range<usize>], mut hand: impl FnMut(Rule, usize, usize)) {
    for part in parts {
        for found in ANCHORS.automaton.find_iter(Input::new(text).range(part.clone())) {
            let rule = ANCHORS.rules[found.pattern().as_usize()];
            // The search folds case, and the prefixes of tokens do not.
            let is_other_case = match rule {
                Rule::Shape(shape) => &text[found.range()] != SHAPES[shape].prefix.as_bytes(),
                _ => false,
            };
            if !is_other_case {
                hand(rule, found.start(), found.end());
            }
            // The one prefix that is a name too.
            if matches!(rule, Rule::Shape(_)) && text[found.range()].eq_ignore_ascii_case(b"secret_") {
                hand(Rule::Name, found.start(), found.end());
            }
        }
    }
}

struct Anchors {
    automaton: AhoCorasick,
    rules: Vec<Rule>,
}

static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| {
    let shapes = SHAPES.iter().enumerate().map(|(number, shape)| (shape.prefix, Rule::Shape(number)));
    let all: Vec<(&str, Rule)> = shapes.chain(OTHERS.iter().copied()).collect();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(all.iter().map(|(text, _)| text))
        .expect("a few hundred short texts fit an automaton");
    Anchors { automaton, rules: all.into_iter().map(|(_, rule)| rule).collect() }
});

const OTHERS: &[(&str, Rule)] = &[
    ("eyj", Rule::Jwt),
    ("private key", Rule::Pem),
    ("kty", Rule::Jwk),
    ("q~", Rule::AzureSecret),
    (":aa", Rule::Telegram),
    (".atlasv1.", Rule::Terraform),
    ("hooks.slack.com/", Rule::SlackHook),
    ("/api/webhooks/", Rule::DiscordHook),
    ("aws4-hmac-sha256", Rule::SigV4),
    ("bearer ", Rule::Bearer),
    ("://", Rule::Userinfo),
    ("authorization", Rule::Name),
    ("cookie", Rule::Name),
    ("__cf_bm=", Rule::Name),
    ("_cfuvid=", Rule::Name),
    ("password", Rule::Name),
    ("passwd", Rule::Name),
    ("passphrase", Rule::Name),
    ("pwd", Rule::Name),
    ("secret", Rule::Name),
    ("token", Rule::Name),
    ("credential", Rule::Name),
    ("apikey", Rule::Name),
    ("api-key", Rule::Name),
    ("api_key", Rule::Name),
    ("accesskey", Rule::Name),
    ("access_key", Rule::Name),
    ("access-key", Rule::Name),
    ("accountkey", Rule::Name),
    ("account_key", Rule::Name),
    ("sharedaccesskey", Rule::Name),
    ("private_key", Rule::Name),
    ("privatekey", Rule::Name),
    ("private-key", Rule::Name),
    ("key\"", Rule::Name),
    ("key'", Rule::Name),
    ("key:", Rule::Name),
    ("key=", Rule::Name),
    ("signature=", Rule::Name),
    ("sig=", Rule::Name),
    ("jwt=", Rule::Name),
    ("sas=", Rule::Name),
    ("auth=", Rule::Name),
    ("openai-organization", Rule::Name),
    ("openai-project", Rule::Name),
    ("anthropic-organization-id", Rule::Name),
    ("chatgpt-account-id", Rule::Name),
];
