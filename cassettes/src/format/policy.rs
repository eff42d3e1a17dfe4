//! `match:`, how a cassette wants its requests compared.

use exchange::FieldPath;
use matchers::{Compare, OnRepeat, Policy, Shapes};
use yaml::{Fields, Node, Out, Problem};

use super::exchange::Entries;
use crate::scrub::is_credential_header;

/// Reads the word `uri` or a mapping; what the mapping leaves out is as in the default policy.
pub(super) fn read(node: &Node<'_>) -> Result<Policy, Problem> {
    if node.as_text().is_some() {
        let compare = node.choice("the match policy", &[(URI, Compare::Uri)])?;
        return Ok(Policy { compare, ..Policy::default() });
    }
    let mut fields = Fields::of(node, "the match policy")?;
    let mut policy = Policy::default();
    if let Some(node) = fields.optional("compare") {
        policy.compare = node.choice("`compare`", &COMPARE)?;
    }
    if let Some(list) = fields.optional("headers") {
        let names = list.sequence("the headers that count")?.iter();
        policy.headers = names.map(read_header_name).collect::<Result<_, _>>()?;
    }
    if let Some(list) = fields.optional("volatile") {
        policy.volatile =
            list.sequence("the volatile fields")?.iter().map(read_path).collect::<Result<_, _>>()?;
    }
    if let Some(node) = fields.optional("shapes") {
        policy.shapes = node.choice("`shapes`", &SHAPES)?;
    }
    if let Some(node) = fields.optional("on_repeat") {
        policy.on_repeat = node.choice("`on_repeat`", &ON_REPEAT)?;
    }
    fields.finish()?;
    Ok(policy)
}

pub(super) fn write(policy: &Policy) -> Out<'_> {
    let default = Policy::default();
    if *policy == (Policy { compare: Compare::Uri, ..default.clone() }) {
        return Out::text(URI);
    }
    let mut entries: Entries<'_> = Vec::new();
    if policy.compare != default.compare {
        entries.push(("compare".into(), word(&COMPARE, policy.compare)));
    }
    if !policy.headers.is_empty() {
        entries.push((
            "headers".into(),
            Out::sequence(policy.headers.iter().map(|name| Out::text(name.as_str()))),
        ));
    }
    if !policy.volatile.is_empty() {
        let paths = policy.volatile.iter().map(|path| Out::text(path.to_string()));
        entries.push(("volatile".into(), Out::sequence(paths)));
    }
    if policy.shapes != default.shapes {
        entries.push(("shapes".into(), word(&SHAPES, policy.shapes)));
    }
    if policy.on_repeat != default.on_repeat {
        entries.push(("on_repeat".into(), word(&ON_REPEAT, policy.on_repeat)));
    }
    Out::Mapping(entries)
}

fn read_header_name(node: &Node<'_>) -> Result<String, Problem> {
    let name = node.text("a header name")?;
    // Its value is a placeholder on both sides: comparing it would only seem to compare it.
    if is_credential_header(&name.to_ascii_lowercase()) {
        return Err(Problem::new(node.span, format!("`{name}` holds a credential"))
            .with_help("a credential is never compared: remove it from the headers that count"));
    }
    Ok(name.to_owned())
}

fn read_path(node: &Node<'_>) -> Result<FieldPath, Problem> {
    let text = node.text("a field path")?;
    text.parse().map_err(|_| {
        Problem::new(node.span, "not a field path")
            .with_help("write it like body.messages[0].content, query.page or headers.x-trace")
    })
}

fn word<T: PartialEq>(words: &[(&'static str, T)], value: T) -> Out<'static> {
    let (word, _) = words.iter().find(|(_, known)| *known == value).expect("every value has its word");
    Out::text(*word)
}

const URI: &str = "uri";
const COMPARE: [(&str, Compare); 2] = [("full", Compare::Full), (URI, Compare::Uri)];
const SHAPES: [(&str, Shapes); 2] = [("loose", Shapes::Loose), ("exact", Shapes::Exact)];
const ON_REPEAT: [(&str, OnRepeat); 3] =
    [("miss", OnRepeat::Miss), ("last", OnRepeat::Last), ("cycle", OnRepeat::Cycle)];
