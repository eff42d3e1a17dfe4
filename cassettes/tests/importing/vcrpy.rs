//! vcrpy and what others made of its shape.

use std::io::Write;

use exchange::Coding;
use matchers::Compare;
use wiretape_cassettes::import::{Format, Options, Repair, Source};

use crate::{asked, body, import, import_as, nothing_beside, only, pairs, refusal, response};

const PLAIN: &str = "\
interactions:
- request:
    body: '{\"a\": 1}'
    headers:
      Accept: ['*/*']
      Content-Type: [application/json]
      Connection: [keep-alive]
      Content-Length: ['8']
    method: POST
    uri: https://api.test/v1/x?b=2
  response:
    body: {string: '{\"ok\":true}'}
    headers:
      Content-Type: [application/json]
      Set-Cookie: [a=1; Path=/, b=2]
      X-Many: [one, two]
    status: {code: 201, message: Created}
version: 1
";

#[test]
fn a_plain_interaction_is_an_exchange() {
    let imported = import(PLAIN);
    assert_eq!(imported.format, Format::VcrPy);
    assert_eq!(imported.cassette.policy.as_ref().unwrap().compare, Compare::Uri);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!((exchange.id, exchange.request.method.as_str()), (1, "POST"));
    assert_eq!(exchange.request.url.to_string(), "https://api.test/v1/x?b=2");
    assert_eq!(pairs(&exchange.request.headers), [("accept", "*/*"), ("content-type", "application/json")]);
    assert_eq!(asked(exchange), b"{\"a\": 1}");
    let response = response(exchange);
    assert_eq!((response.status, &response.reason), (201, &None));
    assert_eq!(
        pairs(&response.headers),
        [
            ("content-type", "application/json"),
            ("set-cookie", "a={{redacted:cookie:1}}; Path=/"),
            ("set-cookie", "b={{redacted:cookie:2}}"),
            ("x-many", "one"),
            ("x-many", "two"),
        ]
    );
    assert_eq!(body(exchange), b"{\"ok\":true}");
    assert!(response.body.frames.is_empty() && response.after.is_zero() && exchange.at.is_zero());
    let found: Vec<_> = imported.found.iter().map(|f| (f.kind.as_str(), f.place.as_str())).collect();
    assert_eq!(found, [("cookie", "response header set-cookie"); 2]);
}

#[test]
fn json_and_gzip_files_are_the_same_recording() {
    let yaml = import(PLAIN);
    let json = "{\"version\": 1, \"interactions\": [{\"request\": {\"body\": \"{\\\"a\\\": 1}\", \"headers\": \
                {\"Accept\": [\"*/*\"], \"Content-Type\": [\"application/json\"]}, \"method\": \"POST\", \"uri\": \
                \"https://api.test/v1/x?b=2\"}, \"response\": {\"body\": {\"string\": \"{\\\"ok\\\":true}\"}, \
                \"headers\": {\"Content-Type\": [\"application/json\"], \"Set-Cookie\": [\"a=1; Path=/\", \"b=2\"], \
                \"X-Many\": [\"one\", \"two\"]}, \"status\": {\"code\": 201, \"message\": \"Created\"}}}]}";
    let json = import_as("recording.json", json, &Options::default()).unwrap();
    assert_eq!(json.cassette, yaml.cassette);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(PLAIN.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let source = Source { name: "recording.yaml.gz", bytes: &packed, beside: &nothing_beside };
    let unpacked = wiretape_cassettes::import::import(source, None, &Options::default()).unwrap();
    assert_eq!(unpacked.cassette, yaml.cassette);
}

fn interaction(request: &str, response: &str) -> String {
    format!(
        "interactions:\n- request:\n    method: GET\n    uri: https://a.test/\n    headers: {{}}\n{request}  response:\n{response}version: 1\n"
    )
}

#[test]
fn the_older_shape_of_httpx_is_read() {
    let text = interaction(
        "    body: ''\n",
        "    content: '{\"a\":1}'\n    http_version: HTTP/1.1\n    status_code: 404\n    headers: [[X-A, b]]\n",
    );
    let exchange = only(&text);
    assert_eq!((response(&exchange).status, body(&exchange)), (404, b"{\"a\":1}".as_slice()));
    assert_eq!(pairs(&response(&exchange).headers), [("x-a", "b")]);
}

#[test]
fn structure_in_place_of_a_body_is_written_compactly_and_said_so() {
    let text = interaction(
        "    parsed_body: {b: 1.50, a: [true, null, 'no', 12e3]}\n",
        "    headers: {}\n    parsed_body: plain text\n    status: {code: 200, message: OK}\n",
    );
    let imported = import(&text);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(asked(exchange), br#"{"b":1.50,"a":[true,null,"no","12e3"]}"#);
    assert_eq!(body(exchange), b"plain text");
    assert_eq!(imported.repairs, [(Repair::LayoutUnknown, 1)]);
}

#[test]
fn a_request_body_that_is_a_mapping_is_json_and_a_method_is_written_in_capitals() {
    let text = interaction(
        "    body: {a: 1}\n",
        "    headers: {}\n    body: {string: ''}\n    status: {code: 200, message: OK}\n",
    );
    let exchange = only(&text.replace("method: GET", "method: get"));
    assert_eq!((exchange.request.method.as_str(), asked(&exchange)), ("GET", b"{\"a\":1}".as_slice()));
    assert_eq!(only(&text.replace("method: GET", "method: purge")).request.method, "purge");
}

#[test]
fn bytes_stand_as_binary_or_in_a_memory_file() {
    let text = interaction(
        "    body: !!python/object/new:_io.BytesIO\n      state: !!python/tuple\n      - !!binary |\n        AP8=\n      - 0\n      - null\n",
        "    body: {string: !!binary 'AAEC'}\n    headers: {}\n    status: {code: 200, message: null}\n",
    );
    let exchange = only(&text);
    assert_eq!((asked(&exchange), body(&exchange)), ([0, 0xff].as_slice(), [0, 1, 2].as_slice()));
}

#[test]
fn a_body_that_was_iterated_over_is_all_of_its_pieces() {
    let text = interaction(
        "    body: !!python/object/apply:builtins.iter\n    - - !!binary YWI=\n      - cd\n",
        "    body: {string: ''}\n    headers: {}\n    status: {code: 200, message: OK}\n",
    );
    assert_eq!(asked(&only(&text)), b"abcd");
}

#[test]
fn requests_and_responses_in_two_lists_are_paired() {
    let text = "requests:\n- {method: GET, uri: 'https://a.test/1', body: null, headers: {}}\n- {method: GET, uri: \
                'https://a.test/2', body: null, headers: {}}\nresponses:\n- {status: {code: 200}, headers: {}, body: \
                {string: one}}\n- {status: {code: 200}, headers: {}, body: {string: two}}\n";
    let imported = import(text);
    let bodies: Vec<&[u8]> = imported.cassette.exchanges.iter().map(|e| body(e)).collect();
    assert_eq!(bodies, [b"one", b"two"]);
    let odd = text
        .replace("responses:\n- {status: {code: 200}, headers: {}, body: {string: one}}\n", "responses:\n");
    assert!(refusal(&odd).ends_with("2 requests and 1 responses do not make pairs"), "{}", refusal(&odd));
}

#[test]
fn a_coded_body_is_decoded_once_and_wears_its_coding_again() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"hello").unwrap();
    let packed = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, gzip.finish().unwrap());
    let text = interaction(
        "    body: null\n",
        &format!(
            "    body: {{string: !!binary '{packed}'}}\n    headers: {{Content-Encoding: [gzip]}}\n    status: {{code: 200, message: OK}}\n"
        ),
    );
    let imported = import(&text);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(
        (body(exchange), response(exchange).body.codings.as_slice()),
        (b"hello".as_slice(), [Coding::Gzip].as_slice())
    );
    assert_eq!(imported.repairs, []);
}

