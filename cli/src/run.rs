//! `record`, `replay`, `auto`, `proxy` and `shell`: a proxy, what runs under it, and what it came to.

use std::{
    ffi::OsString,
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use cassettes::{Index, Merge, Pace, Player, store::Journal};
use certs::{Authority, CertError, LOOPBACK_IS_DIRECT, Minter, Roots, TrustKit};
use matchers::Policy;
use proxy::{
    ControlConfig, KeepCalls, Mode, Observer, Proxy, ProxyConfig, ProxyError, Session, SessionConfig,
    UpstreamConfig, UpstreamProxy,
};
use time::OffsetDateTime;

use crate::{
    args::{ClientArgs, UpstreamArgs},
    cassette_file::{self, CassetteFile, Today},
    child::{self, Ended, Signals},
    child_environment::{ChildEnvironment, Inherits, KnownVariables},
    config::Config,
    exit::{Exit, Failure},
    opener::Openings,
    size::Size,
    status::Status,
    style,
    summary::Report,
};

/// Everything that the five commands differ in.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) mode: Mode,
    pub(crate) cassette: PathBuf,
    pub(crate) merge: Merge,
    pub(crate) leftovers: Leftovers,
    pub(crate) pace: Pace,
    pub(crate) listen: SocketAddr,
    pub(crate) upstream: UpstreamArgs,
    pub(crate) client: ClientArgs,
    pub(crate) authority: Authority,
    pub(crate) sessions: SessionsWish,
    pub(crate) inherits: Inherits,
}

/// What a proxy that stays does for sessions besides its own.
#[derive(Debug, Default)]
pub(crate) struct SessionsWish {
    /// Cassettes of sessions that are opened on first use.
    pub(crate) folder: Option<PathBuf>,
    /// Whether calls without a user name have a session.
    pub(crate) no_own: bool,
    pub(crate) control: Option<ControlConfig>,
    /// Whether calls get a line each.
    pub(crate) lines: bool,
}

/// What an unplayed exchange means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leftovers {
    Allow,
    Reject,
}

/// A proxy at work.
pub(crate) struct Running {
    pub(crate) proxy: Proxy,
    pub(crate) kit: TrustKit,
    mode: Mode,
    cassette: PathBuf,
    leftovers: Leftovers,
    merge: Merge,
    policy: Policy,
    client: ClientArgs,
    inherits: Inherits,
    variables: KnownVariables,
    file: Option<CassetteFile>,
    began: Instant,
    failed: Arc<AtomicBool>,
}

