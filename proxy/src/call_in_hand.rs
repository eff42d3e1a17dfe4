//! A call from its request to its end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use exchange::{Call, Fault, Outcome, Provenance, Url};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::session::{FaultReport, MissReport, Session, Why};

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
    /// `None` for a session that is over.
    pub(crate) fn new(session: Arc<Session>, method: &str, url: Url) -> Option<Self> {
        let open = session.open_call()?;
        Some(Self {
            seq: session.next_call(),
            at: session.elapsed(),
            began: Instant::now(),
            method: method.to_owned(),
            url,
            answer: (Provenance::Miss, None, Outcome::Fault(Fault::Stalled)),
            _open: open,
            session,
        })
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

    fn shown_url(&self) -> String {
        self.session.shown_url(self.url.clone())
    }
}

impl Drop for CallInHand {
    fn drop(&mut self) {
        let (provenance, exchange, outcome) = self.answer;
        let call = self.session.is_observed().then(|| Call {
            seq: self.seq,
            at: self.at,
            took: self.began.elapsed(),
            provenance,
            exchange,
            method: std::mem::take(&mut self.method),
            url: self.shown_url(),
            outcome,
        });
        self.session.note_ended(provenance, call);
    }
}
