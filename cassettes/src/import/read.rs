//! Steps that the readers of several formats share: texts, bytes, headers and times as recorders write them.

use std::{borrow::Cow, time::Duration};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use serde_json::{Map, Number, Value as Json};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use yaml::{Node, Problem, ScalarKind, ScalarStyle, Span, Value};

/// A header field before it was looked at.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) value: Bytes,
    pub(super) span: Span,
}

/// A member that must be there.
pub(super) fn member<'n, 's>(node: &'n Node<'s>, key: &str, what: &str) -> Result<&'n Node<'s>, Problem> {
    if !matches!(node.value, Value::Mapping(_)) {
        return Err(Problem::new(
            node.span,
            format!("expected {what} as a mapping, found {}", node.describe()),
        ));
    }
    node.get(key).ok_or_else(|| Problem::new(opening(node), format!("missing key `{key}` in {what}")))
}

/// A member that may be missing or null.
pub(super) fn optional<'n, 's>(node: &'n Node<'s>, key: &str) -> Option<&'n Node<'s>> {
    node.get(key).filter(|value| !value.is_null())
}

pub(super) fn text<'n>(node: &'n Node<'_>, key: &str, what: &str) -> Result<&'n str, Problem> {
    member(node, key, what)?.text(&format!("`{key}`"))
}

/// A method as it is on the wire. Libraries write the usual ones in capitals, however a program spells them.
pub(super) fn method(text: &str) -> String {
    let upper = text.to_ascii_uppercase();
    if USUAL_METHODS.contains(&upper.as_str()) { upper } else { text.to_owned() }
}

/// A status, which some recorders keep as text.
pub(super) fn status(node: &Node<'_>) -> Result<u16, Problem> {
    let number = node.as_text().and_then(|text| text.split(' ').next()?.parse::<u16>().ok());
    number.filter(|status| (100..=999).contains(status)).ok_or_else(|| {
        Problem::new(
            node.span,
            format!("expected the status as a number from 100 to 999, found {}", found(node)),
        )
    })
}

/// The bytes of a text, or of base64 where a tag says so.
pub(super) fn bytes(node: &Node<'_>, what: &str) -> Result<Bytes, Problem> {
    match node.as_scalar() {
        Some(scalar) if scalar.style == ScalarStyle::Binary => base64(node),
        Some(scalar) if scalar.kind() == ScalarKind::Null => Ok(Bytes::new()),
        Some(scalar) => Ok(Bytes::copy_from_slice(scalar.text.as_bytes())),
        None => Err(Problem::new(node.span, format!("expected {what} as text, found {}", node.describe()))),
    }
}

/// Base64 as recorders write it: in lines, in either alphabet, padded or not.
pub(super) fn base64(node: &Node<'_>) -> Result<Bytes, Problem> {
    let text = node.as_text().unwrap_or_default();
    decode_base64(text)
        .ok_or_else(|| Problem::new(node.span, "this is not base64, though the recording says so"))
}

pub(super) fn decode_base64(text: &str) -> Option<Bytes> {
    let mut compact: Cow<'_, str> = Cow::Borrowed(text);
    if text.bytes().any(|b| b.is_ascii_whitespace()) {
        compact = text.split_ascii_whitespace().collect::<String>().into();
    }
    let engine = if compact.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    engine.decode(compact.as_bytes()).ok().map(Bytes::from)
}

pub(super) fn decode_hex(text: &str) -> Option<Bytes> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    text.as_bytes()
        .chunks(2)
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect::<Option<Vec<u8>>>()
        .map(Bytes::from)
}

/// Headers in any of the ways in which they are kept: a mapping to a value or to a list of them, a list of pairs, a
/// list of `{name, value}`, or one flat list.
pub(super) fn headers(node: Option<&Node<'_>>) -> Result<Vec<Field>, Problem> {
    let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(Vec::new()) };
    let mut fields = Vec::new();
    match &node.value {
        Value::Mapping(entries) => {
            for (name, value) in entries {
                push_all(&mut fields, name, value)?;
            }
        }
        Value::Sequence(items) if items.iter().all(|item| item.as_scalar().is_some()) => {
            for pair in items.chunks(2) {
                match pair {
                    [name, value] => fields.push(field(name, value)?),
                    _ => return Err(Problem::new(node.span, "a header name without its value")),
                }
            }
        }
        Value::Sequence(items) => {
            for item in items {
                match &item.value {
                    Value::Sequence(pair) => match pair.as_slice() {
                        [name, value] => push_all(&mut fields, name, value)?,
                        _ => return Err(Problem::new(item.span, "expected a header as name and value")),
                    },
                    _ => {
                        let name = member(item, "name", "the header")?;
                        fields.push(field(name, member(item, "value", "the header")?)?);
                    }
                }
            }
        }
        Value::Scalar(_) => {
            return Err(Problem::new(node.span, format!("expected headers, found {}", node.describe())));
        }
    }
    Ok(fields)
}

