//! `redaction:`, what a cassette says about its own scrubbing: under which rules, and which variables its program
//! used secrets from. It holds names and placeholders, and can hold nothing else.

use std::collections::BTreeMap;

use yaml::{Fields, Node, Out, Problem};

use super::exchange::Entries;
use crate::scrub::{rules::is_variable_name, split_placeholders};

/// The number of the rules that this build scrubs by. It grows when a rule takes out what the rules before it kept,
/// so that an older cassette is known to need another look.
pub const RULESET: u32 = 1;

/// How a cassette was scrubbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    /// The [`RULESET`] of the build that scrubbed it. One of a newer build is read too: looking for more secrets
    /// than this build knows takes nothing away from it.
    pub ruleset: u32,
    /// The variables whose values were secrets that the recording met in its traffic, each with the placeholder
    /// that stands for its value.
    pub env: BTreeMap<String, String>,
}

impl Redaction {
    /// What this build scrubbed, before anything is known of variables.
    pub fn new() -> Self {
        Self { ruleset: RULESET, env: BTreeMap::new() }
    }

    /// What holds for a cassette after a run added to it. Its older exchanges are no better scrubbed for that, so
    /// the lower ruleset counts, and none where they never said. A name that both used means the new run's secret.
    pub fn joined(old: Option<Self>, new: Self) -> Option<Self> {
        let mut joined = old?;
        joined.ruleset = joined.ruleset.min(new.ruleset);
        joined.env.extend(new.env);
        Some(joined)
    }
}

impl Default for Redaction {
    fn default() -> Self {
        Self::new()
    }
}

pub(super) fn read(node: &Node<'_>) -> Result<Redaction, Problem> {
    let mut fields = Fields::of(node, "the redaction")?;
    let ruleset = fields.required("ruleset")?.integer("the ruleset", 1..=u32::MAX)?;
    let env = fields.optional("env").map(read_env).transpose()?.unwrap_or_default();
    fields.finish()?;
    Ok(Redaction { ruleset, env })
}

pub(super) fn write(redaction: &Redaction) -> Out<'_> {
    let mut entries: Entries<'_> = vec![("ruleset".into(), Out::from(redaction.ruleset))];
    if !redaction.env.is_empty() {
        entries.push(("env".into(), write_env(&redaction.env)));
    }
    Out::Mapping(entries)
}

pub(super) fn write_env(env: &BTreeMap<String, String>) -> Out<'_> {
    Out::mapping(env.iter().map(|(name, text)| (name.as_str(), Out::text(text.as_str()))))
}

pub(super) fn read_env(node: &Node<'_>) -> Result<BTreeMap<String, String>, Problem> {
    let entries = node.mapping("the variables that were used")?;
    entries.iter().map(|(name, value)| Ok((read_name(name)?, read_placeholder(value)?))).collect()
}

fn read_name(node: &Node<'_>) -> Result<String, Problem> {
    let name = node.text("the name of a variable")?;
    if !is_variable_name(name) {
        return Err(Problem::new(node.span, "not the name of a variable")
            .with_help("letters, digits and `_`, such as OPENAI_API_KEY"));
    }
    Ok(name.to_owned())
}

/// The value of a secret has no place here, so nothing but one whole placeholder is taken, and what stands there
/// instead is not repeated.
fn read_placeholder(node: &Node<'_>) -> Result<String, Problem> {
    let refused = || {
        Problem::new(node.span, "expected a placeholder for the value of a variable")
            .with_help("write it like '{{redacted:openai_key:1}}', in quotes")
    };
    let text = node.as_text().ok_or_else(refused)?;
    placeholder_parts(text).map(|_| text.to_owned()).ok_or_else(refused)
}

/// Kind and number of a text that is one placeholder and nothing more.
pub(crate) fn placeholder_parts(text: &str) -> Option<(&str, u32)> {
    match split_placeholders(text)[..] {
        [("", Some((kind, number)))] => Some((kind, number.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction(ruleset: u32, env: &[(&str, &str)]) -> Redaction {
        let env = env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Redaction { ruleset, env }
    }

    #[test]
    fn an_added_run_brings_its_variables_and_no_better_ruleset() {
        let old = redaction(1, &[("A", "{{redacted:token:1}}"), ("B", "{{redacted:token:2}}")]);
        let new = redaction(2, &[("B", "{{redacted:token:3}}"), ("C", "{{redacted:token:4}}")]);
        let joined = redaction(
            1,
            &[("A", "{{redacted:token:1}}"), ("B", "{{redacted:token:3}}"), ("C", "{{redacted:token:4}}")],
        );
        assert_eq!(Redaction::joined(Some(old), new.clone()), Some(joined));
        assert_eq!(Redaction::joined(None, new), None);
    }

    #[test]
    fn a_placeholder_has_a_kind_and_a_number_that_fits() {
        assert_eq!(placeholder_parts("{{redacted:openai_key:12}}"), Some(("openai_key", 12)));
        for text in
            ["", "x", "{{redacted:a:1}} ", "{{redacted:a:4294967296}}", "{{redacted:a:1}}{{redacted:a:1}}"]
        {
            assert_eq!(placeholder_parts(text), None, "{text}");
        }
    }
}
