//! JSON as YAML structure.

use exchange::JsonStyle;
use serde_json::{Map, Number, Value};
use yaml::{Node, Out, ScalarKind};

/// Value and style of an object or array that can be written again byte for byte. A bare number or word is
/// better read as text, whatever its media type.
pub(super) fn detect(bytes: &[u8]) -> Option<(Value, JsonStyle)> {
    matches!(bytes.first(), Some(b'{' | b'[')).then(|| JsonStyle::detect(bytes))?
}

pub(super) fn read(node: &Node<'_>) -> Value {
    match &node.value {
        yaml::Value::Sequence(items) => Value::Array(items.iter().map(read).collect()),
        yaml::Value::Mapping(entries) => {
            let mut members = Map::with_capacity(entries.len());
            for (key, value) in entries {
                members.insert(key.as_text().unwrap_or_default().to_owned(), read(value));
            }
            Value::Object(members)
        }
        yaml::Value::Scalar(scalar) => match scalar.kind() {
            ScalarKind::Null => Value::Null,
            ScalarKind::Boolean(value) => Value::Bool(value),
            // The kind is only given to what follows the grammar of JSON.
            ScalarKind::Number(text) => Value::Number(Number::from_string_unchecked(text.to_owned())),
            ScalarKind::Text(text) => Value::String(text.to_owned()),
        },
    }
}

pub(super) fn write(value: Value) -> Out<'static> {
    match value {
        Value::Null => Out::null(),
        Value::Bool(value) => Out::from(value),
        Value::Number(number) => Out::plain(number),
        Value::String(text) => Out::text(text),
        Value::Array(items) => Out::sequence(items.into_iter().map(write)),
        Value::Object(members) => Out::mapping(members.into_iter().map(|(key, value)| (key, write(value)))),
    }
}
