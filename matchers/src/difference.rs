//! Fields in which two requests differ.

use std::{cmp::Ordering, collections::HashSet};

use exchange::{FieldPath, Sha256};

use crate::{
    excerpt,
    number::Decimal,
    place::Place,
    tree::{Member, Node, Part, PathSegment, Tree},
};

/// One field that differs. Both values are printable and cut to the place where they part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub path: FieldPath,
    /// None: the recorded request has no such field.
    pub expected: Option<String>,
    /// None: the live request has no such field.
    pub actual: Option<String>,
}

/// The first `limit` differences between two trees that were read under the same policy.
pub(crate) fn between(recorded: &Tree<'_>, live: &Tree<'_>, limit: usize) -> Vec<Difference> {
    let mut walk = Walk { found: Vec::new(), limit };
    for ((name, expected), (_, actual)) in recorded.fields.iter().zip(&live.fields) {
        let place = Place::root(name);
        match (expected, actual) {
            (Node::Omitted { size, sha256 }, kept) if !matches!(kept, Node::Omitted { .. }) => {
                walk.omitted((*size, *sha256), digest(kept, live), Side::Recorded, &place);
            }
            (kept, Node::Omitted { size, sha256 }) if !matches!(kept, Node::Omitted { .. }) => {
                walk.omitted((*size, *sha256), digest(kept, recorded), Side::Live, &place);
            }
            _ => walk.nodes(expected, actual, &place),
        }
    }
    walk.found
}

struct Walk {
    found: Vec<Difference>,
    limit: usize,
}

/// Whose body was omitted.
enum Side {
    Recorded,
    Live,
}

impl Walk {
    fn nodes(&mut self, expected: &Node<'_>, actual: &Node<'_>, place: &Place<'_>) {
        if self.found.len() >= self.limit {
            return;
        }
        match (expected, actual) {
            (Node::List(a), Node::List(b)) => merge(
                a,
                b,
                |x, y| x.index.cmp(&y.index),
                |x, y| {
                    let index = x.or(y).map_or(0, |item| item.index);
                    self.maybe(x.map(|i| &i.node), y.map(|i| &i.node), &place.index(index));
                },
            ),
            (Node::Map(a), Node::Map(b)) => self.maps(a, b, place),
            (Node::Parts(a), Node::Parts(b)) => self.parts(a, b, place),
            _ if is_like(expected, actual) => {}
            _ => self.differ(Some(expected), Some(actual), place),
        }
    }

    fn maybe(&mut self, expected: Option<&Node<'_>>, actual: Option<&Node<'_>>, place: &Place<'_>) {
        match (expected, actual) {
            (Some(expected), Some(actual)) => self.nodes(expected, actual, place),
            _ => self.differ(expected, actual, place),
        }
    }

    fn maps(&mut self, expected: &[Member<'_>], actual: &[Member<'_>], place: &Place<'_>) {
        let (counted, came) = (members_without_credentials(expected), members_without_credentials(actual));
        let by_key = |x: &&Member<'_>, y: &&Member<'_>| (&x.key, x.occurrence).cmp(&(&y.key, y.occurrence));
        merge(&counted, &came, by_key, |x, y| {
            let Some(member) = x.or(y) else { return };
            // A value against a credential: not equal, and not absent either.
            let x = x.map(|m| &m.node).or_else(|| credential(expected, &member.key));
            let y = y.map(|m| &m.node).or_else(|| credential(actual, &member.key));
            let key = place.key(&member.key);
            match member.occurrence {
                0 => self.maybe(x, y, &key),
                repeat => self.maybe(x, y, &key.index(repeat)),
            }
        });
    }

    fn parts(&mut self, expected: &[Part<'_>], actual: &[Part<'_>], place: &Place<'_>) {
        let expected = parts_without_credentials(expected);
        let actual = parts_without_credentials(actual);
        if !expected.iter().map(|part| part.id()).eq(actual.iter().map(|part| part.id())) {
            self.other_parts(&expected, &actual, place);
            return;
        }
        for (x, y) in expected.iter().zip(&actual) {
            x.at(place, |place| self.part(x, y, place));
        }
    }

    /// The parts themselves are others, or stand in another order.
    fn other_parts(&mut self, expected: &[&Part<'_>], actual: &[&Part<'_>], place: &Place<'_>) {
        let known: HashSet<_> = expected.iter().map(|part| part.id()).collect();
        let came: HashSet<_> = actual.iter().map(|part| part.id()).collect();
        for part in expected.iter().filter(|part| !came.contains(&part.id())) {
            part.at(place, |place| self.differ(Some(&part.content), None, place));
        }
        for part in actual.iter().filter(|part| !known.contains(&part.id())) {
            part.at(place, |place| self.differ(None, Some(&part.content), place));
        }
        if known == came {
            self.push(place, Some(excerpt::names(expected)), Some(excerpt::names(actual)));
        }
    }

