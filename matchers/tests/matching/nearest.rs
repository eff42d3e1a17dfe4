//! Near misses.

use exchange::{Request, Url};
use wiretape_matchers::{NearMiss, Policy, nearest};

use crate::{json, lines};

fn to(method: &str, url: &str, body: &str) -> Request {
    let mut request = json(body);
    request.method = method.to_owned();
    request.url = Url::parse(url).unwrap();
    request
}

fn closest(candidates: &[Request], live: &Request, limit: usize) -> Vec<NearMiss> {
    let numbered = candidates.iter().enumerate().map(|(i, r)| (i as u32 + 1, r));
    nearest(numbered, live, &Policy::default(), limit)
}

fn ids(misses: &[NearMiss]) -> Vec<u32> {
    misses.iter().map(|miss| miss.id).collect()
}

#[test]
fn where_a_request_goes_counts_for_more_than_what_it_says() {
    let body = r#"{"a":1,"b":2,"c":3}"#;
    let candidates = [
        to("POST", "https://b.test/x", body),
        to("POST", "https://a.test/y", body),
        to("PUT", "https://a.test/x", body),
        to("POST", "https://a.test/x", r#"{"a":7,"b":8,"c":9}"#),
        to("POST", "https://a.test/x", r#"{"a":1,"b":2,"c":9}"#),
    ];
    let live = to("POST", "https://a.test/x", body);
    let misses = closest(&candidates, &live, 5);
    assert_eq!(ids(&misses), [5, 4, 3, 2, 1]);
    assert_eq!(lines(&misses[0].differences), ["body.c: 9 -> 3"]);
    assert_eq!(ids(&closest(&candidates, &live, 3)), [5, 4, 3]);
}

#[test]
fn of_texts_that_differ_the_one_with_more_in_common_is_nearer() {
    let say = |text: &str| to("POST", "https://a.test/x", &format!(r#"{{"content":"{text}"}}"#));
    let candidates = [say("close every issue"), say("list open issues"), say("list all issues")];
    assert_eq!(ids(&closest(&candidates, &say("list all open issues"), 3)), [2, 3, 1]);
}

#[test]
fn a_candidate_that_matches_comes_first_without_differences() {
    let candidates = [json(r#"{"a":1}"#), json(r#"{"a":2}"#)];
    let misses = closest(&candidates, &json(r#"{"a":2}"#), 3);
    assert_eq!(ids(&misses), [2, 1]);
    assert_eq!(misses[0].differences, []);
}

#[test]
fn equal_candidates_keep_the_order_of_the_cassette() {
    let candidates = [json(r#"{"a":1}"#), json(r#"{"a":1}"#), json(r#"{"a":1}"#), json(r#"{"a":1}"#)];
    assert_eq!(ids(&closest(&candidates, &json(r#"{"a":2}"#), 3)), [1, 2, 3]);
}

#[test]
fn the_nearest_is_found_among_very_many() {
    let turn = |n: usize| {
        let messages: Vec<_> =
            (0..n % 50).map(|i| format!(r#"{{"content":"message {i} of {n}"}}"#)).collect();
        to("POST", "https://a.test/x", &format!(r#"{{"model":"m{n}","messages":[{}]}}"#, messages.join(",")))
    };
    let candidates: Vec<_> = (0..3000).map(turn).collect();
    let mut live = turn(2047);
    let text = String::from_utf8(live.body.bytes().unwrap().to_vec()).unwrap();
    live.body = exchange::Body::from_bytes(text.replace("message 46 of", "another 46 of"));
    let misses = closest(&candidates, &live, 3);
    assert_eq!(misses[0].id, 2048);
    assert_eq!(
        lines(&misses[0].differences),
        [r#"body.messages[46].content: "message 46 of 2047" -> "another 46 of 2047""#]
    );
}

#[test]
fn there_is_no_near_miss_in_an_empty_cassette() {
    assert_eq!(closest(&[], &json("{}"), 3), []);
}
