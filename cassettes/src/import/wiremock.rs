//! WireMock mappings with the bodies in `__files`.
//!
//! A mapping that WireMock recorded names one request exactly. One that a person wrote may stand for many; it is no
//! recording, and is left out with the word that makes it one.

use std::time::Duration;

use bytes::Bytes;
use matchers::{Compare, OnRepeat, Policy};
use yaml::{Node, Problem, Value};

use super::{
    Beside, beside,
    desk::Desk,
    draft::Draft,
    read::{self, Field, Numbers, member, optional},
    repair::Stored,
    scenario::Turn,
};

pub(super) fn read(document: &Node<'_>, beside: Beside<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    match document.get("mappings") {
        Some(list) => {
            list.sequence("the mappings")?.iter().try_for_each(|mapping| take(mapping, beside, desk))
        }
        None => take(document, beside, desk),
    }
}

fn take(mapping: &Node<'_>, beside: Beside<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let request = member(mapping, "request", "the mapping")?;
    let response = member(mapping, "response", "the mapping")?;
    let here = read::opening(mapping);
    let asked = match asked(request)? {
        Ok(asked) => asked,
        Err(reason) => {
            desk.skip(here, reason);
            return Ok(());
        }
    };
    if let Some(reason) = made_up(response) {
        desk.skip(here, reason);
        return Ok(());
    }
    if let Body::NotCompared = asked.body
        && matches!(asked.method.as_str(), "POST" | "PUT" | "PATCH")
    {
        desk.compare_as(Policy { compare: Compare::Uri, on_repeat: OnRepeat::Last, ..Policy::default() });
    }
    let Some(response_body) = response_body(response, beside)? else {
        desk.skip(here, "its body is described in a way that wiretape does not read");
        return Ok(());
    };
    let delay = optional(response, "fixedDelayMilliseconds").and_then(read::milliseconds);
    desk.take(Draft {
        span: here,
        method: asked.method,
        url: asked.url,
        url_span: here,
        request_headers: asked.headers,
        request_body: match asked.body {
            Body::Known(stored) => stored,
            Body::NotCompared => Stored::default(),
        },
        status: optional(response, "status").map_or(Ok(200), read::status)?,
        reason: optional(response, "statusMessage").and_then(Node::as_text).map(str::to_owned),
        response_headers: read::headers(response.get("headers"))?,
        response_body,
        after: delay.unwrap_or(Duration::ZERO),
        turn: turn(mapping),
        ..Draft::default()
    })
}

/// A request that a mapping names exactly.
struct Asked {
    method: String,
    url: String,
    headers: Vec<Field>,
    body: Body,
}

enum Body {
    Known(Stored),
    NotCompared,
}

/// The inner error says why a mapping stands for more than one request.
fn asked(request: &Node<'_>) -> Result<Result<Asked, String>, Problem> {
    let method = optional(request, "method").and_then(Node::as_text).unwrap_or("ANY");
    if method == "ANY" {
        return Ok(Err("it answers any method: a stub, and no recording".to_owned()));
    }
    for key in [
        "urlPattern",
        "urlPathPattern",
        "urlPathTemplate",
        "customMatcher",
        "multipartPatterns",
        "formParameters",
    ] {
        if optional(request, key).is_some() {
            return Ok(Err(format!("its request is a pattern (`{key}`): a stub, and no recording")));
        }
    }
    let url = match (optional(request, "url"), optional(request, "urlPath")) {
        (Some(url), _) => url.text("the URL")?.to_owned(),
        (None, Some(path)) => match with_query(path.text("the path")?, request)? {
            Ok(url) => url,
            Err(reason) => return Ok(Err(reason)),
        },
        (None, None) => return Ok(Err("it answers any URL: a stub, and no recording".to_owned())),
    };
    let body = match body(request)? {
        Ok(body) => body,
        Err(reason) => return Ok(Err(reason)),
    };
    let headers = exact_headers(request)?;
    Ok(Ok(Asked { method: read::method(method), url: with_origin(request, url), headers, body }))
}

/// Some mappings do name their host.
fn with_origin(request: &Node<'_>, url: String) -> String {
    let Some(host) = optional(request, "host").and_then(|host| exact(host)) else { return url };
    let scheme = optional(request, "scheme").and_then(Node::as_text).unwrap_or("https");
    let port =
        optional(request, "port").and_then(Node::as_text).map_or(String::new(), |port| format!(":{port}"));
    format!("{scheme}://{host}{port}{url}")
}

fn with_query(path: &str, request: &Node<'_>) -> Result<Result<String, String>, Problem> {
    let Some(parameters) = optional(request, "queryParameters") else { return Ok(Ok(path.to_owned())) };
    let mut pairs = Vec::new();
    for (name, matcher) in parameters.mapping("the query parameters")? {
        let name = name.text("a query parameter")?;
        match exact(matcher) {
            Some(value) => pairs.push((name, value)),
            None => {
                return Ok(Err(format!(
                    "its query parameter `{name}` is a pattern: a stub, and no recording"
                )));
            }
        }
    }
    let query = read::form(pairs);
    Ok(Ok(if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }))
}

