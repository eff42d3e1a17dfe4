//! Which fields a policy leaves out.

use exchange::{FieldPath, Segment};

use crate::place::Step;

/// The volatile paths that can still come true below one place of a request, each without the steps already
/// taken. Most places have none, and then a step down costs nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope<'p> {
    open: Vec<&'p [Segment]>,
}

impl<'p> Scope<'p> {
    pub(crate) fn of(paths: &'p [FieldPath]) -> Self {
        Self { open: paths.iter().map(|path| path.0.as_slice()).collect() }
    }

    /// The scope one step down, or none where that step leads to a volatile field.
    pub(crate) fn enter(&self, step: Step<'_>) -> Option<Self> {
        let mut open = Vec::new();
        for path in &self.open {
            let Some((first, rest)) = path.split_first() else {
                continue;
            };
            if step.is_named_by(first) {
                if rest.is_empty() {
                    return None;
                }
                open.push(rest);
            }
        }
        Some(Self { open })
    }
}
