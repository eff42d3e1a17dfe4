//! What leaves an exchange, and what stays.

mod bodies;
mod hostile;
mod laws;
mod matrix;
mod own_rules;

use std::time::Duration;

use exchange::{Body, End, Header};

use super::*;

fn headers(pairs: &[(&str, &str)]) -> Headers {
    pairs.iter().map(|(n, v)| Header::new(n, *v).unwrap()).collect()
}

fn request(url: &str, pairs: &[(&str, &str)]) -> Request {
    Request {
        method: "GET".into(),
        url: Url::parse(url).unwrap(),
        headers: headers(pairs),
        body: Body::empty(),
        trailers: Headers::new(),
    }
}

fn values(headers: &Headers) -> Vec<String> {
    headers.iter().map(|h| format!("{}: {}", h.name(), h.text().unwrap())).collect()
}

#[test]
fn credentials_leave_the_request_and_the_rest_stays() {
    let scrubbed = Scrubber::new().request(request(
        "https://a.googleapis.com/v1?key=abc&page=2",
        &[
            ("accept", "*/*"),
            ("authorization", "Bearer hush"),
            ("cookie", "a=1; b=2"),
            ("x-api-key", "hush2"),
            ("x-odd", "who knows"),
        ],
    ));
    assert_eq!(scrubbed.url.to_string(), "https://a.googleapis.com/v1?key={{redacted:query:1}}&page=2");
    assert_eq!(
        values(&scrubbed.headers),
        [
            "accept: */*",
            "authorization: Bearer {{redacted:token:1}}",
            "cookie: a={{redacted:cookie:1}}; b={{redacted:cookie:2}}",
            "x-api-key: {{redacted:token:2}}",
            "x-odd: {{redacted:header:1}}",
        ]
    );
}

#[test]
fn the_same_secret_gets_the_same_placeholder_and_another_gets_another() {
    let mut scrubber = Scrubber::new();
    let one = scrubber.request(request("https://a/", &[("authorization", "Bearer x")]));
    let two = scrubber.request(request("https://a/", &[("authorization", "Bearer y")]));
    let again = scrubber.request(request("https://a/", &[("authorization", "token x")]));
    assert_eq!(one.headers.text("authorization"), Some("Bearer {{redacted:token:1}}"));
    assert_eq!(two.headers.text("authorization"), Some("Bearer {{redacted:token:2}}"));
    assert_eq!(again.headers.text("authorization"), Some("token {{redacted:token:1}}"));
}

#[test]
fn a_response_keeps_what_clients_need_and_loses_what_names_an_account() {
    let response = Response {
        status: 302,
        reason: None,
        headers: headers(&[
            ("set-cookie", "sid=hush; Path=/; HttpOnly"),
            ("location", "https://up.test/x?sig=hush&n=1"),
            ("link", "<https://a.test/?page=2&token=hush>; rel=\"next\""),
            ("x-ratelimit-remaining-tokens", "99"),
            ("openai-organization", "org-hush"),
        ]),
        after: Duration::ZERO,
        informational: Vec::new(),
        body: Body::empty(),
        trailers: Headers::new(),
        messages: Vec::new(),
        end: End::Whole,
    };
    let exchange = Exchange {
        id: 1,
        at: Duration::ZERO,
        request: request("https://a/", &[]),
        reply: Reply::Response(response),
    };
    let scrubbed = Scrubber::new().exchange(exchange).unwrap();
    assert_eq!(
        values(&scrubbed.reply.response().unwrap().headers),
        [
            "set-cookie: sid={{redacted:cookie:1}}; Path=/; HttpOnly",
            "location: https://up.test/x?sig={{redacted:query:1}}&n=1",
            "link: <https://a.test/?page=2&token={{redacted:query:1}}>; rel=\"next\"",
            "x-ratelimit-remaining-tokens: 99",
            "openai-organization: {{redacted:account:1}}",
        ]
    );
}

#[test]
fn scrubbing_twice_changes_nothing_more() {
    let once = Scrubber::new().request(request(
        "https://a/?token=x",
        &[("authorization", "Bearer y"), ("x-odd", "z"), ("cookie", "a=b")],
    ));
    let twice = Scrubber::new().request(once.clone().into_inner());
    assert_eq!(once, twice);
}

