//! A recorded request as a pattern that live ones are held against.

use exchange::Request;

use crate::{
    difference::{self, Difference},
    policy::Policy,
    tree::Tree,
};

/// A request that was read once and can be compared often.
#[derive(Debug)]
pub struct Pattern<'a> {
    tree: Tree<'a>,
    policy: &'a Policy,
}

/// What came of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// In the order method, URL, headers, body; the first [`Verdict::LIMIT`] where there are more.
    pub differences: Vec<Difference>,
}

impl<'a> Pattern<'a> {
    pub fn new(recorded: &'a Request, policy: &'a Policy) -> Self {
        Self { tree: Tree::of(recorded, policy), policy }
    }

    pub fn check(&self, live: &Request) -> Verdict {
        self.check_tree(&Tree::of(live, self.policy))
    }

    /// `live` was read under the same policy.
    pub(crate) fn check_tree(&self, live: &Tree<'_>) -> Verdict {
        Verdict { differences: difference::between(&self.tree, live, Verdict::LIMIT) }
    }
}

impl Verdict {
    /// Nobody reads more, and two large bodies can differ in every leaf.
    pub const LIMIT: usize = 100;

    pub fn is_match(&self) -> bool {
        self.differences.is_empty()
    }
}
