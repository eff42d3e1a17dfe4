//! Ruby VCR and Betamax.

use exchange::Coding;
use matchers::Compare;
use wiretape_cassettes::import::{Format, Repair};

use crate::{asked, body, import, only, pairs, refusal, response};

const RUBY: &str = "\
---
http_interactions:
- request:
    method: post
    uri: https://api.test/v1/x
    body:
      encoding: UTF-8
      string: '{\"a\":1}'
    headers:
      Content-Type:
      - application/json
  response:
    status:
      code: 200
      message: OK
    headers:
      Content-Type:
      - text/plain
    body:
      encoding: ASCII-8BIT
      string: !binary |-
        aGVsbG8=
  recorded_at: Tue, 02 May 2023 10:00:00 GMT
recorded_with: VCR 6.1.0
";

#[test]
fn a_ruby_interaction_is_an_exchange() {
    let imported = import(RUBY);
    assert_eq!(imported.format, Format::RubyVcr);
    assert_eq!(imported.cassette.policy.as_ref().unwrap().compare, Compare::Uri);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!((exchange.request.method.as_str(), asked(exchange)), ("POST", b"{\"a\":1}".as_slice()));
    assert_eq!(body(exchange), b"hello");
    assert!(exchange.at.is_zero(), "when it was recorded is not when it came");
}

#[test]
fn base64_in_lines_is_bytes() {
    let text = RUBY
        .replace("string: !binary |-\n        aGVsbG8=", "base64_string: |\n        aGVs\n        bG8=\n");
    assert_eq!(body(&only(&text)), b"hello");
}

#[test]
fn a_coding_that_vcr_undid_was_on_the_wire() {
    let text =
        RUBY.replace("  recorded_at:", "    adapter_metadata:\n      vcr_decompressed: gzip\n  recorded_at:");
    let imported = import(&text);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(
        pairs(&response(exchange).headers),
        [("content-type", "text/plain"), ("content-encoding", "gzip")]
    );
    assert_eq!(
        (body(exchange), response(exchange).body.codings.as_slice()),
        (b"hello".as_slice(), [Coding::Gzip].as_slice())
    );
    assert_eq!(imported.repairs, [(Repair::CodingRestored, 1), (Repair::CodingHeaderRestored, 1)]);
}

#[test]
fn text_has_the_encoding_that_is_noted() {
    let text = RUBY
        .replace("encoding: ASCII-8BIT", "encoding: ISO-8859-1")
        .replace("string: !binary |-\n        aGVsbG8=", "string: \"caf\\u00e9\"");
    assert_eq!(body(&only(&text)), b"caf\xe9");
    let text = text.replace("ISO-8859-1", "UTF-8");
    assert_eq!(body(&only(&text)), "café".as_bytes());
}

#[test]
fn betamax_is_told_from_ruby_and_keeps_gzip_as_it_was() {
    let text = "{\"http_interactions\": [{\"recorded_at\": \"2013-11-16T16:16:00\", \"request\": {\"body\": \"\", \
                \"headers\": {\"Accept\": \"*/*\"}, \"method\": \"GET\", \"uri\": \"https://api.test/zen\"}, \"response\": \
                {\"body\": {\"encoding\": \"utf-8\", \"base64_string\": \
                \"H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==\"}, \"headers\": {\"content-encoding\": \"gzip\"}, \
                \"status_code\": 200, \"url\": \"https://api.test/zen\"}}], \"recorded_with\": \"betamax/0.3.0\"}";
    let imported = import(text);
    assert_eq!(imported.format, Format::Betamax);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(
        (body(exchange), response(exchange).body.codings.as_slice()),
        (b"hello".as_slice(), [Coding::Gzip].as_slice())
    );
}

#[test]
fn a_file_without_interactions_is_an_empty_cassette() {
    assert_eq!(import("http_interactions: []\nrecorded_with: VCR 6.1.0\n").cassette.exchanges, []);
    assert_eq!(import("interactions: []\nversion: 1\n").cassette.exchanges, []);
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    for (from, to, words) in [
        ("code: 200", "code: {}", "14:13: expected the status as a number from 100 to 999, found a mapping"),
        ("uri: https", "url: https", "4:5: missing key `uri` in the request"),
        ("aGVsbG8=", "???", "22:9: this is not base64, though the recording says so"),
        ("  response:", "  response: x\n  other:", "12:13: expected the response as a mapping, found text"),
    ] {
        let refused = refusal(&RUBY.replacen(from, to, 1));
        assert!(refused.ends_with(words.split_once(": ").unwrap().1), "{refused}");
        assert!(refused.starts_with(words.split(':').next().unwrap()), "{refused}");
    }
}

#[test]
fn a_url_that_is_a_template_is_left_out_and_a_user_in_one_is_told() {
    let text = |url: &str| {
        format!(
            "http_interactions:\n- request: {{method: get, uri: '{url}', body: {{string: ''}}, headers: {{}}}}\n  response: \
             {{status: {{code: 200, message: OK}}, headers: {{}}, body: {{string: hi}}}}\nrecorded_with: VCR 6.0.0\n"
        )
    };
    let imported = import(&text("https://a.test/<%= id %>/x"));
    assert_eq!(
        imported.skipped[0].reason,
        "no client can ask for \"https://a.test/<%= id %>/x\": it is a template of the recorder's; put something in its \
         place with --substitute '<%= id %>=…'"
    );
    let imported = import(&text("https://me:word@a.test/x?b=c@d"));
    assert_eq!(imported.cassette.exchanges[0].request.url.to_string(), "https://a.test/x?b=c@d");
    assert_eq!(imported.repairs, [(Repair::UserDropped, 1)]);
    assert_eq!(import(&text("https://a.test/x?b=c@d")).repairs, []);
}
