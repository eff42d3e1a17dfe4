//! The speed of `wiretape` against what the machine can do at all: a bare hyper and rustls server under the
//! same load, in the same run. Ratios count; absolute numbers belong to the machine.
//!
//! `cargo bench -p wiretape-tests --bench speed [-- PART…]`, with the parts `replay`, `connections`, `first-byte`,
//! `cassettes` and `scrubbing`. What is measured and how is written down in `docs/design/performance.md`.

mod speed {
    pub(crate) mod bare;
    pub(crate) mod cassettes;
    pub(crate) mod client;
    pub(crate) mod corpus;
    pub(crate) mod first_byte;
    pub(crate) mod load;
    pub(crate) mod look_up;
    pub(crate) mod mitmproxy;
    pub(crate) mod process;
    pub(crate) mod report;
    pub(crate) mod scrubbing;
    pub(crate) mod statistics;
    pub(crate) mod wiretape;
}

use std::{env, path::Path, time::Instant};

use tempfile::TempDir;

use speed::{
    bare::{self, Bare},
    cassettes, first_byte,
    load::{self, Workload},
    mitmproxy::{self, Mitmproxy},
    report::Report,
    scrubbing,
    wiretape::Wiretape,
};

fn main() {
    let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.as_slice() {
        [word, ca_file] if word == bare::ARGUMENT => bare::serve(Path::new(ca_file)),
        parts => measure(&Parts(parts)),
    }
}

/// The parts that were asked for; none means all.
struct Parts<'a>(&'a [String]);

impl Parts<'_> {
    fn want(&self, part: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted == part)
    }
}

fn measure(parts: &Parts<'_>) {
    let folder = TempDir::with_prefix("speed-").expect("a temporary folder");
    let wiretape = Wiretape::find(folder.path());
    let mitmproxy = Mitmproxy::find(folder.path());
    let began = Instant::now();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime for the clients");
    let bare = Bare::start(folder.path());
    let mut report = Report::default();
    if mitmproxy.is_none() {
        report.note(mitmproxy::MISSING);
    }

    let workloads: Vec<Workload> =
        Workload::ALL.into_iter().filter(|workload| parts.want(workload.part())).collect();
    if !workloads.is_empty() {
        runtime.block_on(load::measure(&bare, &wiretape, mitmproxy.as_ref(), &workloads, &mut report));
    }
    if parts.want("first-byte") {
        runtime.block_on(first_byte::measure(&bare, &wiretape, mitmproxy.as_ref(), &mut report));
    }
    drop(bare);
    if parts.want("cassettes") {
        cassettes::measure(&runtime, &wiretape, mitmproxy.as_ref(), &mut report);
    }
    if parts.want("scrubbing") {
        scrubbing::measure(&mut report);
    }
    println!("\n{report}");
    println!("measured in {:.0} s", began.elapsed().as_secs_f64());
}
