//! What counts, one fact at a time.

use exchange::{Body, Content, Header, Sha256, Url};
use wiretape_matchers::{Compare, OnRepeat, Pattern, Policy, Shapes};

use crate::{exact, get, json, matches, matches_under, post, request, volatile, with_header};

#[test]
fn the_default_policy_is_full_loose_and_misses_on_repeat() {
    let policy = Policy::default();
    assert_eq!(policy.compare, Compare::Full);
    assert_eq!(policy.shapes, Shapes::Loose);
    assert_eq!(policy.on_repeat, OnRepeat::Miss);
    assert!(policy.headers.is_empty() && policy.volatile.is_empty());
}

#[test]
fn method_scheme_host_port_and_path_count() {
    let recorded = get("https://a.test/x");
    assert!(matches(&recorded, &get("https://A.test:443/x")));
    for other in [
        request("POST", "https://a.test/x"),
        request("get", "https://a.test/x"),
        get("http://a.test:443/x"),
        get("https://b.test/x"),
        get("https://a.test:8443/x"),
        get("https://a.test/y"),
        get("https://a.test/x/"),
        get("https://a.test/X"),
    ] {
        assert!(!matches(&recorded, &other), "{}", other.url);
    }
}

#[test]
fn a_path_may_spell_its_escapes_in_either_case_and_unreserved_characters_either_way() {
    let recorded = get("https://a.test/a%2fb/%7Eme");
    assert!(matches(&recorded, &get("https://a.test/a%2Fb/~me")));
    assert!(!matches(&recorded, &get("https://a.test/a/b/~me")));
    assert!(!matches(&get("https://a.test/a+b"), &get("https://a.test/a%20b")));
}

#[test]
fn a_query_is_free_in_order_but_not_among_values_of_one_name() {
    let recorded = get("https://a.test/?a=1&b=2&b=3");
    assert!(matches(&recorded, &get("https://a.test/?b=2&a=1&b=3")));
    assert!(!matches(&recorded, &get("https://a.test/?a=1&b=3&b=2")));
    assert!(!matches(&recorded, &get("https://a.test/?a=1&b=2")));
    assert!(!matches(&recorded, &get("https://a.test/?a=1&b=2&b=3&b=3")));
}

#[test]
fn a_query_is_compared_decoded() {
    assert!(matches(&get("https://a.test/?q=a+b%3d&flag"), &get("https://a.test/?flag=&q=a%20b%3D")));
    assert!(matches(&get("https://a.test/?"), &get("https://a.test/")));
    assert!(!matches(&get("https://a.test/?q=a%26b"), &get("https://a.test/?q=a&b")));
}

#[test]
fn a_query_pair_with_a_credential_matches_any_other_and_none() {
    let recorded = get("https://a.test/?key={{redacted:api_key:1}}&a=1");
    for url in [
        "https://a.test/?a=1",
        "https://a.test/?a=1&key={{redacted:other:7}}",
        "https://a.test/?a=1&key=%7B%7Bredacted%3Aapi_key%3A2%7D%7D",
        "https://a.test/?a=1&key=Bearer+{{redacted:api_key:2}}",
        "https://a.test/?a=1&token={{redacted:token:1}}",
    ] {
        assert!(matches(&recorded, &get(url)), "{url}");
    }
    assert!(!matches(&recorded, &get("https://a.test/?a=1&key=plain")));
}

#[test]
fn a_credential_in_a_path_counts_by_its_kind() {
    let recorded = get("https://a.test/bot{{redacted:telegram:1}}/send");
    assert!(matches(&recorded, &get("https://a.test/bot%7B%7Bredacted%3Atelegram%3A9%7D%7D/send")));
    assert!(!matches(&recorded, &get("https://a.test/bot{{redacted:other:1}}/send")));
}

