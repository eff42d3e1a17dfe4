//! The crate as its users see it.

#![allow(clippy::unwrap_used, reason = "a helper that cannot build its request fails its test")]

mod cost;
mod explanations;
mod facts;
mod law;
mod multipart;
mod nearest;
mod shapes;

use exchange::{Body, Header, Headers, Request, Url};
use wiretape_matchers::{Canonical, Difference, Key, Pattern, Policy, Shapes, canonical};

fn request(method: &str, url: &str) -> Request {
    Request {
        method: method.to_owned(),
        url: Url::parse(url).unwrap(),
        headers: Headers::new(),
        body: Body::empty(),
        trailers: Headers::new(),
    }
}

fn get(url: &str) -> Request {
    request("GET", url)
}

fn post(media: &str, body: impl Into<Vec<u8>>) -> Request {
    let mut post = request("POST", "https://api.example.com/v1/items");
    if !media.is_empty() {
        post.headers.push(Header::new("content-type", media).unwrap());
    }
    post.body = Body::from_bytes(body.into());
    post
}

fn json(body: &str) -> Request {
    post("application/json", body)
}

fn with_header(mut request: Request, name: &str, value: &str) -> Request {
    request.headers.push(Header::new(name, value).unwrap());
    request
}

fn exact() -> Policy {
    Policy { shapes: Shapes::Exact, ..Policy::default() }
}

fn volatile(paths: &[&str]) -> Policy {
    Policy { volatile: paths.iter().map(|path| path.parse().unwrap()).collect(), ..Policy::default() }
}

/// Whether two requests match, by every way there is to ask; it fails where the ways do not agree.
#[track_caller]
fn matches_under(policy: &Policy, a: &Request, b: &Request) -> bool {
    let (x, y) = (canonical(a, policy), canonical(b, policy));
    let verdict = Pattern::new(a, policy).check(b);
    let back = Pattern::new(b, policy).check(a);
    assert_eq!(verdict.is_match(), back.is_match(), "{verdict:?}\n{back:?}");
    assert_eq!(verdict.is_match(), key(policy, &x) == key(policy, &y), "{verdict:?}");
    assert!(x.exact != y.exact || x.loose == y.loose, "same exact key, other loose key");
    if x.loose == y.loose {
        let paths = |c: &Canonical| c.slots.iter().map(|s| (s.path.clone(), s.shape)).collect::<Vec<_>>();
        assert_eq!(paths(&x), paths(&y));
    }
    for c in [&x, &y] {
        assert_eq!(c.slots.is_empty(), c.exact == c.loose);
    }
    verdict.is_match()
}

fn key(policy: &Policy, canonical: &Canonical) -> Key {
    match policy.shapes {
        Shapes::Loose => canonical.loose,
        Shapes::Exact => canonical.exact,
    }
}

#[track_caller]
fn matches(a: &Request, b: &Request) -> bool {
    matches_under(&Policy::default(), a, b)
}

/// Differences as `path: expected -> actual`, with `-` for what is absent.
fn told(policy: &Policy, recorded: &Request, live: &Request) -> Vec<String> {
    lines(&Pattern::new(recorded, policy).check(live).differences)
}

fn lines(differences: &[Difference]) -> Vec<String> {
    let side = |value: &Option<String>| value.clone().unwrap_or("-".to_owned());
    differences.iter().map(|d| format!("{}: {} -> {}", d.path, side(&d.expected), side(&d.actual))).collect()
}
