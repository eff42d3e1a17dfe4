//! What leaves a body.

use std::time::Duration;

use exchange::{Body, End};

use super::*;

/// A JSON answer after scrubbing.
pub(super) fn answer(scrubber: &mut Scrubber, body: &str) -> String {
    let scrubbed = scrubber.exchange(answered("application/json", body)).unwrap();
    let bytes = scrubbed.reply.response().unwrap().body.bytes().unwrap().to_vec();
    String::from_utf8(bytes).unwrap()
}

fn answered(media: &str, body: &str) -> Exchange {
    Exchange {
        id: 1,
        at: Duration::ZERO,
        request: request("https://a.test/", &[]),
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: headers(&[
                ("content-type", media),
                ("content-md5", "abc"),
                ("x-ratelimit-remaining", "9"),
            ]),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::from_bytes(body.to_owned()),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    }
}

#[test]
fn a_value_goes_by_the_name_it_stands_under_and_everything_else_stays() {
    assert_eq!(
        answer(
            &mut Scrubber::new(),
            r#"{ "user" : "ann", "password":"hunter2", "apiKey": "k", "pin": 1234, "tokens":[1,2], "max_tokens":5,
            "passwd": 123456, "next_page_token":"a1b2c3d4e5f6g7h8i9", "token":"hello", "api_key":null, "secret":"" }"#
        ),
        r#"{ "user" : "ann", "password":"{{redacted:secret:1}}", "apiKey": "{{redacted:secret:2}}", "pin": 1234, "tokens":[1,2], "max_tokens":5,
            "passwd": 0, "next_page_token":"a1b2c3d4e5f6g7h8i9", "token":"hello", "api_key":null, "secret":"" }"#
    );
}

#[test]
fn what_a_model_wants_back_stays_as_it_was() {
    let body = r#"{"signature":"EqQBCgIYAhIkM2Y0ZTdhYjItMTIzNC00","encrypted_content":"gAAAAABm1234567890abcdefGHIJ",
        "logprobs":[{"token":"internationalization","bytes":[105]}]}"#;
    assert_eq!(answer(&mut Scrubber::new(), body), body);
}

#[test]
fn the_code_of_a_grant_is_a_credential_and_the_code_of_an_error_is_none() {
    let mut scrubber = Scrubber::new();
    assert_eq!(
        answer(&mut scrubber, r#"{"grant_type":"authorization_code","code":"abc123"}"#),
        r#"{"grant_type":"authorization_code","code":"{{redacted:secret:1}}"}"#
    );
    let error = r#"{"error":{"code":"invalid_request"}}"#;
    assert_eq!(answer(&mut scrubber, error), error);
}

#[test]
fn a_secret_that_is_learned_late_in_an_exchange_is_gone_from_the_early_parts_of_it() {
    assert_eq!(
        answer(&mut Scrubber::new(), r#"{"note":"use Zk81-xTTw0-aB77","access_token":"Zk81-xTTw0-aB77"}"#),
        r#"{"note":"use {{redacted:secret:1}}","access_token":"{{redacted:secret:1}}"}"#
    );
}

#[test]
fn the_sum_of_a_body_goes_where_the_body_changed() {
    let names = |body: &str| -> Vec<String> {
        let scrubbed = Scrubber::new().exchange(answered("application/json", body)).unwrap();
        scrubbed.reply.response().unwrap().headers.iter().map(|h| h.name().to_owned()).collect()
    };
    assert_eq!(names(r#"{"a":1}"#), ["content-type", "content-md5", "x-ratelimit-remaining"]);
    assert_eq!(names(r#"{"password":"hunter2"}"#), ["content-type", "x-ratelimit-remaining"]);
}

#[test]
fn what_cannot_be_decoded_is_not_let_through() {
    let mut exchange = answered("text/plain", "");
    let Reply::Response(response) = &mut exchange.reply else { unreachable!() };
    response.headers.push(Header::new("content-encoding", "br").unwrap());
    response.body = Body::from_bytes(vec![0xff, 0xfe, 0x00, 0x81]);
    assert_eq!(
        Scrubber::new().exchange(exchange.clone()).unwrap_err().to_string(),
        "the reply says that it is coded as br, and cannot be decoded: nobody can tell what is in it"
    );
    // A text that only claims a coding can be read as it is.
    let Reply::Response(response) = &mut exchange.reply else { unreachable!() };
    response.body = Body::from_bytes("plain");
    assert!(Scrubber::new().exchange(exchange).is_ok());
}

#[test]
fn the_name_of_an_account_is_nothing_to_look_for_elsewhere() {
    let mut exchange = answered("application/json", r#"{"url":"https://www.acme-incorporated.test"}"#);
    let Reply::Response(response) = &mut exchange.reply else { unreachable!() };
    response.headers.push(Header::new("openai-organization", "acme-incorporated").unwrap());
    let scrubbed = Scrubber::new().exchange(exchange).unwrap();
    let response = scrubbed.reply.response().unwrap();
    assert_eq!(response.headers.text("openai-organization"), Some("{{redacted:account:1}}"));
    assert_eq!(response.body.bytes().unwrap().as_ref(), br#"{"url":"https://www.acme-incorporated.test"}"#);
}