/// The headers of a response, scrubbed.
fn scrubbed_reply(pairs: &[(&str, &str)]) -> Vec<String> {
    let response = Response {
        status: 200,
        reason: None,
        headers: headers(pairs),
        after: Duration::ZERO,
        informational: Vec::new(),
        body: Body::empty(),
        trailers: Headers::new(),
        messages: Vec::new(),
        end: End::Whole,
    };
    let reply = Reply::Response(response);
    let exchange = Exchange { id: 1, at: Duration::ZERO, request: request("https://a/", &[]), reply };
    values(&Scrubber::new().exchange(exchange).unwrap().reply.response().unwrap().headers)
}

fn scrubbed_url(url: &str) -> String {
    Scrubber::new().url(Url::parse(url).unwrap()).to_string()
}

/// Made here: a literal would be taken for a real one.
fn key(start: &str) -> String {
    start.to_owned() + &"a1B2".repeat(12)
}

#[test]
fn a_state_filter_is_no_credential() {
    let url = "https://api.github.com/repos/o/r/issues?state=open&sort=created&key=v1&policy=all&auth=none";
    assert_eq!(scrubbed_url(url), url);
    let link = "link: <https://api.github.com/repositories/1/issues?state=closed&page=2>; rel=\"next\"";
    assert_eq!(scrubbed_reply(&[link.split_once(": ").unwrap()]), [link]);
    assert_eq!(
        scrubbed_url("https://a.test/back?code=x&state=y"),
        "https://a.test/back?code={{redacted:query:1}}&state={{redacted:query:2}}"
    );
}

#[test]
fn an_encoded_key_hides_nothing() {
    assert_eq!(
        scrubbed_url("https://a.test/?access%5Ftoken=x&n=1"),
        "https://a.test/?access%5Ftoken={{redacted:query:1}}&n=1"
    );
}

#[test]
fn a_key_among_subprotocols_goes_and_they_stay() {
    let offers = |openai: &str, kubernetes: &str| {
        format!(
            "realtime, openai-insecure-api-key.{openai}, openai-beta.realtime-v1,base64url.bearer.authorization.k8s.io.{kubernetes}"
        )
    };
    let sent = offers(&key("sk-"), &key(""));
    let kept = offers("{{redacted:openai_key:1}}", "{{redacted:token:1}}");
    let once = Scrubber::new().request(request("https://a/", &[("sec-websocket-protocol", &sent)]));
    assert_eq!(once.headers.text("sec-websocket-protocol"), Some(kept.as_str()));
    assert_eq!(
        scrubbed_reply(&[("sec-websocket-protocol", &sent)]),
        [format!("sec-websocket-protocol: {kept}")]
    );
    assert_eq!(Scrubber::new().request(once.clone().into_inner()), once);

    let long = format!("Vendor.Own.Name.That.Is.Long.{}", key("ghp_"));
    let once = Scrubber::new().request(request("https://a/", &[("sec-websocket-protocol", &long)]));
    let kept = "Vendor.Own.Name.That.Is.Long.{{redacted:github_token:1}}";
    assert_eq!(once.headers.text("sec-websocket-protocol"), Some(kept));
    assert_eq!(Scrubber::new().request(once.clone().into_inner()), once);
}

#[test]
fn only_a_known_scheme_stays_in_an_authorization() {
    let authorization = |value: &str| {
        let scrubbed = Scrubber::new().request(request("https://a/", &[("authorization", value)]));
        scrubbed.headers.text("authorization").unwrap().to_owned()
    };
    assert_eq!(authorization("bot hush"), "bot {{redacted:token:1}}");
    assert_eq!(
        authorization("AWS4-HMAC-SHA256 Credential=hush, x=y"),
        "AWS4-HMAC-SHA256 {{redacted:token:1}}"
    );
    assert_eq!(authorization("BASIC hush"), "BASIC {{redacted:basic:1}}");
    assert_eq!(authorization("hush hush"), "{{redacted:token:1}}");
    assert_eq!(authorization(&format!("{} more", key("ghp_"))), "{{redacted:github_token:1}}");
}

