//! WireMock and Hoverfly: what they recorded comes over, what a person wrote as a pattern does not.

use std::io;

use bytes::Bytes;
use matchers::{Compare, OnRepeat};
use wiretape_cassettes::import::{self, Format, Imported, Options, Origin, Source};

use crate::{asked, body, pairs, response};

fn files(name: &str) -> io::Result<Option<Bytes>> {
    Ok((name == "deep/body.txt").then(|| Bytes::from_static(b"from a file")))
}

fn at_github() -> Options {
    Options { origin: exchange::Url::parse("https://api.github.com/").ok(), ..Options::default() }
}

fn import_all(texts: &[&str]) -> Result<Imported, String> {
    let sources: Vec<Source<'_>> =
        texts.iter().map(|text| Source { name: "a.json", bytes: text.as_bytes(), beside: &files }).collect();
    import::import_all(&sources, None, &at_github()).map_err(|(place, refusal)| format!("{place}: {refusal}"))
}

fn mapping(request: &str, response: &str) -> String {
    format!(
        "{{\"request\": {{\"method\": \"POST\", {request}}}, \"response\": {{\"status\": 201, {response}}}}}"
    )
}

#[test]
fn a_mapping_is_an_exchange_with_the_host_that_was_named() {
    let text = mapping(
        "\"url\": \"/a?b=1\", \"headers\": {\"Accept\": {\"equalTo\": \"x/y\"}, \"X\": {\"matches\": \".*\"}}, \
         \"bodyPatterns\": [{\"equalToJson\": \"{\\\"a\\\": 1}\", \"ignoreArrayOrder\": true}]",
        "\"statusMessage\": \"Made\", \"bodyFileName\": \"deep/body.txt\", \"fixedDelayMilliseconds\": 70, \"headers\": {\"Vary\": [\"a\", \"b\"]}",
    );
    let imported = import_all(&[&text]).unwrap();
    assert_eq!(imported.format, Format::WireMock);
    let policy = imported.cassette.policy.as_ref().unwrap();
    assert_eq!((policy.compare, policy.on_repeat), (Compare::Full, OnRepeat::Last));
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(exchange.request.url.to_string(), "https://api.github.com/a?b=1");
    assert_eq!(pairs(&exchange.request.headers), [("accept", "x/y")]);
    assert_eq!((asked(exchange), body(exchange)), (b"{\"a\": 1}".as_slice(), b"from a file".as_slice()));
    let response = response(exchange);
    assert_eq!((response.status, response.reason.as_deref()), (201, Some("Made")));
    assert_eq!(
        (response.after.as_millis(), pairs(&response.headers)),
        (70, vec![("vary", "a"), ("vary", "b")])
    );
}

#[test]
fn every_form_of_a_body_is_read() {
    for (request, response_, sent, came) in [
        ("\"bodyPatterns\": [{\"equalTo\": \"x\"}]", "\"body\": \"y\"", "x", "y"),
        ("\"bodyPatterns\": [{\"binaryEqualTo\": \"eA==\"}]", "\"base64Body\": \"eQ==\"", "x", "y"),
        (
            "\"bodyPatterns\": [{\"equalToJson\": {\"a\": [1]}}]",
            "\"jsonBody\": {\"b\": 2}",
            "{\"a\":[1]}",
            "{\"b\":2}",
        ),
    ] {
        let imported = import_all(&[&mapping(&format!("\"url\": \"/\", {request}"), response_)]).unwrap();
        let exchange = &imported.cassette.exchanges[0];
        assert_eq!((asked(exchange), body(exchange)), (sent.as_bytes(), came.as_bytes()));
    }
}

#[test]
fn a_mapping_that_compares_no_body_makes_the_cassette_compare_none() {
    let imported = import_all(&[&mapping("\"url\": \"/\"", "\"body\": \"\"")]).unwrap();
    assert_eq!(imported.cassette.policy.unwrap().compare, Compare::Uri);
    let get = mapping("\"url\": \"/\"", "\"body\": \"\"").replace("POST", "GET");
    assert_eq!(import_all(&[&get]).unwrap().cassette.policy.unwrap().compare, Compare::Full);
}

