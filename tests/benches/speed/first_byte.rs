//! How much later the first event of a stream comes when it is being recorded.

use std::time::{Duration, Instant};

use http_body_util::BodyExt;

use super::{
    bare::Bare,
    client::Connection,
    corpus,
    mitmproxy::Mitmproxy,
    report::{Goal, Report},
    statistics::Samples,
    wiretape::{Proxy, Wiretape},
};

pub(crate) async fn measure(
    bare: &Bare,
    wiretape: &Wiretape,
    mitmproxy: Option<&Mitmproxy>,
    report: &mut Report,
) {
    let proxy = wiretape.record(bare, &wiretape.home().join("stream.yaml"));
    compare(bare, "wiretape", &proxy, STREAMS, report).await;
    drop(proxy);
    if let Some(mitmproxy) = mitmproxy {
        let proxy = mitmproxy.record(bare).expect("mitmproxy starts");
        compare(bare, "mitmproxy", &proxy, FEW_STREAMS, report).await;
    }
}

/// One stream directly, one through the proxy, and so on, each over a connection that stays open.
async fn compare(bare: &Bare, name: &'static str, proxy: &Proxy, streams: usize, report: &mut Report) {
    let mut direct = bare.target.connect().await;
    let mut recorded = proxy.target.connect().await;
    let mut pairs = Vec::with_capacity(streams);
    let mut stalls = 0;
    for number in 0..WARM_UP + streams {
        let pair = async { (first_event(&mut direct).await, first_event(&mut recorded).await) };
        match tokio::time::timeout(STALLED, pair).await {
            Ok(pair) if number >= WARM_UP => pairs.push(pair),
            Ok(_) => {}
            Err(_) => {
                stalls += 1;
                if stalls > MOST_STALLS {
                    break;
                }
                (direct, recorded) = (bare.target.connect().await, proxy.target.connect().await);
            }
        }
    }
    if stalls > 0 {
        report.note(format!("{name}: {stalls} streams had no end after {STALLED:?}"));
    }
    if pairs.is_empty() {
        return;
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let added = Samples::new(pairs.iter().map(|(direct, recorded)| ms(*recorded) - ms(*direct)));
    let direct = Samples::new(pairs.iter().map(|pair| ms(pair.0)));
    let recorded = Samples::new(pairs.iter().map(|pair| ms(pair.1)));
    report.row(
        name,
        "time added to the first event of a stream by recording it",
        added.median(),
        format!(
            "median {:.2} ms, p95 {:.2} ms ({:.2} against {:.2} ms)",
            added.median(),
            added.quantile(0.95),
            recorded.median(),
            direct.median()
        ),
        match name {
            "wiretape" => Goal::AtMost(1.0, " ms"),
            _ => Goal::None,
        },
    );
}

/// From the request to the first event; the rest is read before the next request.
async fn first_event(connection: &mut Connection) -> Duration {
    let began = Instant::now();
    let mut body = connection.send(corpus::stream()).await.into_body();
    let first = body.frame().await.expect("a stream has events");
    let took = began.elapsed();
    assert!(first.is_ok_and(|frame| frame.is_data()), "the first thing in a body is data");
    body.collect().await.expect("the stream is whole");
    took
}

const STREAMS: usize = 200;
const FEW_STREAMS: usize = 50;
const WARM_UP: usize = 10;
/// A stream takes a few milliseconds.
const STALLED: Duration = Duration::from_secs(2);
const MOST_STALLS: usize = 5;
