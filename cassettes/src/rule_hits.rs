//! Which of a project's scrubbing rules a cassette shows any effect of. One without any may hold a typing error.
//!
//! A rule about a name or a place was hit where that name or place is on the cassette: the value is a placeholder by
//! then. It reads what is there and judges nothing else.

use std::iter;

use exchange::{Body, Exchange, Headers, Message, Segment};

use crate::{
    Cassette,
    scrub::{
        rules::{List, Rule, Rules},
        split_placeholders,
    },
    text::{self, Leaf, Step, View},
};

/// The rules that nothing was found for so far.
#[derive(Debug)]
pub struct Unhit<'r> {
    rules: Vec<(List, Rule<'r>)>,
}

impl<'r> Unhit<'r> {
    /// All that a cassette can tell of: which variables a program is given is not on it.
    pub fn of(rules: &'r Rules) -> Self {
        Self { rules: rules.listed().filter(|(_, rule)| !matches!(rule, Rule::KeptEnv(_))).collect() }
    }

    /// Strikes out what this cassette was hit by.
    pub fn look(&mut self, cassette: &Cassette) {
        let env = cassette.redaction.iter().flat_map(|redaction| &redaction.env);
        for (name, placeholder) in env {
            self.strike(|rule| matches!(rule, Rule::Env(named) if named == name));
            self.value(placeholder.as_bytes());
        }
        for exchange in &cassette.exchanges {
            self.exchange(exchange);
        }
    }

    pub fn remaining(self) -> Vec<(List, Rule<'r>)> {
        self.rules
    }

    fn exchange(&mut self, exchange: &Exchange) {
        let request = &exchange.request;
        self.value(request.url.path.as_bytes());
        self.query(request.url.query.as_deref().unwrap_or_default());
        self.headers(&request.headers);
        self.headers(&request.trailers);
        self.body(&request.body, &request.headers);
        if let Some(response) = exchange.reply.response() {
            self.headers(&response.headers);
            self.headers(&response.trailers);
            for informational in &response.informational {
                self.headers(&informational.headers);
            }
            self.body(&response.body, &response.headers);
            self.messages(&response.messages);
        }
    }

    fn query(&mut self, query: &str) {
        let mut start = 0;
        for pair in query.split('&') {
            let end = start + pair.len();
            let mark = pair.find('=').map_or(end, |mark| start + mark);
            let key = View::percent(query.as_bytes(), start..mark);
            self.key(&String::from_utf8_lossy(key.text()));
            if mark < end {
                self.value(View::percent(query.as_bytes(), mark + 1..end).text());
            }
            start = end + 1;
        }
    }

    fn headers(&mut self, headers: &Headers) {
        for header in headers {
            self.strike(|rule| matches!(rule, Rule::Header(name) if *name == header.name()));
            self.value(header.value());
        }
    }

    fn body(&mut self, body: &Body, headers: &Headers) {
        if let Some(content) = body.bytes().filter(|content| !content.is_empty()) {
            text::in_body(content, headers, &mut |leaf| {
                self.leaf(leaf);
                Vec::new()
            });
        }
    }

    fn messages(&mut self, messages: &[Message]) {
        text::in_messages(messages, &mut |leaf| {
            self.leaf(leaf);
            Vec::new()
        });
    }

    fn leaf(&mut self, leaf: &Leaf<'_>) {
        let steps = leaf.path.iter().map(|step| match step {
            Step::Key(key) => Segment::Key(key.clone().into_owned()),
            Step::Index(index) => Segment::Index(*index),
        });
        let path: Vec<Segment> = iter::once(Segment::Key("body".to_owned())).chain(steps).collect();
        self.strike(|rule| match rule {
            Rule::JsonPath(named) => path.get(..named.0.len()).is_some_and(|start| named.matches(start)),
            _ => false,
        });
        if let Some(name) = leaf.name() {
            self.key(name);
        }
        self.value(leaf.text);
    }

    fn key(&mut self, key: &str) {
        self.strike(|rule| rule.names_query(key));
    }

