//! The law of this crate: requests share a key exactly where a pattern sees no difference between them.

use exchange::{Header, Request, Url};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::Value;
use wiretape_matchers::Policy;

use crate::{exact, get, json, matches_under, post, volatile};

/// Values of which many are alike, so that pairs that match and pairs that do not are both common.
fn leaf() -> impl Strategy<Value = String> {
    select(
        [
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1",
            "1.0",
            "10e-1",
            "2",
            "1e400",
            "1700000000",
            "1.7e9",
            "1700000001",
            "1700000000123",
            "1700000000.5",
            r#""""#,
            r#""a""#,
            r#""\u0061""#,
            r#""1""#,
            r#""1700000000""#,
            r#""1700000001""#,
            r#""0b9f6d1c-3f0e-4c57-9d0a-0d5a8f0c7a11""#,
            r#""6F9619FF-8B86-D011-B42D-00C04FC964FF""#,
            r#""2026-11-18T07:58:00Z""#,
            r#""2026-11-18 07:58:00.5+01:00""#,
            r#""2026-11-18""#,
            r#""{{redacted:key:1}}""#,
            r#""{{redacted:key:2}}""#,
            r#""{{redacted:token:1}}""#,
            r#""x {{redacted:key:1}}""#,
            r#""x {{redacted:key:2}}""#,
            "{}",
            "[]",
        ]
        .map(str::to_owned)
        .to_vec(),
    )
}

fn key() -> impl Strategy<Value = String> {
    select(
        ["a", "b", "c", "id", "ts", "created_at", "", "a.b", "{{redacted:key:1}}", "{{redacted:key:2}}"]
            .map(str::to_owned)
            .to_vec(),
    )
}

