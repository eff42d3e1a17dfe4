//! The account of an import: what came in, what was put right, what was redacted, what was left out and why.

use std::{collections::BTreeMap, path::Path, time::Duration};

use cassettes::import::{Format, Repair};
use matchers::Compare;

use super::{
    Account, Outcome,
    plan::{Job, Passed, Why},
};
use crate::{
    exit::Failure,
    style::{self, Paint, To, shown, tame},
    summary::{count, seconds},
};

pub(super) struct Report<'a> {
    pub(super) jobs: &'a [Job],
    pub(super) outcomes: &'a [Outcome],
    /// What was not even read.
    pub(super) passed: &'a [Passed],
    pub(super) output: &'a Path,
    pub(super) took: Duration,
}

impl Report<'_> {
    /// A recording was refused, or there was none at all.
    pub(super) fn is_failure(&self) -> bool {
        self.refused().next().is_some() || self.imported().next().is_none()
    }

    pub(super) fn print(&self, verbose: bool) {
        let most = if verbose { usize::MAX } else { MOST_SHOWN };
        eprint!("{}", self.text(most));
    }

    fn text(&self, most: usize) -> String {
        let mut text = String::new();
        let refused: Vec<&Failure> = self.refused().collect();
        for failure in refused.iter().take(most.max(MOST_REFUSED)) {
            text += &failure.report();
        }
        if refused.len() > most.max(MOST_REFUSED) {
            let more = refused.len() - most.max(MOST_REFUSED);
            let verb = if more == 1 { "was" } else { "were" };
            text += &format!("{}and {} {verb} refused\n", style::error(), count(more, "more file"));
        }
        text += &self.left_out(most);
        text += &self.repaired();
        text += &self.redacted(most);
        text += &self.compared();
        if most == usize::MAX {
            text += &self.named();
        }
        text += &self.last_line(refused.len());
        text
    }

    /// Exchanges that could not be taken, with file and place.
    fn left_out(&self, most: usize) -> String {
        let mut lines = Vec::new();
        for (job, account) in self.imported() {
            for skipped in &account.skipped {
                let place =
                    skipped.position.map_or(String::new(), |at| format!(":{}:{}", at.line, at.column));
                let (file, number) = (shown(job.source(skipped.origin)), skipped.origin.number);
                lines
                    .push(format!("{file}{place}: exchange {number} is left out: {}", tame(&skipped.reason)));
            }
        }
        let mut text = String::new();
        for line in lines.iter().take(most) {
            text += &format!("{}{line}\n", style::warning());
        }
        if lines.len() > most {
            let more = count(lines.len() - most, "more exchange");
            let verb = if lines.len() - most == 1 { "is" } else { "are" };
            text += &format!("{}and {more} {verb} left out; --verbose names them all\n", style::warning());
        }
        text
    }

    fn repaired(&self) -> String {
        let mut repairs: BTreeMap<Repair, usize> = BTreeMap::new();
        for (repair, times) in self.imported().flat_map(|(_, account)| &account.repairs) {
            *repairs.entry(*repair).or_default() += times;
        }
        repairs.iter().map(|(repair, times)| format!("  repaired: {times} {}\n", repair.as_str())).collect()
    }

    /// By kind and place over all files, or each with its file and exchange.
    fn redacted(&self, most: usize) -> String {
        if most == usize::MAX {
            let each = self.imported().flat_map(|(job, account)| {
                account.found.iter().map(move |found| {
                    let (place, origin) = (tame(&found.place), account.origin(found));
                    let (file, number) = (shown(job.source(origin)), origin.number);
                    format!("  redacted: {} in {place}, {file} exchange {number}\n", found.kind)
                })
            });
            return each.collect();
        }
        let mut places: BTreeMap<(&str, &str), (usize, usize)> = BTreeMap::new();
        for (_, account) in self.imported() {
            let mut here: BTreeMap<(&str, &str), usize> = BTreeMap::new();
            for found in &account.found {
                *here.entry((&found.kind, &found.place)).or_default() += 1;
            }
            for (key, times) in here {
                let (total, files) = places.entry(key).or_default();
                *total += times;
                *files += 1;
            }
        }
        let mut lines: Vec<_> = places.into_iter().collect();
        lines.sort_by_key(|(key, (total, _))| (std::cmp::Reverse(*total), *key));
        let mut text = String::new();
        for ((kind, place), (total, files)) in lines.iter().take(most) {
            text += &format!("  redacted: {kind} in {}, {total} in {}\n", tame(place), count(*files, "file"));
        }
        if lines.len() > most {
            let more = count(lines.len() - most, "more place");
            text += &format!("  redacted: in {more}; --verbose names them all\n");
        }
        text
    }

    fn compared(&self) -> String {
        let by_uri = self.imported().filter(|(_, account)| account.compare == Compare::Uri).count();
        if by_uri == 0 {
            return String::new();
        }
        let (what, verb) =
            if by_uri == 1 { ("1 cassette".to_owned(), "says") } else { (count(by_uri, "cassette"), "say") };
        format!(
            "{}{what} {verb} `match: uri`, as the recorder did: bodies are not compared, so a request that says \
             something else still matches; --match full compares them\n",
            style::warning()
        )
    }

    fn last_line(&self, refused: usize) -> String {
        let mut formats: BTreeMap<Format, usize> = BTreeMap::new();
        let mut exchanges = 0;
        for (_, account) in self.imported() {
            *formats.entry(account.format).or_default() += 1;
            exchanges += account.exchanges;
        }
        let files = formats.values().sum();
        let formats: Vec<String> =
            formats.iter().map(|(format, files)| format!("{format} {files}")).collect();
        let formats = if formats.is_empty() { String::new() } else { format!(" ({})", formats.join(", ")) };
        let passed = self.passed_over().count();
        let paint = if self.is_failure() { Paint::Red } else { Paint::Green };
        let mut line = format!(
            "{} imported {}{formats}, {}, into {}",
            To::Stderr.paint(paint, "wiretape"),
            count(files, "recording"),
            count(exchanges, "exchange"),
            shown(self.output),
        );
        if refused > 0 {
            line += &format!("; refused {refused}");
        }
        if passed > 0 {
            line += &format!("; passed over {}", count(passed, "other file"));
        }
        format!("{line} {}\n", To::Stderr.paint(Paint::Dim, format!("({})", seconds(self.took))))
    }

    /// What was passed over, each with its reason.
    fn named(&self) -> String {
        let line = |(path, why): (&Path, Why)| format!("  passed over: {}: {}\n", shown(path), why.as_str());
        self.passed_over().map(line).collect()
    }

    fn passed_over(&self) -> impl Iterator<Item = (&Path, Why)> {
        let read = self.jobs.iter().zip(self.outcomes).filter_map(|(job, outcome)| match outcome {
            Outcome::Passed(why) => Some((job.sources[0].as_path(), *why)),
            _ => None,
        });
        read.chain(self.passed.iter().map(|passed| (passed.path.as_path(), passed.why)))
    }

    fn imported(&self) -> impl Iterator<Item = (&Job, &Account)> {
        self.jobs.iter().zip(self.outcomes).filter_map(|(job, outcome)| match outcome {
            Outcome::Imported(account) => Some((job, account)),
            _ => None,
        })
    }

    fn refused(&self) -> impl Iterator<Item = &Failure> {
        self.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Refused(failure) => Some(failure),
            _ => None,
        })
    }
}

const MOST_SHOWN: usize = 10;
const MOST_REFUSED: usize = 20;
