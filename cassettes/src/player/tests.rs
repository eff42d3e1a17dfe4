use std::{sync::Arc, time::Duration};

use exchange::{Body, End, Exchange, Header, Headers, Reply, Request, Response, Sha256, Url};
use matchers::{OnRepeat, Policy};

use super::*;
use crate::{format::Cassette, plan::Step, scrub::Scrubber};

const A: &str = "6fa459ea-ee8a-4ca4-894e-db77e160355e";
const B: &str = "16fd2706-8baf-433b-82eb-8c7fada847da";
const C: &str = "886313e1-3b8a-5372-9b90-0c9aee199e5d";

fn request(path: &str, body: &str) -> Request {
    Request {
        method: "POST".into(),
        url: Url::parse(&format!("https://api.test{path}")).unwrap(),
        headers: [Header::new("content-type", "application/json").unwrap()].into_iter().collect(),
        body: Body::from_bytes(body.to_owned()),
        trailers: Headers::new(),
    }
}

fn player(policy: Policy, exchanges: &[(&str, &str, &str)]) -> Player {
    let exchange = |(id, (path, body, reply)): (u32, &(&str, &str, &str))| Exchange {
        id,
        at: Duration::ZERO,
        request: request(path, body),
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: Headers::new(),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::from_bytes((*reply).to_owned()),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    };
    let exchanges =
        (1..).zip(exchanges).map(exchange).map(|e| Scrubber::new().exchange(e).unwrap()).collect();
    let cassette = Cassette { redaction: None, policy: Some(policy), exchanges };
    Player::new(Arc::new(Index::new(cassette, &Policy::default())), Pace::Instant)
}

fn ask(player: &mut Player, call: u32, path: &str, body: &str) -> Decision {
    player.decide(call, &Scrubber::new().request(request(path, body)))
}

/// Asks and takes the whole answer.
fn play(player: &mut Player, call: u32, path: &str, body: &str) -> String {
    match ask(player, call, path, body) {
        Decision::Play { ticket, plan, .. } => {
            player.settle(ticket, Delivery::Whole);
            let data = plan.steps.iter().filter_map(|s| match s {
                Step::Data(data) => Some(String::from_utf8(data.to_vec()).unwrap()),
                _ => None,
            });
            data.collect()
        }
        Decision::Miss(miss) => format!("{miss:?}"),
    }
}

#[test]
fn repeats_are_answered_in_recorded_order_and_then_missed_with_a_reason() {
    let mut player = player(Policy::default(), &[("/a", "{}", "one"), ("/a", "{}", "two")]);
    assert_eq!(play(&mut player, 1, "/a", "{}"), "one");
    assert_eq!(play(&mut player, 2, "/a", "{}"), "two");
    let Decision::Miss(miss) = ask(&mut player, 3, "/a", "{}") else { panic!() };
    assert_eq!(miss, Miss::Exhausted(vec![(1, 1), (2, 2)]));
}

#[test]
fn on_repeat_last_and_cycle_go_on_answering() {
    let recorded = [("/a", "{}", "one"), ("/a", "{}", "two")];
    let mut last = player(Policy { on_repeat: OnRepeat::Last, ..Policy::default() }, &recorded);
    let mut cycle = player(Policy { on_repeat: OnRepeat::Cycle, ..Policy::default() }, &recorded);
    let four = |player: &mut Player| (1..=4).map(|n| play(player, n, "/a", "{}")).collect::<Vec<_>>();
    assert_eq!(four(&mut last), ["one", "two", "two", "two"]);
    assert_eq!(four(&mut cycle), ["one", "two", "one", "two"]);
}

#[test]
fn an_answer_that_broke_off_is_fresh_for_the_retry() {
    let mut player = player(Policy::default(), &[("/a", "{}", "one"), ("/a", "{}", "two")]);
    let Decision::Play { ticket, exchange: 1, .. } = ask(&mut player, 1, "/a", "{}") else { panic!() };
    player.settle(ticket, Delivery::Broken);
    assert_eq!(player.unplayed(), [1, 2]);
    assert_eq!(play(&mut player, 2, "/a", "{}"), "one");
    assert_eq!(player.unplayed(), [2]);
}

#[test]
fn two_calls_at_once_get_two_exchanges() {
    let mut player = player(Policy::default(), &[("/a", "{}", "one"), ("/a", "{}", "two")]);
    let Decision::Play { exchange: 1, ticket: first, .. } = ask(&mut player, 1, "/a", "{}") else { panic!() };
    let Decision::Play { exchange: 2, ticket: second, .. } = ask(&mut player, 2, "/a", "{}") else {
        panic!()
    };
    player.settle(second, Delivery::Whole);
    player.settle(first, Delivery::Whole);
    assert_eq!(player.unplayed(), Vec::<u32>::new());
}

