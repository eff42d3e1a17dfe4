//! Keys that stand twice in one mapping.

use std::collections::HashMap;

use crate::node::Node;

/// The first key that repeats an earlier one: indices of the earlier and of the later.
pub(super) fn first_repeat(entries: &[(Node<'_>, Node<'_>)]) -> Option<(usize, usize)> {
    let name = |at: usize| entries[at].0.as_text().unwrap_or_default();
    if entries.len() <= FEW {
        return (1..entries.len()).find_map(|later| {
            (0..later).find(|earlier| name(*earlier) == name(later)).map(|earlier| (earlier, later))
        });
    }
    let mut seen = HashMap::with_capacity(entries.len());
    (0..entries.len()).find_map(|at| seen.insert(name(at), at).map(|earlier| (earlier, at)))
}

/// Up to here comparing every pair is cheaper than hashing.
const FEW: usize = 16;
