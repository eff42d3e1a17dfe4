//! Values as a person is shown them: printable, short, and cut around the place where two of them part.

use std::borrow::Cow;

use exchange::Sha256;

use crate::tree::{Node, Part, PathSegment};

type Both = (Option<String>, Option<String>);

/// Both sides of a difference.
pub(crate) fn nodes(expected: Option<&Node<'_>>, actual: Option<&Node<'_>>) -> Both {
    let (x, y) = (expected.and_then(Written::of), actual.and_then(Written::of));
    if let (Some(x), Some(y)) = (&x, &y)
        && x == y
    {
        // What differs is how they are to be read, as with `1` called JSON on one side and text on the other.
        let kind = |node: Option<&Node<'_>>| node.map(|node| format!("{} read as {}", x.cut(0), kind(node)));
        return (kind(expected), kind(actual));
    }
    let from = match (&x, &y) {
        (Some(x), Some(y)) => shared(x.bytes(), y.bytes()),
        _ => 0,
    };
    (x.map(|text| text.cut(from)), y.map(|text| text.cut(from)))
}

/// Both sides of a difference between plain texts.
pub(crate) fn texts(expected: Option<&str>, actual: Option<&str>) -> Both {
    let from = shared(expected.unwrap_or_default().as_bytes(), actual.unwrap_or_default().as_bytes());
    let cut = |text: &str| Written::Plain(Cow::Borrowed(text)).cut(from);
    (expected.map(cut), actual.map(cut))
}

/// A body of which only this is known.
pub(crate) fn digest((size, sha256): (u64, Sha256)) -> String {
    let hash = sha256.to_string();
    format!("[{size} bytes, sha256 {}…]", &hash[..16])
}

/// The parts of a body, for when their order differs.
pub(crate) fn names(parts: &[&Part<'_>]) -> String {
    let names: Vec<_> = parts.iter().map(|part| part.name.as_deref().unwrap_or("(no name)")).collect();
    Written::Plain(Cow::Owned(format!("parts {}", names.join(", ")))).cut(0)
}

/// A value before it is cut.
#[derive(PartialEq, Eq)]
enum Written<'n> {
    /// A JSON string.
    Quoted(&'n str),
    Plain(Cow<'n, str>),
    Bytes(&'n [u8]),
}

impl<'n> Written<'n> {
    /// None for an empty body, which is as good as no body.
    fn of(node: &'n Node<'_>) -> Option<Self> {
        Some(match node {
            Node::String(text) => Self::Quoted(&text.text),
            Node::Text(text) => Self::Plain(Cow::Borrowed(&text.text)),
            Node::Bytes(bytes) if bytes.is_empty() => return None,
            Node::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Self::Plain(Cow::Borrowed(text)),
                Err(_) => Self::Bytes(bytes),
            },
            other => {
                let mut out = String::new();
                write_node(&mut out, other);
                Self::Plain(Cow::Owned(out))
            }
        })
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Quoted(text) => text.as_bytes(),
            Self::Plain(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// The part of the value around this byte.
    fn cut(&self, at: usize) -> String {
        match self {
            Self::Quoted(text) => cut(text, at, "\""),
            Self::Plain(text) => cut(text, at, ""),
            Self::Bytes(bytes) => {
                let start = at.min(bytes.len());
                let shown: Vec<_> = bytes[start..].iter().take(16).map(|b| format!("{b:02x}")).collect();
                format!("[{} bytes, from byte {start}: {}]", bytes.len(), shown.join(" "))
            }
        }
    }
}

fn cut(text: &str, at: usize, quote: &str) -> String {
    let start = if text.len() <= LONGEST {
        0
    } else {
        text.floor_char_boundary(at.min(text.len()).saturating_sub(BEFORE))
    };
    let mut out = String::from(quote);
    let mut len = 0;
    if start > 0 {
        out.push('…');
    }
    for c in text[start..].chars() {
        let escaped = escape(c, !quote.is_empty());
        len += escaped.chars().count();
        if len > LONGEST {
            out.push('…');
            break;
        }
        out.push_str(&escaped);
    }
    out.push_str(quote);
    out
}

/// Nothing that came over a wire may move the cursor of the terminal that shows it.
fn escape(c: char, quoted: bool) -> Cow<'static, str> {
    match c {
        '\n' => Cow::Borrowed("\\n"),
        '\r' => Cow::Borrowed("\\r"),
        '\t' => Cow::Borrowed("\\t"),
        '"' if quoted => Cow::Borrowed("\\\""),
        '\\' if quoted => Cow::Borrowed("\\\\"),
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {
            Cow::Owned(format!("\\u{:04x}", u32::from(c)))
        }
        c if c.is_control() => Cow::Owned(format!("\\u{:04x}", u32::from(c))),
        c => Cow::Owned(c.to_string()),
    }
}

/// As compact JSON, as far as it will be shown.
fn write_node(out: &mut String, node: &Node<'_>) {
    if out.len() > ENOUGH {
        return;
    }
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Node::Number(number, _) => out.push_str(number),
        Node::String(text) => write_quoted(out, &text.text),
        Node::Text(text) => out.push_str(&text.text),
        Node::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_node(out, &item.node);
                if out.len() > ENOUGH {
                    return;
                }
            }
            out.push(']');
        }
        Node::Map(members) => {
            out.push('{');
            for (i, member) in members.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_quoted(out, &member.key);
                out.push(':');
                write_node(out, &member.node);
                if out.len() > ENOUGH {
                    return;
                }
            }
            out.push('}');
        }
        Node::Path(segments) => {
            for segment in segments {
                out.push('/');
                out.push_str(match segment {
                    PathSegment::Text(text) => &text.text,
                    PathSegment::Volatile(raw) => raw,
                });
            }
        }
        Node::Parts(parts) => out.push_str(&names(&parts.iter().collect::<Vec<_>>())),
        Node::Bytes(bytes) => out.push_str(&String::from_utf8_lossy(&bytes[..bytes.len().min(ENOUGH)])),
        Node::Omitted { size, sha256 } => out.push_str(&digest((*size, *sha256))),
        Node::Credential(text) => out.push_str(text),
    }
}

fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars().take(ENOUGH) {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn kind(node: &Node<'_>) -> &'static str {
    match node {
        Node::Map(_) | Node::List(_) | Node::String(_) | Node::Number(..) | Node::Bool(_) | Node::Null => {
            "JSON"
        }
        Node::Parts(_) => "multipart",
        Node::Text(_) => "a field",
        _ => "text",
    }
}

/// How many bytes two values start with in common.
fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Characters of a value that are shown.
const LONGEST: usize = 116;

/// How many bytes are shown before the first that differs.
const BEFORE: usize = 40;

/// More of a structure is never shown.
const ENOUGH: usize = 4 * LONGEST;
