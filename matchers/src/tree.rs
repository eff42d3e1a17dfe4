//! A request as it is compared: one tree, with everything that does not count already gone.
//!
//! The key and the differences both come from here, so neither can know a rule that the other does not.

mod json;
mod multipart;
mod pairs;

use std::borrow::Cow;

use exchange::{Content, Headers, Request, Sha256, boundary_in, is_form};

use crate::{
    percent,
    place::{Place, Step},
    placeholder,
    policy::{Compare, Policy, Shapes},
    shape::Shape,
    volatile::Scope,
};

/// The parts of a request that count, always in the same order.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) fields: Vec<(&'static str, Node<'a>)>,
    /// The body before it was read, to hold against one of which only the hash is known.
    pub(crate) raw_body: Option<&'a [u8]>,
}

#[derive(Debug)]
pub(crate) enum Node<'a> {
    Null,
    Bool(bool),
    /// A number as it was spelled.
    Number(Cow<'a, str>, Option<Shape>),
    /// A JSON string.
    String(Text<'a>),
    /// Any other text that is one value.
    Text(Text<'a>),
    List(Vec<Item<'a>>),
    /// Members in the order of their keys; those under one key in the order in which they came.
    Map(Vec<Member<'a>>),
    Path(Vec<PathSegment<'a>>),
    Parts(Vec<Part<'a>>),
    Bytes(Cow<'a, [u8]>),
    Omitted {
        size: u64,
        sha256: Sha256,
    },
    /// A value that is nothing but a credential. As a member or a part it is equal to any other and to none at all;
    /// a list would lose its count with it, so there its kind counts.
    Credential(Cow<'a, str>),
}

/// A text without the numbers of its placeholders.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) shape: Option<Shape>,
}

/// Keeps its number where items before it are volatile.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) index: usize,
    pub(crate) node: Node<'a>,
}

#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub(crate) key: Cow<'a, str>,
    /// How many members under this key come before it, credentials not counted: a request without one must
    /// number the others the same.
    pub(crate) occurrence: usize,
    pub(crate) node: Node<'a>,
}

#[derive(Debug)]
pub(crate) enum PathSegment<'a> {
    Text(Text<'a>),
    /// Only that it is there counts: a shorter path leads elsewhere.
    Volatile(&'a str),
}

/// A part of a multipart body.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) name: Option<Cow<'a, str>>,
    /// How many parts of this name, or without any, come before it, credentials not counted.
    pub(crate) occurrence: usize,
    pub(crate) filename: Option<Cow<'a, str>>,
    pub(crate) media: Option<Cow<'a, str>>,
    pub(crate) content: Node<'a>,
}

impl<'a> Tree<'a> {
    pub(crate) fn of(request: &'a Request, policy: &Policy) -> Self {
        let scope = Scope::of(&policy.volatile);
        let shapes = policy.shapes;
        let url = &request.url;
        let mut fields = Vec::with_capacity(8);
        let mut field = |name: &'static str, read: &dyn Fn(&Scope<'_>) -> Node<'a>| {
            if let Some(scope) = scope.enter(Step::Key(name)) {
                fields.push((name, read(&scope)));
            }
        };
        // A request for a WebSocket and a plain GET of the same URL are two things.
        let method = if request.is_websocket() { "GET, to speak WebSocket" } else { request.method.as_str() };
        field("method", &|_| Node::plain(method));
        field("scheme", &|_| Node::plain(url.scheme.as_str()));
        field("host", &|_| Node::plain(&url.host));
        field("port", &|_| Node::Number(Cow::Owned(url.port.to_string()), None));
        field("path", &|scope| path(&url.path, scope, shapes));
        field("query", &|scope| pairs::read(url.query.as_deref().unwrap_or(""), scope, shapes));
        if policy.compare == Compare::Full {
            field("headers", &|scope| headers(&request.headers, &policy.headers, scope));
            field("body", &|scope| body(request, scope, shapes));
        }
        Self { fields, raw_body: request.body.bytes().map(|bytes| &bytes[..]) }
    }
}

impl<'a> Node<'a> {
    pub(crate) fn is_credential(&self) -> bool {
        matches!(self, Self::Credential(_))
    }

    fn plain(text: &'a str) -> Self {
        Self::Text(Text { text: placeholder::without_numbers(Cow::Borrowed(text)), shape: None })
    }
}

impl<'a> Text<'a> {
    /// A value under this name.
    fn value(text: Cow<'a, str>, name: &str, shapes: Shapes) -> Self {
        Self {
            shape: match shapes {
                Shapes::Loose => Shape::of_text(&text, name),
                Shapes::Exact => None,
            },
            text: placeholder::without_numbers(text),
        }
    }

    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.text == other.text || (self.shape.is_some() && self.shape == other.shape)
    }
}

impl Part<'_> {
    pub(crate) fn is_credential(&self) -> bool {
        self.content.is_credential()
    }

    /// What tells the parts of one body apart.
    pub(crate) fn id(&self) -> (Option<&str>, usize) {
        (self.name.as_deref(), self.occurrence)
    }

    /// Calls `visit` with the part's own place in the body.
    pub(crate) fn at(&self, body: &Place<'_>, visit: impl FnOnce(&Place<'_>)) {
        match (&self.name, self.occurrence) {
            (None, index) => visit(&body.index(index)),
            (Some(name), 0) => visit(&body.key(name)),
            (Some(name), repeat) => visit(&body.key(name).index(repeat)),
        }
    }
}

