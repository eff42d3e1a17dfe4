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
    Decision, Delivery, Index, Miss, Player, Scrubbed, Scrubber, Ticket,
    store::{Journal, StoreError},
};
use exchange::{Body, Call, Content, End, Exchange, Fault, Outcome, Provenance, Request, Url};
use matchers::Difference;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

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
    /// Request headers that count when requests are compared, and so are kept.
    pub compared: Vec<String>,
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
    index: Option<Arc<Index>>,
    compared: Vec<String>,
    /// Knows the secrets of the whole run, so that each keeps its name.
    scrubber: Mutex<Scrubber>,
    /// `None` when nothing is recorded, or no longer.
    journal: Mutex<Option<Journal>>,
    notes: Mutex<Notes>,
    observer: Option<Observer>,
    tasks: TaskTracker,
    /// Told when the session ends, to whoever would go on for ever.
    ending: CancellationToken,
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
        Self {
            mode: config.mode,
            hosts: config.hosts,
            max_body: config.max_body,
            started: Instant::now(),
            calls: AtomicU32::new(0),
            index: config.player.as_ref().map(|player| Arc::clone(player.index())),
            player: config.player.map(Mutex::new),
            scrubber: Mutex::new(Scrubber::keeping(&config.compared)),
            compared: config.compared,
            journal: Mutex::new(config.journal),
            notes: Mutex::default(),
            observer: config.observer,
            tasks: TaskTracker::new(),
            ending: CancellationToken::new(),
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

    /// Tells conversations to end, and waits until every call has, for so long at the most.
    pub async fn drain(&self, limit: Duration) {
        self.ending.cancel();
        self.open.close();
        if tokio::time::timeout(limit, self.open.wait()).await.is_err() {
            let count = self.open.len();
            self.warn(format!("{count} calls did not end and are not accounted for"));
        }
    }

    pub(crate) fn ending(&self) -> &CancellationToken {
        &self.ending
    }

    /// Ends recording and gives the journal back.
    pub fn take_journal(&self) -> Option<Journal> {
        lock(&self.journal).take()
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
        let live = self.index.as_ref()?.read(request);
        self.player.as_ref().map(|player| lock(player).choose(call, request, &live))
    }

    pub(crate) fn policy(&self) -> matchers::Policy {
        self.index.as_ref().map(|index| index.policy().clone()).unwrap_or_default()
    }

    pub(crate) fn settle_ticket(&self, ticket: Ticket, delivery: Delivery) {
        if let Some(player) = &self.player {
            lock(player).settle(ticket, delivery);
        }
        if delivery == Delivery::Whole {
            lock(&self.notes).played += 1;
        }
    }

    /// For a live request that is only compared: it needs no stable numbers.
    pub(crate) fn scrubber(&self) -> Scrubber {
        Scrubber::keeping(&self.compared)
    }

    /// Scrubs an exchange and writes it to the journal. When this returns, killing the process loses it no more.
    pub(crate) fn keep(&self, call: u32, exchange: Exchange) -> Result<(), StoreError> {
        let scrubbed = lock(&self.scrubber).exchange(exchange);
        self.note_omissions(call, &scrubbed);
        if !self.is_worth_keeping(call, &scrubbed) {
            return Ok(());
        }
        // Formatted before anybody has to wait for the journal.
        let entry = Journal::entry(&scrubbed);
        let Some(kept) = lock(&self.journal).as_mut().map(|j| j.append_entry(u64::from(call), &entry)) else {
            return Ok(());
        };
        let mut notes = lock(&self.notes);
        match &kept {
            Ok(()) => notes.recorded += 1,
            Err(error) => notes.broken = Some(error.to_string()),
        }
        kept
    }

    /// What broke off is a recording like any other when somebody records. Where only what is missing is filled in,
    /// it would stand in the way of the real answer from then on.
    fn is_worth_keeping(&self, call: u32, exchange: &Scrubbed<Exchange>) -> bool {
        let what = format!("call {call}: {} {}", exchange.request.method, exchange.request.url);
        let end = exchange.reply.response().map(|r| r.end);
        if end == Some(End::ClientLeft) && exchange.reply.status() != Some(101) {
            self.warn(format!(
                "{what}: the program left before the reply was whole, and the recording ends there"
            ));
        }
        let is_whole = end == Some(End::Whole) || exchange.reply.status() == Some(101);
        if self.mode == Mode::Auto && !is_whole {
            self.warn(format!("{what} broke off and is not kept"));
        }
        self.mode != Mode::Auto || is_whole
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
    seq: u32,
    at: Duration,
    began: Instant,
    method: String,
    url: Url,
    answer: (Provenance, Option<u32>, Outcome),
    _open: TaskTrackerToken,
}

impl CallInHand {
    pub(crate) fn new(session: Arc<Session>, method: &str, url: Url) -> Self {
        Self {
            seq: session.next_call(),
            at: session.elapsed(),
            began: Instant::now(),
            method: method.to_owned(),
            url,
            answer: (Provenance::Miss, None, Outcome::Fault(Fault::Stalled)),
            _open: session.open.token(),
            session,
        }
    }

    pub(crate) fn seq(&self) -> u32 {
        self.seq
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn at(&self) -> Duration {
        self.at
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn answered(&mut self, provenance: Provenance, exchange: Option<u32>, outcome: Outcome) {
        self.answer = (provenance, exchange, outcome);
    }

    pub(crate) fn missed(&mut self, why: Why) -> MissReport {
        let outcome =
            if why == Why::Denied { Outcome::Denied } else { Outcome::Status(crate::answers::MISS) };
        self.answered(Provenance::Miss, None, outcome);
        let report = MissReport { call: self.seq, method: self.method.clone(), url: self.shown_url(), why };
        self.session.report_miss(report.clone());
        report
    }

    pub(crate) fn failed(&mut self, fault: Fault, detail: String) {
        self.answered(Provenance::Live, None, Outcome::Fault(fault));
        let (method, url) = (self.method.clone(), self.shown_url());
        self.session.report_fault(FaultReport { call: self.seq, method, url, fault, detail });
    }

    /// A fresh scrubber: a line that a person reads needs no stable numbers.
    fn shown_url(&self) -> String {
        Scrubber::new().url(self.url.clone()).to_string()
    }
}

impl Drop for CallInHand {
    fn drop(&mut self) {
        let (provenance, exchange, outcome) = self.answer;
        if provenance == Provenance::Live {
            lock(&self.session.notes).live += 1;
        }
        if let Some(Observer(observe)) = &self.session.observer {
            observe(&Call {
                seq: self.seq,
                at: self.at,
                took: self.began.elapsed(),
                provenance,
                exchange,
                method: std::mem::take(&mut self.method),
                url: self.shown_url(),
                outcome,
            });
        }
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
