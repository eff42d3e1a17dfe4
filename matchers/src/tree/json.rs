//! JSON bodies: by structure and value, whatever their layout.
//!
//! The text is read straight into nodes, for this is most of what a key costs: strings stay where they are and
//! volatile fields are never built.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::{
    place::Step,
    placeholder,
    policy::Shapes,
    shape::Shape,
    tree::{Item, Member, Node, Text},
    volatile::Scope,
};

/// The bytes as JSON, if that is what they are: by their media type, or because they are an object or an array.
pub(super) fn read<'a>(
    media: &str,
    bytes: &'a [u8],
    name: &str,
    scope: &Scope<'_>,
    shapes: Shapes,
) -> Option<Node<'a>> {
    if !is_json(media) && (is_json_lines(media) || !is_bracketed(bytes)) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Reader { name, scope, shapes };
    let node = value.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(node)
}

/// Reads one value.
#[derive(Clone, Copy)]
struct Reader<'c, 'p> {
    /// The nearest key above; items of a list share that of the list.
    name: &'c str,
    scope: &'c Scope<'p>,
    shapes: Shapes,
}

impl<'a> Reader<'_, '_> {
    fn text(self, text: Cow<'a, str>) -> Node<'a> {
        if placeholder::is_all_of(&text) {
            return Node::Credential(placeholder::without_numbers(text));
        }
        Node::String(Text::value(text, self.name, self.shapes))
    }

    fn number<E: Error>(self, text: Cow<'a, str>) -> Result<Node<'a>, E> {
        if !text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) {
            return Err(E::custom("not a number"));
        }
        let shape = match self.shapes {
            Shapes::Loose => Shape::of_number(&text, self.name),
            Shapes::Exact => None,
        };
        Ok(Node::Number(text, shape))
    }
}

impl<'a> DeserializeSeed<'a> for Reader<'_, '_> {
    type Value = Node<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Node<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Reader<'_, '_> {
    type Value = Node<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Node<'a>, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node<'a>, E> {
        Ok(Node::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node<'a>, E> {
        self.number(Cow::Owned(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node<'a>, E> {
        self.number(Cow::Owned(value.to_string()))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'a str) -> Result<Node<'a>, E> {
        Ok(self.text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node<'a>, E> {
        Ok(self.text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Node<'a>, A::Error> {
        let mut items = Vec::new();
        for index in 0.. {
            let more = match self.scope.enter(Step::Index(index)) {
                None => list.next_element::<IgnoredAny>()?.is_some(),
                Some(scope) => {
                    let item = list.next_element_seed(Reader { scope: &scope, ..self })?;
                    let more = item.is_some();
                    items.extend(item.map(|node| Item { index, node }));
                    more
                }
            };
            if !more {
                break;
            }
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Node<'a>, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            if key == NUMBER && members.is_empty() {
                return self.number(Cow::Owned(map.next_value()?));
            }
            let Some(scope) = self.scope.enter(Step::Key(&key)) else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let node = map.next_value_seed(Reader { name: &key, scope: &scope, ..self })?;
            members.push(Entry::new(key, node));
        }
        Ok(Node::Map(settle(members)))
    }
}

/// Reads a key.
struct Key;

impl<'a> DeserializeSeed<'a> for Key {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Cow<'a, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Key {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'a str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// A member as it came.
struct Entry<'a> {
    key: Cow<'a, str>,
    holds: Holds,
    node: Node<'a>,
}

/// What a key holds.
#[derive(PartialEq, Eq)]
enum Holds {
    Plain,
    /// Without its number it may be the same as another.
    Placeholder,
}

impl<'a> Entry<'a> {
    fn new(key: Cow<'a, str>, node: Node<'a>) -> Self {
        Self {
            holds: if placeholder::is_in(&key) { Holds::Placeholder } else { Holds::Plain },
            key: placeholder::without_numbers(key),
            node,
        }
    }
}

/// Members in order. Of a key that is given twice the last counts, as nearly every server has it.
fn settle<'a>(mut entries: Vec<Entry<'a>>) -> Vec<Member<'a>> {
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    let mut members: Vec<Member<'a>> = Vec::with_capacity(entries.len());
    for Entry { key, holds, node } in entries {
        let mut occurrence = 0;
        if let Some(before) = members.pop_if(|before| before.key == key)
            && holds == Holds::Placeholder
        {
            occurrence = before.occurrence + usize::from(!before.node.is_credential());
            members.push(before);
        }
        members.push(Member { key, occurrence, node });
    }
    members
}

fn is_json(media: &str) -> bool {
    media.ends_with("/json") || media.ends_with("+json")
}

/// One value a line: a text, even where it has one line only.
fn is_json_lines(media: &str) -> bool {
    ["ndjson", "jsonl", "jsonlines", "json-seq"].iter().any(|kind| media.ends_with(kind))
}

fn is_bracketed(bytes: &[u8]) -> bool {
    let start = bytes.iter().find(|b| !b.is_ascii_whitespace());
    matches!(start, Some(b'{' | b'['))
}

/// The key under which serde_json hands over a number that no machine integer holds. Were it to change, the tests
/// of numbers would fail.
const NUMBER: &str = "$serde_json::private::Number";
