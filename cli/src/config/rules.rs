//! `redact:` and `keep:`, a project's own scrubbing rules. What a rule may say is decided by [`Rules`]; each refusal gets
//! its place here.

use cassettes::scrub::rules::{RuleError, Rules};
use yaml::{Fields, Node, Problem};

/// The two mappings, whichever of them are there.
pub(super) fn read(redact: Option<&Node<'_>>, keep: Option<&Node<'_>>) -> Result<Rules, Problem> {
    let mut rules = Rules::default();
    if let Some(node) = redact {
        read_redact(node, &mut rules)?;
    }
    if let Some(node) = keep {
        read_keep(node, &mut rules)?;
    }
    Ok(rules)
}

fn read_redact(node: &Node<'_>, rules: &mut Rules) -> Result<(), Problem> {
    let mut fields = Fields::of(node, "the rules of what is redacted")?;
    each(fields.optional("headers"), "the headers to redact", |name| rules.redact_header(name))?;
    each(fields.optional("query"), "the query keys to redact", |key| rules.redact_query(key))?;
    each(fields.optional("json_paths"), "the paths to redact", |path| rules.redact_path(path))?;
    if let Some(patterns) = fields.optional("patterns") {
        for (kind, pattern) in patterns.mapping("the patterns to redact")? {
            let name = kind.text("the name of a pattern")?;
            let text = pattern.text("a pattern")?;
            rules.redact_pattern(name, text).map_err(|error| {
                let at_name = matches!(error, RuleError::Kind(_));
                problem(if at_name { kind } else { pattern }, &error)
            })?;
        }
    }
    each(fields.optional("env"), "the variables to redact", |name| rules.redact_env(name))?;
    fields.finish()
}

fn read_keep(node: &Node<'_>, rules: &mut Rules) -> Result<(), Problem> {
    let mut fields = Fields::of(node, "the rules of what is kept")?;
    each(fields.optional("headers"), "the headers to keep", |name| rules.keep_header(name))?;
    each(fields.optional("query"), "the query keys to keep", |key| rules.keep_query(key))?;
    each(fields.optional("json_paths"), "the paths to keep", |path| rules.keep_path(path))?;
    each(fields.optional("patterns"), "the patterns to keep", |pattern| rules.keep_pattern(pattern))?;
    each(fields.optional("env"), "the variables to keep", |name| rules.keep_env(name))?;
    fields.finish()
}

fn each(
    list: Option<&Node<'_>>,
    what: &str,
    mut add: impl FnMut(&str) -> Result<(), RuleError>,
) -> Result<(), Problem> {
    let Some(list) = list else { return Ok(()) };
    for node in list.sequence(what)? {
        add(node.text("a rule")?).map_err(|error| problem(node, &error))?;
    }
    Ok(())
}

fn problem(node: &Node<'_>, error: &RuleError) -> Problem {
    let problem = Problem::new(node.span, error.to_string());
    match error.help() {
        Some(help) => problem.with_help(help),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use exchange::{FieldPath, Segment};
    use yaml::Limits;

    use super::*;

    fn parsed(text: &str) -> Result<Rules, Problem> {
        let document = yaml::parse(text, &Limits::small()).unwrap();
        read(document.get("redact"), document.get("keep"))
    }

    fn path(text: &str) -> Vec<Segment> {
        text.parse::<FieldPath>().unwrap().0
    }

    const ALL: &str = "\
redact:
  headers: [X-Internal-Id]
  query: [ticket]
  json_paths: [body.customer.email, 'body.items[*].ssn']
  patterns:
    customer: 'CUST-[0-9]{8}'
  env: [ACME_LICENSE]
keep:
  headers: [x-build-number]
  query: [token]
  json_paths: [body.session.token]
  patterns: ['doc_example.*']
  env: [ACME_REGION, CORP_*]
";

    #[test]
    fn every_rule_is_read() {
        let rules = parsed(ALL).unwrap();
        assert!(rules.redacts_header("x-internal-id") && rules.keeps_header("x-build-number"));
        assert!(rules.redacts_query("ticket") && rules.keeps_query("token"));
        assert!(
            rules.redacts_path(&path("body.customer.email"))
                && rules.redacts_path(&path("body.items[7].ssn"))
        );
        assert!(rules.keeps_path(&path("body.session.token")));
        let [(kind, pattern)] = rules.patterns() else { panic!("one pattern") };
        assert!(kind == "customer" && pattern.is_match(b"CUST-12345678"));
        assert!(rules.keeps_value(b"doc_example_1"));
        assert_eq!(rules.env_names().collect::<Vec<_>>(), ["ACME_LICENSE"]);
        assert!(rules.keeps_env("ACME_REGION") && rules.keeps_env("CORP_A"));
        assert!(read(None, None).unwrap().is_empty());
    }

    #[test]
    fn a_rule_that_is_none_is_refused_in_its_place() {
        for (text, place, message) in [
            ("redact: {headers: x}", "1:19", "expected the headers to redact as a list, found text"),
            ("redact: {headers: [a, 'b c']}", "1:23", "`b c` is not the name of a header"),
            ("redact: {query: ['']}", "1:18", "a query key cannot be empty"),
            ("redact: {json_paths: [query.a]}", "1:23", "not a field path of a body"),
            ("redact: {patterns: [a]}", "1:20", "expected the patterns to redact as a mapping, found a list"),
            ("redact: {patterns: {Cust: a}}", "1:21", "`Cust` is not the name of a kind"),
            (
                "redact: {patterns: {cust: '(a'}}",
                "1:27",
                "the pattern is not a regular expression: unclosed group",
            ),
            (
                "redact: {patterns: {cust: 'a*'}}",
                "1:27",
                "the pattern matches the empty text, so it would match everywhere",
            ),
            ("redact: {env: [A-B]}", "1:16", "not the name of a variable"),
            ("redact: {env: [1]}", "1:16", "not the name of a variable"),
            ("redact: {cookies: [a]}", "1:10", "unknown key `cookies` in the rules of what is redacted"),
            (
                "keep: {headers: [Authorization]}",
                "1:18",
                "`Authorization` names a credential, and can never be kept",
            ),
            ("keep: {headers: [cookie]}", "1:18", "`cookie` names a credential, and can never be kept"),
            ("keep: {headers: [x-api-key]}", "1:18", "`x-api-key` names a credential, and can never be kept"),
            ("keep: {patterns: {a: b}}", "1:18", "expected the patterns to keep as a list, found a mapping"),
            ("keep: {cookies: [a]}", "1:8", "unknown key `cookies` in the rules of what is kept"),
            ("redact: {query: [a]}\nkeep: {query: [b, A]}", "2:19", "`A` cannot be both redacted and kept"),
            ("redact: {env: [AB]}\nkeep: {env: [A*]}", "2:14", "`A*` cannot be both redacted and kept"),
        ] {
            let problem = parsed(text).unwrap_err();
            assert_eq!(
                (problem.span.position(text).to_string(), problem.message.as_str()),
                (place.to_owned(), message),
                "{text}"
            );
        }
    }
}
