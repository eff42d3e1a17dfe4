//! One pass over one view: every anchor in it is handed to the rule it belongs to.

use std::ops::Range;

use crate::{anchors, credentials, keyed, tokens, urls};

/// A secret in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: &'static str,
    pub(crate) certainty: Certainty,
}

/// How a secret was known, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Certainty {
    /// By its own shape.
    Shape,
    /// By what stands around it.
    Context,
    /// It looks random, and its name sounds secret.
    Doubt,
}

/// What an anchor is the start, or the heart, of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    Shape(usize),
    Jwt,
    Pem,
    Jwk,
    AzureSecret,
    Telegram,
    Terraform,
    SlackHook,
    DiscordHook,
    SigV4,
    Bearer,
    Userinfo,
    Name,
}

/// Looks for what starts in the `parts` of a text.
pub(crate) fn detect(text: &[u8], parts: &[Range<usize>]) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut names = keyed::Names::default();
    let mut keys = credentials::Keys::default();
    anchors::each(text, parts, |rule, start, end| match rule {
        Rule::Shape(number) => tokens::shape(text, start, number, &mut hits),
        Rule::Jwt => hits.extend(tokens::jwt(text, start)),
        Rule::AzureSecret => hits.extend(tokens::azure_secret(text, start)),
        Rule::Telegram => hits.extend(tokens::telegram(text, start)),
        Rule::Terraform => hits.extend(tokens::terraform(text, start, end)),
        Rule::Pem => hits.extend(credentials::pem(text, start, end)),
        Rule::Jwk => hits.extend(keys.jwk(text, start, end)),
        Rule::SigV4 => hits.extend(credentials::sigv4(text, end)),
        Rule::Bearer => hits.extend(credentials::bearer(text, start, end)),
        Rule::SlackHook => hits.extend(urls::hook(text, start, end, "slack_webhook")),
        Rule::DiscordHook => hits.extend(urls::hook(text, start, end, "discord_webhook")),
        Rule::Userinfo => hits.extend(urls::userinfo(text, end)),
        Rule::Name => names.take(text, start, end, &mut hits),
    });
    hits
}
