//! What scrubbing costs for each MiB of a body, by its kind: processor time, so that other work on the machine does not
//! count.

use std::{fs, time::Duration};

use cassettes::Scrubber;
use exchange::{Body, End, Exchange, Header, Headers, Reply, Request, Response, Url};

use super::{
    report::{Goal, Report},
    statistics::Samples,
};

pub(crate) fn measure(report: &mut Report) {
    let bodies: [(&str, &str, String); 6] = [
        ("JSON, prose", "application/json", chat()),
        ("JSON, records", "application/json", issues()),
        ("JSON, base64 media", "application/json", media()),
        ("event stream", "text/event-stream", events()),
        ("text", "text/plain", "The quick brown fox jumps over the lazy dog, 17 times. ".repeat(20_000)),
        ("JSON, escapes", "application/json", escapes()),
    ];
    for (name, media, body) in bodies {
        let mib = body.len() as f64 / f64::from(1 << 20);
        let secrets: Vec<(String, String)> =
            (0..20).map(|n| (format!("SERVICE_{n}_TOKEN"), format!("q{n}Zk8-41xTTw0-{n:08}-aB"))).collect();
        let knowing = secrets.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let scrubber = Scrubber::new().knowing(knowing);
        let samples = Samples::new((0..RUNS).map(|_| {
            let mut batch: Vec<_> = (0..BATCH).map(|_| (scrubber.clone(), exchange(media, &body))).collect();
            let start = on_cpu();
            for (scrubber, exchange) in batch.drain(..) {
                let mut scrubber = scrubber;
                scrubber.exchange(exchange).expect("it can be looked into");
            }
            (on_cpu() - start).as_secs_f64() * 1e3 / mib / BATCH as f64
        }));
        let (least, median, most) = (samples.least(), samples.median(), samples.most());
        report.row(
            "wiretape",
            format!("scrubbing, {name}, {mib:.1} MiB"),
            median,
            format!("{median:.1} ms per MiB ({least:.1} to {most:.1})"),
            Goal::AtMost(5.0, " ms per MiB"),
        );
    }
}

/// Time that this process had a processor: other work on the machine does not count.
fn on_cpu() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_default())
}

fn exchange(media: &str, body: &str) -> Exchange {
    let headers = |pairs: &[(&str, &str)]| -> Headers {
        pairs.iter().map(|(name, value)| Header::new(name, *value).expect("legal")).collect()
    };
    Exchange {
        id: 1,
        at: Duration::ZERO,
        request: Request {
            method: "GET".into(),
            url: Url::parse("https://api.test/v1").expect("a URL"),
            headers: headers(&[("authorization", "Bearer q7Zk8-41xTTw0-00000007-aB")]),
            body: Body::empty(),
            trailers: Headers::new(),
        },
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: headers(&[("content-type", media)]),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::from_bytes(body.to_owned()),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    }
}

fn chat() -> String {
    let text = "An answer of a model, with words, numbers such as 42, and `code`: let x = f(y);\n".repeat(20);
    let messages: Vec<_> =
        (0..600).map(|n| serde_json::json!({"role": "user", "content": format!("{n} {text}")})).collect();
    serde_json::json!({"model": "m", "messages": messages}).to_string()
}

fn issues() -> String {
    let issues: Vec<_> = (0..1_200)
        .map(|n| {
            let user = serde_json::json!({
                "login": format!("user{n}"), "id": 1_000_000 + n, "node_id": format!("MDQ6VXNlcjEwMDAw{n}"), "type": "User",
                "avatar_url": format!("https://avatars.githubusercontent.com/u/{n}?v=4"), "site_admin": false,
                "url": format!("https://api.github.com/users/user{n}"), "html_url": format!("https://github.com/user{n}"),
            });
            serde_json::json!({
                "id": 5_000_000 + n, "number": n, "title": "A title of an issue", "state": "open", "locked": false, "user": user,
                "created_at": "2024-01-01T00:00:00Z", "body": "Some words on what is wrong here.\n\nAnd on what to do.",
                "url": format!("https://api.github.com/repos/acme/rocket/issues/{n}"), "labels": ["bug", "help wanted"],
            })
        })
        .collect();
    serde_json::to_string(&issues).expect("a value")
}

fn media() -> String {
    let mut state = 1u64;
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(letters[(state >> 58) as usize])
    };
    let data: String = (0..1 << 20).map(|_| draw()).collect();
    serde_json::json!({"audio": {"data": data}}).to_string()
}

fn events() -> String {
    let event = |n: usize| {
        let data = serde_json::json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "gpt-4o-mini",
            "choices": [{"index": 0, "delta": {"content": format!(" word{n}")}, "finish_reason": null}],
        });
        format!("data: {data}\n\n")
    };
    (0..6_000).map(event).collect()
}

fn escapes() -> String {
    let text = "ein schöner Text „mit“ Zeichen\tund\nZeilen & 100 % <b>HTML</b>\n".repeat(30);
    let items: Vec<_> = (0..500).map(|n| format!("{n}: {text}")).collect();
    serde_json::to_string(&items).expect("a value")
}

const RUNS: usize = 9;
/// The clock ticks every few milliseconds.
const BATCH: usize = 20;
