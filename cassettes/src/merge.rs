//! What a recording becomes: new exchanges laid over the ones that were there.

mod boundary;
mod twins;

use std::time::Duration;

use exchange::{Exchange, Header, Headers, Reply};
use matchers::{Catalog, Policy};

use crate::{
    scrub::{Placeholders, Scrubbed},
    stabilize::{stabilize, without_times},
};
use twins::{Kept, Matched, match_up};

/// What happens to the exchanges that a cassette already holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The new run takes their place. An exchange that says the same as before keeps its recorded timing, so that the
    /// file changes only where the traffic did.
    Replace,
    /// The new run takes their place, timing and all.
    Refresh,
    /// They stay, and the new ones follow.
    Append,
    /// They stay, and of the new ones those follow that say something else: for a run that was killed.
    Recover,
}

/// A joined cassette.
#[derive(Debug)]
pub struct Merged {
    pub exchanges: Vec<Scrubbed<Exchange>>,
    /// How many of the new exchanges say what one of the old ones said.
    pub unchanged: usize,
    renamed: Placeholders,
}

impl Merged {
    /// What became of a placeholder of the new run.
    pub fn placeholder(&mut self, text: &str) -> String {
        self.renamed.renumbered(text)
    }
}

/// Joins an old cassette's exchanges and a run's new ones, given in the order in which their requests came and with the
/// ids and times that the servers gave them.
pub fn merge(
    old: Vec<Scrubbed<Exchange>>,
    new: Vec<Scrubbed<Exchange>>,
    how: Merge,
    policy: &Policy,
) -> Merged {
    let matched = match how {
        Merge::Append => Matched::none(stabilize(new, &old)),
        Merge::Refresh => {
            let exchanges = stabilize(new, &[]);
            Matched { exchanges: exchanges.clone(), ..match_up(&old, exchanges, policy, Kept::Twins) }
        }
        Merge::Replace => match_up(&old, stabilize(new, &[]), policy, Kept::Twins),
        Merge::Recover => match_up(&old, stabilize(new, &[]), policy, Kept::Old),
    };
    let unchanged = matched.twins.iter().flatten().count();
    let new = matched.exchanges.into_iter().zip(matched.twins);
    let new: Vec<_> = match how {
        Merge::Append | Merge::Refresh => new.map(|(exchange, _)| exchange).collect(),
        Merge::Recover => new.filter(|(_, twin)| twin.is_none()).map(|(exchange, _)| exchange).collect(),
        Merge::Replace => new
            .map(|(exchange, twin)| match twin {
                Some(before) => exchange.map(|e| retimed(e, &old[before])),
                None => exchange,
            })
            .collect(),
    };
    let kept = match how {
        Merge::Append | Merge::Recover => old,
        Merge::Replace | Merge::Refresh => Vec::new(),
    };
    let mut placeholders = Placeholders::new();
    let mut exchanges: Vec<_> = kept.into_iter().map(|e| renumbered(e, &mut placeholders)).collect();
    // Nobody knows the old secrets any more, so the new run's placeholders are others.
    placeholders.next_run();
    exchanges.extend(new.into_iter().map(|e| renumbered(e, &mut placeholders)));
    let exchanges =
        (1..).zip(exchanges).map(|(id, exchange)| exchange.map(|e| Exchange { id, ..e })).collect();
    Merged { exchanges, unchanged, renamed: placeholders }
}

/// Whether two exchanges say the same, whatever their timing, numbers, and times of the servers.
pub fn same_content(a: &Exchange, b: &Exchange) -> bool {
    timeless(a) == timeless(b)
}

fn renumbered(exchange: Scrubbed<Exchange>, placeholders: &mut Placeholders) -> Scrubbed<Exchange> {
    exchange.map(|mut exchange| {
        placeholders.renumber(&mut exchange);
        exchange
    })
}

