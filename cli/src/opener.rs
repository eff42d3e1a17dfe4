//! Sessions of a proxy: which cassette each plays or records, and what each came to.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use cassettes::{Index, Merge, Pace, Player};
use matchers::Policy;
use proxy::{
    Asker, HostRules, KeepCalls, Keeper, Mode, Observer, Opened, Opener, Refusal, RefusalKind, Session,
    SessionConfig, SessionName, Wish,
};

use crate::{
    cassette_file::{self, CassetteFile, Today},
    exit::Failure,
    run::{Leftovers, open_cassette},
    status::in_words,
    style::{self, tame},
    summary::Report,
};

/// What sessions have in common, and what is known of them all.
#[derive(Debug)]
pub(crate) struct Openings {
    pub(crate) mode: Mode,
    pub(crate) pace: Pace,
    pub(crate) merge: Merge,
    pub(crate) leftovers: Leftovers,
    pub(crate) today: Today,
    pub(crate) hosts: HostRules,
    pub(crate) max_body: usize,
    /// Where a session that nobody made finds its cassette, under its name.
    pub(crate) folder: Option<PathBuf>,
    /// The proxy's own cassette, which such a session plays where there is no folder.
    pub(crate) own: Option<(PathBuf, Arc<Index>)>,
    /// Whether calls get a line each.
    pub(crate) lines: bool,
    /// Whether anything can leave this proxy at all.
    pub(crate) has_way_out: bool,
    /// Whether a session failed, or a client asked for one that it did not get.
    pub(crate) failed: Arc<AtomicBool>,
}

impl Openings {
    fn cassette(&self, wish: &Wish, mode: Mode) -> Result<Source, Refusal> {
        let from_folder = || self.folder.as_ref().map(|folder| folder.join(format!("{}.yaml", wish.name)));
        if let Some(path) = wish.cassette.clone().or_else(from_folder) {
            return Ok(Source::File(path));
        }
        if mode == Mode::Passthrough && wish.by == Asker::Control {
            return Ok(Source::None);
        }
        if let (Mode::Replay, Some((path, index))) = (mode, &self.own) {
            return Ok(Source::Own(path.clone(), Arc::clone(index)));
        }
        let name = &wish.name;
        Err(match wish.by {
            Asker::Client => Refusal::new(RefusalKind::Denied, format!("there is no session `{name}`"))
                .with_help("make it with `wiretape ctl create NAME`, or start the proxy with --sessions DIR"),
            Asker::Control => Refusal::new(RefusalKind::Bad, format!("session `{name}` needs a `cassette`")),
        })
    }

    fn observer(&self, name: &SessionName) -> Option<Observer> {
        let name = name.clone();
        self.lines.then(|| {
            Observer(Box::new(move |call| eprintln!("{:>4}  {name}  {}", call.seq, tame(&in_words(call)))))
        })
    }
}

/// What a session plays or records.
enum Source {
    File(PathBuf),
    Own(PathBuf, Arc<Index>),
    None,
}

impl Opener for Openings {
    fn open(&self, wish: &Wish) -> Result<Opened, Refusal> {
        let mode = wish.mode.unwrap_or(self.mode);
        if mode != Mode::Replay && !self.has_way_out {
            return Err(Refusal::new(
                RefusalKind::Conflict,
                format!("this proxy replays, and nothing leaves it: a session cannot {}", mode.as_str()),
            )
            .with_help("start it with `wiretape proxy --mode record` or `--mode auto`"));
        }
        let pace = wish.pace.unwrap_or(self.pace);
        let (path, file, player) = match self.cassette(wish, mode)? {
            Source::File(path) => {
                let (file, player) = open_cassette(mode, &path, &self.today, pace).map_err(refusal)?;
                (Some(path), file, player)
            }
            Source::Own(path, index) => (Some(path), None, Some(Player::new(index, pace))),
            Source::None => (None, None, None),
        };
        let policy = player.as_ref().map_or_else(|| self.today.policy.clone(), |p| p.policy().clone());
        let journal = file.as_ref().map(CassetteFile::journal).transpose().map_err(refusal)?;
        let keeper = Keeping {
            name: wish.name.clone(),
            mode,
            path: path.clone(),
            merge: if mode == Mode::Auto { Merge::Append } else { self.merge },
            leftovers: self.leftovers,
            policy: policy.clone(),
            file,
            began: Instant::now(),
            failed: Arc::clone(&self.failed),
        };
        let config = SessionConfig {
            mode,
            cassette: path,
            player,
            journal,
            hosts: self.hosts.clone(),
            scrubber: self.today.scrubber(&policy),
            max_body: self.max_body,
            observer: self.observer(&wish.name),
            log: KeepCalls::Latest,
        };
        Ok(Opened { config, keeper: Box::new(keeper) })
    }

    fn load(&self, cassette: &Path, pace: Pace) -> Result<Player, Refusal> {
        let cassette = cassette_file::load(cassette, &self.today).map_err(refusal)?;
        Ok(Player::new(Arc::new(Index::new(cassette, &self.today.policy)), pace))
    }

    fn refused(&self, name: &SessionName, refusal: &Refusal) {
        self.failed.store(true, Ordering::Release);
        eprintln!("{}session {name}: {}", style::error(), tame(&refusal.message));
    }
}

/// What is left to do for a session.
struct Keeping {
    name: SessionName,
    mode: Mode,
    path: Option<PathBuf>,
    merge: Merge,
    leftovers: Leftovers,
    policy: Policy,
    file: Option<CassetteFile>,
    began: Instant,
    failed: Arc<AtomicBool>,
}

impl Keeper for Keeping {
    fn finish(self: Box<Self>, session: &Session) -> Result<(), Refusal> {
        let took = self.began.elapsed();
        let summary = session.summary();
        let kept = match (&self.file, session.take_journal()) {
            // Half a recording does not take the place of a whole one: the next run adds it.
            _ if summary.broken.is_some() => None,
            (Some(file), Some(journal)) => Some(
                file.finish(journal, self.merge, &self.policy, session.take_scrubber()).map_err(refusal)?,
            ),
            _ => None,
        };
        let cassette = session.cassette().or(self.path).unwrap_or_default();
        let report = Report {
            mode: self.mode,
            cassette: &cassette,
            summary: &summary,
            kept,
            took,
            leftovers: self.leftovers,
        };
        if report.is_failure() {
            self.failed.store(true, Ordering::Release);
        }
        if report.is_failure() || kept.is_some_and(|kept| kept.recorded > 0) {
            eprintln!("session {}:", self.name);
            report.print();
        }
        Ok(())
    }
}

/// The same words, for somebody who asks from outside.
fn refusal(failure: Failure) -> Refusal {
    match failure {
        Failure::File { name, text, problem } => {
            let message = format!("{name}:{}: {}", problem.span.position(&text), problem.message);
            Refusal { kind: RefusalKind::Invalid, message, help: problem.help }
        }
        Failure::Missing { message, help } => {
            Refusal { kind: RefusalKind::Missing, message, help: Some(help) }
        }
        Failure::Input { message, help } => Refusal { kind: RefusalKind::Invalid, message, help },
        Failure::Runtime(error) => Refusal::new(RefusalKind::Failed, crate::exit::causes(error.as_ref())),
    }
}
