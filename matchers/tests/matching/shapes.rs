//! Values that may differ because of what they look like.

use wiretape_matchers::{Policy, Shape, canonical};

use crate::{exact, get, json, matches, matches_under, post};

const ONE: &str = "0b9f6d1c-3f0e-4c57-9d0a-0d5a8f0c7a11";
const TWO: &str = "6F9619FF-8B86-D011-B42D-00C04FC964FF";

/// Loose but not exact.
#[track_caller]
fn may_differ(a: &exchange::Request, b: &exchange::Request) -> bool {
    assert!(!matches_under(&exact(), a, b));
    matches(a, b)
}

#[test]
fn a_uuid_may_differ_wherever_it_is_the_whole_value() {
    let with = |uuid: &str| {
        [
            json(&format!(r#"{{"id":"{uuid}"}}"#)),
            json(&format!(r#"["{uuid}"]"#)),
            get(&format!("https://a.test/?id={uuid}")),
            get(&format!("https://a.test/threads/{uuid}/runs")),
            post("application/x-www-form-urlencoded", format!("id={uuid}")),
        ]
    };
    for (a, b) in with(ONE).iter().zip(&with(TWO)) {
        assert!(may_differ(a, b), "{}", a.url);
    }
    for (a, b) in with(ONE).iter().zip(&with("other")) {
        assert!(!may_differ(a, b), "{}", a.url);
    }
    let inside = |uuid: &str| json(&format!(r#"{{"id":"see {uuid}"}}"#));
    assert!(!may_differ(&inside(ONE), &inside(TWO)));
}

#[test]
fn a_time_may_differ_but_not_a_date_nor_in_a_path() {
    let at = |time: &str| json(&format!(r#"{{"x":"{time}"}}"#));
    assert!(may_differ(&at("2026-11-18T07:58:00Z"), &at("2027-01-01T00:00:00.5+01:00")));
    assert!(!may_differ(&at("2026-11-18"), &at("2026-11-19")));
    assert!(!may_differ(&at("2026-11-18T07:58:00Z"), &at(ONE)));
    let query = |time: &str| get(&format!("https://a.test/?since={time}"));
    assert!(may_differ(&query("2026-11-18T07%3A58%3A00Z"), &query("2026-11-18T07:59:00Z")));
    let path = |time: &str| get(&format!("https://a.test/at/{time}"));
    assert!(!may_differ(&path("2026-11-18T07:58:00Z"), &path("2026-11-18T07:59:00Z")));
}

#[test]
fn an_epoch_may_differ_only_under_a_name_that_tells_of_time() {
    let number = |key: &str, n: &str| json(&format!(r#"{{"{key}":{n}}}"#));
    assert!(may_differ(&number("created", "1700000000"), &number("created", "1700000001")));
    assert!(may_differ(&number("createdAt", "1700000000123"), &number("createdAt", "1700000001.5")));
    assert!(!may_differ(&number("seed", "1700000000"), &number("seed", "1700000001")));
    assert!(!may_differ(&number("created", "1700000000"), &number("created", "17")));
    assert!(!may_differ(&number("created", "1700000000"), &number("created", "\"1700000000\"")));
    let text = |key: &str, n: &str| get(&format!("https://a.test/?{key}={n}"));
    assert!(may_differ(&text("ts", "1700000000"), &text("ts", "1700000001")));
    assert!(!may_differ(&text("page", "1700000000"), &text("page", "1700000001")));
    let path = |n: &str| get(&format!("https://a.test/time/{n}"));
    assert!(!may_differ(&path("1700000000"), &path("1700000001")));
}

#[test]
fn items_of_a_list_have_the_name_of_the_list() {
    let list = |key: &str, n: &str| json(&format!(r#"{{"{key}":[[{n}]]}}"#));
    assert!(may_differ(&list("timestamps", "1700000000"), &list("timestamps", "1700000001")));
    assert!(!may_differ(&list("ids", "1700000000"), &list("ids", "1700000001")));
}

#[test]
fn spellings_of_one_epoch_are_one_value_and_one_shape() {
    let (a, b) = (json(r#"{"ts":1700000000}"#), json(r#"{"ts":1.7e9}"#));
    assert!(matches_under(&exact(), &a, &b));
    assert!(matches(&a, &b));
}

#[test]
fn slots_name_path_then_query_then_body_in_canonical_order() {
    let mut request = json(&format!(
        r#"{{"z":"{ONE}","a":[{{"created":1700000000}},"2026-11-18T07:58:00Z"],"k":"plain"}}"#
    ));
    request.url = exchange::Url::parse(&format!(
        "https://a.test/v1/threads/{TWO}?z=2026-11-18T07:58:00Z&id=x&id={ONE}&t=1700000000"
    ))
    .unwrap();
    let slots: Vec<_> = canonical(&request, &Policy::default())
        .slots
        .into_iter()
        .map(|slot| (slot.path.to_string(), slot.shape, slot.value))
        .collect();
    let slot = |path: &str, shape, value: &str| (path.to_owned(), shape, value.to_owned());
    assert_eq!(
        slots,
        [
            slot("path[2]", Shape::Uuid, TWO),
            slot("query.id[1]", Shape::Uuid, ONE),
            slot("query.t", Shape::Epoch, "1700000000"),
            slot("query.z", Shape::Time, "2026-11-18T07:58:00Z"),
            slot("body.a[0].created", Shape::Epoch, "1700000000"),
            slot("body.a[1]", Shape::Time, "2026-11-18T07:58:00Z"),
            slot("body.z", Shape::Uuid, ONE),
        ]
    );
}

#[test]
fn exact_shapes_give_no_slots() {
    let request = json(&format!(r#"{{"id":"{ONE}"}}"#));
    let keys = canonical(&request, &exact());
    assert_eq!(keys.exact, keys.loose);
    assert_eq!(keys.slots, []);
}
