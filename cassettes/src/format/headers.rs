//! Header fields and trailers.
//!
//! A mapping, because that reads best; a repeated name has a list. Where repeats of one name stand apart, a
//! mapping would lose their place, so the block becomes a list of one-pair mappings.

use exchange::{Header, Headers};
use yaml::{Fields, Node, Out, Problem, Value};

use super::{
    body::{read_base64, write_base64},
    exchange::Entries,
};

pub(super) fn read(node: Option<&Node<'_>>, what: &'static str) -> Result<Headers, Problem> {
    let mut headers = Headers::new();
    match node.map(|node| (node, &node.value)) {
        None => {}
        Some((_, Value::Sequence(items))) => {
            for item in items {
                let [(name, value)] = item.mapping("a header")? else {
                    return Err(Problem::new(item.span, "expected one name and its value")
                        .with_help("write `- name: value`, one item for each header"));
                };
                headers.push(read_field(name, value)?);
            }
        }
        Some((node, _)) => {
            for (name, value) in node.mapping(what)? {
                match &value.value {
                    Value::Sequence(values) if values.is_empty() => {
                        return Err(Problem::new(value.span, "a header needs a value")
                            .with_help("write '' for an empty value, or remove the header"));
                    }
                    Value::Sequence(values) => {
                        for value in values {
                            headers.push(read_field(name, value)?);
                        }
                    }
                    _ => headers.push(read_field(name, value)?),
                }
            }
        }
    }
    Ok(headers)
}

/// Writes the block unless it is empty.
pub(super) fn push<'a>(entries: &mut Entries<'a>, key: &'static str, headers: &'a Headers) {
    if !headers.is_empty() {
        entries.push((key.into(), write(headers)));
    }
}

fn write(headers: &Headers) -> Out<'_> {
    let mut block: Vec<(&str, Vec<Out<'_>>)> = Vec::with_capacity(headers.len());
    for header in headers {
        let name = header.name();
        match block.iter().rposition(|(known, _)| *known == name) {
            Some(place) if place + 1 == block.len() => block[place].1.push(write_value(header)),
            Some(_) => return write_pairs(headers),
            None => block.push((name, vec![write_value(header)])),
        }
    }
    Out::mapping(block.into_iter().map(|(name, mut values)| match values.len() {
        1 => (name, values.remove(0)),
        _ => (name, Out::Sequence(values)),
    }))
}

fn write_pairs(headers: &Headers) -> Out<'_> {
    Out::sequence(headers.iter().map(|header| Out::mapping([(header.name(), write_value(header))])))
}

fn read_field(name: &Node<'_>, value: &Node<'_>) -> Result<Header, Problem> {
    let key = name.text("the name of a header")?;
    // One spelling for a name: two that differ in case would be two keys here and one header on the wire.
    if key.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(Problem::new(name.span, format!("header name `{key}` is not in lower case"))
            .with_help(format!("write `{}`", key.to_ascii_lowercase())));
    }
    let content = match &value.value {
        Value::Mapping(_) => {
            let mut fields = Fields::of(value, "the value of a header")?;
            let bytes = read_base64(fields.required("base64")?)?;
            fields.finish()?;
            bytes.to_vec()
        }
        _ => value.text("the value of a header")?.as_bytes().to_vec(),
    };
    Header::new(key, content).map_err(|error| match error {
        exchange::HeaderError::Name(_) => Problem::new(name.span, error.to_string())
            .with_help("a header name is made of letters, digits and !#$%&'*+-.^_`|~"),
        exchange::HeaderError::Value(_) => Problem::new(value.span, error.to_string())
            .with_help("write the value on one line; another header needs a key of its own"),
    })
}

fn write_value(header: &Header) -> Out<'_> {
    match header.text() {
        Some(text) => Out::text(text),
        None => Out::Mapping(vec![write_base64(header.value())]),
    }
}