#[test]
fn only_named_headers_count_in_any_case_with_all_their_values() {
    let plain = get("https://a.test/");
    let one = with_header(plain.clone(), "x-version", "1");
    let two = with_header(one.clone(), "X-Version", "2");
    let joined = with_header(plain.clone(), "x-version", "1, 2");
    let policy =
        Policy { headers: vec!["X-VERSION".to_owned(), "x-version".to_owned()], ..Policy::default() };
    assert!(matches(&plain, &one));
    assert!(!matches_under(&policy, &plain, &one));
    assert!(!matches_under(&policy, &one, &two));
    assert!(matches_under(&policy, &two, &joined));
    let hidden = with_header(plain.clone(), "x-version", "{{redacted:header:1}}");
    assert!(matches_under(&policy, &plain, &hidden));
    assert!(!matches_under(&policy, &one, &hidden));
}

#[test]
fn a_named_content_type_counts_without_its_boundary() {
    let policy = Policy { headers: vec!["content-type".to_owned()], ..Policy::default() };
    let upload = |media: &str| with_header(get("https://a.test/"), "content-type", media);
    assert!(matches_under(
        &policy,
        &upload("multipart/form-data; boundary=a"),
        &upload("multipart/form-data; boundary=b")
    ));
    assert!(!matches_under(&policy, &upload("text/plain; charset=utf-8"), &upload("text/plain")));
}

#[test]
fn the_headers_of_a_websocket_handshake_never_count() {
    let policy = Policy {
        headers: vec!["sec-websocket-key".to_owned(), "Sec-WebSocket-Extensions".to_owned()],
        ..Policy::default()
    };
    let one = with_header(get("https://a.test/"), "sec-websocket-key", "AAAA");
    let two = with_header(get("https://a.test/"), "sec-websocket-key", "BBBB");
    assert!(matches_under(&policy, &one, &two));
}

