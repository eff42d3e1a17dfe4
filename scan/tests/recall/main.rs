//! Every kind of secret in every context: how many are found, and that no placeholder is.

// A test that cannot go on has failed: here a panic is the report.
#![allow(clippy::unwrap_used)]

mod contexts;
mod framed;
mod made;

use std::collections::BTreeMap;

use contexts::CONTEXTS;
use framed::FRAMED;
use made::{Dice, TOKENS};

#[test]
fn hardly_any_secret_is_missed_in_any_context() {
    let mut tally: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut missed: BTreeMap<String, usize> = BTreeMap::new();
    for (number, (kind, pattern)) in TOKENS.iter().chain(FRAMED).enumerate() {
        let is_framed = number >= TOKENS.len();
        for (place, context) in CONTEXTS.iter().enumerate().filter(|(_, c)| c.is_general || !is_framed) {
            // A token of letters, a slash and a colon has no place in a path or a user name.
            if !context.is_general && pattern.contains("//") && matches!(context.name, "path" | "userinfo") {
                continue;
            }
            for round in 0..ROUNDS {
                let mut dice = Dice::new((number * 1000 + place) as u64 * 1000 + round);
                let secret = made::make(pattern, &mut dice);
                let text = (context.wrap)(&secret, &mut dice);
                let is_found =
                    wiretape_scan::scan(&text).findings.iter().any(|finding| finding.kind == *kind);
                let count = tally.entry(context.name).or_default();
                count.0 += usize::from(is_found);
                count.1 += 1;
                if !is_found {
                    *missed.entry(format!("{kind} ({number}), {}", context.name)).or_default() += 1;
                }
            }
        }
    }
    for (name, (found, all)) in &tally {
        println!("{found:>6} of {all:>6}  {name}");
    }
    let (found, all) = tally.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    println!("{found:>6} of {all:>6}  in all: {:.3} %", found as f64 * 100.0 / all as f64);
    for (what, times) in &missed {
        println!("missed {times:>3} x {what}");
    }
    assert!(found * 1000 >= all * 999, "{found} of {all}");
}

const ROUNDS: u64 = 12;
