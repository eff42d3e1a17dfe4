//! Hoverfly simulations, v5 to v5.3.
//!
//! What Hoverfly captured has exact matchers. A pair with any other was written by a person, and is no recording.

use bytes::Bytes;
use yaml::{Node, Problem};

use super::{
    Beside, beside,
    desk::Desk,
    draft::Draft,
    read::{self, Field, member, optional},
    repair::Stored,
};

pub(super) fn read(document: &Node<'_>, beside: Beside<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    if let Some(version) = document.get("meta").and_then(|meta| optional(meta, "schemaVersion")) {
        let text = version.text("the schema version")?;
        if !(text == "v5" || text.starts_with("v5.")) {
            return Err(Problem::new(version.span, format!("the schema version `{text}` is not read"))
                .with_help("load it into Hoverfly and export it again: v5 and later are read"));
        }
    }
    let data = member(document, "data", "the simulation")?;
    let mut pairs: Vec<&Node<'_>> =
        member(data, "pairs", "the data")?.sequence("the pairs")?.iter().collect();
    pairs.sort_by_key(|pair| place_in_sequence(pair));
    pairs.into_iter().try_for_each(|pair| take(pair, beside, desk))
}

fn take(pair: &Node<'_>, beside: Beside<'_>, desk: &mut Desk<'_>) -> Result<(), Problem> {
    let request = member(pair, "request", "the pair")?;
    let response = member(pair, "response", "the pair")?;
    let here = read::opening(pair);
    let asked = match asked(request)? {
        Ok(asked) => asked,
        Err(reason) => {
            desk.skip(here, reason);
            return Ok(());
        }
    };
    if response.get("templated").is_some_and(|flag| flag.as_text() == Some("true")) {
        desk.skip(here, "its response is a template, and no recording");
        return Ok(());
    }
    let delay = optional(response, "fixedDelay").and_then(read::milliseconds);
    desk.take(Draft {
        span: here,
        method: asked.method,
        url: asked.url,
        url_span: here,
        request_headers: asked.headers,
        request_body: Stored::new(asked.body),
        status: read::status(member(response, "status", "the response")?)?,
        response_headers: read::headers(response.get("headers"))?,
        response_body: response_body(response, beside)?,
        after: delay.unwrap_or_default(),
        ..Draft::default()
    })
}

struct Asked {
    method: String,
    url: String,
    headers: Vec<Field>,
    body: Bytes,
}

/// The inner error says which matcher stands for more than one request.
fn asked(request: &Node<'_>) -> Result<Result<Asked, String>, Problem> {
    let mut parts = Vec::with_capacity(4);
    for (key, otherwise) in [("method", "GET"), ("scheme", "https"), ("destination", ""), ("path", "/")] {
        match optional(request, key).map(|list| exact(list, key)).transpose()? {
            Some(Ok(value)) => parts.push(value),
            Some(Err(reason)) => return Ok(Err(reason)),
            None if key == "destination" => {
                return Ok(Err("it answers any host: a stub, and no recording".to_owned()));
            }
            None => parts.push(otherwise),
        }
    }
    let [method, scheme, host, path] = parts.as_slice() else {
        return Ok(Err("it names no request".to_owned()));
    };
    let query = match query(request)? {
        Ok(query) => query,
        Err(reason) => return Ok(Err(reason)),
    };
    let body = match optional(request, "body").map(|list| exact(list, "body")).transpose()? {
        Some(Ok(body)) => Bytes::copy_from_slice(body.as_bytes()),
        Some(Err(reason)) => return Ok(Err(reason)),
        None => Bytes::new(),
    };
    let mark = if query.is_empty() { "" } else { "?" };
    let url = format!("{scheme}://{host}{path}{mark}{query}");
    Ok(Ok(Asked { method: read::method(method), url, headers: headers(request)?, body }))
}

/// The value of one exact matcher. JSON is compared by structure anyway.
fn exact<'n>(list: &'n Node<'_>, what: &str) -> Result<Result<&'n str, String>, Problem> {
    let [matcher] = list.sequence("the matchers")? else {
        return Ok(Err(format!("its {what} has to fit several matchers: a stub, and no recording")));
    };
    let value = member(matcher, "value", "the matcher")?;
    match read::text(matcher, "matcher", "the matcher")? {
        "exact" | "json" => Ok(value.as_text().ok_or_else(|| format!("its {what} is no text"))),
        other => Ok(Err(format!("its {what} is a pattern (`{other}`): a stub, and no recording"))),
    }
}

fn query(request: &Node<'_>) -> Result<Result<String, String>, Problem> {
    if let Some(list) = optional(request, "deprecatedQuery") {
        return Ok(exact(list, "query")?.map(str::to_owned));
    }
    let Some(parameters) = optional(request, "query") else { return Ok(Ok(String::new())) };
    let mut pairs = Vec::new();
    for (name, list) in parameters.mapping("the query")? {
        let name = name.text("a query parameter")?;
        match exact(list, &format!("query parameter {name}"))? {
            // Several values of one name are kept as one text.
            Ok(value) => pairs.extend(value.split(';').map(|value| (name, value))),
            Err(reason) => return Ok(Err(reason)),
        }
    }
    Ok(Ok(read::form(pairs)))
}

/// Headers with a pattern say nothing about what was sent.
fn headers(request: &Node<'_>) -> Result<Vec<Field>, Problem> {
    let Some(headers) = optional(request, "headers") else { return Ok(Vec::new()) };
    let mut fields = Vec::new();
    for (name, list) in headers.mapping("the headers")? {
        if let Ok(value) = exact(list, "header")? {
            let value = Bytes::copy_from_slice(value.as_bytes());
            fields.push(Field { name: name.text("a header name")?.to_owned(), value, span: list.span });
        }
    }
    Ok(fields)
}

fn response_body(response: &Node<'_>, beside: Beside<'_>) -> Result<Stored, Problem> {
    if let Some(name) = optional(response, "bodyFile").filter(|name| name.as_text() != Some("")) {
        return Ok(Stored::new(beside::fetch(name, beside)?));
    }
    let Some(body) = optional(response, "body") else { return Ok(Stored::default()) };
    let is_base64 = response.get("encodedBody").is_some_and(|flag| flag.as_text() == Some("true"));
    Ok(Stored::new(if is_base64 { read::base64(body)? } else { read::bytes(body, "the body")? }))
}

/// `requiresState: {"sequence:1": "2"}`: the second answer to the same request.
fn place_in_sequence(pair: &Node<'_>) -> u32 {
    let state = pair.get("request").and_then(|request| optional(request, "requiresState"));
    let entries = state.and_then(|state| state.mapping("the state").ok()).unwrap_or_default();
    let of_sequence =
        entries.iter().find(|(key, _)| key.as_text().is_some_and(|key| key.starts_with("sequence:")));
    of_sequence.and_then(|(_, value)| value.as_text()?.parse().ok()).unwrap_or(0)
}
