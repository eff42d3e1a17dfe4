//! vcrpy cassettes, YAML version 1.
//!
//! Bodies stand decoded and without their `content-encoding`: of vcrpy's adapters some undo a coding on playing and
//! some do not, and this is what all of them play right.

use base64::{Engine, prelude::BASE64_STANDARD};
use exchange::{Body, Content, Exchange, Headers, Reply};
use http::StatusCode;
use yaml::{Out, format_duration};

use super::{copy_of, policy_text, survives};
use crate::{Cassette, Scrubbed, import::Format};

pub(super) fn document(cassette: &Cassette) -> String {
    let mut of_ours = vec![("cassette", Out::plain(1))];
    let policy = policy_text(cassette.policy.as_ref());
    if let Some(policy) = policy {
        of_ours.push(("match", Out::text(policy)));
    }
    yaml::to_string(&Out::mapping([
        ("interactions", Out::sequence(cassette.exchanges.iter().map(|exchange| with_copy(exchange)))),
        ("version", Out::plain(1)),
        ("wiretape", Out::mapping(of_ours)),
    ]))
}

/// An interaction, its times, and all of the exchange where these do not say all of it.
fn with_copy(exchange: &Scrubbed<Exchange>) -> Out<'_> {
    let mut of_ours = times(exchange);
    let alone = |of_ours: Vec<(&'static str, Out<'static>)>| {
        let list = Out::sequence([beside(interaction(exchange), of_ours)]);
        yaml::to_string(&Out::mapping([("interactions", list)]))
    };
    if !survives(exchange, &alone(of_ours.clone()), Format::VcrPy) {
        of_ours = vec![("exchange", Out::text(copy_of(exchange)))];
    }
    beside(interaction(exchange), of_ours)
}

fn beside<'a>(interaction: Out<'a>, of_ours: Vec<(&'static str, Out<'a>)>) -> Out<'a> {
    match interaction {
        Out::Mapping(mut entries) if !of_ours.is_empty() => {
            entries.push(("wiretape".into(), Out::mapping(of_ours)));
            Out::Mapping(entries)
        }
        other => other,
    }
}

fn times(exchange: &Exchange) -> Vec<(&'static str, Out<'static>)> {
    let after = exchange.reply.response().map(|r| r.after).unwrap_or_default();
    [("at", exchange.at), ("after", after)]
        .into_iter()
        .filter(|(_, duration)| !duration.is_zero())
        .map(|(key, duration)| (key, Out::plain(format_duration(duration))))
        .collect()
}

/// An interaction as vcrpy reads it.
pub(crate) fn interaction(exchange: &Exchange) -> Out<'_> {
    let request = &exchange.request;
    let (code, message, response_headers, response_body) = match &exchange.reply {
        Reply::Response(response) => {
            let usual = StatusCode::from_u16(response.status).ok().and_then(|s| s.canonical_reason());
            let message = response.reason.as_deref().or(usual).unwrap_or_default();
            (response.status, message, headers(&response.headers, &response.body), content(&response.body))
        }
        // vcrpy has no word for it: a status that no server sends.
        Reply::Fault { fault, .. } => (599, fault.as_str(), Out::Mapping(Vec::new()), Out::text("")),
    };
    let body = if request.body.is_empty() { Out::null() } else { content(&request.body) };
    Out::mapping([
        (
            "request",
            Out::mapping([
                ("body", body),
                ("headers", headers(&request.headers, &request.body)),
                ("method", Out::text(request.method.as_str())),
                ("uri", Out::text(request.url.to_string())),
            ]),
        ),
        (
            "response",
            Out::mapping([
                ("body", Out::mapping([("string", response_body)])),
                ("headers", response_headers),
                ("status", Out::mapping([("code", Out::from(code)), ("message", Out::text(message))])),
            ]),
        ),
    ])
}

/// Names with the list of their values, without the coding that the body has lost.
fn headers<'a>(headers: &'a Headers, body: &Body) -> Out<'a> {
    let mut entries: Vec<(&str, Vec<Out<'a>>)> = Vec::new();
    for header in headers {
        if header.name() == "content-encoding" && !body.codings.is_empty() {
            continue;
        }
        let value = bytes(header.value());
        match entries.iter_mut().find(|(name, _)| *name == header.name()) {
            Some((_, values)) => values.push(value),
            None => entries.push((header.name(), vec![value])),
        }
    }
    Out::mapping(entries.into_iter().map(|(name, values)| (name, Out::sequence(values))))
}

fn content(body: &Body) -> Out<'_> {
    match &body.content {
        Content::Bytes(content) => bytes(content),
        Content::Omitted { .. } => Out::text(""),
    }
}

fn bytes(bytes: &[u8]) -> Out<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Out::text(text),
        Err(_) => Out::binary(BASE64_STANDARD.encode(bytes)),
    }
}
