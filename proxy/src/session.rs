//! A session: one way through a cassette, and the record of what happened on it.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use cassettes::{
    Miss, Player, Scrubbed, Scrubber,
    store::{Entry, Journal, StoreError},
};
use exchange::{Body, Call, Content, End, Exchange, Fault, Provenance, Url};
use matchers::Difference;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::{
    call_log::CallLog,
    deck::{Deck, Unplayed},
    hosts::HostRules,
};

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

impl Mode {
    pub const ALL: [Self; 4] = [Self::Record, Self::Replay, Self::Auto, Self::Passthrough];

    /// As a person types it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Replay => "replay",
            Self::Auto => "auto",
            Self::Passthrough => "passthrough",
        }
    }
}

/// What a session is made of.
#[derive(Debug)]
pub struct SessionConfig {
    pub mode: Mode,
    /// What is played or recorded, to be told to whoever asks.
    pub cassette: Option<PathBuf>,
    pub player: Option<Player>,
    pub journal: Option<Journal>,
    pub hosts: HostRules,
    /// Knows what the environment holds, and which headers are kept.
    pub scrubber: Scrubber,
    /// Bodies above this are passed on but not kept.
    pub max_body: usize,
    pub observer: Option<Observer>,
    pub log: KeepCalls,
}

/// Whether calls are kept in memory for whoever asks about them later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepCalls {
    Latest,
    None,
}

/// Is told of every call as it ends.
pub struct Observer(pub Box<dyn Fn(&Call) + Send + Sync>);

pub struct Session {
    mode: Mode,
    hosts: HostRules,
    max_body: usize,
    started: Instant,
    calls: AtomicU32,
    deck: Option<RwLock<Arc<Deck>>>,
    cassette: Mutex<Option<PathBuf>>,
    /// Knows the secrets of the whole run, so that each keeps its name.
    scrubber: Mutex<Scrubber>,
    /// `None` when nothing is recorded, or no longer.
    journal: Mutex<Option<Journal>>,
    /// How many secrets were known when the journal was last written.
    written_with: Mutex<usize>,
    notes: Mutex<Notes>,
    observer: Option<Observer>,
    log: Option<CallLog>,
    tasks: TaskTracker,
    /// No call begins any more.
    over: AtomicBool,
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
    /// Exchanges that could not be looked into and so are not kept.
    pub unkept: u32,
    /// The first of them, and why.
    pub unscrubbed: Vec<String>,
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
    unkept: u32,
    unscrubbed: Vec<String>,
}

