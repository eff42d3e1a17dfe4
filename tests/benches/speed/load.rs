//! Requests per second and new connections per second, as shares of what the bare server does.
//!
//! The two servers take turns, round by round, so that what else the machine does meets both.

use std::{
    iter,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use cassettes::{Cassette, store};
use http::Request;
use http_body_util::Full;
use matchers::{OnRepeat, Policy};
use tokio::task::JoinSet;

use super::{
    bare::Bare,
    client::Target,
    corpus,
    mitmproxy::Mitmproxy,
    process::Process,
    report::{Goal, Report},
    statistics::Samples,
    wiretape::{Proxy, Wiretape},
};

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// GETs on connections that stay open.
    Get,
    /// POSTs of a chat on connections that stay open.
    Post,
    /// A new connection for every GET.
    Connections,
}

impl Workload {
    pub(crate) const ALL: [Self; 3] = [Self::Get, Self::Post, Self::Connections];

    /// The part of the benchmark that it belongs to.
    pub(crate) fn part(self) -> &'static str {
        match self {
            Self::Get | Self::Post => "replay",
            Self::Connections => "connections",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Get => "GET, keep-alive, 1 KiB reply",
            Self::Post => "POST of a chat, keep-alive, 1 KiB reply",
            Self::Connections => "new connection for each GET",
        }
    }

    fn request(self) -> Request<Full<Bytes>> {
        match self {
            Self::Get | Self::Connections => corpus::get(),
            Self::Post => corpus::post(0),
        }
    }
}

pub(crate) async fn measure(
    bare: &Bare,
    wiretape: &Wiretape,
    mitmproxy: Option<&Mitmproxy>,
    workloads: &[Workload],
    report: &mut Report,
) {
    let cassette = wiretape.home().join("load.yaml");
    let policy = Policy { on_repeat: OnRepeat::Last, ..Policy::default() };
    let saved = store::save(
        &cassette,
        &Cassette { redaction: None, policy: Some(policy), exchanges: corpus::load() },
    );
    saved.expect("the cassette is written");
    let proxy = wiretape.replay(&cassette);
    for &workload in workloads {
        compare(bare, "wiretape", &proxy, workload, ROUNDS, report).await;
    }
    drop(proxy);
    if let Some(mitmproxy) = mitmproxy {
        let proxy = mitmproxy.replay(&mitmproxy.load()).expect("mitmproxy starts");
        for &workload in workloads {
            compare(bare, "mitmproxy", &proxy, workload, FEW_ROUNDS, report).await;
        }
    }
}

async fn compare(
    bare: &Bare,
    name: &'static str,
    proxy: &Proxy,
    workload: Workload,
    rounds: usize,
    report: &mut Report,
) {
    let mut pairs = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let theirs = round(&bare.target, &bare.process, workload).await;
        let ours = round(&proxy.target, &proxy.process, workload).await;
        pairs.push((theirs, ours));
    }
    let of = |value: &dyn Fn(&(Round, Round)) -> f64| Samples::new(pairs.iter().map(value));
    let share = of(&|(theirs, ours)| 100.0 * ours.rate / theirs.rate);
    let rates = (of(&|pair| pair.0.rate), of(&|pair| pair.1.rate));
    let cost = of(&|(theirs, ours)| ours.cpu / theirs.cpu);
    let costs = (of(&|pair| pair.0.cpu), of(&|pair| pair.1.cpu));
    let goal = match name {
        "wiretape" => Goal::AtLeast(80.0, " %"),
        _ => Goal::None,
    };
    report.row(
        name,
        format!("{}: share of the bare server's rate", workload.name()),
        share.median(),
        format!("{share:.0} %, {:.0} of {:.0} /s", rates.1.median(), rates.0.median()),
        goal,
    );
    report.row(
        name,
        format!("{}: server CPU per request", workload.name()),
        cost.median(),
        format!("{cost:.2} ×, {:.1} against {:.1} µs", costs.1.median(), costs.0.median()),
        Goal::None,
    );
}

/// One server under load for a while.
struct Round {
    /// Requests per second.
    rate: f64,
    /// Microseconds of the server's processor time per request.
    cpu: f64,
}

async fn round(target: &Target, server: &Process, workload: Workload) -> Round {
    let done = Arc::new(AtomicU64::new(0));
    let over = Arc::new(AtomicBool::new(false));
    let mut clients: JoinSet<()> =
        iter::repeat_with(|| client(target.clone(), workload, Arc::clone(&done), Arc::clone(&over)))
            .take(CONNECTIONS)
            .collect();
    tokio::time::sleep(WARM_UP).await;
    let (began, requests, cpu) = (Instant::now(), done.load(Ordering::Relaxed), server.cpu());
    tokio::time::sleep(ROUND).await;
    let (took, requests) = (began.elapsed(), done.load(Ordering::Relaxed) - requests);
    let cpu = server.cpu() - cpu;
    over.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        ended.expect("no client fails");
    }
    assert!(requests > 0, "no request was answered in {took:?}");
    Round { rate: requests as f64 / took.as_secs_f64(), cpu: cpu.as_secs_f64() * 1e6 / requests as f64 }
}

async fn client(target: Target, workload: Workload, done: Arc<AtomicU64>, over: Arc<AtomicBool>) {
    let request = workload.request();
    let mut connection = target.connect().await;
    while !over.load(Ordering::Relaxed) {
        let reply = connection.exchange(request.clone()).await;
        assert_eq!(reply.len(), 1024, "every reply is the same");
        done.fetch_add(1, Ordering::Relaxed);
        if workload == Workload::Connections {
            connection = target.connect().await;
        }
    }
}

const CONNECTIONS: usize = 50;
const ROUNDS: usize = 5;
const FEW_ROUNDS: usize = 2;
const ROUND: Duration = Duration::from_millis(2500);
/// Until all connections are open and the caches warm.
const WARM_UP: Duration = Duration::from_millis(400);
