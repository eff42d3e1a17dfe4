//! A session: one way through a cassette, and the record of what happened on it.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use cassettes::{
    Decision, Delivery, Miss, Player, Scrubbed, Scrubber, Ticket,
    store::{Journal, StoreError},
};
use exchange::{Body, Call, Content, Exchange, Fault, Outcome, Provenance, Request, Url};
use matchers::Difference;
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use crate::hosts::HostRules;

/// What a session does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Forward and keep.
    Record,
    /// Answer from the cassette; nothing leaves.
    Replay,
    /// Answer from the cassette what it knows, forward and keep the rest.
    Auto,
    /// Forward only.
    Passthrough,
}

/// What a session is made of.
#[derive(Debug)]
pub struct SessionConfig {
    pub mode: Mode,
    pub player: Option<Player>,
    pub journal: Option<Journal>,
    pub hosts: HostRules,
    /// Bodies above this are passed on but not kept.
    pub max_body: usize,
    pub observer: Option<Observer>,
}

/// Is told of every call as it ends.
pub struct Observer(pub Box<dyn Fn(&Call) + Send + Sync>);

pub struct Session {
    mode: Mode,
    hosts: HostRules,
    max_body: usize,
    started: Instant,
    calls: AtomicU32,
    player: Option<Mutex<Player>>,
    /// `None` when nothing is recorded, or no longer.
    recorder: Mutex<Option<Recorder>>,
    notes: Mutex<Notes>,
    observer: Option<Observer>,
    tasks: TaskTracker,
    /// Calls that have not ended.
    open: TaskTracker,
}

/// A request that was not answered from the cassette, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissReport {
    pub call: u32,
    pub method: String,
    pub url: String,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    Miss(Miss),
    /// A WebSocket client said something else than the recorded one.
    Message {
        exchange: u32,
        differences: Vec<Difference>,
    },
    /// The configuration denies this host.
    Denied,
}

/// An upstream that failed below HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultReport {
    pub call: u32,
    pub method: String,
    pub url: String,
    pub fault: Fault,
    pub detail: String,
}

/// What a session came to.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    pub calls: u32,
    pub played: u32,
    pub recorded: u32,
    pub live: u32,
    pub missed: u32,
    /// The first of the misses; a runaway client does not fill the memory.
    pub misses: Vec<MissReport>,
    pub faults: Vec<FaultReport>,
    pub warnings: Vec<String>,
    pub unplayed: Vec<u32>,
    pub exchanges: usize,
    /// Why recording stopped, if it did.
    pub broken: Option<String>,
}

#[derive(Debug)]
struct Recorder {
    scrubber: Scrubber,
    journal: Journal,
}

#[derive(Debug, Default)]
struct Notes {
    played: u32,
    recorded: u32,
    live: u32,
    missed: u32,
    misses: Vec<MissReport>,
    faults: Vec<FaultReport>,
    warnings: Vec<String>,
    broken: Option<String>,
}