#[test]
fn a_uuid_of_the_clients_own_is_put_into_the_reply() {
    let body = |id: &str| format!(r#"{{"request_id":"{id}"}}"#);
    let reply = format!(r#"{{"echo":"{A}"}}"#);
    let mut player = player(Policy::default(), &[("/a", &body(A), &reply)]);
    assert_eq!(play(&mut player, 1, "/a", &body(B)), format!(r#"{{"echo":"{B}"}}"#));
}

#[test]
fn a_uuid_that_was_bound_once_keeps_its_meaning() {
    let get = |id: &str| format!(r#"{{"id":"{id}"}}"#);
    let mut player = player(
        Policy::default(),
        &[
            ("/new", &get(A), "made"),
            ("/read", &get(A), A),
            ("/new", &get(B), "made too"),
            ("/read", &get(B), B),
        ],
    );
    assert_eq!(play(&mut player, 1, "/new", &get(C)), "made");
    assert_eq!(play(&mut player, 2, "/read", &get(C)), C);
}

#[test]
fn asking_for_another_recorded_thing_is_not_answered_with_this_one() {
    let (get_a, get_b) = (format!("/runs/{A}"), format!("/runs/{B}"));
    let mut player =
        player(Policy::default(), &[("/runs", "{}", &format!(r#"["{A}","{B}"]"#)), (&get_a, "", "run a")]);
    assert_eq!(play(&mut player, 1, "/runs", "{}"), format!(r#"["{A}","{B}"]"#));
    assert!(matches!(ask(&mut player, 2, &get_b, ""), Decision::Miss(Miss::Unknown(_))));
    assert_eq!(play(&mut player, 3, &get_a, ""), "run a");
}

#[test]
fn a_miss_names_the_field_that_differs() {
    let recorded = [("/elsewhere", "{}", ""), ("/a", r#"{"m":[{"c":"List open issues"}]}"#, "")];
    let mut player = player(Policy::default(), &recorded);
    let Decision::Miss(Miss::Unknown(near)) = ask(&mut player, 1, "/a", r#"{"m":[{"c":"List all issues"}]}"#)
    else {
        panic!()
    };
    assert_eq!(near.len(), 1);
    assert_eq!(near[0].id, 2);
    assert_eq!(near[0].differences[0].path.to_string(), "body.m[0].c");
}

#[test]
fn a_body_that_was_too_large_to_keep_is_known_by_its_hash_whatever_this_run_keeps() {
    let body = r#"{"large":true}"#;
    let mut player = player(Policy::default(), &[("/a", body, "stored")]);
    let mut live = request("/a", body);
    live.body =
        Body { content: Content::Omitted { size: 14, sha256: Sha256::of(body.as_bytes()) }, ..Body::empty() };
    let live = Scrubber::new().request(live);
    assert!(matches!(player.decide(1, &live), Decision::Play { exchange: 1, .. }));
}

#[test]
fn a_repeat_is_no_way_round_the_rule_for_recorded_things() {
    let (get_a, get_b) = (format!("/runs/{A}"), format!("/runs/{B}"));
    for on_repeat in [OnRepeat::Last, OnRepeat::Cycle] {
        let policy = Policy { on_repeat, ..Policy::default() };
        let mut player =
            player(policy, &[("/runs", "{}", &format!(r#"["{A}","{B}"]"#)), (&get_a, "", "run a")]);
        assert!(matches!(ask(&mut player, 1, &get_b, ""), Decision::Miss(Miss::Unknown(_))), "{on_repeat:?}");
    }
}

#[test]
fn an_id_that_the_server_made_cannot_be_made_up_by_the_client() {
    let get = |id: &str| format!("/runs/{id}");
    let mut player =
        player(Policy::default(), &[("/runs", "{}", &format!(r#"{{"id":"{A}"}}"#)), (&get(A), "", "run a")]);
    assert!(matches!(ask(&mut player, 1, &get(C), ""), Decision::Miss(Miss::Unknown(_))));
    assert_eq!(play(&mut player, 2, &get(A), ""), "run a");
}

#[test]
fn one_value_that_stands_twice_is_still_one_value() {
    let body = |id: &str, parent: &str| format!(r#"{{"id":"{id}","parent":"{parent}"}}"#);
    let mut player = player(Policy::default(), &[("/a", &body(A, A), "ok")]);
    assert!(matches!(ask(&mut player, 1, "/a", &body(B, C)), Decision::Miss(_)));
    assert_eq!(play(&mut player, 2, "/a", &body(B, B)), "ok");
}

#[test]
fn what_was_once_delivered_stays_played_however_often_it_is_repeated() {
    let recorded = [("/a", "{}", "one"), ("/a", "{}", "two")];
    let mut cycle = player(Policy { on_repeat: OnRepeat::Cycle, ..Policy::default() }, &recorded);
    (1..=3).for_each(|n| drop(play(&mut cycle, n, "/a", "{}")));
    assert_eq!(cycle.unplayed(), Vec::<u32>::new());
    let mut last = player(Policy { on_repeat: OnRepeat::Last, ..Policy::default() }, &recorded[..1]);
    play(&mut last, 1, "/a", "{}");
    let Decision::Play { ticket, .. } = ask(&mut last, 2, "/a", "{}") else { panic!() };
    last.settle(ticket, Delivery::Broken);
    assert_eq!(last.unplayed(), Vec::<u32>::new());
    assert_eq!(play(&mut last, 3, "/a", "{}"), "one");
}
