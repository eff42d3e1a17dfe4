//! A miss says what it is in the provider's own words, with the exchange that comes closest.

use serde_json::{Value, json};

use super::{
    gate::{Gate, Lab},
    raw::{Answer, Raw},
};

#[test]
fn a_miss_has_the_shape_of_openai_s_errors() {
    let body = missed("api.openai.com", "/v1/chat/completions");
    assert_eq!(
        body,
        json!({"error": {"message": message("api.openai.com", "/v1/chat/completions"), "type": "wiretape_miss", "param": null, "code": "wiretape_miss"}})
    );
}

#[test]
fn a_miss_has_the_shape_of_anthropic_s_errors() {
    let body = missed("api.anthropic.com", "/v1/messages");
    assert_eq!(
        body,
        json!({"type": "error", "error": {"type": "wiretape_miss", "message": message("api.anthropic.com", "/v1/messages")}})
    );
}

#[test]
fn a_miss_has_the_shape_of_gemini_s_errors() {
    let (host, path) = ("generativelanguage.googleapis.com", "/v1beta/models/m:generateContent");
    assert_eq!(
        missed(host, path),
        json!({"error": {"code": 424, "message": message(host, path), "status": "FAILED_PRECONDITION"}})
    );
}

#[test]
fn a_miss_has_the_shape_of_github_s_errors() {
    let body = missed("api.github.com", "/repos/o/r/issues");
    assert_eq!(
        body,
        json!({"message": message("api.github.com", "/repos/o/r/issues"), "documentation_url": ""})
    );
}

#[test]
fn an_exchange_that_was_played_is_named_with_the_call_that_played_it() {
    let mut lab = Lab::new();
    let ask = |gate: &Gate| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", "/repeat", "");
        raw.answer().unwrap()
    };
    lab.record(ask);
    let ((_, again), outcome) = lab.replay(|gate| (ask(gate), ask(gate)));
    assert_eq!(again.status(), 424);
    let body: Value = serde_json::from_slice(&again.body).unwrap();
    assert_eq!(
        body["error"]["message"],
        "no recorded exchange for GET https://faults.test/repeat\n  exchange 1 would match, but call 1 already played it"
    );
    outcome.exits(1);
}

/// Records one request with a JSON body, and gives the answer to another that differs in one field.
fn missed(host: &str, path: &str) -> Value {
    let mut lab = Lab::new().lenient();
    lab.record(|gate| post(gate, host, path, "List open issues"));
    let (answer, outcome) = lab.replay(|gate| post(gate, host, path, "List all open issues"));
    assert_eq!(answer.line, "HTTP/1.1 424 Failed Dependency");
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    assert_eq!(answer.header("x-wiretape-miss"), Some("true"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let outcome = outcome.exits(1);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert!(outcome.stderr().contains(&message(host, path)), "{outcome}");
    body
}

fn message(host: &str, path: &str) -> String {
    format!(
        "no recorded exchange for POST https://{host}{path}\n  near: exchange 1\n    body.messages[0].content\n      \
         expected  \"List open issues\"\n      actual    \"List all open issues\""
    )
}

fn post(gate: &Gate, host: &str, path: &str, content: &str) -> Answer {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": content}]}).to_string();
    let mut raw = Raw::https(gate, host);
    let length = body.len();
    raw.send(format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    ));
    raw.answer().unwrap()
}
