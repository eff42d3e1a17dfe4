//! A `wiretape proxy` beside the test, first recording and then replaying the same acts.

use std::{fs, net::SocketAddr, sync::Arc};

use rustix::process::{Pid, Signal, kill_process};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use wiretape_tests::{
    sandbox::{Invocation, Outcome, Running, Sandbox, Stream},
    upstream::Upstream,
};

/// A running proxy, with what a client needs to reach and to trust it.
#[derive(Debug)]
pub struct Gate {
    running: Running,
    pub addr: SocketAddr,
    pub pid: u32,
    roots: Arc<RootCertStore>,
}

impl Gate {
    pub fn open(sandbox: &Sandbox, proxy: Invocation<'_>) -> Self {
        let running = proxy.spawn();
        let addr = running.wait_for(Stream::Stdout, |line| line.strip_prefix("http://")?.parse().ok());
        let proxies = fs::read_dir(sandbox.root().join("state/wiretape/proxies")).unwrap();
        let folder = proxies.last().unwrap().unwrap().path();
        let pid = folder.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let ca_file = folder.join("trust/ca.pem");
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(CertificateDer::pem_file_iter(&ca_file).unwrap().map(Result::unwrap));
        Self { running, addr, pid, roots: Arc::new(roots) }
    }

    /// Trusts nothing but the proxy's CA.
    pub fn client_config(&self, alpn: &[&str]) -> Arc<ClientConfig> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(Arc::clone(&self.roots))
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    /// The most memory that the proxy has held so far, in KiB.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits for a line that the proxy says about a call.
    pub fn wait_for(&self, word: &str) {
        self.running.wait_for(Stream::Stderr, |line| line.contains(word).then_some(()));
    }

    /// Asks it to end, as a supervisor does.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends it without a chance to prepare, and waits until it is gone.
    pub fn kill(self) {
        self.signal(Signal::KILL);
        self.running.finish();
    }

    /// Ends it and waits for the cassette to be written.
    pub fn stop(self) -> Outcome {
        self.terminate();
        self.running.finish()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid.try_into().unwrap()).unwrap();
        // Not necessarily the process that was started: that may be a tracer of the proxy.
        kill_process(pid, signal).unwrap();
    }
}

/// A place where acts are recorded and then replayed.
#[derive(Debug)]
pub struct Lab {
    pub home: Sandbox,
    pub upstream: Option<Upstream>,
    record_args: Vec<String>,
    replay_args: Vec<String>,
}

impl Lab {
    pub fn new() -> Self {
        Self {
            home: Sandbox::new(),
            upstream: Some(Upstream::start()),
            record_args: Vec::new(),
            replay_args: vec!["--strict".into()],
        }
    }

    /// Leads `HOST:PORT` to a server of the test.
    pub fn map(self, from: &str, to: SocketAddr) -> Self {
        self.record_with(&["--connect-to", &format!("{from}:{to}")])
    }

    pub fn record_with(mut self, args: &[&str]) -> Self {
        self.record_args.extend(args.iter().map(ToString::to_string));
        self
    }

    pub fn replay_with(mut self, args: &[&str]) -> Self {
        self.replay_args.extend(args.iter().map(ToString::to_string));
        self
    }

    /// Leftovers are no failure of this replay.
    pub fn lenient(mut self) -> Self {
        self.replay_args.retain(|arg| arg != "--strict");
        self
    }

    pub fn upstream(&self) -> &Upstream {
        self.upstream.as_ref().unwrap()
    }

    pub fn recorder(&self) -> Gate {
        let proxy = self.home.wiretape("proxy").args(["--mode", "record"]);
        let proxy = proxy.upstream(self.upstream()).args(&self.record_args);
        Gate::open(&self.home, proxy.cassette(CASSETTE))
    }

    /// Records what `act` does; the run must go well.
    pub fn record<T>(&self, act: impl FnOnce(&Gate) -> T) -> T {
        let gate = self.recorder();
        let done = act(&gate);
        gate.stop().exits(0);
        done
    }

    /// Replays on another machine, without any upstream, and says how it ended.
    pub fn replay<T>(&mut self, act: impl FnOnce(&Gate) -> T) -> (T, Outcome) {
        self.upstream = None;
        let away = self.home.elsewhere();
        let proxy = away.wiretape("proxy").args(["--mode", "replay"]).args(&self.replay_args);
        let gate = Gate::open(&away, proxy.cassette(CASSETTE));
        let done = act(&gate);
        (done, gate.stop())
    }

    /// The law of this binary: the same act, first recorded and then replayed, both going well.
    pub fn both<T>(mut self, act: impl Fn(&Gate) -> T) -> Both<T> {
        let recorded = self.record(&act);
        let cassette = self.cassette();
        let (replayed, outcome) = self.replay(&act);
        outcome.exits(0);
        Both { recorded, replayed, cassette }
    }

    pub fn cassette(&self) -> String {
        self.home.read(CASSETTE)
    }
}

/// What an act gave each time.
#[derive(Debug)]
pub struct Both<T> {
    pub recorded: T,
    pub replayed: T,
    pub cassette: String,
}

impl<T> Both<T> {
    /// Fails unless the cassette has this line, whatever its indent.
    #[track_caller]
    pub fn cassette_says(&self, line: &str) -> &Self {
        says(&self.cassette, line);
        self
    }
}

/// Fails unless the cassette has this line, whatever its indent and whether it opens a list item.
#[track_caller]
pub fn says(cassette: &str, line: &str) {
    let found = cassette.lines().any(|l| l.trim_start().trim_start_matches("- ") == line);
    assert!(found, "no line {line:?} in\n{cassette}");
}

pub const CASSETTE: &str = "cassettes/wire.yaml";