#[test]
fn a_url_with_a_placeholder_needs_a_substitute() {
    let text = PLAIN.replace("https://api.test", "https://bedrock.<AWS_REGION>.test");
    let imported = import(&text);
    assert_eq!(imported.cassette.exchanges, []);
    let [skipped] = imported.skipped.as_slice() else { panic!("{:?}", imported.skipped) };
    assert_eq!((skipped.origin.number, skipped.position.unwrap().to_string().as_str()), (1, "10:10"));
    assert_eq!(
        skipped.reason,
        "no client can ask for \"https://bedrock.<AWS_REGION>.test/v1/x?b=2\": its host holds characters that no host \
         name has; put something in its place with --substitute '<AWS_REGION>=…'"
    );
    let options =
        Options { substitutes: vec![("<AWS_REGION>".into(), "us-east-1".into())], ..Options::default() };
    let imported = import_as("a.yaml", &text, &options).unwrap();
    assert_eq!(imported.cassette.exchanges[0].request.url.host, "bedrock.us-east-1.test");
}

#[test]
fn a_person_can_have_bodies_compared() {
    let options = Options { compare: Some(Compare::Full), ..Options::default() };
    assert_eq!(import_as("a.yaml", PLAIN, &options).unwrap().cassette.policy, None);
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    for (from, to, words) in [
        ("method: POST", "verb: POST", "3:5: missing key `method` in the request"),
        ("code: 201", "code: many", "17:20: expected the status as a number from 100 to 999, found `many`"),
        ("code: 201", "code: 99", "17:20: expected the status as a number from 100 to 999, found `99`"),
        ("{string: '{\"ok\":true}'}", "{text: x}", "12:11: the response body has no `string`"),
        ("[one, two]", "[{a: b}]", "16:16: expected a header value as text, found a mapping"),
        (
            "[one, two]",
            "[\"a\\r\\nx: y\"]",
            "16:16: value of header `x-many` holds a line break or a control character",
        ),
        (
            "X-Many:",
            "'X Many':",
            "16:18: header name \"x many\" is empty or holds a character that no header name may hold",
        ),
        ("  response:", "  reply:", "2:3: missing key `response` in the interaction"),
        ("method: POST", "method: 'GET /'", "2:3: \"GET /\" is no method"),
        (
            "'{\"a\": 1}'",
            "!!python/object/apply:os.system ['id']",
            "3:11: the tag `!!python/object/apply:os.system` is not allowed",
        ),
    ] {
        assert!(PLAIN.contains(from), "{from}");
        assert_eq!(refusal(&PLAIN.replacen(from, to, 1)), words);
    }
}
