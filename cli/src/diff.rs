//! `wiretape diff`: what changed between two cassettes.

use std::{collections::HashMap, path::Path};

use cassettes::{
    Scrubbed,
    merge::{is_momentary, same_content},
};
use exchange::{Body, Exchange, Header, Headers, Reply, Request, Response, Url};
use matchers::{Difference, Key, Pattern, Policy, Shapes};

use crate::{
    cassette_file::{self, Today},
    config::Config,
    exit::{Exit, Failure},
    style::{Paint, To, shown, tame},
    summary::count,
};

pub(crate) fn diff(a: &Path, b: &Path, config: &Config) -> Result<Exit, Failure> {
    let today = Today::of(config);
    let (left, right) = (cassette_file::look(a, &today)?, cassette_file::look(b, &today)?);
    let policy = Policy { shapes: Shapes::Exact, ..right.policy.or(left.policy).unwrap_or_default() };
    let pairs = paired(&left.exchanges, &right.exchanges, &policy);
    let (mut same, mut other) = (0, 0);
    for pair in &pairs {
        match pair {
            (Some(x), Some(y)) if same_content(x, y) => same += 1,
            (x, y) => {
                other += 1;
                print_pair(*x, *y, &policy);
            }
        }
    }
    println!("{} the same, {} different: {} against {}", count(same, "exchange"), other, shown(a), shown(b));
    Ok(if other == 0 { Exit::Fine } else { Exit::Failed })
}

type Pair<'a> = (Option<&'a Exchange>, Option<&'a Exchange>);

/// Exchanges that ask the same belong together, in order; then those that go to the same place; the rest stand alone.
fn paired<'a>(
    left: &'a [Scrubbed<Exchange>],
    right: &'a [Scrubbed<Exchange>],
    policy: &Policy,
) -> Vec<Pair<'a>> {
    let key = |e: &Exchange| matchers::canonical(&e.request, policy).exact;
    let place =
        |e: &Exchange| format!("{} {}{}", e.request.method, e.request.url.authority(), e.request.url.path);
    let mut free: Vec<bool> = vec![true; right.len()];
    let mut partner: Vec<Option<usize>> = vec![None; left.len()];
    let mut by_key: HashMap<Key, Vec<usize>> = HashMap::new();
    for (i, exchange) in right.iter().enumerate().rev() {
        by_key.entry(key(exchange)).or_default().push(i);
    }
    for (i, exchange) in left.iter().enumerate() {
        partner[i] = by_key.get_mut(&key(exchange)).and_then(Vec::pop);
        if let Some(taken) = partner[i] {
            free[taken] = false;
        }
    }
    let mut by_place: HashMap<String, Vec<usize>> = HashMap::new();
    for (i, exchange) in right.iter().enumerate().rev().filter(|(i, _)| free[*i]) {
        by_place.entry(place(exchange)).or_default().push(i);
    }
    for (i, exchange) in left.iter().enumerate() {
        if partner[i].is_none() {
            partner[i] = by_place.get_mut(&place(exchange)).and_then(Vec::pop);
            if let Some(taken) = partner[i] {
                free[taken] = false;
            }
        }
    }
    let mut pairs: Vec<Pair<'a>> =
        left.iter().zip(&partner).map(|(x, y)| (Some(&**x), y.map(|y| &*right[y]))).collect();
    pairs.extend(right.iter().zip(&free).filter(|(_, free)| **free).map(|(y, _)| (None, Some(&**y))));
    pairs
}

fn print_pair(x: Option<&Exchange>, y: Option<&Exchange>, policy: &Policy) {
    let name = |e: &Exchange| tame(&format!("{} {}", e.request.method, e.request.url));
    match (x, y) {
        (Some(x), None) => println!("{}", To::Stdout.paint(Paint::Red, format!("- {} {}", x.id, name(x)))),
        (None, Some(y)) => println!("{}", To::Stdout.paint(Paint::Green, format!("+ {} {}", y.id, name(y)))),
        (Some(x), Some(y)) => {
            println!("{}", To::Stdout.paint(Paint::Yellow, format!("~ {} → {} {}", x.id, y.id, name(x))));
            for difference in differences(x, y, policy) {
                println!("    {}", tame(&difference.path.to_string()));
                let side = |value: Option<String>| tame(&value.unwrap_or_else(|| "(nothing)".to_owned()));
                println!(
                    "      {}",
                    To::Stdout.paint(Paint::Red, format!("- {}", side(difference.expected)))
                );
                println!(
                    "      {}",
                    To::Stdout.paint(Paint::Green, format!("+ {}", side(difference.actual)))
                );
            }
        }
        (None, None) => {}
    }
}

