//! Content codings: readable on the cassette, and on the wire as the client takes them.

use std::io::Read;

use super::{
    gate::{Gate, Lab, says},
    raw::{Answer, Raw},
};

#[test]
fn gzip_is_decoded_on_the_cassette_and_made_again_for_those_who_take_it() {
    replays("gzip", |coded| {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(coded).read_to_end(&mut plain).unwrap();
        plain
    });
}

#[test]
fn deflate_is_decoded_on_the_cassette_and_made_again_for_those_who_take_it() {
    replays("deflate", |coded| {
        let mut plain = Vec::new();
        flate2::read::ZlibDecoder::new(coded).read_to_end(&mut plain).unwrap();
        plain
    });
}

#[test]
fn brotli_is_decoded_on_the_cassette_and_made_again_for_those_who_take_it() {
    replays("br", |coded| {
        let mut plain = Vec::new();
        brotli::BrotliDecompress(&mut &coded[..], &mut plain).unwrap();
        plain
    });
}

#[test]
fn zstd_is_decoded_on_the_cassette_and_made_again_for_those_who_take_it() {
    replays("zstd", |coded| zstd::decode_all(coded).unwrap());
}

fn replays(coding: &str, decode: impl Fn(&[u8]) -> Vec<u8>) {
    let mut lab = Lab::new();
    let ask = |gate: &Gate, accept: &str| {
        let mut raw = Raw::https(gate, "faults.test");
        raw.get("faults.test", &format!("/{coding}"), accept);
        raw.answer().unwrap()
    };
    let accept = format!("accept-encoding: {coding}\r\n");
    let of = |answer: &Answer| answer.header("content-encoding").map(str::to_owned);

    let [recorded, again] = lab.record(|gate| [ask(gate, &accept), ask(gate, &accept)]);
    assert_eq!(of(&recorded).as_deref(), Some(coding));
    let plain = decode(&recorded.body);
    assert!(plain.starts_with(format!("{{\"coding\":\"{coding}\"").as_bytes()));
    says(&lab.cassette(), &format!("coding: {coding}"));
    let filler = "again and ".repeat(3);
    assert!(lab.cassette().contains(filler.trim()), "{}", lab.cassette());

    let ((coded, uncoded), outcome) = lab.replay(|gate| (ask(gate, &accept), ask(gate, "")));
    outcome.exits(0);
    assert_eq!(of(&coded).as_deref(), Some(coding));
    assert_eq!(decode(&coded.body), plain);
    assert_eq!(of(&uncoded), None);
    assert_eq!(uncoded.body, decode(&again.body));
}