fn push_all(fields: &mut Vec<Field>, name: &Node<'_>, value: &Node<'_>) -> Result<(), Problem> {
    match &value.value {
        Value::Sequence(values) => {
            for value in values {
                fields.push(field(name, value)?);
            }
        }
        _ => fields.push(field(name, value)?),
    }
    Ok(())
}

fn field(name: &Node<'_>, value: &Node<'_>) -> Result<Field, Problem> {
    let name_text = bytes(name, "a header name")?;
    let name_text = String::from_utf8(name_text.to_vec())
        .map_err(|_| Problem::new(name.span, "a header name that is not text"))?;
    Ok(Field { name: name_text, value: bytes(value, "a header value")?, span: value.span })
}

/// Pairs as a form or a query writes them.
pub(super) fn form<'p>(pairs: impl IntoIterator<Item = (&'p str, &'p str)>) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push('&');
        }
        push_form(&mut text, name);
        text.push('=');
        push_form(&mut text, value);
    }
    text
}

fn push_form(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'*' | b'-' | b'.' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
}

/// A value of a JSON body that a recorder kept as structure. `rules` says which plain words were numbers to it.
pub(super) fn json(node: &Node<'_>, rules: Numbers) -> Json {
    match &node.value {
        Value::Sequence(items) => Json::Array(items.iter().map(|item| json(item, rules)).collect()),
        Value::Mapping(entries) => {
            let mut members = Map::with_capacity(entries.len());
            for (key, value) in entries {
                members.insert(key.as_text().unwrap_or_default().to_owned(), json(value, rules));
            }
            Json::Object(members)
        }
        Value::Scalar(scalar) => match scalar.kind() {
            ScalarKind::Null => Json::Null,
            ScalarKind::Boolean(value) => Json::Bool(value),
            // YAML 1.1 takes `12e3` for text: a float needs its point.
            ScalarKind::Number(text)
                if rules == Numbers::Yaml11 && text.contains(['e', 'E']) && !text.contains('.') =>
            {
                Json::String(text.to_owned())
            }
            ScalarKind::Number(text) => Json::Number(Number::from_string_unchecked(text.to_owned())),
            ScalarKind::Text(text) => Json::String(text.to_owned()),
        },
    }
}

/// Which reader the structure was written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Json,
    Yaml11,
}

/// A JSON body made from structure. Its layout is not known; the compact one is what most programs send.
pub(super) fn json_bytes(node: &Node<'_>, rules: Numbers) -> Bytes {
    json(node, rules).to_string().into()
}

/// A time such as `2024-05-01T10:00:00.123Z`.
pub(super) fn instant(node: &Node<'_>) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(node.as_text()?, &Rfc3339).ok()
}

/// Milliseconds, with or without a fraction; what is negative was not measured.
pub(super) fn milliseconds(node: &Node<'_>) -> Option<Duration> {
    let number: f64 = node.as_text()?.parse().ok()?;
    (number.is_finite() && (0.0..=YEAR_MS).contains(&number)).then(|| Duration::from_millis(number as u64))
}

/// A span of time in seconds; what is not one is none.
pub(super) fn seconds(seconds: f64) -> Duration {
    let whole = (seconds * 1000.0).round();
    if whole.is_finite() && (0.0..=YEAR_MS).contains(&whole) {
        Duration::from_millis(whole as u64)
    } else {
        Duration::ZERO
    }
}

/// What stands in a node, for "found …".
pub(super) fn found(node: &Node<'_>) -> String {
    match node.as_text() {
        Some(text) if text.chars().count() <= 40 => format!("`{text}`"),
        _ => node.describe().to_owned(),
    }
}

/// The first line of a collection: pointing at all of a long one points at nothing.
pub(super) fn opening(node: &Node<'_>) -> Span {
    let first = match &node.value {
        Value::Mapping(entries) => entries.first().map(|(key, _)| key.span.end),
        Value::Sequence(items) => items.first().map(|item| opening(item).end),
        Value::Scalar(_) => None,
    };
    first.map_or(node.span, |end| Span::new(node.span.start, end.max(node.span.start)))
}

const USUAL_METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

const YEAR_MS: f64 = 365.0 * 24.0 * 3600.0 * 1000.0;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
