use std::time::Duration;

use exchange::{Body, End, Header, Headers, Reply, Request, Response, Url};

use super::*;

fn exchange(url: &str, header: Option<&str>) -> Exchange {
    Exchange {
        id: 1,
        at: Duration::ZERO,
        request: Request {
            method: "GET".into(),
            url: Url::parse(url).unwrap(),
            headers: Headers::new(),
            body: Body::empty(),
            trailers: Headers::new(),
        },
        reply: Reply::Response(Response {
            status: 200,
            reason: None,
            headers: header.into_iter().map(|name| Header::new(name, "x").unwrap()).collect(),
            after: Duration::ZERO,
            informational: Vec::new(),
            body: Body::empty(),
            trailers: Headers::new(),
            messages: Vec::new(),
            end: End::Whole,
        }),
    }
}

#[test]
fn every_file_of_the_catalogue_is_read() {
    let names: Vec<_> = Catalog::builtin().providers.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["anthropic", "gemini", "github", "openai"]);
}

#[test]
fn a_server_is_known_by_its_host() {
    let named = |url| Catalog::builtin().provider_of(&exchange(url, None)).map(|p| p.name.as_str());
    assert_eq!(named("https://api.openai.com/v1/models"), Some("openai"));
    assert_eq!(named("https://me.openai.azure.com/openai/deployments"), Some("openai"));
    assert_eq!(named("https://us-central1-aiplatform.googleapis.com/v1"), Some("gemini"));
    assert_eq!(named("https://api.github.com/user"), Some("github"));
    assert_eq!(named("https://github.com/o/r.git"), None);
    assert_eq!(named("https://api.openai.com.evil.test/"), None);
}

#[test]
fn an_enterprise_server_is_known_by_its_path_and_what_it_answers() {
    let named = |url, header| Catalog::builtin().provider_of(&exchange(url, header)).map(|p| p.name.as_str());
    assert_eq!(named("https://git.corp.test/api/v3/user", Some("x-github-request-id")), Some("github"));
    assert_eq!(named("https://git.corp.test/api/v3/user", None), None);
    assert_eq!(named("https://git.corp.test/api/v30/user", Some("x-github-request-id")), None);
}

#[test]
fn a_key_says_what_stands_under_it() {
    let catalog = Catalog::builtin();
    let github = catalog.provider_of(&exchange("https://api.github.com/", None)).unwrap();
    let forms = |key| github.id_forms("", key).cloned().collect::<Vec<_>>();
    assert_eq!(forms("id"), [IdForm::Number, IdForm::Node]);
    assert_eq!(forms("check_suite_id"), [IdForm::Number]);
    assert_eq!(forms("number"), []);
    assert_eq!(github.time_class("", "created_at"), Some(TimeClass::Shared));
    assert_eq!(github.time_class("", "completed_at"), Some(TimeClass::Apart));
    assert_eq!(github.time_class("", "title"), None);
    assert!(github.is_momentary_header("x-ratelimit-used") && github.is_momentary_header("date"));
    assert!(!github.is_momentary_header("link"));
}

#[test]
fn what_nobody_asked_for_is_refused_with_its_place() {
    let source = "provider: x\nhosts: [a.test]\nundated: new\nids: []\ntimes: []\nhead: {}\nheaders: {ids: [], times: [], moments: []}\n";
    let problem = Provider::read(source).unwrap_err();
    assert_eq!(problem.to_string(), "unknown key `head` in the provider");
    assert_eq!(problem.span.position(source).to_string(), "6:1");
    let rule = |form: &str| {
        let ids = format!("[{{keys: [id], form: {form}}}]");
        let source = format!(
            "provider: x\nhosts: []\nundated: new\nids: {ids}\ntimes: []\nheaders: {{ids: [], times: [], moments: []}}\n"
        );
        Provider::read(&source).map(|_| ()).map_err(|problem| problem.to_string())
    };
    assert_eq!(rule("uuid"), Ok(()));
    assert_eq!(rule("uid"), Err("unknown value `uid` for the form".into()));
    assert_eq!(
        rule("{opaque: '##-##'}"),
        Err("expected a template with one run of six or more `#` signs".into())
    );
    assert_eq!(rule("{}"), Err("expected either `prefix` or `opaque` as the form".into()));
}
