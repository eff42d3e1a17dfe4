//! Everything that the proxy itself answers, and the words that explain it.

use std::fmt::Write;

use bytes::Bytes;
use cassettes::Miss;
use http::{HeaderValue, Response, StatusCode, header};
use matchers::Difference;
use serde_json::json;

use crate::{
    body::ReplyBody,
    opener::{Refusal, RefusalKind},
    session::{MissReport, Why},
    session_name::BadCredentials,
};

/// A miss is no answer of the provider's: 424, which no client takes for one and no SDK retries.
pub(crate) const MISS: u16 = 424;

/// The answer to a request that the cassette does not hold, in the shape of the provider's own errors, so that an SDK
/// shows the explanation to the person.
pub(crate) fn miss(report: &MissReport, host: &str) -> Response<ReplyBody> {
    let message = explain(report);
    let body = match provider(host) {
        Provider::OpenAi => {
            json!({"error": {"message": message, "type": "wiretape_miss", "param": null, "code": "wiretape_miss"}})
        }
        Provider::Anthropic => {
            json!({"type": "error", "error": {"type": "wiretape_miss", "message": message}})
        }
        Provider::Google => {
            json!({"error": {"code": MISS, "message": message, "status": "FAILED_PRECONDITION"}})
        }
        Provider::GitHub => json!({"message": message, "documentation_url": ""}),
        Provider::Other => json!({"error": {"message": message, "code": "wiretape_miss"}}),
    };
    let mut response = plain(MISS, "application/json", body.to_string());
    response.headers_mut().insert("x-wiretape-miss", HeaderValue::from_static("true"));
    response
}

/// Recording cannot go on, so nothing more is forwarded: traffic that is not on the cassette would be lost unseen.
pub(crate) fn broken(reason: &str) -> Response<ReplyBody> {
    plain(502, "text/plain", format!("wiretape stopped recording: {reason}\n"))
}

/// A request that makes no sense to a proxy.
pub(crate) fn bad_request(reason: &str) -> Response<ReplyBody> {
    plain(400, "text/plain", format!("wiretape: {reason}\n"))
}

/// A request that is legal and that we do not do.
pub(crate) fn not_served(what: &str) -> Response<ReplyBody> {
    plain(501, "text/plain", format!("wiretape: {what} is not served\n"))
}

/// The host inside a tunnel is not the host that the tunnel was opened to.
pub(crate) fn misdirected(tunnel: &str, inner: &str) -> Response<ReplyBody> {
    let text = format!("wiretape: this tunnel leads to {tunnel}, but the request inside names {inner}\n");
    plain(421, "text/plain", text)
}

/// The request is addressed to the proxy itself.
pub(crate) fn ourselves(address: &str) -> Response<ReplyBody> {
    plain(
        421,
        "text/plain",
        format!("wiretape: {address} is this proxy itself; it forwards nothing to itself\n"),
    )
}

/// A call without a user name, where every session has one. Clients that only name themselves when asked do so now.
pub(crate) fn no_session() -> Response<ReplyBody> {
    challenge(
        407,
        "this proxy has no session for calls without a user name: set it as http://NAME:x@HOST:PORT",
    )
}

/// A user name that cannot be read as the name of a session.
pub(crate) fn bad_credentials(bad: BadCredentials) -> Response<ReplyBody> {
    let status = match bad {
        BadCredentials::Unreadable => 407,
        // Asked again, the client would say the same again.
        BadCredentials::Name(_) => 400,
    };
    challenge(status, &bad.to_string())
}

/// A session that a client asked for, and that there is none of.
pub(crate) fn session_refused(refusal: &Refusal) -> Response<ReplyBody> {
    let help = refusal.help.as_ref().map_or(String::new(), |help| format!("\nhelp: {help}"));
    let text = format!("{}{help}", refusal.message);
    match refusal.kind {
        RefusalKind::Denied => challenge(407, &text),
        _ => plain(MISS, "text/plain", format!("wiretape: {text}\n")),
    }
}

/// The session of this connection was ended.
pub(crate) fn session_over() -> Response<ReplyBody> {
    plain(503, "text/plain", "wiretape: the session of this connection is over\n".to_owned())
}

