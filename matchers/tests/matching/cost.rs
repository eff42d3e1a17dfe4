//! What a key costs. Not a test of right or wrong, so it is run by hand:
//! `cargo test --release -p wiretape-matchers -- --ignored --nocapture cost`

use std::{hint::black_box, time::Instant};

use exchange::Request;
use wiretape_matchers::{Pattern, Policy, canonical, nearest};

use crate::json;

#[test]
#[ignore = "prints times, asserts nothing"]
fn cost_of_keys_and_checks() {
    let policy = Policy::default();
    for (name, turns) in [("1 KiB", 6), ("16 KiB", 110), ("256 KiB", 1780)] {
        let request = chat(turns);
        let rounds = 20_000_000 / request.body.len() as u32;
        let pattern = Pattern::new(&request, &policy);
        print(name, "canonical", rounds, &request, || {
            black_box(canonical(black_box(&request), &policy));
        });
        print(name, "check", rounds, &request, || {
            black_box(pattern.check(black_box(&request)));
        });
    }
    let candidates: Vec<_> = (0..2000).map(|n| chat(n % 40)).collect();
    let live = chat(41);
    print("2000 candidates", "nearest", 20, &live, || {
        let numbered = candidates.iter().enumerate().map(|(i, r)| (i as u32, r));
        black_box(nearest(numbered, &live, &policy, 3));
    });
}

fn print(name: &str, what: &str, rounds: u32, request: &Request, mut run: impl FnMut()) {
    for _ in 0..rounds / 10 {
        run();
    }
    let start = Instant::now();
    for _ in 0..rounds {
        run();
    }
    let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(rounds);
    println!("{name:>16} ({:>6} bytes) {what:>10}: {micros:9.2} µs", request.body.len());
}

fn chat(turns: usize) -> Request {
    let messages: Vec<_> = (0..turns)
        .map(|i| {
            let role = if i % 2 == 0 { "user" } else { "assistant" };
            let content =
                format!("Message {i}: list the open issues and say which of them block the next release.");
            serde_json::json!({ "role": role, "content": content })
        })
        .collect();
    let body = serde_json::json!({
        "model": "gpt-4o-mini", "messages": messages, "temperature": 0.2, "max_tokens": 512, "stream": true,
        "tools": [{ "type": "function", "function": { "name": "list_issues", "parameters": { "type": "object",
            "properties": { "state": { "type": "string", "enum": ["open", "closed"] } } } } }],
    });
    json(&body.to_string())
}
