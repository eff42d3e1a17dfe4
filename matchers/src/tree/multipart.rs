//! Multipart bodies: by their parts, whatever the boundary between them (RFC 2046, 5.1 and RFC 7578).

use std::{borrow::Cow, collections::HashMap};

use crate::{
    place::Step,
    placeholder,
    policy::Shapes,
    tree::{Node, Part, Text, json, opaque},
    volatile::Scope,
};

/// None if the body is not what its boundary promises.
pub(super) fn read<'a>(
    bytes: &'a [u8],
    boundary: &str,
    scope: &Scope<'_>,
    shapes: Shapes,
) -> Option<Node<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    let mut seen: HashMap<Option<Cow<'a, str>>, usize> = HashMap::new();
    for raw in split(bytes, boundary)? {
        let name = raw.name.map(placeholder::without_numbers);
        let occurrence = seen.get(&name).copied().unwrap_or(0);
        let step = match &name {
            Some(name) => Step::Key(name),
            None => Step::Index(occurrence),
        };
        let scope = scope.enter(step);
        let content = scope.as_ref().map(|scope| {
            let media = raw.media.as_deref().unwrap_or("");
            content(media, raw.filename.is_some(), raw.content, name.as_deref(), scope, shapes)
        });
        if !content.as_ref().is_some_and(Node::is_credential) {
            seen.insert(name.clone(), occurrence + 1);
        }
        let (Some(scope), Some(content)) = (scope, content) else {
            continue;
        };
        // In a JSON part the index is one of its own items.
        let is_leaf = matches!(content, Node::Text(_) | Node::Bytes(_));
        if is_leaf && name.is_some() && scope.enter(Step::Index(occurrence)).is_none() {
            continue;
        }
        let counts = |field: &str| scope.enter(Step::Key(field)).is_some();
        parts.push(Part {
            name,
            occurrence,
            filename: raw.filename.filter(|_| counts("filename")),
            media: raw.media.filter(|_| counts("content-type")),
            content,
        });
    }
    Some(Node::Parts(parts))
}

fn content<'a>(
    media: &str,
    is_file: bool,
    bytes: &'a [u8],
    name: Option<&str>,
    scope: &Scope<'_>,
    shapes: Shapes,
) -> Node<'a> {
    let name = name.unwrap_or("");
    let essence = media.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if let Some(node) = json::read(&essence, bytes, name, scope, shapes) {
        return node;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if placeholder::is_all_of(text) => {
            Node::Credential(placeholder::without_numbers(Cow::Borrowed(text)))
        }
        Ok(text) if !is_file => Node::Text(Text::value(Cow::Borrowed(text), name, shapes)),
        _ => opaque(bytes),
    }
}

/// A part as it was sent.
struct RawPart<'a> {
    name: Option<Cow<'a, str>>,
    filename: Option<Cow<'a, str>>,
    media: Option<Cow<'a, str>>,
    content: &'a [u8],
}

fn split<'a>(bytes: &'a [u8], boundary: &str) -> Option<Vec<RawPart<'a>>> {
    if boundary.is_empty() {
        return None;
    }
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let (_, mut rest) = next_delimiter(bytes, delimiter.as_bytes(), true)?;
    loop {
        match rest {
            Delimited::End => return Some(parts),
            Delimited::Part(after) => {
                // The line break before a delimiter belongs to it; headers may be missing altogether.
                let (part, next) = next_delimiter(after, delimiter.as_bytes(), false)?;
                parts.push(raw_part(part)?);
                rest = next;
            }
        }
    }
}

enum Delimited<'a> {
    Part(&'a [u8]),
    End,
}

/// What stands before the next delimiter, and what after it.
fn next_delimiter<'a>(
    bytes: &'a [u8],
    delimiter: &[u8],
    at_start: bool,
) -> Option<(&'a [u8], Delimited<'a>)> {
    if at_start && let Some(after) = bytes.strip_prefix(delimiter).and_then(delimited) {
        return Some((&[], after));
    }
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&b| b == b'\r') {
        let start = from + at;
        let after = bytes[start..].strip_prefix(b"\r\n");
        if let Some(after) = after.and_then(|line| line.strip_prefix(delimiter)).and_then(delimited) {
            return Some((&bytes[..start], after));
        }
        from = start + 1;
    }
    None
}

/// The rest of a delimiter's line decides whether it is one, and whether it is the last.
fn delimited(after: &[u8]) -> Option<Delimited<'_>> {
    if after.starts_with(b"--") {
        return Some(Delimited::End);
    }
    let padding = after.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    // The part keeps this line break, so that an empty one still has a break before its end.
    after[padding..].starts_with(b"\r\n").then_some(Delimited::Part(&after[padding..]))
}

/// `part` starts with the line break that ends the delimiter before it.
fn raw_part(part: &[u8]) -> Option<RawPart<'_>> {
    let (head, content) = match part {
        [] => (&part[..0], part),
        [b'\r', b'\n', b'\r', b'\n', content @ ..] => (&part[..0], content),
        [b'\r', b'\n', rest @ ..] => {
            let end = rest.windows(4).position(|w| w == b"\r\n\r\n");
            match end {
                Some(end) => (&rest[..end], &rest[end + 4..]),
                // Nothing but headers: the empty line's break is that of the next delimiter.
                None => (rest.strip_suffix(b"\r\n")?, &part[..0]),
            }
        }
        _ => return None,
    };
    let head = std::str::from_utf8(head).ok()?;
    let mut raw = RawPart { name: None, filename: None, media: None, content };
    for line in head.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-disposition") {
            raw.name = parameter(value, "name");
            raw.filename = parameter(value, "filename").or_else(|| parameter(value, "filename*"));
        } else if name.eq_ignore_ascii_case("content-type") {
            raw.media = Some(Cow::Borrowed(value));
        }
    }
    Some(raw)
}

/// A parameter of a header value; a quoted one may hold semicolons and escaped quotes.
fn parameter<'a>(value: &'a str, wanted: &str) -> Option<Cow<'a, str>> {
    let (_, mut rest) = value.split_once(';')?;
    loop {
        let (name, after) = rest.split_once('=')?;
        let (found, after) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let end = after.find(';').unwrap_or(after.len());
                (Cow::Borrowed(after[..end].trim()), &after[end..])
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(found);
        }
        (_, rest) = after.split_once(';')?;
    }
}

/// The text up to the closing quote, and what follows it.
fn unquote(quoted: &str) -> (Cow<'_, str>, &str) {
    let mut escaped = false;
    for (i, c) in quoted.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => {
                let inner = &quoted[..i];
                let text = if inner.contains("\\\"") {
                    Cow::Owned(inner.replace("\\\"", "\""))
                } else {
                    Cow::Borrowed(inner)
                };
                return (text, &quoted[i + 1..]);
            }
            _ => {}
        }
    }
    (Cow::Borrowed(quoted), "")
}
