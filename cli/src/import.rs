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
    import::{self, Format, Ids, Imported, Options, Origin, Refusal, Repair, Skipped, Source},
    scrub::Found,
    store,
};
use matchers::Compare;

use crate::{
    args::ImportArgs,
    exit::{Exit, Failure},
};

use plan::{Job, Plan, Why};
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
    let Plan { jobs, passed } = plan::plan(&args.input, &args.output, args.from)?;
    let outcomes = run_all(&jobs, args.from, &options);
    let report = Report {
        jobs: &jobs,
        outcomes: &outcomes,
        passed: &passed,
        output: &args.output,
        took: began.elapsed(),
    };
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
    /// Nothing to be imported.
    Passed(Why),
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
    /// Where each exchange comes from.
    origins: Vec<Origin>,
}

impl Account {
    fn origin(&self, found: &Found) -> Origin {
        self.origins[found.exchange as usize - 1]
    }
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
        Err(outcome) => return outcome,
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
        origins: imported.origins,
    })
}

fn take_in(job: &Job, format: Option<Format>, options: &Options) -> Result<Imported, Outcome> {
    let mut contents = Vec::with_capacity(job.sources.len());
    for path in &job.sources {
        contents.push(files::read(path).map_err(Outcome::Refused)?);
    }
    let beside = |name: &str| files::beside(&job.beside, name);
    let names: Vec<String> = job.sources.iter().map(|path| path.display().to_string()).collect();
    let sources: Vec<Source<'_>> =
        names.iter().zip(&contents).map(|(name, bytes)| Source { name, bytes, beside: &beside }).collect();
    let format = format.or(job.format);
    import::import_all(&sources, format, options).map_err(|(place, refusal)| refused(job, place, refusal))
}

/// A file that was found in a folder may be of any kind; one that a person named is said to be a recording.
fn refused(job: &Job, place: usize, refusal: Refusal) -> Outcome {
    let path: &Path = &job.sources[place];
    let name = path.display();
    Outcome::Refused(match refusal {
        Refusal::Unknown if job.was_found => return Outcome::Passed(Why::Unknown),
        Refusal::Cassette if job.was_found => return Outcome::Passed(Why::Cassette),
        Refusal::Unknown => Failure::with_help(
            format!("{name} is not a recording in any format that wiretape reads"),
            format!("name its format with --from: {}", words().join(", ")),
        ),
        Refusal::At { text, problem } => Failure::in_file(path, &text, *problem),
        Refusal::Offset { offset, message } => Failure::input(format!("{name}, byte {offset}: {message}")),
        Refusal::Whole { message, help: Some(help) } => {
            Failure::with_help(format!("{name}: {message}"), help)
        }
        refusal @ (Refusal::Cassette | Refusal::Whole { .. }) => Failure::input(format!("{name}: {refusal}")),
    })
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
