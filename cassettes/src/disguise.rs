//! Dummies in the place of placeholders, for the client of a replay: what it reads is well-formed, and what it sends
//! back is known again.

use std::collections::BTreeSet;

use exchange::{Exchange, Headers, Message, Peer, Reply, Response};

use crate::{
    edits::{Edit, edit_headers},
    format::{Redaction, placeholder_parts},
    scrub::{
        dummy::{dummy, dummy_of_variable},
        placeholders,
    },
    text,
};

/// A value that a client of this cassette may send where the recorded one sent a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    pub kind: String,
    pub number: u32,
    pub dummy: String,
}

/// The placeholders of an exchange.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Whether a client would see one.
    pub(crate) in_reply: bool,
    /// Kind and number of those that may come back in any place.
    secrets: Vec<(String, u32)>,
}

impl Seen {
    pub(crate) fn of(exchange: &Exchange) -> Self {
        let mut secrets = Vec::new();
        placeholders::each_text(exchange, &mut |text| {
            for (kind, number) in placeholders::texts_in(text).filter_map(placeholder_parts) {
                // By place, these are known without being known by value.
                if !matches!(kind, "cookie" | "header" | "account") {
                    secrets.push((kind.to_owned(), number));
                }
            }
        });
        Self { in_reply: has_placeholders(&exchange.reply), secrets }
    }
}

/// What stands in for the secrets of a cassette.
pub(crate) fn stand_ins<'s>(
    seen: impl Iterator<Item = &'s Seen>,
    redaction: Option<&'s Redaction>,
) -> Vec<StandIn> {
    let found: BTreeSet<&(String, u32)> = seen.flat_map(|seen| &seen.secrets).collect();
    let found = found.into_iter().take(MOST).map(|(kind, number)| {
        let dummy = dummy(kind, *number);
        StandIn { kind: kind.clone(), number: *number, dummy }
    });
    found.chain(redaction.into_iter().flat_map(variables)).collect()
}

fn variables(redaction: &Redaction) -> impl Iterator<Item = StandIn> {
    redaction.env.iter().filter_map(|(name, placeholder)| {
        let (kind, number) = placeholder_parts(placeholder)?;
        Some(StandIn { kind: kind.to_owned(), number, dummy: dummy_of_variable(name, placeholder) })
    })
}

/// Whether a client would see a placeholder.
fn has_placeholders(reply: &Reply) -> bool {
    let Reply::Response(response) = reply else { return false };
    let mut has = false;
    placeholders::each_text_of_reply(response, &mut |text| has = has || placeholders::may_be_in(text));
    has
}

/// The reply as a client gets it. What the recorded client said stays: the live one's words are scrubbed before they
/// are compared with it.
pub(crate) fn disguised(reply: &Reply) -> Reply {
    let Reply::Response(response) = reply else { return reply.clone() };
    let headers = |headers: &Headers| edit_headers(headers, edits_of);
    let server: Vec<Message> = response.messages.iter().filter(|m| m.from == Peer::Server).cloned().collect();
    let mut disguised = text::rewrite_messages(&server, &mut |leaf| edits_of(leaf.text)).into_iter();
    let messages = response.messages.iter().map(|message| match message.from {
        Peer::Server => disguised.next().unwrap_or_else(|| message.clone()),
        Peer::Client => message.clone(),
    });
    Reply::Response(Response {
        headers: headers(&response.headers),
        trailers: headers(&response.trailers),
        body: text::rewrite_body(&response.body, &response.headers, &mut |leaf| edits_of(leaf.text)),
        messages: messages.collect(),
        ..response.clone()
    })
}

fn edits_of(text: &[u8]) -> Vec<Edit<'static>> {
    placeholders::edits(text, &mut |placeholder| {
        let (kind, number) = placeholder_parts(placeholder)?;
        Some(dummy(kind, number))
    })
}

/// A cassette with more secrets than this is no recording of a program.
const MOST: usize = 2_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use exchange::{Body, End, Header, Request, Url};

    use super::*;
    use crate::Scrubber;

    fn response(media: &str, body: String) -> Response {
        Response {
            status: 200,
            reason: None,
            headers: [("content-type", media), ("x-token", "{{redacted:token:3}}")]
                .into_iter()
                .map(|(name, value)| Header::new(name, value).unwrap())
                .collect(),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::from_bytes(body),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }
    }

    fn exchange(response: Response) -> Exchange {
        Exchange {
            id: 1,
            at: Duration::ZERO,
            request: Request {
                method: "GET".into(),
                url: Url::parse("https://a.test/").unwrap(),
                headers: Headers::new(),
                body: Body::empty(),
                trailers: Headers::new(),
            },
            reply: Reply::Response(response),
        }
    }

    #[test]
    fn a_client_gets_a_dummy_and_what_it_sends_back_is_the_placeholder_again() {
        let pem = "{{redacted:private_key:1}}";
        let body = serde_json::json!({"key": pem, "note": "a {{redacted:github_token:2}}!"}).to_string();
        let response = response("application/json", body.clone());
        let exchange = exchange(response.clone());
        let Reply::Response(live) = disguised(&Reply::Response(response)) else { unreachable!() };
        let json: serde_json::Value = serde_json::from_slice(live.body.bytes().unwrap()).unwrap();
        assert_eq!(json["key"], dummy("private_key", 1));
        assert_eq!(json["note"], format!("a {}!", dummy("github_token", 2)));
        assert_eq!(live.headers.text("x-token"), Some(dummy("token", 3).as_str()));
        // The client sends all of it on, in a body of another form.
        let seen = Seen::of(&exchange);
        let known = stand_ins([&seen].into_iter(), None);
        let mut scrubber =
            Scrubber::new().standing_in(known.iter().map(|s| (s.kind.as_str(), s.number, s.dummy.as_str())));
        let request = Request {
            method: "POST".into(),
            body: Body::from_bytes(format!("{} and {}", dummy("github_token", 2), dummy("token", 3))),
            ..exchange.request.clone()
        };
        let scrubbed = scrubber.request(request);
        assert_eq!(
            scrubbed.body.bytes().unwrap().as_ref(),
            b"{{redacted:github_token:2}} and {{redacted:token:3}}"
        );
    }

    #[test]
    fn a_placeholder_inside_of_base64_is_replaced_there() {
        use base64::{Engine, engine::general_purpose::STANDARD};
        for before in ["", "a", "ab"] {
            let content = STANDARD.encode(format!("{before}{{{{redacted:token:1}}}}"));
            let reply =
                Reply::Response(response("application/json", serde_json::json!({"c": content}).to_string()));
            let Reply::Response(live) = disguised(&reply) else { unreachable!() };
            assert!(has_placeholders(&reply));
            let json: serde_json::Value = serde_json::from_slice(live.body.bytes().unwrap()).unwrap();
            let content = STANDARD.decode(json["c"].as_str().unwrap()).unwrap();
            assert_eq!(String::from_utf8(content).unwrap(), format!("{before}{}", dummy("token", 1)));
        }
    }
}