#[test]
fn fragments_and_user_information_leave_the_urls_of_a_response() {
    assert_eq!(
        scrubbed_reply(&[
            ("location", "https://u:p@h.test/cb?a=1,2&sig=x#access_token=y&token_type=bearer"),
            ("content-location", "//u:p@h.test/#id_token=x"),
            ("link", "<https://u:p@h.test/?page=2&token=x,y>; rel=\"next\", <https://h.test/@o#token=x>"),
            ("refresh", "5; url=https://u:p@h.test/?token=x"),
            ("x-github-sso", "required; url=https://github.test/orgs/o/sso?authorization_request=z"),
            ("x-elsewhere", "HTTPS://u:p@h.test/?next=/a?token=x"),
            ("x-odd", "https://h.test/?a=\"b c\"&token=x"),
            ("x-words", "u:p@h.test/?token=x"),
        ]),
        [
            "location: https://h.test/cb?a=1,2&sig={{redacted:query:1}}#access_token={{redacted:query:2}}&token_type=bearer",
            "content-location: //h.test/#id_token={{redacted:query:1}}",
            "link: <https://h.test/?page=2&token={{redacted:query:3}}>; rel=\"next\", <https://h.test/@o#token={{redacted:query:1}}>",
            "refresh: 5; url=https://h.test/?token={{redacted:query:1}}",
            "x-github-sso: required; url=https://github.test/orgs/o/sso?authorization_request={{redacted:query:4}}",
            "x-elsewhere: HTTPS://h.test/?next=/a?token={{redacted:query:1}}",
            "x-odd: https://h.test/?a=\"b c\"&token={{redacted:query:1}}",
            "x-words: u:p@h.test/?token=x",
        ]
    );
}

#[test]
fn a_header_that_is_compared_is_kept_unless_it_is_a_credential() {
    let compared = ["X-Tenant", "x-api-key", "Authorization", "sec-websocket-protocol"].map(str::to_owned);
    let long = key("");
    let request = request(
        "https://a/",
        &[
            ("x-tenant", "blue"),
            ("x-other", "green"),
            ("x-api-key", "hush"),
            ("authorization", "Bearer hush"),
            ("sec-websocket-protocol", &long),
        ],
    );
    assert_eq!(
        values(&Scrubber::keeping(&compared).request(request.clone()).headers),
        [
            "x-tenant: blue",
            "x-other: {{redacted:header:1}}",
            "x-api-key: {{redacted:token:1}}",
            "authorization: Bearer {{redacted:token:1}}",
            "sec-websocket-protocol: {{redacted:token:2}}",
        ]
    );
    assert_eq!(Scrubber::new().request(request).headers.text("x-tenant"), Some("{{redacted:header:1}}"));
}

fn reply(pairs: &[(&str, &str)], body: Body) -> Response {
    Response {
        status: 200,
        reason: None,
        headers: headers(pairs),
        after: Duration::ZERO,
        informational: Vec::new(),
        body,
        trailers: Headers::new(),
        messages: Vec::new(),
        end: End::Whole,
    }
}

#[test]
fn words_of_which_nothing_depends_go_with_the_secret_in_them() {
    let secret = ["Zq81", "LmnoPQ77", "wxyz0"].concat();
    let mut scrubber = Scrubber::new().knowing([("A_TOKEN", secret.as_bytes())]);
    let close = |reason: String| Message {
        from: exchange::Peer::Server,
        after: Duration::ZERO,
        piece: exchange::Piece::Close(Some((1008, reason))),
    };
    let telling = Response {
        reason: Some(format!("no such key {secret}")),
        messages: vec![close(format!("no such key {secret}"))],
        ..reply(&[], Body::empty())
    };
    let scrubbed = scrubber.response(telling);
    assert_eq!((scrubbed.reason, &scrubbed.messages[..]), (None, &[close(String::new())][..]));
    let harmless = Response {
        reason: Some("Very Well".into()),
        messages: vec![close("bye".into())],
        ..reply(&[], Body::empty())
    };
    assert_eq!(scrubber.response(harmless.clone()), harmless);
}

