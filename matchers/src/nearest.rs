//! The exchanges that a request without a match came closest to.

use std::cmp::Reverse;

use exchange::{Request, Segment};

use crate::{difference::Difference, pattern::Pattern, policy::Policy, tree::Tree};

/// A candidate and what keeps it from matching.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    pub id: u32,
    /// Empty for a candidate that matches, such as an exchange that was already played.
    pub differences: Vec<Difference>,
}

/// The `limit` closest candidates, the closest first. Where a request goes counts for more than what it says;
/// among equals the earlier candidate comes first.
pub fn nearest<'a>(
    candidates: impl Iterator<Item = (u32, &'a Request)>,
    live: &Request,
    policy: &Policy,
    limit: usize,
) -> Vec<NearMiss> {
    let mut ranked: Vec<_> =
        candidates.map(|(id, recorded)| (Likeness::of(recorded, live), id, recorded)).collect();
    ranked.sort_by_key(|(likeness, ..)| *likeness);
    ranked.truncate(CHECKED);

    let live = Tree::of(live, policy);
    let mut misses: Vec<_> = ranked
        .into_iter()
        .map(|(_, id, recorded)| {
            let differences = Pattern::new(recorded, policy).check_tree(&live).differences;
            (Distance::of(&differences), NearMiss { id, differences })
        })
        .collect();
    // A stable sort: at the same distance the more alike stays first.
    misses.sort_by_key(|(distance, _)| *distance);
    misses.truncate(limit);
    misses.into_iter().map(|(_, miss)| miss).collect()
}

/// How much two requests have in common at a glance, without reading their bodies; the most alike sort first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    class: Class,
    shared_segments: Reverse<usize>,
    same_method: Reverse<bool>,
    /// Bytes of the bodies that are neither in their common start nor in their common end.
    unshared: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    HostPathMethod,
    HostPath,
    Host,
    Nothing,
}

impl Likeness {
    fn of(recorded: &Request, live: &Request) -> Self {
        let same_host = recorded.url.host == live.url.host;
        let same_path = recorded.url.path == live.url.path;
        let same_method = recorded.method == live.method;
        let class = match (same_host, same_path, same_method) {
            (true, true, true) => Class::HostPathMethod,
            (true, true, false) => Class::HostPath,
            (true, false, _) => Class::Host,
            (false, ..) => Class::Nothing,
        };
        let (a, b) = (recorded.url.path.split('/'), live.url.path.split('/'));
        Self {
            class,
            shared_segments: Reverse(a.zip(b).filter(|(x, y)| x == y).count()),
            same_method: Reverse(same_method),
            unshared: unshared(recorded, live),
        }
    }
}

fn unshared(recorded: &Request, live: &Request) -> u64 {
    let (Some(a), Some(b)) = (recorded.body.bytes(), live.body.bytes()) else {
        return recorded.body.len().max(live.body.len());
    };
    let start = a.iter().zip(b).take(GLANCE).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take(GLANCE).take_while(|(x, y)| x == y).count();
    (a.len().max(b.len()) - end) as u64
}

/// How far apart two requests are, by the fields in which they differ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    origin: usize,
    target: usize,
    content: usize,
}

impl Distance {
    fn of(differences: &[Difference]) -> Self {
        let mut distance = Self::default();
        for difference in differences {
            let root = match difference.path.0.first() {
                Some(Segment::Key(root)) => root.as_str(),
                _ => "",
            };
            match root {
                "scheme" | "host" | "port" => distance.origin += 1,
                "method" | "path" => distance.target += 1,
                _ => distance.content += 1,
            }
        }
        distance
    }
}

/// Candidates whose bodies are read.
const CHECKED: usize = 64;

/// Bytes that are compared at either end of a body to rank it.
const GLANCE: usize = 64 * 1024;
