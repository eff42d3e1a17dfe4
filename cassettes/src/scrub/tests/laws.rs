//! What holds for every exchange.

use std::time::Duration;

use exchange::{Body, End, Frame, Header, Reply, Response};
use proptest::prelude::*;

use super::{super::shapes::tests::*, *};

const SECRET: &str = "tr0ub4dor-and-3-more";

/// Texts in which placeholders, keys, tokens and a known value meet by chance.
fn body() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{\"password\":\"hunter2hunter2\"}".to_owned()),
        Just("{{redacted:token:1}}".to_owned()),
        Just("{{redacted:".to_owned()),
        Just(SECRET.to_owned()),
        Just("data: {\"delta\":\"".to_owned()),
        Just("\"}\n\n".to_owned()),
        Just("https://u:pa55word1@h.test/x?token=abcdefgh12345678&n=1 ".to_owned()),
        Just("\\u0074r0ub4dor-and-3-more".to_owned()),
        Just("%74r0ub4dor-and-3-more".to_owned()),
        Just("dHIwdWI0ZG9yLWFuZC0zLW1vcmU=".to_owned()),
        (0..KINDS, any::<u64>()).prop_map(|(kind, seed)| token(kind, &mut Draw::new(seed)).1),
        "[ a-z\"{}:,\\[\\]\\\\\n=&]{0,8}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn exchange(media: &str, content: &str, cuts: &[usize]) -> Exchange {
    let mut frames = Vec::new();
    let mut from = 0;
    for &cut in cuts {
        let to = cut.min(content.len()).max(from);
        frames.push(Frame { len: to - from, after: Duration::ZERO });
        from = to;
    }
    frames.push(Frame { len: content.len() - from, after: Duration::ZERO });
    Exchange {
        id: 1,
        at: Duration::ZERO,
        request: request("https://a.test/", &[("authorization", &format!("Bearer {SECRET}"))]),
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: headers(&[("content-type", media)]),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body { frames, ..Body::from_bytes(content.to_owned()) },
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    }
}

fn media() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "application/json",
            "text/event-stream",
            "application/x-ndjson",
            "text/plain",
            "application/x-www-form-urlencoded",
        ][..],
    )
}

fn content(exchange: &Exchange) -> Vec<u8> {
    exchange.reply.response().unwrap().body.bytes().unwrap().to_vec()
}

proptest! {
    #[test]
    fn scrubbing_twice_is_scrubbing_once(content in body(), media in media()) {
        let mut scrubber = Scrubber::new();
        let once = scrubber.exchange(exchange(media, &content, &[])).unwrap();
        prop_assert_eq!(&scrubber.exchange((*once).clone()).unwrap(), &once);
        // Nor does another scrubber, which knows nothing, find anything more.
        prop_assert_eq!(&Scrubber::new().exchange((*once).clone()).unwrap(), &once);
    }

    #[test]
    fn how_a_stream_was_cut_changes_nothing(text in body(), media in media(), cuts in prop::collection::vec(0usize..200, 0..6)) {
        let mut cuts = cuts;
        cuts.sort_unstable();
        let whole = Scrubber::new().exchange(exchange(media, &text, &[])).unwrap();
        let cut = Scrubber::new().exchange(exchange(media, &text, &cuts)).unwrap();
        prop_assert_eq!(content(&whole), content(&cut));
        let frames = &cut.reply.response().unwrap().body.frames;
        prop_assert_eq!(frames.iter().map(|f| f.len).sum::<usize>(), content(&cut).len());
    }

    #[test]
    fn a_body_that_no_rule_hits_keeps_every_byte(text in "[ a-zA-Z.,{}\\[\\]\":\n]{0,120}", media in media()) {
        let scrubbed = Scrubber::new().exchange(exchange(media, &text, &[])).unwrap();
        prop_assert_eq!(content(&scrubbed), text.into_bytes());
    }

    #[test]
    fn a_known_value_is_gone_wherever_it_stood(text in body(), media in media()) {
        let scrubbed = Scrubber::new().exchange(exchange(media, &text, &[])).unwrap();
        let left = content(&scrubbed);
        prop_assert!(memchr::memmem::find(&left, SECRET.as_bytes()).is_none(), "{}", String::from_utf8_lossy(&left));
    }
}

#[test]
fn one_header_line_shows_that_the_laws_are_about_something() {
    let scrubbed = Scrubber::new().exchange(exchange("text/plain", &format!("a {SECRET}"), &[])).unwrap();
    assert_eq!(content(&scrubbed), b"a {{redacted:token:1}}");
    let header = Header::new("x", "y").unwrap();
    assert_eq!(Scrubber::new().request_header(header).value(), b"{{redacted:header:1}}");
}
