//! Sessions, calls and verdicts as the control API tells them. All of it was scrubbed when it was noted.

use std::net::SocketAddr;

use exchange::{Call, Outcome};
use serde_json::{Value, json};

use crate::{
    answers::explain,
    call_log::Since,
    session::{FaultReport, Session, Summary},
    sessions::OWN,
};

pub(super) fn session(name: &str, session: &Session, proxy: SocketAddr, is_own: bool) -> Value {
    let summary = session.summary();
    json!({
        "name": name,
        "mode": session.mode().as_str(),
        "cassette": session.cassette().map(|path| path.display().to_string()),
        "proxy": if is_own && name == OWN { format!("http://{proxy}") } else { format!("http://{name}:x@{proxy}") },
        "calls": summary.calls,
        "played": summary.played,
        "missed": summary.missed,
        "unplayed": summary.unplayed.len(),
    })
}

pub(super) fn calls(since: &Since) -> Value {
    let mut answer = json!({"calls": since.calls.iter().map(call).collect::<Vec<_>>()});
    if since.dropped > 0 {
        answer["dropped"] = since.dropped.into();
    }
    answer
}

pub(super) fn call(call: &Call) -> Value {
    let mut shape = json!({
        "seq": call.seq,
        "at_ms": whole_ms(call.at),
        "took_ms": whole_ms(call.took),
        "provenance": call.provenance.as_str(),
        "exchange": call.exchange,
        "method": call.method,
        "url": call.url,
    });
    match call.outcome {
        Outcome::Status(status) => shape["status"] = status.into(),
        Outcome::Fault(fault) => shape["fault"] = fault.to_string().into(),
        Outcome::Denied => shape["denied"] = true.into(),
    }
    shape
}

pub(super) fn verdict(session: &Session) -> Value {
    let summary = session.summary();
    let passed = summary.missed == 0 && summary.broken.is_none();
    let misses = summary.misses.iter().map(|miss| {
        json!({"call": miss.call, "method": miss.method, "url": miss.url, "explanation": explain(miss)})
    });
    let unplayed = session
        .unplayed()
        .into_iter()
        .map(|left| json!({"exchange": left.exchange, "method": left.method, "url": left.url}));
    json!({
        "passed": passed,
        "strict_passed": passed && summary.unplayed.is_empty(),
        "calls": summary.calls,
        "played": summary.played,
        "recorded": summary.recorded,
        "live": summary.live,
        "missed": summary.missed,
        "misses": misses.collect::<Vec<_>>(),
        "unplayed": unplayed.collect::<Vec<_>>(),
        "warnings": warnings(&summary),
    })
}

fn warnings(summary: &Summary) -> Vec<String> {
    let stopped = summary.broken.iter().map(|reason| format!("recording stopped: {reason}"));
    let fault = |report: &FaultReport| {
        let FaultReport { call, method, url, fault, detail } = report;
        format!("call {call}: {method} {url}: upstream {fault}, {detail}")
    };
    stopped.chain(summary.faults.iter().map(fault)).chain(summary.warnings.iter().cloned()).collect()
}

fn whole_ms(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