#[test]
fn what_a_person_wrote_is_left_out_with_the_word_that_tells() {
    for (request, response, reason) in [
        (
            "\"urlPattern\": \"/.*\"",
            "\"body\": \"\"",
            "its request is a pattern (`urlPattern`): a stub, and no recording",
        ),
        (
            "\"urlPath\": \"/\", \"queryParameters\": {\"a\": {\"matches\": \"1\"}}",
            "\"body\": \"\"",
            "its query parameter `a` is a pattern: a stub, and no recording",
        ),
        (
            "\"url\": \"/\", \"bodyPatterns\": [{\"matchesJsonPath\": \"$.a\"}]",
            "\"body\": \"\"",
            "its body is a pattern (`matchesJsonPath`): a stub, and no recording",
        ),
        (
            "\"url\": \"/\"",
            "\"fault\": \"EMPTY_RESPONSE\"",
            "its response is a fault (`fault`), and no recording",
        ),
        (
            "\"url\": \"/\"",
            "\"proxyBaseUrl\": \"https://x\"",
            "its response comes from another host (`proxyBaseUrl`), and no recording",
        ),
        (
            "\"url\": \"/\"",
            "\"transformers\": [\"response-template\"]",
            "its response is a template, and no recording",
        ),
    ] {
        let imported = import_all(&[&mapping(request, response)]).unwrap();
        assert_eq!(imported.cassette.exchanges, []);
        assert_eq!(imported.skipped[0].reason, reason);
    }
    let any = mapping("\"url\": \"/\"", "\"body\": \"\"").replace("POST", "ANY");
    assert_eq!(
        import_all(&[&any]).unwrap().skipped[0].reason,
        "it answers any method: a stub, and no recording"
    );
}

#[test]
fn a_path_with_exact_parameters_is_a_url() {
    let imported = import_all(&[&mapping(
        "\"urlPath\": \"/p\", \"queryParameters\": {\"a\": {\"equalTo\": \"1 2\"}, \"b\": {\"equalTo\": \"c\"}}",
        "\"body\": \"\"",
    )])
    .unwrap();
    assert_eq!(imported.cassette.exchanges[0].request.url.target(), "/p?a=1+2&b=c");
}

#[test]
fn scenarios_of_one_file_come_in_their_order() {
    let one = |state: &str, body: &str| {
        format!(
            "{{\"scenarioName\": \"scenario-1-x\", \"requiredScenarioState\": \"{state}\", \"request\": {{\"method\": \
             \"GET\", \"url\": \"/\"}}, \"response\": {{\"body\": \"{body}\"}}}}"
        )
    };
    let states = [one("scenario-1-x-3", "c"), one("Started", "a"), one("scenario-1-x-2", "b")].join(",");
    let imported = import_all(&[&format!("{{\"mappings\": [{states}]}}")]).unwrap();
    let bodies: Vec<&[u8]> = imported.cassette.exchanges.iter().map(|e| body(e)).collect();
    assert_eq!(bodies, [b"a", b"b", b"c"]);
}

#[test]
fn scenarios_over_several_files_come_in_their_order_and_say_where_they_are_from() {
    let one = |state: &str, next: &str, body: &str| {
        format!(
            "{{\"scenarioName\": \"login\", \"requiredScenarioState\": \"{state}\", \"newScenarioState\": \"{next}\", \
             \"request\": {{\"method\": \"GET\", \"url\": \"/\"}}, \"response\": {{\"body\": \"{body}\"}}}}"
        )
    };
    let (third, first, second) =
        (one("in", "out", "c"), one("Started", "asked", "a"), one("asked", "in", "b"));
    let pattern = mapping("\"urlPattern\": \"/.*\"", "\"body\": \"\"");
    let imported = import_all(&[&third, &pattern, &first, &second]).unwrap();
    let bodies: Vec<&[u8]> = imported.cassette.exchanges.iter().map(|e| body(e)).collect();
    assert_eq!(bodies, [b"a", b"b", b"c"]);
    let sources: Vec<usize> = imported.origins.iter().map(|origin| origin.source).collect();
    assert_eq!(sources, [2, 3, 0]);
    assert_eq!(imported.skipped[0].origin, Origin { source: 1, number: 1 });
}

#[test]
fn a_name_that_leads_out_of_the_folder_is_refused_with_its_place() {
    for name in ["../../etc/passwd", "/etc/passwd", "a/../../b", "c:\\\\x", "deep//body.txt"] {
        let text = mapping("\"url\": \"/\"", &format!("\"bodyFileName\": \"{name}\""));
        let refused = import_all(&[&text]).unwrap_err();
        assert!(refused.ends_with("this name leads out of the recording's own folder"), "{name}: {refused}");
    }
    let text = mapping("\"url\": \"/\"", "\"bodyFileName\": \"none.txt\"");
    assert!(
        import_all(&[&text]).unwrap_err().ends_with("the file \"none.txt\" that this names is not there")
    );
}

#[test]
fn the_file_that_is_wrong_is_named_among_several() {
    let good = mapping("\"url\": \"/\"", "\"body\": \"\"");
    let bad = good.replace("201", "\"x\"");
    assert!(import_all(&[&good, &bad]).unwrap_err().starts_with("1: 1:"));
}