#[test]
fn json_is_compared_by_structure() {
    let recorded = json(r#"{"a":[1,2],"b":{"c":null,"d":"x"}}"#);
    assert!(matches(&recorded, &json("{\n \"b\": {\"d\": \"\\u0078\", \"c\": null},\n \"a\": [1, 2]\n}\n")));
    for other in [
        r#"{"a":[2,1],"b":{"c":null,"d":"x"}}"#,
        r#"{"a":[1,2],"b":{"d":"x"}}"#,
        r#"{"a":[1,2,3],"b":{"c":null,"d":"x"}}"#,
        r#"{"a":[1,2],"b":{"c":null,"d":"X"}}"#,
        r#"{"a":["1",2],"b":{"c":null,"d":"x"}}"#,
        r#"{"a":[1,2],"b":{"c":false,"d":"x"}}"#,
        r#"[{"a":[1,2],"b":{"c":null,"d":"x"}}]"#,
    ] {
        assert!(!matches(&recorded, &json(other)), "{other}");
    }
}

#[test]
fn json_is_known_by_its_media_type_or_its_brackets() {
    let recorded = json(r#"{"a":1,"b":2}"#);
    for media in
        ["", "text/plain", "application/x-www-form-urlencoded", "application/vnd.api+json; charset=utf-8"]
    {
        assert!(matches(&recorded, &post(media, r#" {"b":2,"a":1}"#)), "{media}");
    }
    assert!(matches(&json("1.0"), &json(" 1 ")));
    assert!(!matches(&post("text/plain", "1.0"), &post("text/plain", "1")));
    assert!(!matches(&json("1"), &post("text/plain", "1")));
}

#[test]
fn json_numbers_are_compared_by_value() {
    for (a, b) in [
        ("1", "1.0"),
        ("1", "1e0"),
        ("-0", "0"),
        ("1e400", "10E399"),
        ("123456789012345678901234567890", "123456789012345678901234567890.0"),
    ] {
        assert!(matches(&json(&format!("[{a}]")), &json(&format!("[{b}]"))), "{a} {b}");
    }
    for (a, b) in
        [("1", "2"), ("1", "-1"), ("0.1", "0.10000000000000001"), ("9007199254740993", "9007199254740992")]
    {
        assert!(!matches(&json(&format!("[{a}]")), &json(&format!("[{b}]"))), "{a} {b}");
    }
}

#[test]
fn json_lines_are_text_even_if_there_is_one() {
    let media = "application/x-ndjson";
    assert!(!matches(&post(media, r#"{"a":1,"b":2}"#), &post(media, r#"{"b":2,"a":1}"#)));
    assert!(!matches(&post("", "{\"a\":1}\n{\"b\":2}\n"), &post("", "{\"a\":1}\n{\"b\": 2}\n")));
}

#[test]
fn json_that_does_not_parse_is_compared_as_it_is() {
    assert!(matches(&json(r#"{"a":1"#), &json(r#"{"a":1"#)));
    assert!(!matches(&json(r#"{"a":1"#), &json(r#"{"a": 1"#)));
    let deep = format!("{}{}", "[".repeat(4000), "]".repeat(4000));
    assert!(matches(&json(&deep), &json(&deep)));
    assert!(!matches(&json(&deep), &json(&format!("{deep} "))));
}

#[test]
fn of_a_key_given_twice_the_last_counts() {
    assert!(matches(&json(r#"{"a":1,"b":2,"a":3}"#), &json(r#"{"b":2,"a":3}"#)));
    assert!(!matches(&json(r#"{"a":1,"b":2,"a":3}"#), &json(r#"{"b":2,"a":1}"#)));
}

#[test]
fn an_object_that_poses_as_a_number_is_never_mistaken_for_another() {
    let posing = |text: &str| json(&format!(r#"{{"ts":{{"$serde_json::private::Number":{text}}}}}"#));
    let bodies = [r#""123456789é1e-2""#, "[]", r#""x""#, "{}", r#""5","b":1"#];
    for (i, a) in bodies.iter().enumerate() {
        for (j, b) in bodies.iter().enumerate() {
            assert_eq!(matches(&posing(a), &posing(b)), i == j, "{a} {b}");
        }
    }
}

#[test]
fn a_form_is_told_by_how_it_looks() {
    let recorded = post("", "grant_type=client_credentials&scope=a+b");
    for media in ["application/x-www-form-urlencoded; charset=utf-8", "text/plain", ""] {
        assert!(matches(&recorded, &post(media, "scope=a%20b&grant_type=client_credentials")), "{media}");
        assert!(!matches(&recorded, &post(media, "scope=a%20b&grant_type=password")), "{media}");
    }
    // Texts that are no forms stay texts, whatever they are called.
    for (text, other) in [
        ("a=1\nb=2", "b=2\na=1"),
        ("SELECT a & b=1", "b=1&SELECT a "),
        ("<a b='c'/>", "<a b='%63'/>"),
        ("aGk=", "aGk"),
        ("100% a=b", "a=b"),
    ] {
        for media in ["application/x-www-form-urlencoded", "text/plain", ""] {
            assert!(matches(&post("", text), &post(media, text)), "{text}");
            assert!(!matches(&post("", text), &post(media, other)), "{text}");
        }
    }
}

#[test]
fn a_form_is_free_in_order_and_compared_decoded() {
    let form = |body: &str| post("application/x-www-form-urlencoded", body);
    let recorded = form("a=1&b=x+y&b=z&client_secret={{redacted:oauth:1}}");
    assert!(matches(&recorded, &form("b=x%20y&b=z&a=1")));
    assert!(!matches(&recorded, &form("b=z&b=x%20y&a=1")));
    assert!(!matches(&recorded, &form("a=1&b=x+y&b=z&c=")));
}

#[test]
fn text_and_bytes_are_compared_exactly() {
    assert!(matches(&post("text/plain", "a b"), &post("", "a b")));
    assert!(!matches(&post("text/plain", "a b"), &post("text/plain", "a  b")));
    assert!(!matches(&post("", [0xff, 0x00]), &post("", [0xff, 0x01])));
    assert!(!matches(&post("", ""), &post("", " ")));
}

#[test]
fn the_number_of_a_placeholder_never_counts_but_its_kind_does() {
    for body in [
        r#"["{{redacted:key:1}}"]"#,
        r#"{"a":"use {{redacted:key:1}} here"}"#,
        r#"{"{{redacted:key:1}}":true}"#,
        "text with {{redacted:key:1}}",
    ] {
        assert!(matches(&json(body), &json(&body.replace(":1}}", ":25}}"))), "{body}");
        assert!(!matches(&json(body), &json(&body.replace(":key:", ":token:"))), "{body}");
    }
}

#[test]
fn two_keys_that_are_credentials_of_one_kind_keep_their_order() {
    let recorded = json(r#"{"{{redacted:k:1}}":"a","{{redacted:k:2}}":"b"}"#);
    assert!(matches(&recorded, &json(r#"{"{{redacted:k:8}}":"a","{{redacted:k:9}}":"b"}"#)));
    assert!(!matches(&recorded, &json(r#"{"{{redacted:k:1}}":"b","{{redacted:k:2}}":"a"}"#)));
    assert!(!matches(&recorded, &json(r#"{"{{redacted:k:1}}":"a"}"#)));
}

#[test]
fn a_member_that_is_a_credential_matches_none_but_not_a_plain_value() {
    let recorded = json(r#"{"a":1,"token":"{{redacted:token:1}}"}"#);
    assert!(matches(&recorded, &json(r#"{"a":1}"#)));
    assert!(matches(&recorded, &json(r#"{"a":1,"token":"{{redacted:token:2}}"}"#)));
    assert!(!matches(&recorded, &json(r#"{"a":1,"token":"x"}"#)));
    assert!(!matches(&recorded, &json(r#"{"a":1,"token":null}"#)));
    assert!(!matches(&json(r#"["{{redacted:token:1}}"]"#), &json("[]")));
}

#[test]
fn method_and_url_alone_count_for_an_import_that_compared_no_more() {
    let policy = Policy { compare: Compare::Uri, headers: vec!["x-a".to_owned()], ..Policy::default() };
    let recorded = json(r#"{"a":1}"#);
    let live = with_header(post("text/plain", "other"), "x-a", "1");
    assert!(matches_under(&policy, &recorded, &live));
    let mut elsewhere = live.clone();
    elsewhere.url = Url::parse("https://api.example.com/v1/items?a=1").unwrap();
    assert!(!matches_under(&policy, &recorded, &elsewhere));
}

#[test]
fn a_volatile_field_is_left_out_with_everything_under_it() {
    let recorded = json(r#"{"messages":[{"id":"a","text":"x"},{"id":"b","text":"y"}],"meta":{"n":1}}"#);
    let policy = volatile(&["body.messages[*].id", "body.meta"]);
    for live in [
        r#"{"messages":[{"id":"c","text":"x"},{"text":"y"}]}"#,
        r#"{"messages":[{"id":{"deep":[1]},"text":"x"},{"id":"b","text":"y"}],"meta":[1,2,3]}"#,
    ] {
        assert!(matches_under(&policy, &recorded, &json(live)), "{live}");
    }
    for live in [
        r#"{"messages":[{"id":"a","text":"x"},{"id":"b","text":"z"}],"meta":{"n":1}}"#,
        r#"{"id":"z","messages":[{"id":"a","text":"x"},{"id":"b","text":"y"}],"meta":{"n":1}}"#,
    ] {
        assert!(!matches_under(&policy, &recorded, &json(live)), "{live}");
    }
    assert!(matches_under(&volatile(&["body"]), &recorded, &post("text/plain", "else")));
}

#[test]
fn a_volatile_item_keeps_the_place_of_those_after_it() {
    let policy = volatile(&["body.items[0]"]);
    assert!(matches_under(&policy, &json(r#"{"items":[1,2]}"#), &json(r#"{"items":[9,2]}"#)));
    assert!(!matches_under(&policy, &json(r#"{"items":[1,2]}"#), &json(r#"{"items":[2]}"#)));
    assert!(matches_under(&policy, &json(r#"{"items":[1]}"#), &json(r#"{"items":[]}"#)));
}

#[test]
fn a_volatile_field_can_stand_anywhere_in_a_request() {
    for (path, a, b) in [
        ("method", request("GET", "https://a.test/"), request("POST", "https://a.test/")),
        ("scheme", get("http://a.test:443/"), get("https://a.test/")),
        ("host", get("https://a.test/"), get("https://b.test/")),
        ("port", get("https://a.test/"), get("https://a.test:8443/")),
        ("path", get("https://a.test/a/b"), get("https://a.test/c")),
        ("path[1]", get("https://a.test/a/b/c"), get("https://a.test/a/x/c")),
        ("query", get("https://a.test/?a=1"), get("https://a.test/?b")),
        ("query.ts", get("https://a.test/?ts=1&a=1"), get("https://a.test/?a=1")),
        ("query.n[1]", get("https://a.test/?n=1&n=2"), get("https://a.test/?n=1&n=3")),
        (
            "body.ts",
            post("application/x-www-form-urlencoded", "ts=1&a=2"),
            post("application/x-www-form-urlencoded", "a=2&ts=9&ts=8"),
        ),
    ] {
        assert!(!matches(&a, &b), "{path}");
        assert!(matches_under(&volatile(&[path]), &a, &b), "{path}");
    }
    let policy = Policy { headers: vec!["x-a".to_owned()], ..volatile(&["headers.X-A"]) };
    let one = with_header(get("https://a.test/"), "x-a", "1");
    assert!(matches_under(&policy, &one, &get("https://a.test/")));
}

#[test]
fn a_volatile_path_segment_must_still_be_there() {
    let policy = volatile(&["path[1]"]);
    assert!(!matches_under(&policy, &get("https://a.test/a/b"), &get("https://a.test/a")));
}

#[test]
fn an_omitted_body_is_compared_by_size_and_hash() {
    let omitted = |size: u64, of: &str| {
        let mut request = post("text/plain", "");
        request.body.content = Content::Omitted { size, sha256: Sha256::of(of.as_bytes()) };
        request
    };
    assert!(matches(&omitted(3, "abc"), &omitted(3, "abc")));
    assert!(!matches(&omitted(3, "abc"), &omitted(4, "abc")));
    assert!(!matches(&omitted(3, "abc"), &omitted(3, "abd")));
    assert!(matches(&omitted(3, "abc"), &post("text/plain", "abc")));
    assert!(!matches(&omitted(3, "abc"), &post("text/plain", "abd")));
}

#[test]
fn a_structured_body_matches_an_omitted_one_of_the_same_bytes_by_pattern() {
    let kept = json(r#"{"a":1}"#);
    let mut omitted = kept.clone();
    omitted.body.content = Content::Omitted { size: 7, sha256: Sha256::of(br#"{"a":1}"#) };
    let policy = exact();
    assert!(Pattern::new(&kept, &policy).check(&omitted).is_match());
    assert!(Pattern::new(&omitted, &policy).check(&kept).is_match());
    let other = json(r#"{"a": 1}"#);
    assert!(!Pattern::new(&other, &policy).check(&omitted).is_match());
}

#[test]
fn codings_and_cuts_of_a_body_do_not_count() {
    let recorded = json(r#"{"a":1}"#);
    let mut live = json(r#"{"a":1}"#);
    live.body = Body { codings: vec![exchange::Coding::Gzip], ..live.body };
    live.headers.push(Header::new("content-encoding", "gzip").unwrap());
    assert!(matches(&recorded, &live));
}
