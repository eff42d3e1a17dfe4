//! How fast a cassette-like text is read and written: `cargo run --release -p wiretape-yaml --example throughput`.

use std::time::Instant;

use wiretape_yaml::{Limits, Out, parse, to_string};

fn main() {
    let exchanges = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let cassette = cassette(exchanges);
    let mut source = String::new();
    report("write", 3, || {
        source = to_string(&cassette);
        source.len()
    });
    drop(cassette);
    let limits = Limits::for_cassette(source.len());
    report("read, fast pass", 5, || length(parse(&source, &limits), &source));
    // A comment behind a value is outside of what the fast pass reads.
    let general = format!("{source}last: 1 # comment\n");
    report("read, general parser", 2, || length(parse(&general, &limits), &general));
}

fn length<T, E: std::fmt::Debug>(result: Result<T, E>, source: &str) -> usize {
    result.expect("what was just written can be read");
    source.len()
}

fn report(what: &str, rounds: usize, mut run: impl FnMut() -> usize) {
    let mut best = f64::INFINITY;
    let mut bytes = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        bytes = run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let megabytes = bytes as f64 / 1e6;
    println!("{what}: {megabytes:.1} MB in {:.0} ms, {:.0} MB/s", best * 1e3, megabytes / best);
}

fn cassette(exchanges: usize) -> Out<'static> {
    Out::mapping([
        ("wiretape", Out::text("cassette/1")),
        ("exchanges", Out::sequence((1..=exchanges).map(exchange))),
    ])
}

fn exchange(id: usize) -> Out<'static> {
    let headers = || {
        Out::mapping([
            ("content-type", Out::text("application/json")),
            ("authorization", Out::text("Bearer {{redacted:openai_key:1}}")),
        ])
    };
    let prompt = format!("List the open issues of page {id}\nand say what's new.\n");
    let message = Out::mapping([("role", Out::text("user")), ("content", Out::text(prompt))]);
    let event = |number: usize| {
        Out::mapping([
            ("after", Out::plain(format!("{}ms", number * 7 % 190))),
            (
                "text",
                Out::text(format!("data: {{\"id\":\"chatcmpl-{id:06}\",\"delta\":{{\"content\":\"Hi\"}}}}")),
            ),
        ])
    };
    Out::mapping([
        ("id", Out::plain(id)),
        ("operation", Out::text("openai.chat.completions.create")),
        (
            "request",
            Out::mapping([
                ("method", Out::text("POST")),
                ("url", Out::text("https://api.openai.com/v1/chat/completions")),
                ("headers", headers()),
                (
                    "body",
                    Out::mapping([(
                        "json",
                        Out::mapping([
                            ("model", Out::text("gpt-4o-mini")),
                            ("messages", Out::sequence([message])),
                        ]),
                    )]),
                ),
            ]),
        ),
        (
            "response",
            Out::mapping([
                ("status", Out::plain(200)),
                ("headers", headers()),
                ("body", Out::mapping([("events", Out::sequence((0..2).map(event)))])),
            ]),
        ),
    ])
}