fn simulation(request: &str, response: &str) -> String {
    format!(
        "{{\"data\": {{\"pairs\": [{{\"request\": {{\"method\": [{{\"matcher\": \"exact\", \"value\": \"PUT\"}}], \
         \"destination\": [{{\"matcher\": \"exact\", \"value\": \"a.test:8443\"}}], \"path\": [{{\"matcher\": \"exact\", \
         \"value\": \"/p\"}}]{request}}}, \"response\": {{\"status\": 200, {response}}}}}]}}, \"meta\": \
         {{\"schemaVersion\": \"v5.2\"}}}}"
    )
}

#[test]
fn a_pair_of_hoverfly_is_an_exchange() {
    let text = simulation(
        ", \"scheme\": [{\"matcher\": \"exact\", \"value\": \"http\"}], \"query\": {\"q\": [{\"matcher\": \"exact\", \
         \"value\": \"1\"}]}, \"body\": [{\"matcher\": \"json\", \"value\": \"{}\"}], \"headers\": {\"Accept\": \
         [{\"matcher\": \"exact\", \"value\": \"a/b\"}]}",
        "\"body\": \"aGk=\", \"encodedBody\": true, \"headers\": {\"X\": [\"1\"]}, \"fixedDelay\": 5",
    );
    let imported = import_all(&[&text]).unwrap();
    assert_eq!(imported.format, Format::Hoverfly);
    assert_eq!(imported.cassette.policy.as_ref().unwrap().on_repeat, OnRepeat::Last);
    let exchange = &imported.cassette.exchanges[0];
    assert_eq!(exchange.request.url.to_string(), "http://a.test:8443/p?q=1");
    assert_eq!(
        (exchange.request.method.as_str(), asked(exchange), body(exchange)),
        ("PUT", b"{}".as_slice(), b"hi".as_slice())
    );
    assert_eq!(response(exchange).after.as_millis(), 5);
}

#[test]
fn pairs_of_hoverfly_that_are_patterns_are_left_out() {
    for (request, response, reason) in [
        (
            ", \"body\": [{\"matcher\": \"regex\", \"value\": \"x\"}]",
            "\"body\": \"\"",
            "its body is a pattern (`regex`): a stub, and no recording",
        ),
        (
            ", \"query\": {\"q\": [{\"matcher\": \"glob\", \"value\": \"*\"}]}",
            "\"body\": \"\"",
            "its query parameter q is a pattern (`glob`): a stub, and no recording",
        ),
        ("", "\"body\": \"\", \"templated\": true", "its response is a template, and no recording"),
    ] {
        let imported = import_all(&[&simulation(request, response)]).unwrap();
        assert_eq!(imported.skipped[0].reason, reason);
    }
}

#[test]
fn an_older_simulation_is_refused_by_its_version() {
    let text = simulation("", "\"body\": \"\"").replace("v5.2", "v4");
    assert!(import_all(&[&text]).unwrap_err().ends_with("the schema version `v4` is not read"));
    let text = simulation("", "\"bodyFile\": \"../x\"");
    assert!(import_all(&[&text]).unwrap_err().ends_with("this name leads out of the recording's own folder"));
}

#[test]
fn sequences_of_hoverfly_come_in_their_order() {
    let pair = |place: &str, body: &str| {
        format!(
            "{{\"request\": {{\"destination\": [{{\"matcher\": \"exact\", \"value\": \"a.test\"}}], \"requiresState\": \
             {{\"sequence:1\": \"{place}\"}}}}, \"response\": {{\"status\": 200, \"body\": \"{body}\"}}}}"
        )
    };
    let pairs = [pair("10", "c"), pair("2", "b"), pair("1", "a")].join(",");
    let imported = import_all(&[&format!("{{\"data\": {{\"pairs\": [{pairs}]}}}}")]).unwrap();
    let bodies: Vec<&[u8]> = imported.cassette.exchanges.iter().map(|e| body(e)).collect();
    assert_eq!(bodies, [b"a", b"b", b"c"]);
}

#[test]
fn a_body_may_be_described_as_wiremock_4_does() {
    for (body_, came) in [
        ("{\"data\": \"x\"}", "x"),
        ("{\"format\": \"json\", \"data\": {\"a\": [1]}}", "{\"a\":[1]}"),
        ("{\"base64Data\": \"eQ==\"}", "y"),
        ("{\"filePath\": \"deep/body.txt\"}", "from a file"),
    ] {
        let imported = import_all(&[&mapping("\"url\": \"/\"", &format!("\"body\": {body_}"))]).unwrap();
        assert_eq!(body(&imported.cassette.exchanges[0]), came.as_bytes(), "{body_}");
    }
    let imported = import_all(&[&mapping("\"url\": \"/\"", "\"body\": {\"dataRef\": \"x\"}")]).unwrap();
    assert_eq!(imported.skipped[0].reason, "its body is described in a way that wiretape does not read");
    let text = mapping("\"url\": \"/\"", "\"body\": {\"filePath\": \"../x\"}");
    assert!(import_all(&[&text]).unwrap_err().ends_with("this name leads out of the recording's own folder"));
}