/// The exchange with the timing of another that says the same.
fn retimed(mut exchange: Exchange, before: &Exchange) -> Exchange {
    exchange.at = before.at;
    exchange.request.body.frames.clone_from(&before.request.body.frames);
    exchange.request.headers = in_order_of(exchange.request.headers, &before.request.headers);
    let headers = with_old_moments(&exchange, before);
    match (&mut exchange.reply, &before.reply) {
        (Reply::Response(now), Reply::Response(then)) => {
            now.after = then.after;
            now.headers = headers;
            now.body.frames.clone_from(&then.body.frames);
            for (now, then) in now.messages.iter_mut().zip(&then.messages) {
                now.after = then.after;
            }
        }
        (reply, then) => reply.clone_from(then),
    }
    exchange
}

/// The same headers in the order of others that have the same names.
fn in_order_of(headers: Headers, before: &Headers) -> Headers {
    let mut left: Vec<Header> = headers.into_iter().collect();
    let next = |header: &Header| {
        let place = left.iter().position(|h| h.name() == header.name())?;
        Some(left.remove(place))
    };
    before.iter().filter_map(next).collect()
}

/// The new headers of a reply, but for those that tell of one moment only.
fn with_old_moments(now: &Exchange, then: &Exchange) -> Headers {
    let (Some(response), Some(before)) = (now.reply.response(), then.reply.response()) else {
        return Headers::new();
    };
    let old = |header: &Header| before.headers.all(header.name()).next().cloned();
    let headers = response.headers.iter();
    headers.map(|h| if is_momentary(now, h) { old(h) } else { None }.unwrap_or_else(|| h.clone())).collect()
}

/// Whether a header of a reply says when it was made or which one it was, and nothing about the API.
pub fn is_momentary(exchange: &Exchange, header: &Header) -> bool {
    let name = header.name();
    let is_named = || Catalog::builtin().provider_of(exchange).is_some_and(|p| p.is_momentary_header(name));
    MOMENTARY.contains(&name) || name.ends_with("-processing-ms") || name.contains("ratelimit") || is_named()
}

fn timeless(exchange: &Exchange) -> Exchange {
    let mut moments = exchange.reply.response().map_or_else(Headers::new, |r| r.headers.clone());
    moments.retain(|header| is_momentary(exchange, header));
    let mut exchange = without_times(Exchange { id: 0, at: Duration::ZERO, ..exchange.clone() });
    Placeholders::new().renumber(&mut exchange);
    match &mut exchange.reply {
        Reply::Fault { after, .. } => *after = Duration::ZERO,
        Reply::Response(response) => {
            response.after = Duration::ZERO;
            response.headers.retain(|header| !moments.has(header.name()));
            response.body.frames.clear();
            response.messages.iter_mut().for_each(|m| m.after = Duration::ZERO);
        }
    }
    exchange.request.body.frames.clear();
    // Go sends them in another order every time.
    let mut headers: Vec<Header> = std::mem::take(&mut exchange.request.headers).into_iter().collect();
    headers.sort_by(|a, b| a.name().cmp(b.name()));
    exchange.request.headers = headers.into_iter().collect();
    exchange
}

const MOMENTARY: &[&str] = &[
    "age",
    "cf-ray",
    "date",
    "request-id",
    "server-timing",
    "x-amzn-requestid",
    "x-envoy-upstream-service-time",
    "x-github-request-id",
    "x-request-id",
    "x-runtime",
];

#[cfg(test)]
mod tests {
    use exchange::{Body, End, Request, Response, Url};

    use super::*;

    fn exchange(path: &str, body: &str, ms: u64) -> Scrubbed<Exchange> {
        Scrubbed::attest(Exchange {
            id: 9,
            at: Duration::from_millis(ms),
            request: Request {
                method: "GET".into(),
                url: Url::parse(&format!("https://a.test{path}")).unwrap(),
                headers: Headers::new(),
                body: Body::empty(),
                trailers: Headers::new(),
            },
            reply: Reply::Response(Response {
                status: 200,
                reason: None,
                headers: Headers::new(),
                after: Duration::from_millis(ms),
                informational: Vec::new(),
                body: Body::from_bytes(body.to_owned()),
                trailers: Headers::new(),
                messages: Vec::new(),
                end: End::Whole,
            }),
        })
    }

