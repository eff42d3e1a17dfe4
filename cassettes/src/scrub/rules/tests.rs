//! What a rule may say, and what it applies to.

use super::*;

fn path(text: &str) -> Vec<Segment> {
    text.parse::<FieldPath>().unwrap().0
}

#[test]
fn headers_are_named_in_any_case() {
    let mut rules = Rules::default();
    rules.redact_header("X-Internal-Id").unwrap();
    rules.keep_header("x-build-number").unwrap();
    assert!(rules.redacts_header("x-internal-ID") && !rules.keeps_header("x-internal-id"));
    assert!(rules.keeps_header("X-Build-Number") && !rules.redacts_header("x-build-number"));
    assert!(!rules.redacts_header("x-other") && !rules.keeps_header("x-other"));
}

#[test]
fn a_credential_header_is_never_kept() {
    for name in
        ["Authorization", "cookie", "set-cookie", "X-API-Key", "x-gitlab-token", "openai-organization"]
    {
        assert_eq!(Rules::default().keep_header(name), Err(RuleError::Credential(name.to_owned())));
        assert_eq!(Rules::default().redact_header(name), Ok(()));
    }
}

#[test]
fn query_keys_are_compared_as_the_built_in_ones_are() {
    let mut rules = Rules::default();
    rules.redact_query("ticket_id").unwrap();
    rules.keep_query("token").unwrap();
    assert!(rules.redacts_query("ticketId") && rules.redacts_query("ticket-id[]"));
    assert!(!rules.redacts_query("ticket"));
    assert!(rules.keeps_query("TOKEN") && !rules.keeps_query("tokens"));
}

#[test]
fn a_path_stands_for_what_is_below_it_too() {
    let mut rules = Rules::default();
    rules.redact_path("body.items[*].ssn").unwrap();
    rules.keep_path("body.session").unwrap();
    assert!(rules.redacts_path(&path("body.items[3].ssn")));
    assert!(rules.redacts_path(&path("body.items[3].ssn.digits[0]")));
    assert!(!rules.redacts_path(&path("body.items[3]")));
    assert!(!rules.redacts_path(&path("body.items[3].name")));
    assert!(rules.keeps_path(&path("body.session.token")));
    assert!(!rules.keeps_path(&path("body.sessions")));
}

#[test]
fn a_path_names_a_place_in_a_body() {
    for text in ["query.page", "headers.x-a", "request.body.a", "bodies.a", "body.", "", "method"] {
        assert_eq!(Rules::default().redact_path(text), Err(RuleError::Path), "{text}");
        assert_eq!(Rules::default().keep_path(text), Err(RuleError::Path), "{text}");
    }
}

#[test]
fn a_kept_pattern_matches_the_whole_value() {
    let mut rules = Rules::default();
    rules.keep_pattern("doc_[a-z]+").unwrap();
    rules.keep_pattern("a|ab").unwrap();
    rules.keep_pattern("(?x) x y # two letters").unwrap();
    for (value, kept) in
        [("doc_example", true), ("doc_example1", false), ("my doc_example", false), ("doc_x\n", false)]
    {
        assert_eq!(rules.keeps_value(value.as_bytes()), kept, "{value:?}");
    }
    assert!(rules.keeps_value(b"ab") && rules.keeps_value(b"xy") && !rules.keeps_value(b""));
    assert!(!Rules::default().keeps_value(b"ab"));
}

#[test]
fn a_redacted_pattern_has_the_name_of_a_kind() {
    let mut rules = Rules::default();
    rules.redact_pattern("customer", "CUST-[0-9]{8}").unwrap();
    let [(kind, pattern)] = rules.patterns() else { panic!("one pattern") };
    assert_eq!(kind, "customer");
    assert_eq!(pattern.find(b"\xff CUST-12345678.").unwrap().as_bytes(), b"CUST-12345678");
    for name in ["", "Customer", "cust-id", "cust1", "a:b"] {
        assert_eq!(rules.redact_pattern(name, "x"), Err(RuleError::Kind(name.to_owned())));
    }
}

#[test]
fn a_pattern_that_matches_the_empty_text_is_refused() {
    for pattern in ["", "x*", "(a|)", r"\b", "^", "$", "(?m)^", r"\B", r"\b{start}", "a{0,3}", "z|$"] {
        assert_eq!(
            Rules::default().redact_pattern("k", pattern),
            Err(RuleError::MatchesNothing),
            "{pattern}"
        );
        assert_eq!(Rules::default().keep_pattern(pattern), Err(RuleError::MatchesNothing), "{pattern}");
    }
    for pattern in ["x", r"\bx", "^x*y", "x+"] {
        assert_eq!(Rules::default().redact_pattern("k", pattern), Ok(()), "{pattern}");
    }
}