#[test]
fn a_basic_credential_is_read_without_its_padding_too() {
    use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
    let secret = ["Zq81", "LmnoPQ77", "wx"].concat();
    let mut scrubber = Scrubber::new();
    let pair = STANDARD_NO_PAD.encode(format!("someone:{secret}"));
    assert!(!pair.len().is_multiple_of(4));
    scrubber.request(request("https://a/", &[("authorization", &format!("Basic {pair}"))]));
    let later = scrubber.request(request(&format!("https://a/{secret}"), &[]));
    assert_eq!(later.url.path, "/{{redacted:password:1}}");
}

#[test]
fn a_document_behind_a_guard_is_read_as_one() {
    let secret = ["Zq81", "LmnoPQ77", "wxyz0"].concat();
    for guard in ["\u{feff}", ")]}'\n", ")]}',\n", "while(1);", "for(;;); "] {
        let body = Body::from_bytes(format!("{guard}{{\"access_token\":\"{secret}\"}}"));
        let scrubbed = Scrubber::new().response(reply(&[("content-type", "application/json")], body));
        let expected = format!("{guard}{{\"access_token\":\"{{{{redacted:secret:1}}}}\"}}");
        assert_eq!(String::from_utf8_lossy(scrubbed.body.bytes().unwrap()), expected);
    }
}

#[test]
fn a_secret_of_several_words_is_found_in_a_query() {
    let words = ["correct", "horse", "battery"];
    let mut scrubber = Scrubber::new().knowing([("A_PASSWORD", words.join(" ").as_bytes())]);
    for separator in ["+", "%20"] {
        let url = format!("https://a/?q=x+{}+y&b=1+2", words.join(separator));
        let scrubbed = scrubber.request(request(&url, &[]));
        assert_eq!(scrubbed.url.query.as_deref(), Some("q=x+{{redacted:secret:1}}+y&b=1+2"));
    }
}

#[test]
fn a_header_in_a_body_gives_its_credential_away_elsewhere() {
    let secret = ["Zq81", "LmnoPQ77", "wxyz0"].concat();
    let body = format!("{{\"headers\":{{\"Authorization\":\"Bearer {secret}\"}},\"seen\":\"{secret}\"}}");
    let scrubbed =
        Scrubber::new().response(reply(&[("content-type", "application/json")], Body::from_bytes(body)));
    let left = String::from_utf8_lossy(scrubbed.body.bytes().unwrap()).into_owned();
    assert!(!left.contains(&secret), "{left}");
}

#[test]
fn a_url_inside_of_a_url_gives_up_its_credentials_too() {
    let mut scrubber = Scrubber::new();
    let body = "see https://a.test/?x=1&next=https://b.test/?token=hush#access_token=hushhush, \
                https://me:pass1word@c.test/d://you:other2word@e.test";
    let scrubbed = scrubber.response(reply(&[("content-type", "text/plain")], Body::from_bytes(body)));
    assert_eq!(
        String::from_utf8_lossy(scrubbed.body.bytes().unwrap()),
        "see https://a.test/?x=1&next=https://b.test/?token={{redacted:query:1}}#access_token={{redacted:query:2}}, \
         https://me:{{redacted:password:1}}@c.test/d://you:{{redacted:password:2}}@e.test"
    );
}

#[test]
fn the_escapes_of_a_script_are_looked_behind() {
    let secret = ["Zq81", "LmnoPQ77", "wxyz0"].concat();
    let escaped: String = secret.bytes().map(|b| format!("\\u{b:04x}")).collect();
    let mut scrubber = Scrubber::new().knowing([("A_TOKEN", secret.as_bytes())]);
    let body = Body::from_bytes(format!("let note = \"{escaped}\";"));
    let scrubbed = scrubber.response(reply(&[("content-type", "text/javascript")], body));
    assert_eq!(
        String::from_utf8_lossy(scrubbed.body.bytes().unwrap()),
        "let note = \"{{redacted:secret:1}}\";"
    );
}