    fn with_token(mut e: Scrubbed<Exchange>, number: u32) -> Scrubbed<Exchange> {
        e = e.map(|mut e| {
            let value = format!("{{{{redacted:token:{number}}}}}");
            e.request.headers.push(Header::new("authorization", value).unwrap());
            e
        });
        e
    }

    fn told(exchanges: &[Scrubbed<Exchange>]) -> Vec<(u32, String, u128)> {
        let body = |e: &Exchange| {
            String::from_utf8(e.reply.response().unwrap().body.bytes().unwrap().to_vec()).unwrap()
        };
        exchanges.iter().map(|e| (e.id, body(e), e.at.as_millis())).collect()
    }

    #[test]
    fn an_unchanged_exchange_keeps_its_timing_and_a_changed_one_does_not() {
        let old = vec![exchange("/a", "same", 10), exchange("/b", "old", 20)];
        let new = vec![exchange("/a", "same", 11), exchange("/b", "new", 22)];
        let merged = merge(old, new, Merge::Replace, &Policy::default());
        assert_eq!(merged.unchanged, 1);
        assert_eq!(told(&merged.exchanges), [(1, "same".into(), 10), (2, "new".into(), 22)]);
    }

    #[test]
    fn another_date_or_request_id_is_no_change() {
        let dated = |e: Scrubbed<Exchange>, date: &str| {
            e.map(|mut e| {
                let Reply::Response(response) = &mut e.reply else { unreachable!() };
                response.headers.push(Header::new("date", date).unwrap());
                e
            })
        };
        let old = vec![dated(exchange("/a", "same", 10), "Monday")];
        let merged = merge(
            old.clone(),
            vec![dated(exchange("/a", "same", 11), "Tuesday")],
            Merge::Replace,
            &Policy::default(),
        );
        assert_eq!(
            merged.exchanges.iter().map(|e| (e.at, &e.reply)).collect::<Vec<_>>(),
            [(old[0].at, &old[0].reply)]
        );
    }

    #[test]
    fn refresh_takes_the_new_timing_and_append_keeps_both() {
        let old = vec![exchange("/a", "same", 10)];
        let new = vec![exchange("/a", "same", 11)];
        let policy = Policy::default();
        let refreshed = merge(old.clone(), new.clone(), Merge::Refresh, &policy);
        assert_eq!(told(&refreshed.exchanges), [(1, "same".into(), 11)]);
        let appended = merge(old.clone(), new.clone(), Merge::Append, &policy);
        assert_eq!(told(&appended.exchanges), [(1, "same".into(), 10), (2, "same".into(), 11)]);
        let recovered = merge(old, new, Merge::Recover, &policy);
        assert_eq!(told(&recovered.exchanges), [(1, "same".into(), 10)]);
    }

    #[test]
    fn repeats_of_one_request_pair_up_in_order() {
        let old = vec![exchange("/a", "x", 10), exchange("/a", "x", 20)];
        let new = vec![exchange("/a", "x", 1), exchange("/a", "x", 2)];
        let merged = merge(old, new, Merge::Replace, &Policy::default());
        assert_eq!(told(&merged.exchanges), [(1, "x".into(), 10), (2, "x".into(), 20)]);
    }

    #[test]
    fn placeholders_of_a_later_run_are_not_mistaken_for_those_of_an_earlier_one() {
        let old = vec![with_token(exchange("/a", "", 0), 1)];
        let new = vec![with_token(exchange("/b", "", 0), 1), with_token(exchange("/c", "", 0), 1)];
        let merged = merge(old, new, Merge::Append, &Policy::default());
        let tokens: Vec<_> =
            merged.exchanges.iter().map(|e| e.request.headers.text("authorization").unwrap()).collect();
        assert_eq!(tokens, ["{{redacted:token:1}}", "{{redacted:token:2}}", "{{redacted:token:2}}"]);
    }
}
