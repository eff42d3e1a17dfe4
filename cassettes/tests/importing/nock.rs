//! nock and Octokit's fixtures.

use exchange::Coding;
use wiretape_cassettes::import::{Format, Repair};

use crate::{asked, body, import, only, pairs, response};

fn recording(rest: &str) -> String {
    format!(
        "[{{\"scope\": \"https://api.test:443\", \"method\": \"post\", \"path\": \"/a?b=1\", \"status\": 201, {rest}}}]"
    )
}

#[test]
fn parsed_bodies_are_json_of_an_unknown_layout() {
    let imported = import(&recording(
        "\"body\": {\"z\": 1, \"a\": [2]}, \"response\": {\"ok\": true}, \"rawHeaders\": [\"Content-Type\", \"application/json\"]",
    ));
    assert_eq!((imported.format, imported.cassette.policy), (Format::Nock, None));
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(exchange.request.url.to_string(), "https://api.test/a?b=1");
    assert_eq!(exchange.request.method, "POST");
    assert_eq!(
        (asked(exchange), body(exchange)),
        (br#"{"z":1,"a":[2]}"#.as_slice(), br#"{"ok":true}"#.as_slice())
    );
    assert_eq!(imported.repairs, [(Repair::LayoutUnknown, 2)]);
}

#[test]
fn texts_stay_texts() {
    let exchange = only(&recording(
        "\"body\": \"a=b\", \"response\": \"hi\", \"rawHeaders\": {\"X-A\": [\"1\", \"2\"]}",
    ));
    assert_eq!((asked(&exchange), body(&exchange)), (b"a=b".as_slice(), b"hi".as_slice()));
    assert_eq!(pairs(&response(&exchange).headers), [("x-a", "1"), ("x-a", "2")]);
}

#[test]
fn hexadecimal_is_bytes_where_the_recording_says_so() {
    let exchange = only(&recording(
        "\"body\": \"\", \"response\": \"00ff\", \"rawHeaders\": [], \"responseIsBinary\": true",
    ));
    assert_eq!(body(&exchange), [0, 0xff]);
    let exchange = only(&recording("\"body\": \"\", \"response\": \"00ff\", \"rawHeaders\": []"));
    assert_eq!(body(&exchange), b"00ff");
}

#[test]
fn pieces_of_a_coded_body_are_joined() {
    let exchange = only(&recording(
        "\"body\": \"\", \"response\": [\"1f8b08000000\", \"00000003cb48cdc9c9070086a6103605000000\"], \
         \"rawHeaders\": [\"Content-Encoding\", \"gzip\"]",
    ));
    assert_eq!(
        (body(&exchange), response(&exchange).body.codings.as_slice()),
        (b"hello".as_slice(), [Coding::Gzip].as_slice())
    );
    assert!(response(&exchange).body.frames.is_empty());
}

#[test]
fn a_json_array_is_no_list_of_pieces() {
    let exchange = only(&recording("\"body\": \"\", \"response\": [\"ab\", \"cd\"], \"rawHeaders\": []"));
    assert_eq!(body(&exchange), br#"["ab","cd"]"#);
}

#[test]
fn octokit_fixtures_have_their_headers_under_another_name() {
    let imported = import(&recording(
        "\"body\": \"\", \"reqheaders\": {\"accept\": \"a/b\"}, \"response\": \"\", \"headers\": {\"x-a\": \"1\"}",
    ));
    assert_eq!(imported.format, Format::OctokitFixtures);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(pairs(&exchange.request.headers), [("accept", "a/b")]);
    assert_eq!(pairs(&response(exchange).headers), [("x-a", "1")]);
}

#[test]
fn a_request_in_hexadecimal_is_bytes_where_its_length_tells() {
    let with = |length: &str| {
        let exchange = only(&recording(&format!(
            "\"body\": \"00ff\", \"response\": \"\", \"rawHeaders\": [], \"reqheaders\": {{{length}}}"
        )));
        asked(&exchange).to_vec()
    };
    assert_eq!(with("\"content-length\": \"2\""), [0, 0xff]);
    assert_eq!(with("\"content-length\": 2"), [0, 0xff]);
    assert_eq!(with("\"content-length\": \"4\""), b"00ff");
    assert_eq!(with(""), b"00ff");
}