impl Run {
    pub(crate) fn any_loopback_port() -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
    }

    /// Opens the cassette and starts the proxy.
    pub(crate) async fn start(
        self,
        config: &Config,
        observer: Option<Observer>,
        kit_dir: Option<&Path>,
    ) -> Result<Running, Failure> {
        let max_body = self.upstream.max_body.or(config.max_body).unwrap_or(MAX_BODY);
        if max_body.0 > LARGEST_BODY.0 {
            return Err(Failure::input(
                "bodies above 512MiB cannot be kept: give a smaller --max-body or max_body",
            ));
        }
        let today = Today::of(config);
        let (file, player) = match self.sessions.no_own {
            true => (None, None),
            false => open_cassette(self.mode, &self.cassette, &today, self.pace)?,
        };
        let policy = player.as_ref().map_or_else(|| config.policy.clone(), |p| p.policy().clone());
        let redaction = player.as_ref().and_then(|player| player.index().redaction()).cloned();
        let variables = KnownVariables::new(redaction.filter(|_| self.mode == Mode::Replay).as_ref(), config);
        if !self.listen.ip().is_loopback() {
            eprintln!("{}everybody who can reach {} can use this proxy", style::warning(), self.listen);
        }
        let roots = if self.mode == Mode::Replay { Roots::OursOnly } else { Roots::SystemAndOurs };
        let inherited = |name: &str| std::env::var_os(name);
        let kit = match kit_dir {
            Some(dir) => TrustKit::create_in(dir, &self.authority, roots, &inherited)?,
            None => TrustKit::create(&self.authority, roots, &inherited)?,
        };
        let needs_upstream = self.mode != Mode::Replay || config.hosts.any_live();
        let upstream = needs_upstream.then(|| upstream(&self.upstream, config)).transpose()?;
        let journal = file.as_ref().map(CassetteFile::journal).transpose()?;
        let journal_path = journal.as_ref().map(|journal| journal.path().to_owned());
        let failed = Arc::new(AtomicBool::new(false));
        let opener = Openings {
            mode: self.mode,
            pace: self.pace,
            merge: self.merge,
            leftovers: self.leftovers,
            today: today.clone(),
            hosts: config.hosts.clone(),
            max_body: max_body.0,
            folder: self.sessions.folder,
            own: player.as_ref().map(|player| (self.cassette.clone(), Arc::clone(player.index()))),
            lines: self.sessions.lines,
            has_way_out: self.mode != Mode::Replay,
            failed: Arc::clone(&failed),
        };
        let session = (!self.sessions.no_own).then(|| {
            Session::new(SessionConfig {
                mode: self.mode,
                cassette: (self.mode != Mode::Passthrough).then(|| self.cassette.clone()),
                player,
                journal,
                hosts: config.hosts.clone(),
                scrubber: today.scrubber(&policy),
                max_body: max_body.0,
                observer,
                log: if self.sessions.control.is_some() { KeepCalls::Latest } else { KeepCalls::None },
            })
        });
        let proxy = Proxy::start(
            ProxyConfig {
                listen: self.listen,
                reverse: self.client.reverse.iter().map(crate::reverse::Reverse::origin).collect(),
                minter: Arc::new(Minter::new(self.authority)?),
                upstream,
                opener: Arc::new(opener),
                control: self.sessions.control,
            },
            session,
        )
        .await
        .map_err(|error| {
            if let Some(path) = &journal_path {
                let _ = Journal::discard(path);
            }
            match error {
                ProxyError::Listen { .. } => Failure::with_help(
                    error.to_string(),
                    "another program may use that port; --listen 127.0.0.1:0 takes a free one",
                ),
                ProxyError::Control(_) => Failure::input(error.to_string()),
            }
        })?;
        Ok(Running {
            proxy,
            kit,
            mode: self.mode,
            cassette: self.cassette,
            leftovers: self.leftovers,
            merge: self.merge,
            policy,
            client: self.client,
            inherits: self.inherits,
            variables,
            file,
            began: Instant::now(),
            failed,
        })
    }

    /// Runs a command under the proxy, to its end.
    pub(crate) async fn command(self, command: &[OsString], config: &Config) -> Result<Exit, Failure> {
        // Heard before there is anything to lose.
        let mut signals = Signals::listen()?;
        let status = Status::start(self.mode);
        let running = self.start(config, status.observer(), None).await?;
        let given = running.environment()?;
        let ended = child::run(command, &given.environment, &mut signals).await;
        drop(status);
        match ended {
            Ok(Ended::Interrupted) => {
                eprintln!("wiretape: interrupted; what was recorded is taken in by the next run");
                Ok(Exit::Child(130))
            }
            Ok(Ended::Code(code)) => {
                let exit = running.finish(code).await?;
                // One that a signal ended was not stopped by what it did not find.
                if let Some(help) = given.help().filter(|_| (1..128).contains(&code)) {
                    eprintln!("{}{help}", style::help());
                }
                Ok(exit)
            }
            Err(failure) => {
                // Nothing ran, so there is nothing to keep.
                running.abandon().await;
                Err(failure)
            }
        }
    }
}

impl Running {
    /// What a child is started with: its variables, and what it needs to come through us and to trust us.
    pub(crate) fn environment(&self) -> Result<ChildEnvironment, Failure> {
        let mut given = self.variables.environment(&self.inherits);
        let environment = &mut given.environment;
        let url = format!("http://{}", self.proxy.address());
        let leading = self.kit.variables(&url, self.no_proxy(), &|name| environment.before(name))?;
        environment.apply(leading);
        for (name, value) in self.reverse_variables() {
            environment.set(&name, value);
        }
        environment.set("WIRETAPE", mode_word(self.mode));
        Ok(given)
    }

    /// The base URLs of reverse ports, by the variables that SDKs read.
    pub(crate) fn reverse_variables(&self) -> Vec<(String, String)> {
        let ports = self.client.reverse.iter().zip(self.proxy.reverse_addresses());
        ports.flat_map(|(reverse, address)| reverse.variables(*address)).collect()
    }

