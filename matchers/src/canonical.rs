//! Keys that requests share where a pattern sees no difference between them.
//!
//! A key is a hash of an encoding that no two different trees share: every node says its kind and its length
//! before its content.

use exchange::{FieldPath, Request, Sha256};
use xxhash_rust::xxh3::Xxh3;

use crate::{
    number::Decimal,
    place::Place,
    policy::Policy,
    shape::Shape,
    tree::{Node, Part, PathSegment, Text, Tree},
};

/// What an exchange is looked up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u128);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    pub exact: Key,
    /// The key without the values of the slots. The same as `exact` where there are none.
    pub loose: Key,
    /// Values that may differ. Requests with one loose key have slots at the same paths in the same order.
    pub slots: Vec<Slot>,
}

/// A value of a volatile shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    pub path: FieldPath,
    pub shape: Shape,
    /// Decoded; a number as it was spelled.
    pub value: String,
}

/// The keys of a request.
///
/// Two requests share a key exactly where [`Pattern::check`](crate::Pattern::check) finds no difference, with one
/// exception: a structured body that was kept and one that was omitted share none, though a pattern can compare
/// them by their hash. Under [`Shapes::Exact`](crate::Shapes::Exact) there are no slots.
pub fn canonical(request: &Request, policy: &Policy) -> Canonical {
    let tree = Tree::of(request, policy);
    let mut slots = Vec::new();
    let exact = Encoder::new(Values::Exact(&mut slots)).key(&tree);
    let loose = if slots.is_empty() { exact } else { Encoder::new(Values::Loose).key(&tree) };
    Canonical { exact, loose, slots }
}

struct Encoder<'s> {
    hash: Xxh3,
    values: Values<'s>,
}

/// What to do with values that have a volatile shape.
enum Values<'s> {
    /// Encode them and list them.
    Exact(&'s mut Vec<Slot>),
    /// Encode their shape only.
    Loose,
}

impl<'s> Encoder<'s> {
    fn new(values: Values<'s>) -> Self {
        Self { hash: Xxh3::new(), values }
    }

    fn key(mut self, tree: &Tree<'_>) -> Key {
        for (name, node) in &tree.fields {
            self.bytes(Tag::Field, name.as_bytes());
            self.node(node, &Place::root(name));
        }
        Key(self.hash.digest128())
    }

    fn node(&mut self, node: &Node<'_>, place: &Place<'_>) {
        match node {
            Node::Null => self.count(Tag::Null, 0),
            Node::Bool(value) => self.count(Tag::Bool, u64::from(*value)),
            Node::Number(number, shape) => {
                if !self.slot(Tag::Number, *shape, number, place) {
                    self.number(&Decimal::of(number));
                }
            }
            Node::String(text) => self.text(Tag::String, text, place),
            Node::Text(text) => self.text(Tag::Text, text, place),
            Node::List(items) => {
                // Their numbers need no encoding: the policy alone says which ones are missing.
                self.count(Tag::List, items.len() as u64);
                for item in items {
                    self.node(&item.node, &place.index(item.index));
                }
            }
            Node::Map(members) => {
                let counted = || members.iter().filter(|member| !member.node.is_credential());
                self.count(Tag::Map, counted().count() as u64);
                for member in counted() {
                    self.bytes(Tag::Key, member.key.as_bytes());
                    let key = place.key(&member.key);
                    match member.occurrence {
                        0 => self.node(&member.node, &key),
                        repeat => self.node(&member.node, &key.index(repeat)),
                    }
                }
            }
            Node::Path(segments) => {
                self.count(Tag::List, segments.len() as u64);
                for (i, segment) in segments.iter().enumerate() {
                    match segment {
                        PathSegment::Text(text) => self.text(Tag::Text, text, &place.index(i)),
                        PathSegment::Volatile(_) => self.count(Tag::Volatile, 0),
                    }
                }
            }
            Node::Parts(parts) => {
                let counted = || parts.iter().filter(|part| !part.is_credential());
                self.count(Tag::Parts, counted().count() as u64);
                for part in counted() {
                    self.part(part, place);
                }
            }
            Node::Bytes(bytes) => {
                // By hash, so that a body that was omitted has the key of the same body kept.
                let sha256 = (!bytes.is_empty()).then(|| Sha256::of(bytes));
                self.digest(bytes.len() as u64, sha256);
            }
            Node::Omitted { size, sha256 } => self.digest(*size, (*size > 0).then_some(*sha256)),
            Node::Credential(text) => self.bytes(Tag::Credential, text.as_bytes()),
        }
    }

    fn part(&mut self, part: &Part<'_>, place: &Place<'_>) {
        for field in [&part.name, &part.filename, &part.media] {
            match field {
                Some(text) => self.bytes(Tag::Text, text.as_bytes()),
                None => self.count(Tag::Null, 0),
            }
        }
        self.count(Tag::Index, part.occurrence as u64);
        part.at(place, |place| self.node(&part.content, place));
    }

    fn text(&mut self, tag: Tag, text: &Text<'_>, place: &Place<'_>) {
        if !self.slot(tag, text.shape, &text.text, place) {
            self.bytes(tag, text.text.as_bytes());
        }
    }

    /// Whether the value was encoded by its shape.
    fn slot(&mut self, tag: Tag, shape: Option<Shape>, value: &str, place: &Place<'_>) -> bool {
        let Some(shape) = shape else {
            return false;
        };
        match &mut self.values {
            Values::Exact(slots) => {
                slots.push(Slot { path: place.path(), shape, value: value.to_owned() });
                false
            }
            Values::Loose => {
                self.count(Tag::Slot, tag as u64);
                self.count(Tag::Slot, shape as u64);
                true
            }
        }
    }

    fn number(&mut self, number: &Decimal<'_>) {
        match number {
            Decimal::Value { negative, digits, exponent } => {
                self.bytes(Tag::Number, digits.as_bytes());
                self.count(if *negative { Tag::Negative } else { Tag::Positive }, exponent.cast_unsigned());
            }
            Decimal::Odd(text) => self.bytes(Tag::OddNumber, text.as_bytes()),
        }
    }

    fn digest(&mut self, size: u64, sha256: Option<Sha256>) {
        self.count(Tag::Bytes, size);
        if let Some(sha256) = sha256 {
            self.hash.update(&sha256.0);
        }
    }

    fn bytes(&mut self, tag: Tag, bytes: &[u8]) {
        self.count(tag, bytes.len() as u64);
        self.hash.update(bytes);
    }

    fn count(&mut self, tag: Tag, count: u64) {
        let mut head = [tag as u8; 9];
        head[1..].copy_from_slice(&count.to_le_bytes());
        self.hash.update(&head);
    }
}

#[derive(Clone, Copy)]
#[repr(u8)]
enum Tag {
    Field,
    Null,
    Bool,
    Number,
    Positive,
    Negative,
    OddNumber,
    String,
    Text,
    List,
    Map,
    Key,
    Index,
    Parts,
    Bytes,
    Slot,
    Volatile,
    Credential,
}
