//! What came back: the response, its interim heads, and how it ended.

use exchange::{End, Fault, Header, Informational, Response};
use yaml::{Fields, Node, Out, Problem};

use super::{
    Reader, Writer, body,
    exchange::{push_after, read_after},
    headers, message,
};

pub(super) fn read(node: &Node<'_>, reader: &mut Reader<'_>) -> Result<Response, Problem> {
    let mut fields = Fields::of(node, "the response")?;
    let status = fields.required("status").and_then(read_status)?;
    let reason = fields.optional("reason").map(read_reason).transpose()?;
    let after = read_after(fields.optional("after"), "the delay of the response")?;
    let informational = match fields.optional("informational") {
        Some(list) => list
            .sequence("the interim responses")?
            .iter()
            .map(read_informational)
            .collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let headers = headers::read(fields.optional("headers"), "the headers")?;
    let body = body::read(fields.optional("body"), &headers, reader)?;
    let trailers = headers::read(fields.optional("trailers"), "the trailers")?;
    let messages = match fields.optional("messages") {
        Some(list) => list.sequence("the messages")?.iter().map(message::read).collect::<Result<_, _>>()?,
        None => Vec::new(),
    };
    let end = fields.optional("ends").map_or(Ok(End::Whole), read_end)?;
    fields.finish()?;
    Ok(Response { status, reason, headers, after, informational, body, trailers, messages, end })
}

pub(super) fn write<'a>(response: &'a Response, writer: &mut Writer<'_>) -> Out<'a> {
    let mut entries = vec![("status".into(), Out::from(response.status))];
    if let Some(reason) = &response.reason {
        entries.push(("reason".into(), Out::text(reason.as_str())));
    }
    push_after(&mut entries, "after", response.after);
    if !response.informational.is_empty() {
        let list = response.informational.iter().map(write_informational);
        entries.push(("informational".into(), Out::sequence(list)));
    }
    headers::push(&mut entries, "headers", &response.headers);
    body::push(&mut entries, &response.body, &response.headers, writer);
    headers::push(&mut entries, "trailers", &response.trailers);
    if !response.messages.is_empty() {
        entries.push(("messages".into(), Out::sequence(response.messages.iter().map(message::write))));
    }
    match response.end {
        End::Whole => {}
        End::Cut(fault) => entries.push(("ends".into(), Out::text(fault.as_str()))),
        End::ClientLeft => entries.push(("ends".into(), Out::text(CLIENT_LEFT))),
    }
    Out::Mapping(entries)
}

pub(super) fn read_fault(node: &Node<'_>) -> Result<Fault, Problem> {
    node.choice("the fault", &Fault::ALL.map(|fault| (fault.as_str(), fault)))
}

fn read_status(node: &Node<'_>) -> Result<u16, Problem> {
    match node.integer("the status", 100..=999)? {
        SWITCHING_PROTOCOLS => Ok(SWITCHING_PROTOCOLS),
        status @ 100..=199 => Err(Problem::new(node.span, format!("{status} is no status of a response"))
            .with_help("interim responses stand under `informational`")),
        status => Ok(status),
    }
}

fn read_reason(node: &Node<'_>) -> Result<String, Problem> {
    let text = node.text("the reason")?;
    // A reason phrase may hold what a header's value may (RFC 9112, section 4).
    match Header::new("reason", text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(Problem::new(node.span, "the reason holds a line break or a control character")
            .with_help("write it on one line, or leave it out")),
    }
}

fn read_informational(node: &Node<'_>) -> Result<Informational, Problem> {
    let mut fields = Fields::of(node, "the interim response")?;
    let status = fields.required("status")?.integer("the status of an interim response", 102..=199)?;
    let headers = headers::read(fields.optional("headers"), "the headers")?;
    fields.finish()?;
    Ok(Informational { status, headers })
}

fn write_informational(informational: &Informational) -> Out<'_> {
    let mut entries = vec![("status".into(), Out::from(informational.status))];
    headers::push(&mut entries, "headers", &informational.headers);
    Out::Mapping(entries)
}

fn read_end(node: &Node<'_>) -> Result<End, Problem> {
    let mut choices = vec![(CLIENT_LEFT, End::ClientLeft)];
    choices.extend(Fault::ALL.map(|fault| (fault.as_str(), End::Cut(fault))));
    node.choice("how the response ends", &choices)
}

/// The one status below 200 that ends an exchange over HTTP.
const SWITCHING_PROTOCOLS: u16 = 101;

const CLIENT_LEFT: &str = "client_left";
