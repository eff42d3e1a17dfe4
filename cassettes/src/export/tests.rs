//! What is exported comes back as it was.

use std::time::Duration;

use exchange::{Body, End, Header, Reply, Request, Response, Url};
use proptest::prelude::*;

use super::*;
use crate::{
    Scrubber,
    format::round_trip::{exchange, policy},
    import::{Imported, Refusal, Repair},
};

fn read_back(text: &str) -> Result<Imported, Refusal> {
    let nothing = |_: &str| -> io::Result<Option<Bytes>> { Ok(None) };
    let source = Source { name: "export.yaml", bytes: text.as_bytes(), beside: &nothing };
    import::import(source, None, &Options::default())
}

fn simple() -> Cassette {
    let headers = |pairs: &[(&str, &str)]| pairs.iter().map(|(n, v)| Header::new(n, *v).unwrap()).collect();
    let exchange = Exchange {
        id: 1,
        at: Duration::from_millis(840),
        request: Request {
            method: "POST".into(),
            url: Url::parse("https://a.test/p?q=1").unwrap(),
            headers: headers(&[
                ("content-type", "application/json"),
                ("authorization", "Bearer {{redacted:token:1}}"),
            ]),
            body: Body::from_bytes("{\"a\":1}"),
            trailers: exchange::Headers::new(),
        },
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: headers(&[("content-type", "text/plain")]),
            after: Duration::from_millis(66),
            informational: Vec::new(),
            body: Body::from_bytes("it's\n"),
            trailers: exchange::Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    };
    Cassette {
        redaction: Some(crate::format::Redaction::new()),
        policy: None,
        exchanges: vec![Scrubber::new().exchange(exchange).unwrap()],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn importing_an_export_gives_the_same_cassette(
        policy in prop::option::of(policy()),
        exchanges in prop::collection::vec(exchange(), 0..3),
    ) {
        // What is on a cassette has been scrubbed, and what cannot be is on none.
        let mut scrubber = Scrubber::new();
        let scrubbed = exchanges.into_iter().filter_map(|exchange| scrubber.exchange(exchange).ok());
        let exchanges: Vec<_> =
            scrubbed.zip(1..).map(|(exchange, id)| exchange.map(|e| Exchange { id, ..e })).collect();
        let cassette = Cassette { redaction: Some(crate::format::Redaction::new()), policy, exchanges };
        for target in [Target::Har, Target::VcrPy] {
            let text = export(&cassette, target);
            let imported = match read_back(&text) {
                Ok(imported) => imported,
                Err(refusal) => return Err(TestCaseError::fail(format!("{refusal}\n{text}"))),
            };
            prop_assert_eq!(&imported.cassette, &cassette, "{}", text);
            prop_assert_eq!(export(&imported.cassette, target), text);
        }
        export(&cassette, Target::Curl);
    }
}

#[test]
fn a_vcrpy_cassette_is_this() {
    assert_eq!(
        export(&simple(), Target::VcrPy),
        "\
interactions:
  - request:
      body: '{\"a\":1}'
      headers:
        content-type:
          - application/json
        authorization:
          - Bearer {{redacted:token:1}}
      method: POST
      uri: https://a.test/p?q=1
    response:
      body:
        string: |
          it's
      headers:
        content-type:
          - text/plain
      status:
        code: 200
        message: OK
    wiretape:
      at: 840ms
      after: 66ms
version: 1
wiretape:
  cassette: 1
"
    );
}

#[test]
fn a_curl_command_is_this() {
    assert_eq!(
        export(&simple(), Target::Curl),
        "#!/bin/sh\n\n# exchange 1: 200\n\
         curl --silent --show-error --globoff --path-as-is \\\n  --request 'POST' \\\n  \
         --header 'content-type: application/json' \\\n  \
         --header 'authorization: Bearer '\"${REDACTED_TOKEN_1:?}\" \\\n  \
         --header 'accept:' \\\n  --header 'user-agent:' \\\n  --data-raw '{\"a\":1}' \\\n  \
         --url 'https://a.test/p?q=1'\n"
    );
}

#[test]
fn an_archive_says_the_common_things_in_its_own_words() {
    let archive: serde_json::Value = serde_json::from_str(&export(&simple(), Target::Har)).unwrap();
    let entry = &archive["log"]["entries"][0];
    assert_eq!(entry["startedDateTime"], "1970-01-01T00:00:00.84Z");
    assert_eq!(entry["request"]["postData"]["text"], "{\"a\":1}");
    assert_eq!(entry["response"]["content"]["text"], "it's\n");
    assert_eq!(entry["timings"]["wait"], 66);
    assert_eq!(entry.get("_wiretape"), None);
}

#[test]
fn an_entry_that_was_changed_is_read_as_it_stands() {
    let mut cassette = simple();
    let stream = cassette.exchanges.remove(0).map(|mut exchange| {
        if let Reply::Response(response) = &mut exchange.reply {
            response.end = End::Cut(exchange::Fault::Reset);
        }
        exchange
    });
    cassette.exchanges.push(stream);
    for target in [Target::Har, Target::VcrPy] {
        let text = export(&cassette, target);
        assert_eq!(read_back(&text).unwrap().cassette, cassette);
        let changed = text.replacen("it's", "other", 1);
        let imported = read_back(&changed).unwrap();
        let response = imported.cassette.exchanges[0].reply.response().unwrap().clone();
        assert_eq!(
            (response.body.bytes().unwrap().as_ref(), response.end),
            (b"other\n".as_slice(), End::Whole)
        );
        assert!(imported.repairs.contains(&(Repair::CopyOutdated, 1)), "{:?}", imported.repairs);
    }
}

#[test]
fn a_copy_that_is_broken_is_refused_with_its_place() {
    let text = "interactions:\n- request: {method: GET, uri: 'https://a.test/', headers: {}, body: null}\n  response: {status: {code: 200}, headers: {}, body: {string: ''}}\n  wiretape:\n    exchange: '- id: x'\nversion: 1\n";
    let refused = read_back(text).unwrap_err().to_string();
    assert!(refused.starts_with("5:15: the copy of the exchange: "), "{refused}");
}
