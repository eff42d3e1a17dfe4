//! A mapping read key by key, with nothing left over.
//!
//! Owns the strictness every raw form shares: a missing key, an unknown key and a value that is no mapping at
//! all are told apart, and each says where.

use crate::{
    node::{Node, Value},
    problem::Problem,
    span::Span,
    suggest,
};

/// A view of a mapping that remembers which keys were asked for.
#[derive(Debug)]
#[must_use = "unknown keys are only reported by `finish`"]
pub struct Fields<'n, 's> {
    what: &'static str,
    span: Span,
    entries: &'n [(Node<'s>, Node<'s>)],
    known: Vec<&'static str>,
    /// Where the next key is looked for first: keys mostly come in the order they are asked for.
    next: usize,
}

impl<'n, 's> Fields<'n, 's> {
    /// Takes `node` as the mapping that `what` ("the response") must be.
    pub fn of(node: &'n Node<'s>, what: &'static str) -> Result<Self, Problem> {
        match &node.value {
            Value::Mapping(entries) => {
                Ok(Self { what, span: node.span, entries, known: Vec::with_capacity(8), next: 0 })
            }
            _ => Err(Problem::new(
                node.span,
                format!("expected {what} as a mapping, found {}", node.describe()),
            )),
        }
    }

    /// The value of a key that must be there.
    pub fn required(&mut self, key: &'static str) -> Result<&'n Node<'s>, Problem> {
        self.optional(key).ok_or_else(|| self.missing(key))
    }

    /// The value of a key that may be there.
    pub fn optional(&mut self, key: &'static str) -> Option<&'n Node<'s>> {
        self.optional_entry(key).map(|(_, value)| value)
    }

    /// Key and value of a key that may be there, for a problem that should point at the key.
    pub fn optional_entry(&mut self, key: &'static str) -> Option<(&'n Node<'s>, &'n Node<'s>)> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        let at = self.find(key)?;
        self.next = at + 1;
        Some((&self.entries[at].0, &self.entries[at].1))
    }

    /// Where a key stands, if it is there; asking this does not make the key known.
    #[must_use]
    pub fn key_span(&self, key: &str) -> Option<Span> {
        self.find(key).map(|at| self.entries[at].0.span)
    }

    /// Where the whole mapping stands.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// The problem of a key that is not there, for a key that is required only beside another.
    #[must_use]
    pub fn missing(&self, key: &str) -> Problem {
        let mut problem = Problem::new(self.opening(), format!("missing key `{key}` in {}", self.what));
        let names: Vec<&str> = self.entries.iter().filter_map(|(name, _)| name.as_text()).collect();
        let unasked: Vec<&str> = names.into_iter().filter(|name| !self.known.contains(name)).collect();
        if let Some(meant) = suggest::nearest(key, &unasked) {
            problem.help = Some(format!("did you mean `{key}` where `{meant}` stands?"));
        }
        problem
    }

    /// The first line of the mapping: pointing at all of a long one points at nothing.
    fn opening(&self) -> Span {
        match self.entries {
            [(first, _), ..] => Span::new(self.span.start, first.span.end.max(self.span.start)),
            [] => self.span,
        }
    }

    /// Ends the reading: a key that nobody asked for is refused.
    pub fn finish(self) -> Result<(), Problem> {
        for (key, _) in self.entries {
            let name = key.as_text().unwrap_or_default();
            if !self.known.contains(&name) {
                let mut problem = Problem::new(key.span, format!("unknown key `{name}` in {}", self.what));
                problem.help = suggest::help(name, &self.known);
                return Err(problem);
            }
        }
        Ok(())
    }

    fn find(&self, key: &str) -> Option<usize> {
        let is_key = |entry: &(Node<'s>, Node<'s>)| entry.0.as_text() == Some(key);
        let (before, after) = self.entries.split_at(self.next);
        match after.iter().position(is_key) {
            Some(at) => Some(self.next + at),
            None => before.iter().position(is_key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    fn read(source: &str) -> Node<'_> {
        parse(source, &Limits::small()).unwrap()
    }

    #[test]
    fn keys_are_found_in_any_order() {
        let node = read("a: 1\nb: 2\nc: 3\n");
        let mut fields = Fields::of(&node, "a thing").unwrap();
        assert_eq!(fields.required("c").unwrap().as_text(), Some("3"));
        assert_eq!(fields.required("a").unwrap().as_text(), Some("1"));
        assert_eq!(fields.optional("b").unwrap().as_text(), Some("2"));
        assert_eq!(fields.optional("d"), None);
        assert_eq!(fields.key_span("b"), Some(Span::new(5, 6)));
        assert_eq!(fields.finish(), Ok(()));
    }

    #[test]
    fn a_missing_key_is_reported_at_the_mapping() {
        let node = read("x:\n  a: 1\n");
        let inner = node.get("x").unwrap();
        let mut fields = Fields::of(inner, "the response").unwrap();
        let problem = fields.required("status").unwrap_err();
        assert_eq!(problem.message, "missing key `status` in the response");
        assert_eq!(problem.span, Span::new(5, 6));
        assert_eq!(problem.help, None);
    }

    #[test]
    fn a_missing_key_that_stands_there_misspelt_is_pointed_out() {
        let node = read("staus: 200\n");
        let problem = Fields::of(&node, "the response").unwrap().required("status").unwrap_err();
        assert_eq!(problem.help.as_deref(), Some("did you mean `status` where `staus` stands?"));
    }

    #[test]
    fn an_unknown_key_far_from_all_lists_the_known_ones() {
        let node = read("a: 1\nwhatever: 2\n");
        let mut fields = Fields::of(&node, "the response").unwrap();
        fields.optional("a");
        fields.optional("status");
        let problem = fields.finish().unwrap_err();
        assert_eq!(problem.message, "unknown key `whatever` in the response");
        assert_eq!(problem.help.as_deref(), Some("known here: `a`, `status`"));
        assert_eq!(problem.span, Span::new(5, 13));
    }

    #[test]
    fn what_is_no_mapping_is_named() {
        for (source, found) in
            [("- 1\n", "a list"), ("~\n", "nothing"), ("", "nothing"), ("12\n", "a number"), ("x\n", "text")]
        {
            let problem = Fields::of(&read(source), "a cassette").unwrap_err();
            assert_eq!(problem.message, format!("expected a cassette as a mapping, found {found}"));
        }
    }
}