fn differences(x: &Exchange, y: &Exchange, policy: &Policy) -> Vec<Difference> {
    let mut found = Pattern::new(&x.request, policy).check(&y.request).differences;
    found.iter_mut().for_each(|d| prefix(d, "request"));
    found.extend(header_differences(x, (&x.request.headers, &y.request.headers), "request"));
    match (&x.reply, &y.reply) {
        (Reply::Response(a), Reply::Response(b)) => found.extend(response_differences(x, a, b)),
        (a, b) => {
            let (a, b) = (in_a_word(a), in_a_word(b));
            if a != b {
                found.push(difference("reply", Some(a), Some(b)));
            }
        }
    }
    found
}

fn response_differences(exchange: &Exchange, a: &Response, b: &Response) -> Vec<Difference> {
    let mut found = Vec::new();
    if a.status != b.status {
        found.push(difference("response.status", Some(a.status.to_string()), Some(b.status.to_string())));
    }
    if a.end != b.end {
        found.push(difference("response.ends", Some(format!("{:?}", a.end)), Some(format!("{:?}", b.end))));
    }
    found.extend(header_differences(exchange, (&a.headers, &b.headers), "response"));
    // One comparison serves both directions: the bodies in the clothes of requests.
    let policy = Policy { shapes: Shapes::Exact, ..Policy::default() };
    let (a_body, b_body) = (as_request(&a.headers, &a.body), as_request(&b.headers, &b.body));
    let mut bodies = Pattern::new(&a_body, &policy).check(&b_body).differences;
    bodies.iter_mut().for_each(|d| prefix(d, "response"));
    found.extend(bodies);
    if a.messages.len() != b.messages.len() {
        let number = |r: &Response| Some(count(r.messages.len(), "message"));
        found.push(difference("response.messages", number(a), number(b)));
    }
    found
}

fn header_differences(exchange: &Exchange, (a, b): (&Headers, &Headers), side: &str) -> Vec<Difference> {
    let joined = |headers: &Headers, name: &str| {
        let values: Vec<String> =
            headers.all(name).map(|h| String::from_utf8_lossy(h.value()).into_owned()).collect();
        (!values.is_empty()).then(|| values.join(", "))
    };
    let mut names: Vec<&str> =
        a.iter().chain(b).filter(|h| !is_momentary(exchange, h)).map(Header::name).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| (name, joined(a, name), joined(b, name)))
        .filter(|(_, x, y)| x != y)
        .map(|(name, x, y)| difference(&format!("{side}.headers.{name}"), x, y))
        .collect()
}

fn as_request(headers: &Headers, body: &Body) -> Request {
    let headers = headers.all("content-type").cloned().collect();
    let url = Url {
        scheme: exchange::Scheme::Https,
        host: "reply".into(),
        port: 443,
        path: "/".into(),
        query: None,
    };
    Request { method: "REPLY".into(), url, headers, body: body.clone(), trailers: Headers::new() }
}

fn in_a_word(reply: &Reply) -> String {
    match reply {
        Reply::Fault { fault, .. } => fault.to_string(),
        Reply::Response(response) => response.status.to_string(),
    }
}

fn difference(path: &str, expected: Option<String>, actual: Option<String>) -> Difference {
    Difference {
        path: exchange::FieldPath(path.split('.').map(|k| exchange::Segment::Key(k.into())).collect()),
        expected,
        actual,
    }
}

fn prefix(difference: &mut Difference, side: &str) {
    difference.path.0.insert(0, exchange::Segment::Key(side.to_owned()));
}