    /// Hosts that programs reach without us.
    pub(crate) fn no_proxy(&self) -> &'static str {
        match (self.client.loopback, self.client.reverse.is_empty()) {
            (false, _) => LOOPBACK_IS_DIRECT,
            (true, true) => "",
            // Our own reverse ports must not be reached through ourselves.
            (true, false) => "127.0.0.1",
        }
    }

    /// Dummies for the variables that the recording used.
    pub(crate) fn dummies(&self) -> impl Iterator<Item = (&str, String)> {
        self.variables.dummies()
    }

    /// Ends the run: the cassette is written, the summary told, the exit code found.
    pub(crate) async fn finish(self, child: u8) -> Result<Exit, Failure> {
        let took = self.began.elapsed();
        let (session, finished) = self.proxy.stop().await;
        if let Err(refusal) = finished {
            return Err(Failure::Runtime(
                anyhow::Error::new(refusal).context("a session could not be written"),
            ));
        }
        let others_failed = self.failed.load(Ordering::Acquire);
        let Some(session) = session else {
            return Ok(if others_failed { Exit::Failed } else { Exit::Fine });
        };
        let summary = session.summary();
        let journal = session.take_journal();
        let kept = match (&self.file, journal) {
            // Half a recording does not take the place of a whole one: the next run adds it.
            _ if summary.broken.is_some() => None,
            (Some(file), Some(journal)) => {
                Some(file.finish(journal, self.merge, &self.policy, session.take_scrubber())?)
            }
            _ => None,
        };
        let report = Report {
            mode: self.mode,
            cassette: &self.cassette,
            summary: &summary,
            kept,
            took,
            leftovers: self.leftovers,
        };
        report.print();
        if child != 0 {
            return Ok(Exit::Child(child));
        }
        Ok(if report.is_failure() || others_failed { Exit::Failed } else { Exit::Fine })
    }

    async fn abandon(self) {
        let (session, _) = self.proxy.stop().await;
        if let Some(journal) = session.and_then(|session| session.take_journal()) {
            let _ = journal.finish();
        }
    }
}

/// The word for a mode, as it is typed.
pub(crate) fn mode_word(mode: Mode) -> &'static str {
    mode.as_str()
}

pub(crate) fn open_cassette(
    mode: Mode,
    path: &Path,
    today: &Today,
    pace: Pace,
) -> Result<(Option<CassetteFile>, Option<Player>), Failure> {
    let player = |cassette| Player::new(Arc::new(Index::new(cassette, &today.policy)), pace);
    match mode {
        Mode::Replay => Ok((None, Some(player(cassette_file::load(path, today)?)))),
        Mode::Passthrough => Ok((None, None)),
        Mode::Record => {
            let file = CassetteFile::open(path, today)?;
            // A cassette that cannot be read is not to be replaced unseen.
            file.exchanges()?;
            Ok((Some(file), None))
        }
        Mode::Auto => {
            let file = CassetteFile::open(path, today)?;
            let player = player(file.exchanges()?);
            Ok((Some(file), Some(player)))
        }
    }
}

fn upstream(args: &UpstreamArgs, config: &Config) -> Result<UpstreamConfig, Failure> {
    let files = args.upstream_ca.iter().chain(&config.upstream_ca);
    let pems = files.map(|file| read_ca(file)).collect::<Result<Vec<_>, _>>()?;
    let tls = certs::upstream_client_config(&pems, &[]).map_err(|error| match error {
        CertError::ExtraCa { number, problem } => {
            let file = args.upstream_ca.iter().chain(&config.upstream_ca).nth(number - 1);
            let name = file.map(|file| file.display().to_string()).unwrap_or_default();
            Failure::input(format!("the CA file {name} is not usable: {problem}"))
        }
        other => other.into(),
    })?;
    Ok(UpstreamConfig {
        tls: Arc::new(tls),
        connect_to: args.connect_to.iter().chain(&config.connect_to).cloned().collect(),
        proxy: upstream_proxy(args.upstream_proxy.as_deref())?,
        connect_timeout: Duration::from_secs(10),
        first_byte_timeout: Duration::from_secs(600),
    })
}

fn read_ca(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file)
        .map_err(|error| Failure::input(format!("cannot read the CA file {}: {error}", file.display())))
}

/// The proxy that our own environment asks for is the one in front of the real hosts.
fn upstream_proxy(named: Option<&str>) -> Result<Option<UpstreamProxy>, Failure> {
    let variable = |upper: &str, lower: &str| {
        std::env::var(lower).ok().or_else(|| std::env::var(upper).ok()).filter(|v| !v.is_empty())
    };
    let (url, except) = match named {
        Some(url) => (url.to_owned(), String::new()),
        None => match variable("HTTPS_PROXY", "https_proxy").or_else(|| variable("ALL_PROXY", "all_proxy")) {
            Some(url) => (url, variable("NO_PROXY", "no_proxy").unwrap_or_default()),
            None => return Ok(None),
        },
    };
    UpstreamProxy::parse(&url, &except).map(Some).map_err(|error| Failure::input(error.to_string()))
}

/// A CA that lives as long as this run.
pub(crate) fn ephemeral_authority() -> Result<Authority, Failure> {
    Ok(Authority::ephemeral(OffsetDateTime::now_utc()).context("cannot make a CA for this run")?)
}

const MAX_BODY: Size = Size(64 << 20);
/// What a cassette can still be read with.
const LARGEST_BODY: Size = Size(512 << 20);
