//! The texts that are looked for, all at once; what they mean is for the rules to say.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::{detect::Rule, shapes::SHAPES};

/// Hands on every anchor with its place. Overlapping ones too: `sk-` starts `sk-ant-`.
pub(crate) fn each(text: &[u8], mut hand: impl FnMut(Rule, usize, usize)) {
    for found in ANCHORS.automaton.find_overlapping_iter(text) {
        let number = found.pattern().as_usize();
        let rule = ANCHORS.rules[number];
        // The search folds case, and the prefixes of tokens do not.
        if let Rule::Shape(shape) = rule
            && &text[found.range()] != SHAPES[shape].prefix.as_bytes()
        {
            continue;
        }
        hand(rule, found.start(), found.end());
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
        .match_kind(MatchKind::Standard)
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
