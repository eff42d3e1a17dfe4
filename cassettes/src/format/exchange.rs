//! One exchange and its request.

use std::time::Duration;

use exchange::{Exchange, Reply, Request, Url, is_method};
use yaml::{Fields, Node, Out, Problem};

use super::{Reader, Writer, body, headers, reply};

pub(super) fn read(node: &Node<'_>, reader: &mut Reader<'_>) -> Result<Exchange, Problem> {
    let mut fields = Fields::of(node, "the exchange")?;
    let id = fields.required("id")?.integer("the id", 0..=u32::MAX)?;
    let at = read_after(fields.optional("at"), "the time of the exchange")?;
    let request = read_request(fields.required("request")?, reader)?;
    let response = fields.optional_entry("response");
    let fault = fields.optional_entry("fault");
    let reply = match (response, fault) {
        (Some((_, response)), None) => Reply::Response(reply::read(response, reader)?),
        (None, Some((_, fault))) => Reply::Fault {
            fault: reply::read_fault(fault)?,
            after: read_after(fields.optional("after"), "the delay of the fault")?,
        },
        (Some((first, _)), Some((second, _))) => {
            return Err(Problem::new(second.span, "an exchange has a response or a fault, not both")
                .with_help("write a response that broke off with `ends` inside the response")
                .with_related(first.span, "the response stands here"));
        }
        (None, None) => {
            return Err(Problem::new(fields.span(), "the exchange has no `response` and no `fault`")
                .with_help("write `response` for what came back, or `fault` if nothing did"));
        }
    };
    fields.finish()?;
    Ok(Exchange { id, at, request, reply })
}

pub(super) fn write<'a>(exchange: &'a Exchange, writer: &mut Writer<'_>) -> Out<'a> {
    let mut entries = vec![("id".into(), Out::from(exchange.id))];
    push_after(&mut entries, "at", exchange.at);
    entries.push(("request".into(), write_request(&exchange.request, writer)));
    match &exchange.reply {
        Reply::Response(response) => entries.push(("response".into(), reply::write(response, writer))),
        Reply::Fault { fault, after } => {
            entries.push(("fault".into(), Out::text(fault.as_str())));
            push_after(&mut entries, "after", *after);
        }
    }
    Out::Mapping(entries)
}

/// A duration that is left out when it is zero.
pub(super) fn read_after(node: Option<&Node<'_>>, what: &str) -> Result<Duration, Problem> {
    node.map_or(Ok(Duration::ZERO), |node| node.duration(what))
}

/// Writes a duration unless it is zero in the milliseconds that a cassette keeps.
pub(super) fn push_after(entries: &mut Entries<'_>, key: &'static str, after: Duration) {
    if after.as_millis() > 0 {
        entries.push((key.into(), duration(after)));
    }
}

pub(super) fn duration(duration: Duration) -> Out<'static> {
    Out::Plain(spell(duration).into())
}

/// A duration in the milliseconds that a cassette keeps.
pub(super) fn spell(duration: Duration) -> String {
    yaml::format_duration(duration.min(LONGEST))
}

/// The entries of a mapping that is being written.
pub(super) type Entries<'a> = Vec<(std::borrow::Cow<'a, str>, Out<'a>)>;

fn read_request(node: &Node<'_>, reader: &mut Reader<'_>) -> Result<Request, Problem> {
    let mut fields = Fields::of(node, "the request")?;
    let method = read_method(fields.required("method")?)?;
    let url = read_url(fields.required("url")?)?;
    let headers = headers::read(fields.optional("headers"), "the headers")?;
    let body = body::read(fields.optional("body"), &headers, reader)?;
    let trailers = headers::read(fields.optional("trailers"), "the trailers")?;
    fields.finish()?;
    Ok(Request { method, url, headers, body, trailers })
}

fn write_request<'a>(request: &'a Request, writer: &mut Writer<'_>) -> Out<'a> {
    let mut entries = vec![
        ("method".into(), Out::text(request.method.as_str())),
        ("url".into(), Out::text(request.url.to_string())),
    ];
    headers::push(&mut entries, "headers", &request.headers);
    body::push(&mut entries, &request.body, &request.headers, writer);
    headers::push(&mut entries, "trailers", &request.trailers);
    Out::Mapping(entries)
}

fn read_method(node: &Node<'_>) -> Result<String, Problem> {
    let text = node.text("the method")?;
    if is_method(text) {
        return Ok(text.to_owned());
    }
    Err(Problem::new(node.span, "the method holds a character that no method may hold")
        .with_help("write it as it was sent, such as GET or POST"))
}

fn read_url(node: &Node<'_>) -> Result<Url, Problem> {
    Url::parse(node.text("the url")?).map_err(|error| {
        Problem::new(node.span, error.to_string())
            .with_help("write the whole url, such as https://api.github.com/repos/a/b?page=2")
    })
}

/// The longest duration that is read back.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
