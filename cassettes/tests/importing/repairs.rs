//! Bodies and headers brought back to what was on the wire.

use std::io::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use exchange::{Coding, encode};
use proptest::prelude::*;
use wiretape_cassettes::import::{Imported, Repair};

use crate::{body, import, response};

fn recorded(headers: &str, body: &[u8]) -> Imported {
    import(&format!(
        "interactions:\n- request: {{method: GET, uri: 'https://a.test/', headers: {{}}, body: null}}\n  response:\n    \
         status: {{code: 200, message: OK}}\n    headers: {{{headers}}}\n    body:\n      string: !!binary '{}'\n",
        BASE64_STANDARD.encode(body)
    ))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    coder.write_all(bytes).expect("memory takes it");
    coder.finish().expect("memory takes it")
}

fn outcome(imported: &Imported) -> (&[u8], &[Coding]) {
    let exchange = &imported.cassette.exchanges[0];
    (body(exchange), &response(exchange).body.codings)
}

#[test]
fn every_coding_is_undone_where_it_is_on_and_put_back_where_it_is_not() {
    for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
        let header = format!("content-encoding: {}", coding.as_str());
        let content = br#"{"text": "ein sch\u00f6ner Text, der sich lohnt"}"#;
        let coded = recorded(&header, &encode(&[coding], content).unwrap());
        assert_eq!(outcome(&coded), (content.as_slice(), [coding].as_slice()));
        assert_eq!(coded.repairs, []);
        let plain = recorded(&header, content);
        assert_eq!(outcome(&plain), (content.as_slice(), [coding].as_slice()));
        assert_eq!(plain.repairs, [(Repair::CodingRestored, 1)]);
    }
}

#[test]
fn of_two_codings_one_may_have_been_undone() {
    let imported = recorded("content-encoding: 'gzip, br'", &gzip(b"hello"));
    assert_eq!(outcome(&imported), (b"hello".as_slice(), [Coding::Gzip, Coding::Brotli].as_slice()));
    assert_eq!(imported.repairs, [(Repair::CodingPartlyUndone, 1)]);
}

#[test]
fn an_archive_that_was_sent_as_it_is_stays_one() {
    let archive = gzip(b"files");
    let imported = recorded("content-type: application/gzip", &archive);
    assert_eq!(outcome(&imported), (archive.as_slice(), [].as_slice()));
    let imported = recorded("content-type: application/gzip, content-encoding: gzip", &gzip(&archive));
    assert_eq!(outcome(&imported), (archive.as_slice(), [Coding::Gzip].as_slice()));
    assert_eq!(imported.repairs, []);
}

#[test]
fn an_archive_that_the_recorder_unpacked_as_well_is_told() {
    let imported = recorded("content-type: application/gzip, content-encoding: gzip", b"\x00files");
    assert_eq!(outcome(&imported), (b"\x00files".as_slice(), [Coding::Gzip].as_slice()));
    assert_eq!(imported.repairs, [(Repair::CodingRestored, 1), (Repair::ArchiveUnpacked, 1)]);
}

#[test]
fn a_damaged_body_is_kept_as_it_is() {
    let mut damaged = gzip(b"hello hello hello hello");
    damaged.truncate(15);
    let imported = recorded("content-encoding: gzip", &damaged);
    assert_eq!(outcome(&imported), (damaged.as_slice(), [].as_slice()));
    assert_eq!(imported.repairs, [(Repair::Damaged, 1)]);
}

#[test]
fn lengths_and_framing_are_made_anew() {
    let imported = recorded("content-length: '99', transfer-encoding: chunked, connection: close", b"hello");
    assert!(response(&imported.cassette.exchanges[0]).headers.is_empty());
    assert_eq!(imported.repairs, [(Repair::LengthCorrected, 1), (Repair::TransferEncodingDropped, 1)]);
    let imported = recorded("content-length: '5'", b"hello");
    assert_eq!(imported.repairs, []);
    let imported = recorded("content-length: '99'", b"");
    assert_eq!(response(&imported.cassette.exchanges[0]).headers.text("content-length"), Some("99"));
}

#[test]
fn an_event_stream_is_kept_as_events_without_times() {
    let imported = recorded("content-type: text/event-stream", b"data: a\n\ndata: b\n\n");
    let exchange = &imported.cassette.exchanges[0];
    let text = wiretape_cassettes::format::item(exchange, usize::MAX, &mut Vec::new());
    let events = "        events:\n          - text: 'data: a'\n          - text: 'data: b'\n";
    assert!(text.contains(events), "{text}");
}

proptest! {
    #[test]
    fn whatever_a_body_is_its_content_comes_back(content in proptest::collection::vec(any::<u8>(), 1..300)) {
        let imported = recorded("content-encoding: gzip", &gzip(&content));
        prop_assert_eq!(outcome(&imported), (content.as_slice(), [Coding::Gzip].as_slice()));
        let imported = recorded("x-a: b", &content);
        prop_assert_eq!(outcome(&imported), (content.as_slice(), [].as_slice()));
    }
}