/// JSON as text, so that spellings, repeated keys and the order of keys are the generator's.
fn value() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
            vec((key(), inner), 0..3).prop_map(|members| {
                let members: Vec<_> = members.iter().map(|(k, v)| format!("{k:?}: {v}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

fn plain() -> impl Strategy<Value = String> {
    leaf().prop_map(|leaf| leaf.trim_matches('"').to_owned())
}

fn pairs() -> impl Strategy<Value = String> {
    let spelled =
        prop_oneof![plain(), plain().prop_map(|text| text.bytes().map(|b| format!("%{b:02x}")).collect())];
    vec((key(), spelled), 0..4).prop_map(|pairs| {
        let pairs: Vec<_> =
            pairs.iter().map(|(k, v)| format!("{k}={}", v.replace([' ', '+'], "%20"))).collect();
        pairs.join("&")
    })
}

fn parts() -> impl Strategy<Value = Request> {
    let head = select(vec![
        "content-disposition: form-data; name=a",
        "Content-Disposition: form-data; name=\"a\"; filename=\"f\"",
        "content-disposition: form-data; name=\"ts\"",
        "content-type: application/json\r\ncontent-disposition: form-data; name=b",
        "content-type: text/plain",
    ]);
    (select(vec!["one", "two"]), vec((head, prop_oneof![plain(), value()]), 0..3)).prop_map(
        |(boundary, parts)| {
            let parts =
                parts.iter().map(|(head, content)| format!("--{boundary}\r\n{head}\r\n\r\n{content}\r\n"));
            let body = format!("{}--{boundary}--\r\n", parts.collect::<String>());
            post(&format!("multipart/form-data; boundary={boundary}"), body)
        },
    )
}

/// The same request as most recorders keep it.
fn untyped(mut request: Request) -> Request {
    request.headers.retain(|header| header.name() != "content-type");
    request
}

fn any_request() -> impl Strategy<Value = Request> {
    let body = prop_oneof![
        4 => value().prop_map(|text| json(&text)),
        1 => value().prop_map(|text| post("", text)),
        1 => value().prop_map(|text| post("application/x-ndjson", text)),
        1 => pairs().prop_map(|text| post("application/x-www-form-urlencoded", text)),
        1 => pairs().prop_map(|text| post("", text)),
        2 => parts(),
        1 => parts().prop_map(untyped),
        1 => plain().prop_map(|text| post("text/plain", text)),
        1 => Just(post("", vec![0xff, 0xfe])),
    ];
    let path = select(vec![
        "/",
        "/a",
        "/%61",
        "/a/0b9f6d1c-3f0e-4c57-9d0a-0d5a8f0c7a11",
        "/a/6f9619ff-8b86-d011-b42d-00c04fc964ff",
        "/a/{{redacted:key:1}}",
        "/a/%7b%7Bredacted:key:2%7d%7D",
    ]);
    let host = select(vec!["https://a.test", "https://a.test", "http://a.test"]);
    (body, host, path, pairs(), prop::option::of(plain())).prop_map(
        |(mut request, host, path, query, header)| {
            request.url = Url::parse(&format!("{host}{path}?{query}")).unwrap();
            request.headers.push(Header::new("x-a", header.unwrap_or_default()).unwrap());
            request
        },
    )
}

fn policies() -> impl Strategy<Value = Policy> {
    select(vec![
        Policy::default(),
        Policy::default(),
        exact(),
        volatile(&["body.a", "query.a[0]"]),
        volatile(&["body[*].a", "body[0]", "path[1]"]),
        Policy { headers: vec!["x-a".to_owned()], ..volatile(&["query.*", "path"]) },
        Policy {
            shapes: wiretape_matchers::Shapes::Exact,
            ..volatile(&["query", "path", "body.a.b", "body[*]", "body.b[1]"])
        },
    ])
}

/// Another spelling of the same JSON: keys the other way round, other space, and other values of each shape.
fn respelled(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .rev()
                .map(|(k, v)| format!("{} :\t{}", Value::from(k.as_str()), respelled(v)))
                .collect();
            format!("{{ {} }}", members.join(" ,"))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(respelled).collect();
            format!("[\n{}\n]", items.join(" , "))
        }
        Value::Number(number) if !number.as_str().contains(['.', 'e']) => format!("{number}.0e0"),
        Value::String(text) if text.starts_with("0b9f") => {
            r#""FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF""#.to_owned()
        }
        Value::String(text) => Value::from(text.replace(":1}}", ":77}}")).to_string(),
        other => other.to_string(),
    }
}

/// Gives the first leaf a value that no generator makes; false if there is no leaf.
fn change_first_leaf(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter_mut()
            .filter(|(key, _)| !key.contains('{'))
            .any(|(_, member)| change_first_leaf(member)),
        Value::Array(items) => items.iter_mut().any(change_first_leaf),
        leaf => {
            *leaf = Value::from("changed by the test");
            true
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    /// `matches_under` asks in every way there is and fails where two answers differ.
    #[test]
    fn keys_and_patterns_agree(a in any_request(), b in any_request(), policy in policies()) {
        matches_under(&policy, &a, &b);
    }

    #[test]
    fn nothing_that_comes_over_a_wire_breaks_the_law(
        a in vec(any::<u8>(), 0..40),
        b in vec(select("-\r\nb:;=\"\\{}[]%09eE.é&+/".chars().collect::<Vec<_>>()), 0..60),
        media in select(vec![
            "application/json",
            "multipart/form-data; boundary=b",
            "application/x-www-form-urlencoded",
            "",
        ]),
        policy in policies(),
    ) {
        let b: String = b.into_iter().collect();
        let [mut x, y, z] = [a, b.clone().into_bytes(), format!("--b\r\n{b}\r\n--b--").into_bytes()]
            .map(|body| post(media, body));
        x.url.path = format!("/{b}");
        x.url.query = Some(b);
        for (one, other) in [(&x, &y), (&y, &z), (&x, &z), (&x, &x), (&z, &z)] {
            matches_under(&policy, one, other);
        }
    }

    /// Requests that share everything but one part, where most pairs come close to a match.
    #[test]
    fn keys_and_patterns_agree_on_bodies(a in value(), b in value(), policy in policies()) {
        matches_under(&policy, &json(&a), &json(&b));
        matches_under(&policy, &json(&format!("[{a},{b}]")), &json(&format!("[{b},{a}]")));
        matches_under(&policy, &json(&format!(r#"{{"ts":{a}}}"#)), &json(&format!(r#"{{"ts":{b}}}"#)));
    }

    #[test]
    fn keys_and_patterns_agree_on_queries(a in pairs(), b in pairs(), policy in policies()) {
        let [a, b] = [a, b].map(|query| get(&format!("https://a.test/?{query}")));
        matches_under(&policy, &a, &b);
    }

    #[test]
    fn keys_and_patterns_agree_on_parts(a in parts(), b in parts(), policy in policies()) {
        matches_under(&policy, &a, &b);
    }

    /// Recorders that keep no headers of requests are many, and curl calls any body a form.
    #[test]
    fn a_body_matches_itself_without_its_type(
        text in prop_oneof![value(), plain(), pairs(), "[a-c=&%+0-9 .\\[\\]<>\"\n-]{0,20}"],
        media in select(vec!["application/x-www-form-urlencoded", "text/plain", "application/octet-stream"]),
        policy in policies(),
    ) {
        let typed = post(media, text);
        prop_assert!(matches_under(&policy, &untyped(typed.clone()), &typed));
    }

    #[test]
    fn parts_match_themselves_without_their_type(typed in parts(), policy in policies()) {
        prop_assert!(matches_under(&policy, &untyped(typed.clone()), &typed));
    }

    #[test]
    fn a_request_matches_itself(a in any_request(), policy in policies()) {
        prop_assert!(matches_under(&policy, &a, &a));
    }

    #[test]
    fn another_spelling_of_the_same_json_matches(text in value()) {
        // Keys that are placeholders are told apart by their order, which the other spelling turns round.
        let text = text.replace("{{redacted:key:1}}\":", "k1\":").replace("{{redacted:key:2}}\":", "k2\":");
        let value: Value = serde_json::from_str(&text).unwrap();
        prop_assert!(matches_under(&Policy::default(), &json(&text), &json(&respelled(&value))));
    }

    #[test]
    fn a_changed_leaf_never_matches(text in value()) {
        // The last item is there to be changed where the first holds no leaf.
        let value: Value = serde_json::from_str(&format!("[{text},0]")).unwrap();
        let mut changed = value.clone();
        prop_assert!(change_first_leaf(&mut changed));
        let [recorded, live] = [value, changed].map(|value| json(&value.to_string()));
        prop_assert!(!matches_under(&Policy::default(), &recorded, &live));
    }
}