impl Session {
    pub fn new(config: SessionConfig) -> Self {
        let recorder = config.journal.map(|journal| Recorder { scrubber: Scrubber::new(), journal });
        Self {
            mode: config.mode,
            hosts: config.hosts,
            max_body: config.max_body,
            started: Instant::now(),
            calls: AtomicU32::new(0),
            player: config.player.map(Mutex::new),
            recorder: Mutex::new(recorder),
            notes: Mutex::default(),
            observer: config.observer,
            tasks: TaskTracker::new(),
            open: TaskTracker::new(),
        }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn summary(&self) -> Summary {
        let notes = lock(&self.notes);
        let player = self.player.as_ref().map(lock);
        Summary {
            calls: self.calls.load(Ordering::Acquire),
            played: notes.played,
            recorded: notes.recorded,
            live: notes.live,
            missed: notes.missed,
            misses: notes.misses.clone(),
            faults: notes.faults.clone(),
            warnings: notes.warnings.clone(),
            unplayed: player.as_ref().map(|p| p.unplayed()).unwrap_or_default(),
            exchanges: player.as_ref().map_or(0, |p| p.exchanges()),
            broken: notes.broken.clone(),
        }
    }

    /// Waits until replies that are still being recorded have come to an end, for so long at the most.
    pub async fn settle(&self, limit: Duration) {
        self.tasks.close();
        let _ = tokio::time::timeout(limit, self.tasks.wait()).await;
    }

    /// Waits until every call has ended, for so long at the most.
    pub async fn drain(&self, limit: Duration) {
        self.open.close();
        let _ = tokio::time::timeout(limit, self.open.wait()).await;
    }

    /// Ends recording and gives the journal back.
    pub fn take_journal(&self) -> Option<Journal> {
        lock(&self.recorder).take().map(|recorder| recorder.journal)
    }

    pub(crate) fn hosts(&self) -> &HostRules {
        &self.hosts
    }

    pub(crate) fn max_body(&self) -> usize {
        self.max_body
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn next_call(&self) -> u32 {
        self.calls.fetch_add(1, Ordering::AcqRel) + 1
    }

    pub(crate) fn decide(&self, call: u32, request: &Scrubbed<Request>) -> Option<Decision> {
        self.player.as_ref().map(|player| lock(player).decide(call, request))
    }

    pub(crate) fn policy(&self) -> matchers::Policy {
        self.player.as_ref().map(|player| lock(player).policy().clone()).unwrap_or_default()
    }

    pub(crate) fn settle_ticket(&self, ticket: Ticket, delivery: Delivery) {
        if let Some(player) = &self.player {
            lock(player).settle(ticket, delivery);
        }
    }

    /// Scrubs an exchange and writes it to the journal. When this returns, killing the process loses it no more.
    pub(crate) fn keep(&self, call: u32, exchange: Exchange) -> Result<(), StoreError> {
        let mut recorder = lock(&self.recorder);
        let Some(Recorder { scrubber, journal }) = &mut *recorder else { return Ok(()) };
        let scrubbed = scrubber.exchange(exchange);
        self.note_omissions(call, &scrubbed);
        let kept = journal.append(u64::from(call), &scrubbed);
        let mut notes = lock(&self.notes);
        match &kept {
            Ok(()) => notes.recorded += 1,
            Err(error) => notes.broken = Some(error.to_string()),
        }
        kept
    }

    fn note_omissions(&self, call: u32, exchange: &Scrubbed<Exchange>) {
        let of = |what: &str, body: &Body| match body.content {
            Content::Omitted { size, .. } => Some(format!(
                "call {call}: the {what} of {} {} has {size} bytes, more than are kept; only its hash is on the cassette",
                exchange.request.method, exchange.request.url
            )),
            Content::Bytes(_) => None,
        };
        let reply = exchange.reply.response().and_then(|r| of("reply", &r.body));
        for warning in [of("request", &exchange.request.body), reply].into_iter().flatten() {
            self.warn(warning);
        }
    }

    /// Something that a person should know at the end of the run. Must hold no traffic that was not scrubbed.
    pub(crate) fn warn(&self, warning: String) {
        let mut notes = lock(&self.notes);
        if notes.warnings.len() < MOST_REPORTS {
            notes.warnings.push(warning);
        }
    }

    /// Why nothing more can be recorded, if so.
    pub(crate) fn broken(&self) -> Option<String> {
        lock(&self.notes).broken.clone()
    }

    pub(crate) fn report_miss(&self, report: MissReport) {
        let mut notes = lock(&self.notes);
        notes.missed += 1;
        if notes.misses.len() < MOST_REPORTS {
            notes.misses.push(report);
        }
    }

    pub(crate) fn report_fault(&self, report: FaultReport) {
        let mut notes = lock(&self.notes);
        if notes.faults.len() < MOST_REPORTS {
            notes.faults.push(report);
        }
    }

    pub(crate) fn report_call(&self, call: &Call) {
        {
            let mut notes = lock(&self.notes);
            match call.provenance {
                Provenance::Cassette => notes.played += 1,
                Provenance::Live | Provenance::Tunnel => notes.live += 1,
                Provenance::Miss => {}
            }
        }
        if let Some(Observer(observe)) = &self.observer {
            observe(call);
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:?})", self.mode)
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// A call in the making. Told to the session when it ends, however it ends.
pub(crate) struct CallInHand {
    session: Arc<Session>,
    call: Call,
    began: Instant,
    _open: TaskTrackerToken,
}

impl CallInHand {
    pub(crate) fn new(session: Arc<Session>, method: &str, url: Url) -> Self {
        let call = Call {
            seq: session.next_call(),
            at: session.elapsed(),
            took: Duration::ZERO,
            provenance: Provenance::Miss,
            exchange: None,
            method: method.to_owned(),
            // A fresh scrubber: a line that a person reads needs no stable numbers.
            url: Scrubber::new().url(url).to_string(),
            outcome: Outcome::Fault(Fault::Stalled),
        };
        let open = session.open.token();
        Self { session, call, began: Instant::now(), _open: open }
    }

    pub(crate) fn seq(&self) -> u32 {
        self.call.seq
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn at(&self) -> Duration {
        self.call.at
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn answered(&mut self, provenance: Provenance, exchange: Option<u32>, outcome: Outcome) {
        self.call.provenance = provenance;
        self.call.exchange = exchange;
        self.call.outcome = outcome;
    }

    pub(crate) fn missed(&mut self, why: Why) -> MissReport {
        let outcome =
            if why == Why::Denied { Outcome::Denied } else { Outcome::Status(crate::answers::MISS) };
        self.answered(Provenance::Miss, None, outcome);
        let report = MissReport {
            call: self.call.seq,
            method: self.call.method.clone(),
            url: self.call.url.clone(),
            why,
        };
        self.session.report_miss(report.clone());
        report
    }

    pub(crate) fn failed(&mut self, fault: Fault, detail: String) {
        self.answered(Provenance::Live, None, Outcome::Fault(fault));
        self.session.report_fault(FaultReport {
            call: self.call.seq,
            method: self.call.method.clone(),
            url: self.call.url.clone(),
            fault,
            detail,
        });
    }
}

impl Drop for CallInHand {
    fn drop(&mut self) {
        self.call.took = self.began.elapsed();
        self.session.report_call(&self.call);
    }
}

/// A session that forwards needs to know where to.
pub(crate) fn forwards(mode: Mode, hosts: &HostRules) -> bool {
    mode != Mode::Replay || hosts.any_live()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere does not make these values wrong: each is changed in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST_REPORTS: usize = 100;