impl Session {
    pub fn new(config: SessionConfig) -> Self {
        let known = config.scrubber.known();
        Self {
            mode: config.mode,
            hosts: config.hosts,
            max_body: config.max_body,
            started: Instant::now(),
            calls: AtomicU32::new(0),
            deck: config.player.map(|player| RwLock::new(Arc::new(Deck::new(player, &config.scrubber)))),
            cassette: Mutex::new(config.cassette),
            scrubber: Mutex::new(config.scrubber),
            journal: Mutex::new(config.journal),
            written_with: Mutex::new(known),
            notes: Mutex::default(),
            observer: config.observer,
            log: (config.log == KeepCalls::Latest).then(CallLog::default),
            tasks: TaskTracker::new(),
            over: AtomicBool::new(false),
            ending: CancellationToken::new(),
            open: TaskTracker::new(),
        }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn summary(&self) -> Summary {
        let notes = lock(&self.notes);
        let deck = self.deck();
        Summary {
            calls: self.calls.load(Ordering::Acquire),
            played: notes.played,
            recorded: notes.recorded,
            live: notes.live,
            missed: notes.missed,
            misses: notes.misses.iter().cloned().map(|miss| self.knowing_more(miss)).collect(),
            faults: notes.faults.clone(),
            warnings: notes.warnings.clone(),
            unplayed: deck.as_ref().map(|deck| deck.unplayed()).unwrap_or_default(),
            exchanges: deck.as_ref().map_or(0, |deck| deck.exchanges()),
            broken: notes.broken.clone(),
            unkept: notes.unkept,
            unscrubbed: notes.unscrubbed.clone(),
        }
    }

    /// A report without the secrets that were not yet known to be some when it was made.
    fn knowing_more(&self, mut report: MissReport) -> MissReport {
        let Some(deck) = self.deck() else { return report };
        report.url = deck.scrubbed_words(&report.url);
        let differences: Vec<&mut Difference> = match &mut report.why {
            Why::Miss(Miss::Unknown(near)) => near.iter_mut().flat_map(|n| &mut n.differences).collect(),
            Why::Message { differences, .. } => differences.iter_mut().collect(),
            Why::Miss(_) | Why::Denied => Vec::new(),
        };
        for words in differences.into_iter().flat_map(|d| [&mut d.expected, &mut d.actual]).flatten() {
            *words = deck.scrubbed_words(words);
        }
        report
    }

    /// The cassette that is played or recorded.
    pub fn cassette(&self) -> Option<PathBuf> {
        lock(&self.cassette).clone()
    }

    /// Exchanges that no call got whole, with what they ask for.
    pub fn unplayed(&self) -> Vec<Unplayed> {
        self.deck().map(|deck| deck.unplayed_requests()).unwrap_or_default()
    }

    /// Plays another cassette from now on, from its start. Replies that are on their way come to their end.
    pub(crate) fn play(&self, player: Player, cassette: &Path) {
        if let Some(deck) = &self.deck {
            let new = Arc::new(Deck::new(player, &lock(&self.scrubber)));
            *deck.write().unwrap_or_else(PoisonError::into_inner) = new;
            *lock(&self.cassette) = Some(cassette.to_owned());
        }
    }

    /// Waits until no call is in hand, for so long at the most: a client that has its answer may ask about it before we
    /// have noted that it has.
    pub(crate) async fn quiet(&self, limit: Duration) {
        self.open.close();
        let _ = tokio::time::timeout(limit, self.open.wait()).await;
    }

    /// Lets no further call begin.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::SeqCst);
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

    /// A place among the calls that the session's end waits for, unless that has come.
    pub(crate) fn open_call(&self) -> Option<TaskTrackerToken> {
        // Taken before asking: an end that we did not see waits for us.
        let token = self.open.token();
        (!self.over.load(Ordering::SeqCst)).then_some(token)
    }

    /// What is being played.
    pub(crate) fn deck(&self) -> Option<Arc<Deck>> {
        self.deck.as_ref().map(|deck| Arc::clone(&deck.read().unwrap_or_else(PoisonError::into_inner)))
    }

    pub(crate) fn log(&self) -> Option<&CallLog> {
        self.log.as_ref()
    }

    pub(crate) fn note_played(&self) {
        lock(&self.notes).played += 1;
    }

    /// Whether anybody wants to know of a call that has ended.
    pub(crate) fn is_observed(&self) -> bool {
        self.observer.is_some() || self.log.is_some()
    }

    pub(crate) fn note_ended(&self, provenance: Provenance, call: Option<Call>) {
        if provenance == Provenance::Live {
            lock(&self.notes).live += 1;
        }
        let Some(call) = call else { return };
        if let Some(Observer(observe)) = &self.observer {
            observe(&call);
        }
        if let Some(log) = &self.log {
            log.add(call);
        }
    }

    /// Scrubs an exchange and writes it to the journal. When this returns, killing the process loses it no more.
    pub(crate) fn keep(&self, call: u32, exchange: Exchange) -> Result<(), StoreError> {
        let named = (exchange.request.method.clone(), exchange.request.url.clone());
        let (scrubbed, known) = {
            let mut scrubber = lock(&self.scrubber);
            (scrubber.exchange(exchange), scrubber.known())
        };
        let scrubbed = match scrubbed {
            Ok(scrubbed) => scrubbed,
            Err(reason) => {
                let (method, url) = named;
                let what = format!("call {call}: {method} {}", self.shown_url(url));
                let mut notes = lock(&self.notes);
                notes.unkept += 1;
                if notes.unscrubbed.len() < MOST_REPORTS {
                    notes.unscrubbed.push(format!("{what} is not kept: {reason}"));
                }
                return Ok(());
            }
        };
        self.note_omissions(call, &scrubbed);
        if !self.is_worth_keeping(call, &scrubbed) {
            return Ok(());
        }
        // Formatted before anybody has to wait for the journal.
        let entry = Journal::entry(&scrubbed);
        let Some(kept) = self.append(call, scrubbed, entry, known) else {
            return Ok(());
        };
        let mut notes = lock(&self.notes);
        match &kept {
            Ok(()) => notes.recorded += 1,
            Err(error) => notes.broken = Some(error.to_string()),
        }
        kept
    }

    /// Writes an entry that was scrubbed when `known` secrets were known. Whoever learned another one since must find it
    /// gone from all that is written, this one included.
    fn append(
        &self,
        call: u32,
        exchange: Scrubbed<Exchange>,
        entry: Entry,
        known: usize,
    ) -> Option<Result<(), StoreError>> {
        let mut scrubber = lock(&self.scrubber);
        let entry = match scrubber.known() > known && scrubber.holds_newer(known, entry.text().as_bytes()) {
            true => Journal::entry(&scrubber.again(exchange, known)),
            false => entry,
        };
        let mut journal = lock(&self.journal);
        let journal = journal.as_mut()?;
        let written = std::mem::replace(&mut *lock(&self.written_with), scrubber.known());
        if scrubber.known() > written {
            // What is in the journal already was scrubbed by somebody who knew less.
            let knowing = scrubber.clone();
            let holds = |text: &[u8]| knowing.holds_newer(written, text);
            if let Err(error) = journal.rewrite(&holds, &mut |e| scrubber.again(e, written)) {
                return Some(Err(error));
            }
        }
        let noted = journal.note_variables(scrubber.variables_met());
        Some(noted.and_then(|()| journal.append_entry(u64::from(call), &entry)))
    }

    /// A URL in words for a person.
    pub(crate) fn shown_url(&self, url: Url) -> String {
        let mut scrubber = lock(&self.scrubber).clone();
        scrubber.url(url).to_string()
    }

    /// Ends recording and gives back what is known of the run's secrets.
    pub fn take_scrubber(&self) -> Scrubber {
        std::mem::take(&mut *lock(&self.scrubber))
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere does not make these values wrong: each is changed in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const MOST_REPORTS: usize = 100;

#[cfg(test)]
mod tests {
    use exchange::{Header, Reply, Request};

    use super::*;

    #[test]
    fn what_cannot_be_kept_is_counted_to_the_end_and_told_up_to_a_limit() {
        let session = Session::new(SessionConfig {
            mode: Mode::Record,
            cassette: None,
            player: None,
            journal: None,
            hosts: HostRules::default(),
            scrubber: Scrubber::new(),
            max_body: 1 << 20,
            observer: None,
            log: KeepCalls::None,
        });
        let sealed = Exchange {
            id: 1,
            at: Duration::ZERO,
            request: Request {
                method: "POST".to_owned(),
                url: Url::parse("https://a.test/").unwrap(),
                headers: [Header::new("content-encoding", "br").unwrap()].into_iter().collect(),
                body: Body::from_bytes(vec![0xff; 64]),
                trailers: exchange::Headers::default(),
            },
            reply: Reply::Fault { fault: Fault::Refused, after: Duration::ZERO },
        };
        let calls = MOST_REPORTS + 20;
        (0..calls).for_each(|_| session.keep(1, sealed.clone()).unwrap());
        let summary = session.summary();
        assert_eq!((summary.unkept as usize, summary.unscrubbed.len()), (calls, MOST_REPORTS));
    }
}