    fn value(&mut self, value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        let kinds: Vec<&str> = split_placeholders(&text)
            .into_iter()
            .filter_map(|(_, placeholder)| Some(placeholder?.0))
            .collect();
        self.strike(|rule| match rule {
            Rule::Pattern(kind) => kinds.contains(kind),
            Rule::Kept(pattern) => pattern.is_match(value),
            _ => false,
        });
    }

    fn strike(&mut self, is_hit: impl Fn(&Rule<'_>) -> bool) {
        self.rules.retain(|(_, rule)| !is_hit(rule));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;

    fn remaining(rules: &Rules, cassette: &str) -> Vec<String> {
        let mut unhit = Unhit::of(rules);
        unhit.look(&format::read(cassette, &|_| Ok(None)).unwrap());
        unhit.remaining().iter().map(|(list, rule)| format!("{list}.{rule}")).collect()
    }

    const CASSETTE: &str = r#"
wiretape: cassette/1
redaction:
  ruleset: 1
  env:
    ACME_LICENSE: '{{redacted:license:1}}'
exchanges:
  - id: 1
    request:
      method: POST
      url: https://a.test/v1/{{redacted:tenant:1}}?tick%65t=1&page=2
      headers:
        content-type: application/x-www-form-urlencoded
        x-internal-id: '{{redacted:rule:1}}'
      body:
        text: field=1&other=build-77
    response:
      status: 200
      headers:
        x-build-number: '7'
      trailers:
        x-late: '1'
      body:
        json:
          items:
            - name: a
            - ssn: '{{redacted:rule:2}}'
          note: 'for {{redacted:customer:1}} only'
  - id: 2
    request:
      method: GET
      url: https://a.test/stream
    response:
      status: 200
      headers:
        content-type: text/event-stream
      body:
        events:
          - text: 'data: {"delta":{"secret_note":"x"}}'
  - id: 3
    request:
      method: GET
      url: https://a.test/socket
    response:
      status: 101
      messages:
        - from: server
          json:
            said: x
"#;

    #[test]
    fn a_rule_is_hit_where_its_name_or_place_is_on_a_cassette() {
        let mut rules = Rules::default();
        for name in ["X-Internal-Id", "x-late"] {
            rules.redact_header(name).unwrap();
        }
        for key in ["ticket", "Field", "secret_note"] {
            rules.redact_query(key).unwrap();
        }
        for path in ["body.items[*].ssn", "body.items", "body.delta.secret_note", "body.said"] {
            rules.redact_path(path).unwrap();
        }
        for kind in ["customer", "tenant", "license"] {
            rules.redact_pattern(kind, "x").unwrap();
        }
        rules.redact_env("ACME_LICENSE").unwrap();
        rules.keep_header("x-build-number").unwrap();
        rules.keep_query("page").unwrap();
        rules.keep_path("body.note").unwrap();
        rules.keep_pattern("build-[0-9]+").unwrap();
        rules.keep_env("ACME_REGION").unwrap();
        assert_eq!(remaining(&rules, CASSETTE), [] as [&str; 0]);
    }

    #[test]
    fn a_rule_with_a_typing_error_is_not() {
        let mut rules = Rules::default();
        rules.redact_header("x-internal-idd").unwrap();
        rules.redact_query("tickets").unwrap();
        rules.redact_path("body.items[*].snn").unwrap();
        rules.redact_path("body.items[0].ssn").unwrap();
        rules.redact_pattern("custmer", "x").unwrap();
        rules.redact_env("ACME_LICENCE").unwrap();
        rules.keep_header("x-build").unwrap();
        rules.keep_query("pages").unwrap();
        rules.keep_path("body.notes").unwrap();
        rules.keep_pattern("bild-[0-9]+").unwrap();
        assert_eq!(
            remaining(&rules, CASSETTE),
            [
                "redact.headers: x-internal-idd",
                "redact.query: tickets",
                "redact.json_paths: body.items[*].snn",
                "redact.json_paths: body.items[0].ssn",
                "redact.patterns: custmer",
                "redact.env: ACME_LICENCE",
                "keep.headers: x-build",
                "keep.query: pages",
                "keep.json_paths: body.notes",
                "keep.patterns: bild-[0-9]+",
            ]
        );
    }
}