    fn part(&mut self, expected: &Part<'_>, actual: &Part<'_>, place: &Place<'_>) {
        for (name, x, y) in [
            ("filename", &expected.filename, &actual.filename),
            ("content-type", &expected.media, &actual.media),
        ] {
            if x != y {
                let (x, y) = excerpt::texts(x.as_deref(), y.as_deref());
                self.push(&place.key(name), x, y);
            }
        }
        self.nodes(&expected.content, &actual.content, place);
    }

    fn omitted(&mut self, omitted: (u64, Sha256), kept: (u64, Sha256), side: Side, place: &Place<'_>) {
        if omitted == kept || (omitted.0, kept.0) == (0, 0) {
            return;
        }
        let (omitted, kept) = (excerpt::digest(omitted), excerpt::digest(kept));
        let (expected, actual) = match side {
            Side::Recorded => (omitted, kept),
            Side::Live => (kept, omitted),
        };
        self.push(place, Some(expected), Some(actual));
    }

    fn differ(&mut self, expected: Option<&Node<'_>>, actual: Option<&Node<'_>>, place: &Place<'_>) {
        let (expected, actual) = excerpt::nodes(expected, actual);
        self.push(place, expected, actual);
    }

    fn push(&mut self, place: &Place<'_>, expected: Option<String>, actual: Option<String>) {
        if self.found.len() < self.limit {
            self.found.push(Difference { path: place.path(), expected, actual });
        }
    }
}

/// Nodes that hold no others, or no others that are named one by one.
fn is_like(expected: &Node<'_>, actual: &Node<'_>) -> bool {
    match (expected, actual) {
        (Node::Null, Node::Null) => true,
        (Node::Bool(a), Node::Bool(b)) => a == b,
        (Node::Number(a, a_shape), Node::Number(b, b_shape)) => {
            (a_shape.is_some() && a_shape == b_shape) || Decimal::of(a) == Decimal::of(b)
        }
        (Node::String(a), Node::String(b)) | (Node::Text(a), Node::Text(b)) => a.is_like(b),
        (Node::Path(a), Node::Path(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|pair| match pair {
                    (PathSegment::Text(a), PathSegment::Text(b)) => a.is_like(b),
                    (PathSegment::Volatile(_), PathSegment::Volatile(_)) => true,
                    _ => false,
                })
        }
        (Node::Bytes(a), Node::Bytes(b)) => a == b,
        (Node::Omitted { size: a, sha256: x }, Node::Omitted { size: b, sha256: y }) => {
            a == b && (x == y || *a == 0)
        }
        (Node::Credential(a), Node::Credential(b)) => a == b,
        _ => false,
    }
}

/// Size and hash of a body that was kept: of what counts in it if it is bytes, else of what was sent.
fn digest(kept: &Node<'_>, tree: &Tree<'_>) -> (u64, Sha256) {
    let bytes = match kept {
        Node::Bytes(bytes) => bytes,
        _ => tree.raw_body.unwrap_or_default(),
    };
    (bytes.len() as u64, Sha256::of(bytes))
}

/// Calls `each` with what two sorted lists have in one place.
fn merge<'n, T>(
    a: &'n [T],
    b: &'n [T],
    order: impl Fn(&T, &T) -> Ordering,
    mut each: impl FnMut(Option<&'n T>, Option<&'n T>),
) {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let side = match (a.peek(), b.peek()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(x), Some(y)) => order(x, y),
        };
        match side {
            Ordering::Less => each(a.next(), None),
            Ordering::Greater => each(None, b.next()),
            Ordering::Equal => each(a.next(), b.next()),
        }
    }
}

fn members_without_credentials<'n, 'a>(members: &'n [Member<'a>]) -> Vec<&'n Member<'a>> {
    members.iter().filter(|member| !member.node.is_credential()).collect()
}

fn parts_without_credentials<'n, 'a>(parts: &'n [Part<'a>]) -> Vec<&'n Part<'a>> {
    parts.iter().filter(|part| !part.is_credential()).collect()
}

fn credential<'n, 'a>(members: &'n [Member<'a>], key: &str) -> Option<&'n Node<'a>> {
    let start = members.partition_point(|member| *member.key < *key);
    members[start..]
        .iter()
        .take_while(|member| member.key == key)
        .map(|member| &member.node)
        .find(|node| node.is_credential())
}
