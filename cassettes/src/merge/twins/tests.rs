use exchange::{Body, Header};

use crate::{
    Merge, Scrubbed,
    merge::merge,
    stabilize::sample::{Call, body, github, openai, sent},
};
use exchange::Exchange;
use matchers::Policy;

fn recorded(calls: &[Call]) -> Vec<Scrubbed<Exchange>> {
    calls.iter().map(Call::exchange).collect()
}

fn again(old: &[Call], how: Merge, new: &[Call]) -> (Vec<(String, String)>, usize) {
    let old = merge(Vec::new(), recorded(old), Merge::Replace, &Policy::default()).exchanges;
    let merged = merge(old, recorded(new), how, &Policy::default());
    (merged.exchanges.iter().map(|e| (sent(e), body(e))).collect(), merged.unchanged)
}

fn chat(question: &str, id: &str) -> Call {
    openai(&format!(r#"{{"id":"chatcmpl-{id}","said":"{question}"}}"#))
        .sending(&format!(r#"{{"ask":"{question}"}}"#))
}

fn bodies(told: &(Vec<(String, String)>, usize)) -> Vec<&str> {
    told.0.iter().map(|(_, body)| body.as_str()).collect()
}

#[test]
fn a_call_more_takes_the_next_name_and_leaves_the_others_theirs() {
    let told = again(
        &[chat("a", "AAAAAAAA"), chat("b", "BBBBBBBB")],
        Merge::Replace,
        &[chat("new", "CCCCCCCC"), chat("a", "DDDDDDDD"), chat("b", "EEEEEEEE")],
    );
    assert_eq!(told.1, 2);
    assert_eq!(
        bodies(&told),
        [
            r#"{"id":"chatcmpl-000003","said":"new"}"#,
            r#"{"id":"chatcmpl-000001","said":"a"}"#,
            r#"{"id":"chatcmpl-000002","said":"b"}"#,
        ]
    );
}

#[test]
fn what_a_killed_run_left_gets_names_that_are_free() {
    let told = again(
        &[chat("a", "AAAAAAAA"), chat("b", "BBBBBBBB")],
        Merge::Recover,
        &[chat("b", "CCCCCCCC"), chat("new", "DDDDDDDD")],
    );
    assert_eq!(told.1, 1);
    assert_eq!(bodies(&told)[2..], [r#"{"id":"chatcmpl-000003","said":"new"}"#]);
}

#[test]
fn a_name_cannot_stand_for_two() {
    let twice = |one: &str, other: &str| {
        let sending = format!(r#"{{"ask":"more","of":["chatcmpl-{one}","chatcmpl-{other}"]}}"#);
        [chat("a", "AAAAAAAA"), chat("b", "BBBBBBBB"), openai("{}").sending(&sending)]
    };
    let told = again(&twice("AAAAAAAA", "BBBBBBBB"), Merge::Replace, &twice("BBBBBBBB", "AAAAAAAA"));
    assert_eq!(told.1, 2);
    assert_eq!(told.0[2].0, r#"{"ask":"more","of":["chatcmpl-000002","chatcmpl-000001"]}"#);
}

#[test]
fn a_value_of_the_client_stays_as_it_was_recorded() {
    let run = |uuid: &str| {
        [
            openai(&format!(r#"{{"run":"{uuid}"}}"#)).sending(&format!(r#"{{"run":"{uuid}"}}"#)),
            openai("{}").sending(&format!(r#"{{"prompt":"run {uuid} again"}}"#)),
        ]
    };
    let (a, b) = ("6fa459ea-ee8a-4ca4-894e-db77e160355e", "16fd2706-8baf-433b-82eb-8c7fada847da");
    let told = again(&run(a), Merge::Replace, &run(b));
    assert_eq!(told, (again(&[], Merge::Replace, &run(a)).0, 2));
}

#[test]
fn an_old_time_that_changed_stays_with_all_that_was_made_of_it() {
    let run = |time: &str| {
        [
            github("/repos/o/r/issues/7", &format!(r#"{{"id":3000001,"updated_at":"{time}"}}"#)),
            openai("{}").sending(&format!(r#"{{"prompt":"it is from {time}, is it old?"}}"#)),
        ]
    };
    let told = again(&run("2020-01-01T00:00:00Z"), Merge::Replace, &run("2021-02-02T00:00:00Z"));
    assert_eq!(told.1, 2);
    assert_eq!(told.0[0].1, r#"{"id":1000000001,"updated_at":"2020-01-01T00:00:00Z"}"#);
    assert_eq!(told.0[1].0, r#"{"prompt":"it is from 2020-01-01T00:00:00Z, is it old?"}"#);
}

#[test]
fn an_upload_with_another_boundary_is_the_same_upload() {
    let upload = |boundary: &str, text: &str| {
        openai("{}").exchange().map(|mut e| {
            let media = format!("multipart/form-data; boundary={boundary}");
            e.request.headers.set(Header::new("content-type", media).unwrap());
            let part = "content-disposition: form-data; name=\"a\"\r\n\r\n";
            e.request.body = Body::from_bytes(format!("--{boundary}\r\n{part}{text}\r\n--{boundary}--\r\n"));
            e
        })
    };
    let old = merge(Vec::new(), vec![upload("aaaa1111", "x")], Merge::Replace, &Policy::default()).exchanges;
    let new = vec![upload("bbbb22223333", "x")];
    let merged = merge(old.clone(), new, Merge::Replace, &Policy::default());
    assert_eq!((merged.unchanged, &merged.exchanges), (1, &old));
    let other = merge(old.clone(), vec![upload("bbbb22223333", "y")], Merge::Replace, &Policy::default());
    assert_eq!(other.unchanged, 0);
}

#[test]
fn a_reply_that_says_something_else_is_another() {
    let told = again(
        &[chat("a", "AAAAAAAA")],
        Merge::Replace,
        &[Call { body: r#"{"id":"chatcmpl-BBBBBBBB","said":"other"}"#.into(), ..chat("a", "") }],
    );
    assert_eq!((told.1, bodies(&told)), (0, vec![r#"{"id":"chatcmpl-000001","said":"other"}"#]));
}
