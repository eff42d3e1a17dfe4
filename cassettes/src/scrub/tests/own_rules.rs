//! What a project adds to the rules, and what it takes away.

use std::sync::Arc;

use super::{bodies::answer, *};

fn ruled(rules: Rules) -> Scrubber {
    Scrubber::new().with_rules(Arc::new(rules))
}

#[test]
fn a_header_a_query_key_and_a_field_can_be_named() {
    let mut rules = Rules::default();
    rules.redact_header("x-internal").unwrap();
    rules.redact_query("ticket").unwrap();
    rules.redact_path("body.customer.email").unwrap();
    let mut scrubber = ruled(rules);
    let asked = scrubber.request(request("https://a.test/?ticket=abc&n=1", &[("x-internal", "one")]));
    assert_eq!(asked.url.to_string(), "https://a.test/?ticket={{redacted:query:1}}&n=1");
    assert_eq!(asked.headers.text("x-internal"), Some("{{redacted:rule:1}}"));
    assert_eq!(
        answer(&mut scrubber, r#"{"customer":{"email":"a@b.test","name":"A"},"email":"c@d.test"}"#),
        r#"{"customer":{"email":"{{redacted:rule:2}}","name":"A"},"email":"c@d.test"}"#
    );
}

#[test]
fn a_pattern_has_its_name_for_a_kind() {
    let mut rules = Rules::default();
    rules.redact_pattern("customer", "CUST-[0-9]{4}").unwrap();
    let mut scrubber = ruled(rules);
    assert_eq!(
        answer(&mut scrubber, r#"{"a":"of CUST-1234 and CUST-9876, CUST-1234"}"#),
        r#"{"a":"of {{redacted:customer:1}} and {{redacted:customer:2}}, {{redacted:customer:1}}"}"#
    );
}

#[test]
fn a_variable_can_be_named_whatever_it_is_called() {
    let mut rules = Rules::default();
    rules.redact_env("ACME_LICENSE").unwrap();
    let variables = [("ACME_LICENSE", b"blue-green-red".as_slice()), ("ACME_REGION", b"eu-central-17")];
    let mut scrubber = ruled(rules).knowing(variables);
    assert_eq!(
        answer(&mut scrubber, r#"{"a":"blue-green-red in eu-central-17"}"#),
        r#"{"a":"{{redacted:secret:1}} in eu-central-17"}"#
    );
    assert_eq!(scrubber.variables_met(), [("ACME_LICENSE".to_owned(), "{{redacted:secret:1}}".to_owned())]);
}

#[test]
fn what_is_kept_is_kept_at_its_place_and_a_credential_header_never() {
    let mut rules = Rules::default();
    rules.keep_header("x-build").unwrap();
    rules.keep_query("token").unwrap();
    rules.keep_path("body.session.token").unwrap();
    rules.keep_pattern("doc-[a-z0-9-]+").unwrap();
    assert!(rules.keep_header("authorization").is_err());
    let mut scrubber = ruled(rules);
    let asked = scrubber.request(request("https://a.test/?token=a1b2c3d4e5f6g7h8", &[("x-build", "17")]));
    assert_eq!(asked.url.to_string(), "https://a.test/?token=a1b2c3d4e5f6g7h8");
    assert_eq!(asked.headers.text("x-build"), Some("17"));
    let body = r#"{"session":{"token":"a1b2c3d4e5f6g7h9"},"password":"doc-example-1"}"#;
    assert_eq!(answer(&mut scrubber, body), body);
    assert_eq!(answer(&mut Scrubber::new(), body).matches("{{redacted:secret:").count(), 2);
}
