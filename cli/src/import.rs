//! `wiretape import`: recordings of other tools, a file or a folder of them.

mod files;
mod plan;
mod progress;
mod report;

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use cassettes::{
    import::{self, Format, Ids, Imported, Options, Refusal, Repair, Skipped, Source},
    scrub::Found,
    store,
};
use matchers::Compare;

use crate::{
    args::ImportArgs,
    exit::{Exit, Failure},
};

use plan::Job;
use progress::Progress;
use report::Report;

pub(crate) fn import(args: &ImportArgs) -> Result<Exit, Failure> {
    let began = Instant::now();
    let options = Options {
        origin: args.origin.clone(),
        substitutes: args.substitute.iter().map(|s| (s.from.clone(), s.to.clone())).collect(),
        compare: args.compare.map(Into::into),
        ids: if args.stabilize { Ids::Stable } else { Ids::AsRecorded },
    };
    let jobs = plan::jobs(&args.input, &args.output)?;
    let outcomes = run_all(&jobs, args.from, &options);
    let report = Report { jobs: &jobs, outcomes: &outcomes, output: &args.output, took: began.elapsed() };
    report.print(args.verbose);
    match report.is_failure() {
        true => Ok(Exit::Refused),
        false => Ok(Exit::Fine),
    }
}

/// What became of one job.
#[derive(Debug)]
enum Outcome {
    Imported(Account),
    /// Not a recording at all.
    Passed,
    Refused(Failure),
}

/// What is told of a file that was taken in.
#[derive(Debug)]
struct Account {
    format: Format,
    exchanges: usize,
    compare: Compare,
    repairs: Vec<(Repair, usize)>,
    skipped: Vec<Skipped>,
    found: Vec<Found>,
}

/// One job at a time on each core: memory is that of a few files, whatever their number.
fn run_all(jobs: &[Job], format: Option<Format>, options: &Options) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Outcome>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let progress = Progress::start(jobs.len());
    let work = || {
        while let Some((job, slot)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(place).zip(outcomes.get(place))
        } {
            let outcome = run(job, format, options);
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            progress.step();
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    drop(progress);
    let taken = outcomes.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    taken.map(|outcome| outcome.expect("every job was run")).collect()
}

fn run(job: &Job, format: Option<Format>, options: &Options) -> Outcome {
    let imported = match take_in(job, format, options) {
        Ok(imported) => imported,
        Err(Some(failure)) => return Outcome::Refused(failure),
        Err(None) => return Outcome::Passed,
    };
    if let Err(failure) = write(job, &imported) {
        return Outcome::Refused(failure);
    }
    Outcome::Imported(Account {
        format: imported.format,
        exchanges: imported.cassette.exchanges.len(),
        compare: imported.cassette.policy.map(|policy| policy.compare).unwrap_or_default(),
        repairs: imported.repairs,
        skipped: imported.skipped,
        found: imported.found,
    })
}

/// `None`: the file is no recording, and it was not named as one.
fn take_in(job: &Job, format: Option<Format>, options: &Options) -> Result<Imported, Option<Failure>> {
    let mut contents = Vec::with_capacity(job.sources.len());
    for path in &job.sources {
        contents.push(files::read(path).map_err(Some)?);
    }
    let beside = |name: &str| files::beside(&job.beside, name);
    let names: Vec<String> = job.sources.iter().map(|path| path.display().to_string()).collect();
    let sources: Vec<Source<'_>> =
        names.iter().zip(&contents).map(|(name, bytes)| Source { name, bytes, beside: &beside }).collect();
    import::import_all(&sources, format, options).map_err(|(place, refusal)| refused(job, place, refusal))
}

fn refused(job: &Job, place: usize, refusal: Refusal) -> Option<Failure> {
    let path: &Path = &job.sources[place];
    let name = path.display();
    match refusal {
        Refusal::Unknown if job.was_found => None,
        Refusal::Unknown => Some(Failure::with_help(
            format!("{name} is not a recording in any format that wiretape reads"),
            format!("name its format with --from: {}", words().join(", ")),
        )),
        Refusal::At { text, problem } => Some(Failure::in_file(path, &text, *problem)),
        Refusal::Offset { offset, message } => {
            Some(Failure::input(format!("{name}, byte {offset}: {message}")))
        }
        Refusal::Whole { message, help: Some(help) } => {
            Some(Failure::with_help(format!("{name}: {message}"), help))
        }
        Refusal::Whole { message, help: None } => Some(Failure::input(format!("{name}: {message}"))),
    }
}

fn write(job: &Job, imported: &Imported) -> Result<(), Failure> {
    let target: &Path = &job.target;
    if files::is_foreign(target) {
        return Err(Failure::with_help(
            format!("{} is there already, and is no cassette of wiretape's", target.display()),
            "name another place with -o",
        ));
    }
    store::save_derived(target, &imported.cassette)?;
    Ok(())
}

/// The words for the formats.
pub(crate) fn words() -> Vec<&'static str> {
    Format::ALL.iter().map(|format| format.as_str()).collect()
}
