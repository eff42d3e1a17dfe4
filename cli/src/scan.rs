//! `wiretape scan`: a second look for secrets in files, or in what is staged for a commit.

mod files;
mod staged;

use std::{
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ::scan::{Doubt, Layer, Place, Report};
use serde_json::json;

use crate::{
    args::{ScanArgs, ScanFormat},
    exit::{Exit, Failure},
    size::human,
    style::{self, Paint, To, shown},
    summary::count,
};

pub(crate) fn run(args: &ScanArgs) -> Result<Exit, Failure> {
    let looked = match args.staged {
        true => staged::each(&args.paths, |name, bytes| (name, bytes.map(|bytes| look(&bytes))))?,
        false => look_at_all(files::find(&args.paths)?),
    };
    let mut told = Told::default();
    for (path, looked) in &looked {
        match looked {
            Ok(looked) => told.take(path, looked),
            Err(failure) => told.refused.push(failure),
        }
    }
    told.print(args.format, looked.len());
    Ok(told.exit())
}

/// One file after the scan.
struct Looked {
    size: usize,
    report: Report,
}

fn look(bytes: &[u8]) -> Looked {
    Looked { size: bytes.len(), report: ::scan::scan(bytes) }
}

type Outcome = (PathBuf, Result<Looked, Failure>);

/// One file at a time on each core: memory is that of a few files, whatever their number.
fn look_at_all(paths: Vec<PathBuf>) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Result<Looked, Failure>>>> =
        paths.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((path, slot)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            paths.get(place).zip(outcomes.get(place))
        } {
            let looked = files::read(path).map(|bytes| look(&bytes));
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(looked);
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(paths.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let taken = outcomes.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    paths.into_iter().zip(taken.map(|outcome| outcome.expect("every file was looked at"))).collect()
}

/// What there is to say of all files.
#[derive(Default)]
struct Told<'a> {
    lines: Vec<String>,
    json: Vec<serde_json::Value>,
    warnings: Vec<String>,
    refused: Vec<&'a Failure>,
    files_with: usize,
    is_partial: bool,
    bytes: usize,
}

impl Told<'_> {
    fn take(&mut self, path: &std::path::Path, looked: &Looked) {
        let name = one_line(&shown(path));
        let report = &looked.report;
        self.bytes += looked.size;
        self.files_with += usize::from(!report.findings.is_empty());
        for finding in &report.findings {
            let Place { line, column } = finding.place;
            let through: Vec<String> = finding.through.iter().map(Layer::to_string).collect();
            let around = match through.is_empty() {
                true => String::new(),
                false => format!(" ({})", through.join(", ")),
            };
            let kind = To::Stdout.paint(Paint::Red, finding.kind);
            self.lines.push(format!("{name}:{line}:{column}: {kind}{around}"));
            self.json.push(json!({
                "file": path.to_string_lossy(),
                "line": line,
                "column": column,
                "kind": finding.kind,
                "through": through,
            }));
        }
        for doubt in &report.doubts {
            self.warnings.push(match doubt {
                Doubt::HighEntropy { place, .. } => format!(
                    "{name}:{}:{}: a random-looking value under a name that sounds secret",
                    place.line, place.column
                ),
                Doubt::NotScrubbed => {
                    format!("not scrubbed by this ruleset: {name} has no `redaction:` at its top")
                }
            });
        }
        if report.is_cut_short {
            self.is_partial = true;
            self.warnings.push(format!("{name} packs more than is unpacked: some of it was not looked at"));
        }
    }

    fn print(&self, format: ScanFormat, files: usize) {
        match format {
            ScanFormat::Text => self.lines.iter().for_each(|line| println!("{line}")),
            ScanFormat::Json => println!("{:#}", serde_json::Value::Array(self.json.clone())),
        }
        for warning in &self.warnings {
            eprintln!("{}{warning}", style::warning());
        }
        for failure in &self.refused {
            eprint!("{}", failure.report());
        }
        let found = match self.lines.len() {
            0 => "no secrets".to_owned(),
            secrets => format!("{} in {}", count(secrets, "secret"), count(self.files_with, "file")),
        };
        let warned = match self.warnings.len() {
            0 => String::new(),
            warnings => format!(", {}", count(warnings, "warning")),
        };
        let scanned = files - self.refused.len();
        eprintln!(
            "wiretape: scanned {} ({}): {found}{warned}",
            count(scanned, "file"),
            human(self.bytes as u64)
        );
    }

    /// A secret weighs more than a file that could not be read; both fail.
    fn exit(&self) -> Exit {
        match self.lines.is_empty() {
            false => Exit::Failed,
            true if self.is_partial || !self.refused.is_empty() => Exit::Refused,
            true => Exit::Fine,
        }
    }
}

/// A file name may have line breaks, and a finding has one line.
fn one_line(name: &str) -> String {
    name.replace('\n', "\u{fffd}")
}
