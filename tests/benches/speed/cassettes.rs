//! Cassettes of 10, 1,000 and 100,000 exchanges: how soon they are ready, and how soon they answer.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use cassettes::{Index, Redaction, store};
use matchers::{OnRepeat, Policy};
use tokio::runtime::Runtime;

use super::{
    client::Connection,
    corpus,
    look_up::{self, LookUps},
    mitmproxy::Mitmproxy,
    report::{Goal, Report},
    statistics::{Samples, Shuffler},
    wiretape::{Proxy, Wiretape},
};

pub(crate) fn measure(
    runtime: &Runtime,
    wiretape: &Wiretape,
    mitmproxy: Option<&Mitmproxy>,
    report: &mut Report,
) {
    let files = SIZES.map(|size| written(wiretape.home(), size));
    let look_ups = [0, 1, 2].map(|place| in_process(&files[place], SIZES[place], report));
    tell_flatness(&look_ups, report);

    let proxies: Vec<(usize, Proxy)> = SIZES
        .into_iter()
        .zip(&files)
        .map(|(size, file)| (size, started(wiretape, file, size, report)))
        .collect();
    answers(runtime, "wiretape", proxies, report);

    if let Some(mitmproxy) = mitmproxy {
        let mut proxies = Vec::new();
        for size in THEIR_SIZES {
            let Some(proxy) = mitmproxy.replay(&mitmproxy.chats(size)) else {
                report.note(format!("mitmproxy was not ready with {size} exchanges in a minute"));
                continue;
            };
            tell_ready("mitmproxy", size, &proxy, Samples::new([proxy.ready.as_secs_f64()]), report);
            proxies.push((size, proxy));
        }
        answers(runtime, "mitmproxy", proxies, report);
    }
}

fn written(folder: &Path, size: usize) -> PathBuf {
    let path = folder.join(format!("{size}.yaml"));
    let policy = Policy { on_repeat: OnRepeat::Last, ..Policy::default() };
    let exchanges = (0..size).map(|number| Ok(corpus::chat(number)));
    store::save_from(&path, Some(&Redaction::new()), Some(&policy), exchanges)
        .expect("the cassette is written");
    path
}

fn in_process(file: &Path, size: usize, report: &mut Report) -> LookUps {
    let mut times = Vec::new();
    let mut index = None;
    for _ in 0..LOADS {
        drop(index.take());
        let began = Instant::now();
        let cassette = store::load(file).expect("the cassette is read");
        index = Some(Index::new(cassette, &Policy::default()));
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    let index = Arc::new(index.expect("it was loaded more than once"));
    assert_eq!(index.len(), size);
    let bytes = fs::metadata(file).expect("the cassette is there").len() as f64;
    let times = Samples::new(times);
    report.row(
        "wiretape",
        format!("{size} exchanges ({:.1} MB): loaded and indexed, in process", bytes / 1e6),
        times.least(),
        format!("best {:.2} ms, worst {:.2} ms", times.least(), times.most()),
        Goal::None,
    );
    look_up::measure(&index)
}

fn tell_flatness(look_ups: &[LookUps; 3], report: &mut Report) {
    for (what, of) in [
        ("the same 10 requests", (|l| l.same) as fn(&LookUps) -> f64),
        ("every exchange once, in random order", |l| l.scattered),
    ] {
        let [small, medium, large] = [0, 1, 2].map(|place| of(&look_ups[place]));
        let growth = 100.0 * (large / small - 1.0);
        report.row(
            "wiretape",
            format!("look-up, {what}: growth from 10 to 100,000 exchanges"),
            growth,
            format!("{growth:+.0} % ({small:.0}, {medium:.0}, {large:.0} ns)"),
            Goal::AtMost(20.0, " %"),
        );
    }
}

fn started(wiretape: &Wiretape, file: &Path, size: usize, report: &mut Report) -> Proxy {
    let earlier: Vec<f64> = (1..STARTS).map(|_| wiretape.replay(file).ready.as_secs_f64()).collect();
    let proxy = wiretape.replay(file);
    let times = Samples::new(earlier.into_iter().chain([proxy.ready.as_secs_f64()]));
    tell_ready("wiretape", size, &proxy, times, report);
    proxy
}

fn tell_ready(name: &'static str, size: usize, proxy: &Proxy, times: Samples, report: &mut Report) {
    report.row(
        name,
        format!("{size} exchanges: from the start of the process until it listens"),
        times.median(),
        format!("{times:.3} s, {} MiB", proxy.process.memory()),
        match (name, size) {
            ("wiretape", 100_000) => Goal::AtMost(2.0, " s"),
            _ => Goal::None,
        },
    );
}

/// One request after the other, the proxies taking turns.
fn answers(runtime: &Runtime, name: &'static str, proxies: Vec<(usize, Proxy)>, report: &mut Report) {
    if proxies.is_empty() {
        return;
    }
    let times = runtime.block_on(async {
        let mut shuffler = Shuffler::new();
        let mut connections: Vec<(usize, Connection)> = Vec::new();
        for (size, proxy) in &proxies {
            connections.push((*size, proxy.target.connect().await));
        }
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); connections.len()];
        for turn in 0..WARM_UP + ANSWERS {
            for ((size, connection), times) in connections.iter_mut().zip(&mut times) {
                let number = shuffler.below(*size);
                let request = corpus::post(number);
                let began = Instant::now();
                let reply = connection.exchange(request).await;
                let took = began.elapsed();
                assert_eq!(reply, corpus::chat_reply(number), "the answer belongs to the question");
                if turn >= WARM_UP {
                    times.push(took.as_secs_f64() * 1e6);
                }
            }
        }
        times
    });
    let (least, most) = (proxies[0].0, proxies[proxies.len() - 1].0);
    let medians: Vec<f64> = times.into_iter().map(|times| Samples::new(times).median()).collect();
    let growth = 100.0 * (medians[medians.len() - 1] / medians[0] - 1.0);
    let told: Vec<String> = medians.iter().map(|median| format!("{median:.0}")).collect();
    report.row(
        name,
        format!("answer to one client through the proxy: growth from {least} to {most} exchanges"),
        growth,
        format!("{growth:+.0} % ({} µs)", told.join(", ")),
        match name {
            "wiretape" => Goal::AtMost(20.0, " %"),
            _ => Goal::None,
        },
    );
}

const SIZES: [usize; 3] = [10, 1_000, 100_000];
/// It takes a minute or more to read 100,000.
const THEIR_SIZES: [usize; 3] = [10, 1_000, 10_000];
const LOADS: usize = 3;
const STARTS: usize = 3;
const ANSWERS: usize = 1_000;
const WARM_UP: usize = 50;
