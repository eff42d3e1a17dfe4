//! What a person is told of a difference.

use exchange::{Content, Sha256};
use wiretape_matchers::{Pattern, Policy, Verdict};

use crate::{get, json, post, request, told, volatile, with_header};

#[test]
fn differences_come_in_the_order_method_url_headers_body() {
    let policy = Policy { headers: vec!["x-a".to_owned()], ..Policy::default() };
    let mut live = with_header(json(r#"{"a":2}"#), "x-a", "1");
    live.url = exchange::Url::parse("http://b.test:81/v2?p=1&q").unwrap();
    live.method = "PUT".to_owned();
    assert_eq!(
        told(&policy, &json(r#"{"a":1}"#), &live),
        [
            "method: POST -> PUT",
            "scheme: https -> http",
            "host: api.example.com -> b.test",
            "port: 443 -> 81",
            "path: /v1/items -> /v2",
            "query.p: - -> 1",
            "query.q: - -> ",
            "headers.x-a: - -> 1",
            "body.a: 1 -> 2",
        ]
    );
}

#[test]
fn a_json_difference_names_its_place_and_quotes_strings() {
    let recorded = json(r#"{"messages":[{"role":"system"},{"content":"List open issues","n":1}],"x":true}"#);
    let live =
        json(r#"{"messages":[{"role":"system"},{"content":"List \"all\" issues","n":"1"},{}],"y":null}"#);
    assert_eq!(
        told(&Policy::default(), &recorded, &live),
        [
            r#"body.messages[1].content: "List open issues" -> "List \"all\" issues""#,
            r#"body.messages[1].n: 1 -> "1""#,
            "body.messages[2]: - -> {}",
            "body.x: true -> -",
            "body.y: - -> null",
        ]
    );
}

#[test]
fn an_item_after_a_volatile_one_is_told_by_its_own_number() {
    assert_eq!(
        told(&volatile(&["body[0]", "body[1]"]), &json("[1,2,3]"), &json("[8,9,4]")),
        ["body[2]: 3 -> 4"]
    );
}

#[test]
fn a_plain_value_in_the_place_of_a_credential_is_told_as_such() {
    assert_eq!(
        told(&Policy::default(), &json(r#"{"token":"{{redacted:token:1}}"}"#), &json(r#"{"token":"abc"}"#)),
        [r#"body.token: {{redacted:token:*}} -> "abc""#]
    );
}

#[test]
fn long_values_are_cut_around_the_place_where_they_part() {
    let text = |middle: &str| json(&format!(r#"{{"c":"{}{middle}{}"}}"#, "a".repeat(500), "b".repeat(500)));
    let verdict = Pattern::new(&text("ONE"), &Policy::default()).check(&text("TWO")).differences;
    let a = "a".repeat(40);
    let b = "b".repeat(73);
    assert_eq!(verdict[0].expected.as_deref(), Some(format!("\"…{a}ONE{b}…\"").as_str()));
    assert_eq!(verdict[0].actual.as_deref(), Some(format!("\"…{a}TWO{b}…\"").as_str()));
}

#[test]
fn what_is_shown_is_short_and_printable_whatever_came() {
    let nasty = "é\u{1b}[31m\u{202e}\u{0}\n".repeat(200);
    let requests = [
        post("text/plain", nasty.clone()),
        post("text/plain", format!("x{nasty}")),
        post("", vec![0xff; 4000]),
        json(&serde_json::json!({ nasty.clone(): [nasty, 1, {"a": {}}] }).to_string()),
        json(&format!("[{}1]", "1,".repeat(5000))),
        json(&format!("[\"{}\"]", "x".repeat(5000))),
        post("", ""),
    ];
    let policy = Policy::default();
    for a in &requests {
        for b in &requests {
            for difference in Pattern::new(a, &policy).check(b).differences {
                for shown in [difference.expected, difference.actual].into_iter().flatten() {
                    assert!(shown.chars().count() <= 130, "{shown}");
                    assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown:?}");
                }
            }
        }
    }
}

#[test]
fn binary_and_omitted_bodies_are_told_by_size() {
    let policy = Policy::default();
    assert_eq!(
        told(&policy, &post("", [0xff, 1, 2]), &post("", [0xff, 1, 3, 4])),
        ["body: [3 bytes, from byte 2: 02] -> [4 bytes, from byte 2: 03 04]"]
    );
    let mut omitted = post("", "");
    omitted.body.content = Content::Omitted { size: 9, sha256: Sha256::of(b"x") };
    assert_eq!(
        told(&policy, &omitted, &post("", "abc")),
        ["body: [9 bytes, sha256 2d711642b726b044…] -> [3 bytes, sha256 ba7816bf8f01cfea…]"]
    );
}

#[test]
fn an_empty_body_is_told_as_absent() {
    assert_eq!(told(&Policy::default(), &json(r#"{"a":1}"#), &json("")), [r#"body: {"a":1} -> -"#]);
}

#[test]
fn equal_bytes_of_different_kinds_say_how_they_were_read() {
    assert_eq!(
        told(&Policy::default(), &json("1"), &post("text/plain", "1")),
        ["body: 1 read as JSON -> 1 read as text"]
    );
}

#[test]
fn a_verdict_lists_no_more_than_anyone_reads() {
    let list = |n: u32| json(&serde_json::to_string(&vec![n; 5000]).unwrap());
    let policy = Policy::default();
    let verdict = Pattern::new(&list(1), &policy).check(&list(2));
    assert_eq!(verdict.differences.len(), Verdict::LIMIT);
    assert!(!verdict.is_match());
}

#[test]
fn a_path_is_told_whole() {
    assert_eq!(
        told(
            &Policy::default(),
            &get("https://a.test/v1/threads/7/runs"),
            &get("https://a.test/v1/threads/8/runs")
        ),
        ["path: /v1/threads/7/runs -> /v1/threads/8/runs"]
    );
    assert_eq!(
        told(&Policy::default(), &request("GET", "https://a.test/"), &get("https://a.test/")),
        [""; 0]
    );
}
