//! Telling recordings from each other, and from everything else.

use wiretape_cassettes::import::{self, Format, Options, Refusal, Source};

use crate::{import_as, nothing_beside};

fn format_of(name: &str, text: &str) -> Option<Format> {
    match import_as(name, text, &Options::default()) {
        Ok(imported) => Some(imported.format),
        Err(Refusal::Unknown) => None,
        Err(other) => panic!("{name}: {other}"),
    }
}

#[test]
fn other_files_are_no_recordings() {
    for (name, text) in [
        ("package.json", "{\"name\": \"x\", \"version\": \"1.0.0\"}"),
        ("list.json", "[1, 2, 3]"),
        ("mkdocs.yml", "site: x\nemoji: !!python/name:material.emoji\n"),
        ("broken.yaml", "a: b: c\n"),
        ("empty.yaml", ""),
        ("README.yaml", "just text\n"),
    ] {
        assert_eq!(format_of(name, text), None, "{name}");
    }
}

#[test]
fn a_broken_recording_is_refused_and_not_passed_over() {
    let text = "interactions:\n- request: {a\nversion: 1\n";
    let refusal = import_as("a.yaml", text, &Options::default()).unwrap_err();
    assert!(matches!(refusal, Refusal::At { .. }), "{refusal}");
}

#[test]
fn a_cassette_of_ours_is_said_to_be_one() {
    let text = "---\nwiretape: cassette/1\nexchanges:\n...\n";
    let refusal = import_as("a.yaml", text, &Options::default()).unwrap_err();
    assert_eq!(refusal.to_string(), "this is a wiretape cassette already");
}

#[test]
fn the_named_format_is_believed() {
    let bytes = b"{\"interactions\": []}";
    let source = Source { name: "a.json", bytes, beside: &nothing_beside };
    let imported = import::import(source, Some(Format::GoVcr), &Options::default()).unwrap();
    assert_eq!(imported.format, Format::GoVcr);
    let refusal = import::import(source, Some(Format::Har), &Options::default()).unwrap_err();
    assert_eq!(refusal.to_string(), "1:1: missing key `log` in the archive");
}

#[test]
fn every_format_reads_its_own_word() {
    for format in Format::ALL {
        assert_eq!(format.as_str().parse(), Ok(format));
    }
}