#[test]
fn patterns_are_bounded_in_length_number_and_size() {
    let mut rules = Rules::default();
    assert_eq!(rules.redact_pattern("k", &"x".repeat(1025)), Err(RuleError::LongPattern));
    let large = "the pattern is not a regular expression: Compiled regex exceeds size limit of 1048576 bytes";
    assert_eq!(rules.redact_pattern("k", "(a{999}){999}").unwrap_err().to_string(), large);
    for _ in 0..100 {
        rules.redact_pattern("k", &"x".repeat(1024)).unwrap();
        rules.keep_pattern("x").unwrap();
    }
    assert_eq!(rules.redact_pattern("k", "x"), Err(RuleError::ManyPatterns));
    assert_eq!(rules.keep_pattern("x"), Err(RuleError::ManyPatterns));
}

#[test]
fn a_broken_pattern_says_what_is_wrong_in_one_line() {
    let refusal = |pattern| Rules::default().redact_pattern("k", pattern).unwrap_err().to_string();
    assert_eq!(refusal("(a"), "the pattern is not a regular expression: unclosed group");
    assert_eq!(
        refusal("(?=a)"),
        "the pattern is not a regular expression: look-around, including look-ahead and look-behind, is not supported"
    );
}

#[test]
fn nothing_is_both_redacted_and_kept() {
    let both = |name: &str| Err(RuleError::Both(name.to_owned()));
    let mut rules = Rules::default();
    rules.redact_header("x-a").unwrap();
    rules.redact_query("page_id").unwrap();
    rules.redact_path("body.a").unwrap();
    rules.redact_env("ACME_LICENSE").unwrap();
    assert_eq!(rules.keep_header("X-A"), both("X-A"));
    assert_eq!(rules.keep_query("pageId"), both("pageId"));
    assert_eq!(rules.keep_path("body.a"), both("body.a"));
    assert_eq!(rules.keep_env("ACME_*"), both("ACME_*"));
    assert_eq!(rules.keep_env("ACME_LICENSE_SERVER"), Ok(()));
}

#[test]
fn variables_are_kept_by_name_or_by_beginning() {
    let mut rules = Rules::default();
    rules.keep_env("ACME_REGION").unwrap();
    rules.keep_env("CORP_*").unwrap();
    assert!(rules.keeps_env("ACME_REGION") && rules.keeps_env("CORP_") && rules.keeps_env("CORP_A"));
    assert!(!rules.keeps_env("ACME_REGIONS") && !rules.keeps_env("acme_region") && !rules.keeps_env("CORP"));
    for name in ["", "*", "A=B", "1A", "A B", "A*B", "A**"] {
        assert_eq!(rules.keep_env(name), Err(RuleError::EnvName), "{name:?}");
        assert_eq!(rules.redact_env(name), Err(RuleError::EnvName), "{name:?}");
    }
    assert_eq!(rules.redact_env("A*"), Err(RuleError::EnvName));
}

#[test]
fn every_rule_is_listed_as_it_is_written() {
    let mut rules = Rules::default();
    assert!(rules.is_empty());
    rules.redact_header("X-A").unwrap();
    rules.redact_query("Ticket").unwrap();
    rules.redact_path("body.a[*]").unwrap();
    rules.redact_pattern("customer", "C[0-9]").unwrap();
    rules.redact_env("A").unwrap();
    rules.keep_header("x-b").unwrap();
    rules.keep_query("token").unwrap();
    rules.keep_path("body.b").unwrap();
    rules.keep_pattern("doc.*").unwrap();
    rules.keep_env("B*").unwrap();
    let listed: Vec<_> = rules.listed().map(|(list, rule)| format!("{list}.{rule}")).collect();
    assert_eq!(
        listed,
        [
            "redact.headers: x-a",
            "redact.query: Ticket",
            "redact.json_paths: body.a[*]",
            "redact.patterns: customer",
            "redact.env: A",
            "keep.headers: x-b",
            "keep.query: token",
            "keep.json_paths: body.b",
            "keep.patterns: doc.*",
            "keep.env: B*",
        ]
    );
    assert!(!rules.is_empty());
}
