//! The words at the end of a run.

use std::{path::Path, time::Duration};

use cassettes::{Miss, store::Saved};
use exchange::Fault;
use proxy::{FaultReport, MissReport, Mode, Summary, Why, explain};

use crate::{
    cassette_file::Kept,
    run::Leftovers,
    style::{self, Paint, To, shown, tame},
};

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) mode: Mode,
    pub(crate) cassette: &'a Path,
    pub(crate) summary: &'a Summary,
    pub(crate) kept: Option<Kept>,
    pub(crate) took: Duration,
    pub(crate) leftovers: Leftovers,
}

impl Report<'_> {
    pub(crate) fn is_failure(&self) -> bool {
        self.summary.missed > 0
            || self.summary.broken.is_some()
            || self.summary.unkept > 0
            || (self.leftovers == Leftovers::Reject && !self.summary.unplayed.is_empty())
    }

    pub(crate) fn print(&self) {
        eprint!("{}", self.text());
    }

    fn text(&self) -> String {
        let mut text = String::new();
        text += &faults(&self.summary.faults);
        for warning in &self.summary.warnings {
            text += &format!("{}{}\n", style::warning(), tame(warning));
        }
        for miss in &self.summary.misses {
            text += &format!("{}{}\n", style::error(), tame(&explain(miss)));
        }
        let hidden =
            self.summary.missed as usize - self.summary.misses.len().min(self.summary.missed as usize);
        if hidden > 0 {
            text += &format!("{}and {hidden} more calls like these\n", style::error());
        }
        if self.summary.missed > 0 && self.mode == Mode::Replay {
            text += &format!("{}{}\n", style::help(), self.help_for_misses());
        }
        for reason in &self.summary.unscrubbed {
            text += &format!("{}{}\n", style::error(), tame(reason));
        }
        let hidden = (self.summary.unkept as usize).saturating_sub(self.summary.unscrubbed.len());
        if hidden > 0 {
            text += &format!("{}and {hidden} more calls are not kept for such a reason\n", style::error());
        }
        if let Some(reason) = &self.summary.broken {
            text += &format!("{}recording stopped: {}\n", style::error(), tame(reason));
            text += &format!(
                "{}{} stays as it was; make room, and the next run takes in what was recorded until then\n",
                style::help(),
                shown(self.cassette)
            );
        }
        text += &self.last_line();
        if self.summary.calls == 0 && self.mode == Mode::Record {
            text += &format!(
                "{}traffic to this machine itself needs --loopback, a client that takes no proxy needs --reverse\n",
                style::help()
            );
        }
        text
    }

    fn help_for_misses(&self) -> &'static str {
        let exhausted = |miss: &MissReport| matches!(miss.why, Why::Miss(Miss::Exhausted(_)));
        if self.summary.misses.iter().all(exhausted) {
            "record again, or let the last answer stand for every further call with `match: on_repeat: last` in \
             wiretape.yaml"
        } else {
            "record what is missing with `wiretape auto`, or name a field that may differ under `match: volatile:` in \
             wiretape.yaml"
        }
    }

    fn last_line(&self) -> String {
        let good = !self.is_failure();
        let mark = if good {
            To::Stderr.paint(Paint::Green, "wiretape")
        } else {
            To::Stderr.paint(Paint::Red, "wiretape")
        };
        let summary = self.summary;
        let cassette = shown(self.cassette);
        let what = match self.mode {
            Mode::Record => recorded(self.kept, &cassette),
            Mode::Replay => format!(
                "replayed {} from {cassette}: {}, {}, {} unplayed",
                count(summary.played as usize, "call"),
                count(summary.exchanges, "exchange"),
                misses(summary.missed),
                summary.unplayed.len(),
            ),
            Mode::Auto => format!(
                "replayed {} and {}",
                count(summary.played as usize, "call"),
                recorded(self.kept, &cassette)
            ),
            Mode::Passthrough => format!("passed {} through", count(summary.live as usize, "call")),
        };
        let mut line =
            format!("{mark} {what} {}\n", To::Stderr.paint(Paint::Dim, format!("({})", seconds(self.took))));
        if !summary.unplayed.is_empty() && self.mode == Mode::Replay && summary.missed == 0 {
            let ids: Vec<String> = summary.unplayed.iter().take(10).map(u32::to_string).collect();
            let more = if summary.unplayed.len() > 10 { ", …" } else { "" };
            let unplayed = format!("unplayed: {}{more}", ids.join(", "));
            line += &match self.leftovers {
                Leftovers::Reject => format!("{}{unplayed}\n", style::error()),
                Leftovers::Allow => format!("         {}\n", To::Stderr.paint(Paint::Dim, unplayed)),
            };
        }
        line
    }
}

/// `1 call`, `2 calls`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A duration in as few digits as say something.
pub(crate) fn seconds(duration: Duration) -> String {
    match duration.as_millis() {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        ms => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// A client that retries fails in the same way several times: that is told once.
fn faults(reports: &[FaultReport]) -> String {
    let mut text = String::new();
    let same =
        |a: &FaultReport, b: &FaultReport| (&a.method, &a.url, a.fault) == (&b.method, &b.url, b.fault);
    for (i, report) in reports.iter().enumerate() {
        if reports[..i].iter().any(|earlier| same(earlier, report)) {
            continue;
        }
        let more = reports[i + 1..].iter().filter(|later| same(later, report)).count();
        let times = if more > 0 { format!(" (and {more} more times)") } else { String::new() };
        text += &format!(
            "{}call {}: {} {}: upstream {}, {}{times}\n",
            style::warning(),
            report.call,
            tame(&report.method),
            tame(&report.url),
            report.fault,
            tame(&report.detail)
        );
    }
    if reports.iter().any(|report| report.fault == Fault::Tls) {
        text += &format!(
            "{}name the CA of an upstream that is not public with --upstream-ca FILE\n",
            style::help()
        );
    }
    text
}

fn misses(number: u32) -> String {
    match number {
        1 => "1 miss".to_owned(),
        number => format!("{number} misses"),
    }
}

fn recorded(kept: Option<Kept>, cassette: &str) -> String {
    let Some(kept) = kept else {
        return format!("recorded nothing in {cassette}");
    };
    let mut text = format!("recorded {} in {cassette}", count(kept.recorded, "exchange"));
    if kept.recorded == 0 {
        return if kept.total > 0 {
            format!("recorded nothing; {cassette} stays as it was")
        } else {
            "recorded nothing: no traffic came through".to_owned()
        };
    }
    if kept.saved == Saved::Unchanged {
        text += ", all as before";
    } else if kept.unchanged > 0 {
        text += &format!(", {} as before", kept.unchanged);
    }
    if kept.total != kept.recorded {
        text += &format!(", {} in all", kept.total);
    }
    text
}
