//! The reference page, the published schema and the reader say the same.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use yaml::Value;

use super::*;

const PAGE: &str = include_str!("../../../docs/reference/cassette.md");
const SCHEMA: &str = include_str!("../../../docs/reference/cassette.schema.json");

fn examples() -> Vec<&'static str> {
    let blocks = PAGE.split("```yaml\n").skip(1);
    blocks.map(|block| block.split_once("```").unwrap().0).collect()
}

fn read_example(source: &str) -> Result<Cassette, Problem> {
    let blob = Bytes::from_static(b"hello");
    read(source, &|sha256| Ok((Sha256::of(&blob) == *sha256).then(|| blob.clone())))
}

#[test]
fn every_example_on_the_page_is_read_and_survives_being_written_again() {
    let examples = examples();
    assert_eq!(examples.len(), 2);
    for example in &examples {
        read_example(example).unwrap_or_else(|problem| {
            panic!("{}: {problem}", problem.span.position(example));
        });
    }
    let everything = read_example(examples[1]).unwrap();
    assert_eq!(everything.exchanges.len(), 6);
    let items: String =
        everything.exchanges.iter().map(|exchange| item(exchange, usize::MAX, &mut Blobs::new())).collect();
    let again =
        format!("{}{items}{FOOTER}", header(everything.redaction.as_ref(), everything.policy.as_ref()));
    assert_eq!(read_example(&again).unwrap(), everything);
}

#[test]
fn schema_and_reader_know_the_same_keys() {
    let schema: Json = serde_json::from_str(SCHEMA).unwrap();
    let mut walk = Walk { schema: &schema, source: "", seen: BTreeSet::new() };
    for example in examples() {
        walk.source = example;
        let document = yaml::parse(example, &Limits::small()).unwrap();
        walk.visit("", &document);
    }
    let mut promised = BTreeSet::new();
    collect_properties(&schema, "", &mut promised);
    assert_eq!(promised.difference(&walk.seen).collect::<Vec<_>>(), [] as [&(String, String); 0]);
}

#[test]
fn the_page_tells_of_every_key() {
    let mut promised = BTreeSet::new();
    collect_properties(&serde_json::from_str(SCHEMA).unwrap(), "", &mut promised);
    let (words, _) = PAGE.split_once("## Everything at once").unwrap();
    let untold: Vec<_> = promised.iter().filter(|(_, key)| !words.contains(&format!("`{key}`"))).collect();
    assert_eq!(untold, [] as [&(String, String); 0]);
}

/// Goes through an example and the schema side by side.
struct Walk<'a> {
    schema: &'a Json,
    source: &'a str,
    /// Keys that were met: where in the schema, and which.
    seen: BTreeSet<(String, String)>,
}

impl Walk<'_> {
    fn visit(&mut self, pointer: &str, node: &Node<'_>) {
        let choices = self.choices(pointer);
        match &node.value {
            Value::Scalar(_) => {}
            Value::Sequence(items) => {
                let list = choices.iter().find(|choice| self.at(choice).get("items").is_some());
                let Some(list) = list else { return };
                for item in items {
                    self.visit(&format!("{list}/items"), item);
                }
            }
            Value::Mapping(entries) => {
                let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_text().unwrap()).collect();
                let fixed: Vec<_> =
                    choices.iter().filter(|choice| self.at(choice).get("properties").is_some()).collect();
                if let Some(free) =
                    choices.iter().find(|choice| self.at(choice)["additionalProperties"].is_object())
                {
                    for (_, value) in entries {
                        self.visit(&format!("{free}/additionalProperties"), value);
                    }
                } else if !fixed.is_empty() {
                    let fits = |choice: &&&String| {
                        let required = self.at(choice)["required"].as_array().into_iter().flatten();
                        required.into_iter().all(|key| keys.contains(&key.as_str().unwrap()))
                    };
                    let [chosen] = fixed.iter().filter(fits).collect::<Vec<_>>()[..] else {
                        panic!("not exactly one of {fixed:?} fits {keys:?}");
                    };
                    self.check_known(node, &fixed);
                    for (key, (_, value)) in keys.iter().zip(entries) {
                        let property = format!("{chosen}/properties/{key}");
                        assert!(self.schema.pointer(&property).is_some(), "the schema has no {property}");
                        self.seen.insert((place(chosen), (*key).to_owned()));
                        self.visit(&property, value);
                    }
                }
            }
        }
    }

    /// Lets the reader list the keys that it knows here: the schema must have them all.
    fn check_known(&self, node: &Node<'_>, fixed: &[&String]) {
        let start = node.span.start;
        let indent = " ".repeat(node.span.position(self.source).column - 1);
        let (before, after) = self.source.split_at(start);
        let problem = read_example(&format!("{before}qqqqqqqqqq: 1\n{indent}{after}")).unwrap_err();
        assert!(problem.message.starts_with("unknown key `qqqqqqqqqq`"), "{problem}");
        for key in problem.help.unwrap().split('`').skip(1).step_by(2) {
            let has = |choice: &&String| self.at(choice)["properties"].get(key).is_some();
            assert!(fixed.iter().any(has), "the reader knows `{key}`, and the schema does not, at {fixed:?}");
        }
    }

    fn at(&self, pointer: &str) -> &Json {
        self.schema.pointer(pointer).unwrap()
    }

    /// The schemas that may hold at a place, references and alternatives resolved.
    fn choices(&self, pointer: &str) -> Vec<String> {
        let schema = self.at(pointer);
        if let Some(target) = schema.get("$ref") {
            return self.choices(target.as_str().unwrap().strip_prefix('#').unwrap());
        }
        match schema.get("oneOf").and_then(Json::as_array) {
            Some(some) => {
                (0..some.len()).flat_map(|one| self.choices(&format!("{pointer}/oneOf/{one}"))).collect()
            }
            None => vec![pointer.to_owned()],
        }
    }
}

fn collect_properties(schema: &Json, pointer: &str, into: &mut BTreeSet<(String, String)>) {
    match schema {
        Json::Object(members) => {
            if let Some(properties) = members.get("properties").and_then(Json::as_object) {
                into.extend(properties.keys().map(|key| (place(pointer), key.clone())));
            }
            for (key, member) in members {
                collect_properties(member, &format!("{pointer}/{key}"), into);
            }
        }
        Json::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                collect_properties(item, &format!("{pointer}/{number}"), into);
            }
        }
        _ => {}
    }
}

/// A pointer without the number of the alternative: a key beside one of them counts for all.
fn place(pointer: &str) -> String {
    let parts: Vec<&str> = pointer.split('/').collect();
    let is_choice = |at: usize| parts[at] == "oneOf" || (at > 0 && parts[at - 1] == "oneOf");
    (0..parts.len()).filter(|at| !is_choice(*at)).map(|at| parts[at]).collect::<Vec<_>>().join("/")
}