fn path<'a>(path: &'a str, scope: &Scope<'_>, shapes: Shapes) -> Node<'a> {
    let segments = path.strip_prefix('/').unwrap_or(path).split('/');
    Node::Path(
        segments
            .enumerate()
            .map(|(i, raw)| {
                if scope.enter(Step::Index(i)).is_none() {
                    return PathSegment::Volatile(raw);
                }
                let text = percent::settle_segment(raw);
                PathSegment::Text(Text {
                    shape: match shapes {
                        Shapes::Loose => Shape::of_segment(&text),
                        Shapes::Exact => None,
                    },
                    text: placeholder::without_numbers(text),
                })
            })
            .collect(),
    )
}

fn headers<'a>(headers: &'a Headers, named: &[String], scope: &Scope<'_>) -> Node<'a> {
    let mut names: Vec<String> = named.iter().map(|name| name.to_ascii_lowercase()).collect();
    names.sort_unstable();
    names.dedup();
    // A WebSocket key is a nonce, and its kin are what the two ends agree on, not what is asked for.
    names.retain(|name| !name.starts_with("sec-websocket-"));
    let member = |name: String| {
        scope.enter(Step::Header(&name))?;
        let value = joined(headers, &name)?;
        let node = if placeholder::is_all_of(&value) {
            Node::Credential(placeholder::without_numbers(value))
        } else {
            Node::Text(Text { text: placeholder::without_numbers(value), shape: None })
        };
        Some(Member { key: Cow::Owned(name), occurrence: 0, node })
    };
    Node::Map(names.into_iter().filter_map(member).collect())
}

/// All values of a header in one, as RFC 9110, 5.3 lets anyone on the way join them.
fn joined<'a>(headers: &'a Headers, name: &str) -> Option<Cow<'a, str>> {
    let mut values = headers
        .iter()
        .filter(|header| header.name() == name)
        .map(|header| String::from_utf8_lossy(header.value()));
    let first = values.next()?;
    let all = values.fold(first, |all, value| Cow::Owned(format!("{all}, {value}")));
    if name == "content-type"
        && let Some((media, _)) = all.split_once(';')
        && is_multipart(&media.trim().to_ascii_lowercase())
    {
        // The boundary is drawn anew for every request.
        return Some(Cow::Owned(media.trim().to_owned()));
    }
    Some(all)
}

fn body<'a>(request: &'a Request, scope: &Scope<'_>, shapes: Shapes) -> Node<'a> {
    let bytes = match &request.body.content {
        Content::Bytes(bytes) => &bytes[..],
        Content::Omitted { size, sha256 } => {
            return Node::Omitted { size: *size, sha256: *sha256 };
        }
    };
    structured(&request.headers, bytes, scope, shapes).unwrap_or_else(|| opaque(bytes))
}

/// JSON and forms are told by how they look. Many recorders keep a body without its type, and such a one must be read
/// as the live one is, whatever that says of itself.
fn structured<'a>(headers: &Headers, bytes: &'a [u8], scope: &Scope<'_>, shapes: Shapes) -> Option<Node<'a>> {
    if bytes.is_empty() {
        return None;
    }
    let media = headers.media_type();
    // Before forms: curl calls any body a form, JSON too, unless it is told better.
    if let Some(node) = json::read(media.as_deref().unwrap_or(""), bytes, "", scope, shapes) {
        return Some(node);
    }
    let boundary = match &media {
        Some(media) if is_multipart(media) => Some(Cow::Owned(headers.media_parameter("boundary")?)),
        Some(_) => None,
        None => boundary_in(bytes).map(Cow::Borrowed),
    };
    if let Some(boundary) = boundary {
        return multipart::read(bytes, &boundary, scope, shapes);
    }
    // What is called a form and is none is text, so that it equals the same text without a type.
    let form = std::str::from_utf8(bytes).ok().filter(|_| is_form(bytes))?;
    Some(pairs::read(form, scope, shapes))
}

fn opaque(bytes: &[u8]) -> Node<'_> {
    Node::Bytes(placeholder::bytes_without_numbers(bytes))
}

fn is_multipart(media: &str) -> bool {
    media.starts_with("multipart/")
}
