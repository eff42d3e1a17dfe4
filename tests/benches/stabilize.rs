//! What stable ids cost: 10 MiB of chats, whole and streamed, made stable, and laid over the same recording.
//!
//! `cargo bench -p wiretape-tests --bench stabilize`. What is measured and how is written down in
//! `docs/design/performance.md`.

use std::{fs, hint::black_box, time::Duration};

use cassettes::{Merge, Scrubbed, Scrubber, merge, stabilize};
use exchange::{Body, End, Exchange, Header, Headers, Reply, Request, Response, Url};
use matchers::Policy;

fn main() {
    println!("one core, in memory, best of {ROUNDS}");
    println!("| recording | exchanges | MiB | stabilize ms/MiB | laid over the same ms/MiB |");
    println!("|---|---|---|---|---|");
    for (name, kind) in
        [("whole answers", Kind::Whole), ("streamed answers", Kind::Streamed), ("one long talk", Kind::Talk)]
    {
        let recording = recording(kind, 0);
        let mib = size(&recording) as f64 / f64::from(1 << 20);
        let took = best(|| stabilize(recording.clone(), &[]));
        let old = stabilize(recording.clone(), &[]);
        let again = self::recording(kind, 1);
        let merged = best(|| merge::merge(old.clone(), again.clone(), Merge::Replace, &Policy::default()));
        let unchanged = merge::merge(old.clone(), again, Merge::Replace, &Policy::default()).unchanged;
        assert_eq!(unchanged, recording.len(), "{name}");
        let cost = |took: Duration| took.as_secs_f64() * 1e3 / mib;
        println!("| {name} | {} | {mib:.1} | {:.1} | {:.1} |", recording.len(), cost(took), cost(merged));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Whole,
    Streamed,
    /// Each request says all that came before it.
    Talk,
}

/// The same program, whichever run of it.
fn recording(kind: Kind, run: usize) -> Vec<Scrubbed<Exchange>> {
    let mut scrubber = Scrubber::new();
    let (mut recording, mut bytes, mut said) = (Vec::new(), 0, Vec::new());
    while bytes < SIZE {
        let number = recording.len();
        let id = format!("chatcmpl-{run}Run{number:08}Abcdefghij");
        let call = format!("call_{run}Run{number:08}Abcdefgh");
        let created = 1_795_032_000 + (run * 1_000_000 + number) as i64;
        said.push(format!(r#"{{"role":"tool","tool_call_id":"{call}","content":"{WORDS} {WORDS}"}}"#));
        let first = if kind == Kind::Talk { 0 } else { number };
        let turns = said[first..].join(",");
        let sent =
            format!(r#"{{"model":"gpt-4o-mini","n":{number},"messages":[{turns}]}}"#).replace(&call, "none");
        let body = match kind {
            Kind::Streamed => WORDS
                .split_inclusive(' ')
                .map(|word| format!("data: {{\"id\":\"{id}\",\"object\":\"chat.completion.chunk\",\"created\":{created},\"model\":\"gpt-4o-mini\",\"system_fingerprint\":\"fp_0ba0d124f1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{word}\"}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"))
                .collect(),
            _ => format!(r#"{{"id":"{id}","object":"chat.completion","created":{created},"model":"gpt-4o-mini","choices":[{{"index":0,"message":{{"role":"assistant","content":"{WORDS}","tool_calls":[{{"id":"{call}","type":"function"}}]}}}}]}}"#),
        };
        let media = if kind == Kind::Streamed { "text/event-stream" } else { "application/json" };
        bytes += sent.len() + body.len();
        let exchange = scrubber.exchange(exchange(sent, body, media));
        recording.push(exchange.expect("it can be scrubbed"));
    }
    recording
}

fn exchange(sent: String, body: String, media: &str) -> Exchange {
    let header = |name: &str, value: &str| Header::new(name, value).expect("a legal header");
    Exchange {
        id: 1,
        at: Duration::ZERO,
        request: Request {
            method: "POST".into(),
            url: Url::parse("https://api.openai.com/v1/chat/completions").expect("a URL"),
            headers: [header("content-type", "application/json")].into_iter().collect(),
            body: Body::from_bytes(sent),
            trailers: Headers::new(),
        },
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: [header("content-type", media), header("date", "Wed, 18 Nov 2026 20:00:00 GMT")]
                .into_iter()
                .collect(),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::from_bytes(body),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    }
}

fn size(recording: &[Scrubbed<Exchange>]) -> u64 {
    recording.iter().map(|e| e.request.body.len() + e.reply.response().map_or(0, |r| r.body.len())).sum()
}

/// What this thread had of a processor: the machine may do other work.
fn on_the_processor() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    let nanoseconds = stat.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number of nanoseconds"))
}

fn best<T>(mut run: impl FnMut() -> T) -> Duration {
    let time = |run: &mut dyn FnMut() -> T| {
        let began = on_the_processor();
        black_box(run());
        on_the_processor() - began
    };
    (0..ROUNDS).map(|_| time(&mut run)).min().expect("there are rounds")
}

const SIZE: usize = 10 << 20;
const ROUNDS: usize = 3;
const WORDS: &str =
    "the quick brown fox jumps over the lazy dog and then it sits down and thinks about what it has done";
