//! The calls of a session in memory, for whoever asks later or waits for the next one.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use exchange::Call;
use tokio::sync::watch;

/// The latest calls, in the order in which they ended. Those that do not fit any more are counted and forgotten.
#[derive(Debug)]
pub(crate) struct CallLog {
    kept: Mutex<Kept>,
    /// How many calls were ever added: a change wakes whoever waits.
    added: watch::Sender<u64>,
}

/// The calls after some number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Since {
    /// By their numbers.
    pub(crate) calls: Vec<Call>,
    /// Calls that were asked for too, and are forgotten.
    pub(crate) dropped: u32,
}

#[derive(Debug, Default)]
struct Kept {
    calls: VecDeque<Call>,
    bytes: usize,
    /// The numbers of forgotten calls are not kept, only how many there were and the highest of them.
    dropped: u32,
    highest_dropped: u32,
}

impl Default for CallLog {
    fn default() -> Self {
        Self { kept: Mutex::default(), added: watch::Sender::new(0) }
    }
}

impl CallLog {
    pub(crate) fn add(&self, call: Call) {
        let mut kept = self.kept();
        kept.bytes += size(&call);
        kept.calls.push_back(call);
        while kept.calls.len() > MOST_CALLS || (kept.bytes > MOST_BYTES && kept.calls.len() > 1) {
            let Some(oldest) = kept.calls.pop_front() else { break };
            kept.bytes -= size(&oldest);
            kept.dropped += 1;
            kept.highest_dropped = kept.highest_dropped.max(oldest.seq);
        }
        drop(kept);
        self.added.send_modify(|added| *added += 1);
    }

    pub(crate) fn since(&self, seq: u32) -> Since {
        let kept = self.kept();
        let mut calls: Vec<Call> = kept.calls.iter().filter(|call| call.seq > seq).cloned().collect();
        calls.sort_by_key(|call| call.seq);
        // At most: calls that ended out of order may have been dropped on either side of `seq`.
        let dropped = kept.dropped.min(kept.highest_dropped.saturating_sub(seq));
        Since { calls, dropped }
    }

    /// The first call that `fits`, among those that have ended or as soon as one does.
    pub(crate) async fn first(&self, fits: impl Fn(&Call) -> bool) -> Call {
        let mut added = self.added.subscribe();
        let mut looked_at = 0;
        loop {
            let now = *added.borrow_and_update();
            {
                let kept = self.kept();
                let new = usize::try_from(now - looked_at).unwrap_or(usize::MAX).min(kept.calls.len());
                // One that is added in this moment is looked at now and once more: no harm in that.
                let from = if looked_at == 0 { 0 } else { kept.calls.len() - new };
                if let Some(call) = kept.calls.range(from..).find(|call| fits(call)) {
                    return call.clone();
                }
            }
            looked_at = now;
            if added.changed().await.is_err() {
                // The sender is a field of the log that we hold on to.
                std::future::pending::<()>().await;
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic elsewhere does not make the list wrong: it is changed in one step.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size(call: &Call) -> usize {
    call.method.len() + call.url.len()
}

const MOST_CALLS: usize = 10_000;
/// Of methods and URLs, which a client may make as long as it likes.
const MOST_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use exchange::{Outcome, Provenance};

    use super::*;

    fn call(seq: u32) -> Call {
        Call {
            seq,
            at: Duration::ZERO,
            took: Duration::ZERO,
            provenance: Provenance::Live,
            exchange: None,
            method: "GET".into(),
            url: "https://api.test/".into(),
            outcome: Outcome::Status(200),
        }
    }

    fn numbers(since: &Since) -> Vec<u32> {
        since.calls.iter().map(|call| call.seq).collect()
    }

    #[test]
    fn calls_are_given_by_number_however_they_ended() {
        let log = CallLog::default();
        for seq in [2, 1, 3] {
            log.add(call(seq));
        }
        assert_eq!(numbers(&log.since(0)), [1, 2, 3]);
        assert_eq!(numbers(&log.since(2)), [3]);
    }

    #[test]
    fn what_does_not_fit_is_forgotten_and_counted() {
        let log = CallLog::default();
        let all = u32::try_from(MOST_CALLS).unwrap() + 5;
        for seq in 1..=all {
            log.add(call(seq));
        }
        let since = log.since(0);
        assert_eq!((since.calls[0].seq, since.calls.len(), since.dropped), (6, MOST_CALLS, 5));
        assert_eq!(log.since(3).dropped, 2);
        assert_eq!(log.since(5).dropped, 0);
    }

    #[test]
    fn long_urls_do_not_fill_the_memory() {
        let log = CallLog::default();
        for seq in 1..=4 {
            log.add(Call { url: "u".repeat(MOST_BYTES / 2), ..call(seq) });
        }
        assert_eq!((numbers(&log.since(0)), log.since(0).dropped), (vec![4], 3));
    }

    #[tokio::test]
    async fn a_call_is_waited_for_and_found_when_it_comes() {
        let log = std::sync::Arc::new(CallLog::default());
        log.add(call(1));
        assert_eq!(log.first(|call| call.seq == 1).await.seq, 1);
        let waiting = tokio::spawn({
            let log = std::sync::Arc::clone(&log);
            async move { log.first(|call| call.seq == 3).await.seq }
        });
        log.add(call(2));
        tokio::task::yield_now().await;
        log.add(call(3));
        assert_eq!(waiting.await.unwrap(), 3);
    }
}
