use std::time::Duration;

use exchange::{Body, Header, Headers, Message, Peer, Piece};
use proptest::prelude::*;

use super::*;
use crate::edits::apply;

fn headers(media: &str) -> Headers {
    Header::new("content-type", media).into_iter().collect()
}

/// Replaces a word wherever a leaf holds it.
fn replacing<'f>(old: &'f str, new: &'f str) -> impl FnMut(&Leaf<'_>) -> Vec<Edit<'static>> + 'f {
    move |leaf| {
        memchr::memmem::find_iter(leaf.text, old.as_bytes())
            .map(|at| Edit::new(at..at + old.len(), new.as_bytes().to_vec()))
            .collect()
    }
}

fn rewritten(media: &str, content: &str) -> String {
    let edits = in_body(content.as_bytes(), &headers(media), &mut replacing("secret", "X"));
    String::from_utf8(apply(content.as_bytes(), &edits)).unwrap()
}

fn leaves(media: &str, content: &str) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    in_body(content.as_bytes(), &headers(media), &mut |leaf| {
        let name = leaf.name().unwrap_or("").to_owned();
        if leaf.form != Form::Key {
            seen.push((name, String::from_utf8_lossy(leaf.text).into_owned()));
        }
        Vec::new()
    });
    seen
}

#[test]
fn a_document_is_changed_where_it_says_so_and_nowhere_else() {
    assert_eq!(
        rewritten("application/json", r#"{ "secret":1, "a": ["\u0073ecret", {"b":"a secret\n"}] }"#),
        r#"{ "X":1, "a": ["X", {"b":"a X\n"}] }"#
    );
}

#[test]
fn a_document_in_a_string_in_a_document_is_read() {
    let inner =
        serde_json::json!({ "k": serde_json::json!({ "deep": "my \"secret\"" }).to_string() }).to_string();
    let outer = serde_json::json!({ "arguments": inner }).to_string();
    assert_eq!(rewritten("application/json", &outer), outer.replace("secret", "X"));
    assert_eq!(leaves("application/json", &outer), [("deep".to_owned(), "my \"secret\"".to_owned())]);
}

#[test]
fn names_are_those_of_the_nearest_member_field_or_part() {
    assert_eq!(
        leaves("application/json", r#"{"a":{"b":["x",2]},"c":"y"}"#),
        [("b", "x"), ("b", "2"), ("c", "y")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
    assert_eq!(
        leaves("application/x-www-form-urlencoded", "a%62=x%20y&c=z+1"),
        [("ab", "x y"), ("c", "z 1")].map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
}

#[test]
fn a_form_is_changed_in_its_percent_encoded_values() {
    assert_eq!(rewritten("application/x-www-form-urlencoded", "a=%73ecret&b=my+secret"), "a=X&b=my+X");
}

#[test]
fn every_part_of_a_multipart_body_is_read() {
    let body = "--B\r\nContent-Disposition: form-data; name=\"k\"\r\n\r\nsecret\r\n--B\r\nContent-Disposition: form-data; \
        name=\"f\"; filename=\"a.json\"\r\nContent-Type: application/json\r\n\r\n{\"a\":\"\\u0073ecret\"}\r\n--B--\r\n";
    assert_eq!(
        rewritten("multipart/form-data; boundary=B", body),
        body.replace("secret", "X").replace("\\u0073ecret", "X")
    );
}

#[test]
fn a_text_that_runs_on_over_events_is_replaced_in_the_first_of_them() {
    let event = |text: &str| format!("data: {{\"id\":\"x\",\"delta\":{{\"content\":\"{text}\"}}}}\n\n");
    let stream = [event("a se"), event("cr"), event("et!"), "data: [DONE]\n\n".into()].concat();
    let expected = [event("a X"), event(""), event("!"), "data: [DONE]\n\n".into()].concat();
    assert_eq!(rewritten("text/event-stream", &stream), expected);
    let line = |text: &str| format!("{{\"response\":\"{text}\"}}\n");
    assert_eq!(
        rewritten("application/x-ndjson", &[line("sec"), line("ret secret")].concat()),
        [line("X"), line(" X")].concat()
    );
}

#[test]
fn a_document_that_comes_in_pieces_is_read_as_one() {
    let event = |text: &str| {
        let data = serde_json::json!({ "type": "input_json_delta", "partial_json": text });
        format!("event: delta\ndata: {data}\n\n")
    };
    let stream = [event("{\"pass"), event("word\": \"hun"), event("ter2\"}")].concat();
    let mut named = Vec::new();
    in_body(stream.as_bytes(), &headers("text/event-stream"), &mut |leaf| {
        if leaf.name() == Some("password") && leaf.form == Form::String {
            named.push(String::from_utf8_lossy(leaf.text).into_owned());
        }
        Vec::new()
    });
    assert_eq!(named, ["hunter2"]);
}

#[test]
fn events_of_other_items_do_not_come_between() {
    let event = |index: u8, text: &str| format!("data: {{\"index\":{index},\"t\":\"{text}\"}}\n\n");
    let stream = [event(0, "sec"), event(1, "other"), event(0, "ret")].concat();
    assert_eq!(
        rewritten("text/event-stream", &stream),
        [event(0, "X"), event(1, "other"), event(0, "")].concat()
    );
}

#[test]
fn what_one_peer_says_runs_on_from_message_to_message() {
    let message = |from, text: &str| Message { from, after: Duration::ZERO, piece: Piece::Text(text.into()) };
    let talk = [
        message(Peer::Server, r#"{"delta":"se"}"#),
        message(Peer::Client, r#"{"delta":"no"}"#),
        message(Peer::Server, r#"{"delta":"cret"}"#),
    ];
    let said: Vec<_> =
        rewrite_messages(&talk, &mut replacing("secret", "X")).into_iter().map(|m| m.piece).collect();
    assert_eq!(
        said,
        [r#"{"delta":"X"}"#, r#"{"delta":"no"}"#, r#"{"delta":""}"#].map(|text| Piece::Text(text.to_owned()))
    );
}

#[test]
fn a_document_that_is_cut_short_is_read_as_far_as_it_goes_and_as_a_text() {
    assert_eq!(
        rewritten("application/json", r#"{"a":"secret","b":"sec\u0072et and secre"#),
        r#"{"a":"X","b":"X and secre"#
    );
    assert_eq!(rewritten("application/json", "{\"a\":\"secret"), "{\"a\":\"X");
}

#[test]
fn the_cuts_of_a_stream_follow_the_change() {
    let content = "data: {\"a\":\"secret\"}\n\ndata: {}\n\n";
    let frames = [12, content.len() - 12].map(|len| exchange::Frame { len, after: Duration::ZERO }).to_vec();
    let body = Body { frames, ..Body::from_bytes(content) };
    let new = rewrite_body(&body, &headers("text/event-stream"), &mut replacing("secret", "X"));
    assert_eq!(new.bytes().unwrap().as_ref(), b"data: {\"a\":\"X\"}\n\ndata: {}\n\n");
    assert_eq!(new.frames.iter().map(|f| f.len).sum::<usize>() as u64, new.len());
}

proptest! {
    #[test]
    fn nothing_found_is_nothing_changed(content in ".{0,80}", pick in 0usize..5) {
        let media = ["application/json", "text/event-stream", "application/x-ndjson", "application/x-www-form-urlencoded", "x/y"];
        let edits = in_body(content.as_bytes(), &headers(media[pick]), &mut |_| Vec::new());
        prop_assert_eq!(edits, []);
    }

    #[test]
    fn changes_never_overlap(content in "(data: |[{}\\[\\]\":,se]|secret|\\\\u0073|\n|%73){0,40}", pick in 0usize..4) {
        let media = ["application/json", "text/event-stream", "application/x-ndjson", "application/x-www-form-urlencoded"];
        let edits = in_body(content.as_bytes(), &headers(media[pick]), &mut replacing("se", "X"));
        prop_assert!(edits.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start), "{edits:?}");
    }
}