/// Why a request was not answered from the cassette, for a person.
pub fn explain(report: &MissReport) -> String {
    let mut text = match &report.why {
        Why::Denied => format!("{} {} is denied by the `hosts` rules", report.method, report.url),
        Why::Message { exchange, .. } => {
            format!("the WebSocket client of {} left the recording, exchange {exchange}", report.url)
        }
        Why::Miss(_) => format!("no recorded exchange for {} {}", report.method, report.url),
    };
    match &report.why {
        Why::Denied => {}
        Why::Message { differences, .. } => write_differences(&mut text, differences),
        Why::Miss(Miss::Exhausted(played)) => {
            for (exchange, call) in played.iter().take(MOST_SHOWN) {
                push(
                    &mut text,
                    format_args!("\n  exchange {exchange} would match, but call {call} already played it"),
                );
            }
            if played.len() > MOST_SHOWN {
                push(&mut text, format_args!("\n  and so would {} more", played.len() - MOST_SHOWN));
            }
        }
        Why::Miss(Miss::NotKept { exchange }) => {
            push(
                &mut text,
                format_args!("\n  exchange {exchange} matches, but its reply was too large to keep"),
            );
        }
        Why::Miss(Miss::Unknown(near)) if near.is_empty() => {
            text.push_str("\n  the cassette has no exchange left that comes near");
        }
        Why::Miss(Miss::Unknown(near)) => {
            for candidate in near {
                push(&mut text, format_args!("\n  near: exchange {}", candidate.id));
                write_differences(&mut text, &candidate.differences);
            }
        }
    }
    text
}

fn write_differences(text: &mut String, differences: &[Difference]) {
    let or_nothing = |value: &Option<String>| value.clone().unwrap_or_else(|| "(nothing)".to_owned());
    for difference in differences.iter().take(MOST_SHOWN) {
        push(text, format_args!("\n    {}", difference.path));
        push(text, format_args!("\n      expected  {}", or_nothing(&difference.expected)));
        push(text, format_args!("\n      actual    {}", or_nothing(&difference.actual)));
    }
    if differences.len() > MOST_SHOWN {
        push(text, format_args!("\n    and {} more differences", differences.len() - MOST_SHOWN));
    }
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("writing to a string cannot fail");
}

fn challenge(status: u16, reason: &str) -> Response<ReplyBody> {
    let mut response = plain(status, "text/plain", format!("wiretape: {reason}\n"));
    let basic = HeaderValue::from_static("Basic realm=\"wiretape\"");
    response.headers_mut().insert(header::PROXY_AUTHENTICATE, basic);
    response
}

fn plain(status: u16, content_type: &'static str, body: String) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::full(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert("x-should-retry", HeaderValue::from_static("false"));
    response
}

enum Provider {
    OpenAi,
    Anthropic,
    Google,
    GitHub,
    Other,
}

fn provider(host: &str) -> Provider {
    match host {
        "api.openai.com" => Provider::OpenAi,
        "api.anthropic.com" => Provider::Anthropic,
        "api.github.com" | "uploads.github.com" => Provider::GitHub,
        host if host.ends_with(".openai.azure.com") => Provider::OpenAi,
        host if host.ends_with(".googleapis.com") => Provider::Google,
        _ => Provider::Other,
    }
}

const MOST_SHOWN: usize = 5;

#[cfg(test)]
mod tests {
    use exchange::FieldPath;
    use matchers::NearMiss;

    use super::*;

    fn report(why: Why) -> MissReport {
        MissReport { call: 4, method: "POST".into(), url: "https://api.openai.com/v1/x".into(), why }
    }

    #[test]
    fn a_near_miss_says_which_field_differs_and_how() {
        let difference = Difference {
            path: FieldPath::root("body").key("messages").index(1).key("content"),
            expected: Some("\"List open issues\"".into()),
            actual: Some("\"List all open issues\"".into()),
        };
        let near = NearMiss { id: 4, differences: vec![difference] };
        assert_eq!(
            explain(&report(Why::Miss(Miss::Unknown(vec![near])))),
            "no recorded exchange for POST https://api.openai.com/v1/x\n  near: exchange 4\n    \
             body.messages[1].content\n      expected  \"List open issues\"\n      actual    \"List all open issues\""
        );
    }

    #[test]
    fn an_exhausted_exchange_names_the_call_that_played_it() {
        assert_eq!(
            explain(&report(Why::Miss(Miss::Exhausted(vec![(3, 2)])))),
            "no recorded exchange for POST https://api.openai.com/v1/x\n  \
             exchange 3 would match, but call 2 already played it"
        );
    }
}