/// Headers with a pattern say nothing about what was sent.
fn exact_headers(request: &Node<'_>) -> Result<Vec<Field>, Problem> {
    let Some(headers) = optional(request, "headers") else { return Ok(Vec::new()) };
    let entries = headers.mapping("the headers")?;
    let fields = entries.iter().filter_map(|(name, matcher)| {
        let value = Bytes::copy_from_slice(exact(matcher)?.as_bytes());
        Some(Field { name: name.as_text()?.to_owned(), value, span: matcher.span })
    });
    Ok(fields.collect())
}

/// The value that a matcher wants, if it wants just one.
fn exact<'n>(matcher: &'n Node<'_>) -> Option<&'n str> {
    optional(matcher, "equalTo").and_then(Node::as_text)
}

fn body(request: &Node<'_>) -> Result<Result<Body, String>, Problem> {
    let Some(patterns) = optional(request, "bodyPatterns") else { return Ok(Ok(Body::NotCompared)) };
    let [pattern] = patterns.sequence("the body patterns")? else {
        return Ok(Err("its body has to fit several patterns: a stub, and no recording".to_owned()));
    };
    if let Some(json) = pattern.get("equalToJson") {
        // Kept as text, or as the structure itself.
        return Ok(Ok(Body::Known(match &json.value {
            Value::Scalar(_) => Stored::new(read::bytes(json, "the JSON")?),
            _ => Stored::structure(read::json_bytes(json, Numbers::Json)),
        })));
    }
    if let Some(text) = pattern.get("equalTo") {
        return Ok(Ok(Body::Known(Stored::new(read::bytes(text, "the body")?))));
    }
    if let Some(packed) = pattern.get("binaryEqualTo") {
        return Ok(Ok(Body::Known(Stored::new(read::base64(packed)?))));
    }
    let word =
        pattern.mapping("the body pattern")?.first().and_then(|(key, _)| key.as_text()).unwrap_or("nothing");
    Ok(Err(format!("its body is a pattern (`{word}`): a stub, and no recording")))
}

/// Why a response was never recorded.
fn made_up(response: &Node<'_>) -> Option<String> {
    for (key, what) in [("fault", "is a fault"), ("proxyBaseUrl", "comes from another host")] {
        if optional(response, key).is_some() {
            return Some(format!("its response {what} (`{key}`), and no recording"));
        }
    }
    let is_template = |node: &Node<'_>| {
        node.as_text() == Some("response-template")
            || matches!(&node.value, Value::Sequence(items) if items.iter().any(|i| i.as_text() == Some("response-template")))
    };
    optional(response, "transformers")
        .is_some_and(is_template)
        .then(|| "its response is a template, and no recording".to_owned())
}

/// `None`: it is told in words that we do not know.
fn response_body(response: &Node<'_>, beside: Beside<'_>) -> Result<Option<Stored>, Problem> {
    if let Some(name) = optional(response, "bodyFileName") {
        return Ok(Some(Stored::new(beside::fetch(name, beside)?)));
    }
    if let Some(body) = optional(response, "body") {
        return match &body.value {
            Value::Mapping(_) => entity(body, beside),
            _ => Ok(Some(Stored::new(read::bytes(body, "the body")?))),
        };
    }
    if let Some(packed) = optional(response, "base64Body") {
        return Ok(Some(Stored::new(read::base64(packed)?)));
    }
    Ok(Some(match response.get("jsonBody") {
        Some(json) => Stored::structure(read::json_bytes(json, Numbers::Json)),
        None => Stored::default(),
    }))
}

/// A body as WireMock 4 describes it: with its data, or the file that holds them.
fn entity(body: &Node<'_>, beside: Beside<'_>) -> Result<Option<Stored>, Problem> {
    if let Some(name) = optional(body, "filePath") {
        return Ok(Some(Stored::new(beside::fetch(name, beside)?)));
    }
    if let Some(packed) = optional(body, "base64Data") {
        return Ok(Some(Stored::new(read::base64(packed)?)));
    }
    let Some(data) = optional(body, "data") else { return Ok(None) };
    Ok(Some(match &data.value {
        Value::Scalar(_) => Stored::new(read::bytes(data, "the data")?),
        _ => Stored::structure(read::json_bytes(data, Numbers::Json)),
    }))
}

fn turn(mapping: &Node<'_>) -> Option<Turn> {
    let text = |key: &str| optional(mapping, key).and_then(Node::as_text).map(str::to_owned);
    Some(Turn {
        scenario: text("scenarioName")?,
        requires: text("requiredScenarioState"),
        becomes: text("newScenarioState"),
    })
}
