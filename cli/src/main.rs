//! The `wiretape` command: its words, its exit codes, and nothing that another program could not do with the crates
//! below it.

#[macro_use]
mod say;

mod args;
mod ca;
mod cassette_file;
mod child;
mod child_environment;
mod config;
mod ctl;
mod demo;
mod diff;
mod doctor;
mod environment;
mod exit;
mod export;
mod import;
mod opener;
mod places;
mod proxy_command;
mod reverse;
mod run;
mod scan;
mod secrets;
mod show;
mod size;
mod status;
mod style;
mod summary;

use std::{env, ffi::OsString, process::ExitCode};

use anyhow::Context;
use cassettes::Merge;
use clap::{CommandFactory, Parser};
use proxy::Mode;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    prelude::*,
};

use crate::{
    args::{CassetteArg, ChildArg, ClientArgs, Command, PaceArg, UpstreamArgs},
    child_environment::Inherits,
    config::Config,
    exit::{Exit, Failure, exit_code},
    run::{Leftovers, Run, SessionsWish, ephemeral_authority},
};

fn main() -> ExitCode {
    // Secrets pass through this process: it leaves no core file behind.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    // What a panic says may quote what was at hand; where it was does not.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        eprintln!("wiretape: internal error at {place}; please report it");
    }));
    let cli = args::Cli::parse();
    start_log();
    let result = run(cli);
    if let Err(failure) = &result {
        eprint!("{}", failure.report());
    }
    exit_code(&result)
}

/// `WIRETAPE_LOG=debug` tells what happens inside. Only our own words: other crates may log what passes through them.
fn start_log() {
    let level =
        env::var("WIRETAPE_LOG").ok().and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::ERROR);
    let ours = Targets::new().with_target("wiretape_proxy", level);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines.with_filter(ours)).init();
}

fn run(cli: args::Cli) -> Result<Exit, Failure> {
    let here = env::current_dir().context("cannot tell the current folder")?;
    let config = || Config::find(cli.config.as_deref(), &here);
    match cli.command {
        Command::Record(a) => {
            let config = config()?;
            let merge = if a.refresh { Merge::Refresh } else { Merge::Replace };
            let run = Run {
                merge,
                ..new_run(Mode::Record, a.cassette, &a.child, &config, None, a.upstream, a.client)?
            };
            block_on(run.command(&a.child.command, &config))
        }
        Command::Replay(a) => {
            let config = config()?;
            let leftovers = if a.strict { Leftovers::Reject } else { Leftovers::Allow };
            let run = new_run(Mode::Replay, a.cassette, &a.child, &config, a.pace, no_upstream(), a.client)?;
            let inherits = Inherits::Allowed { keep: a.keep_env };
            block_on(Run { leftovers, inherits, ..run }.command(&a.child.command, &config))
        }
        Command::Auto(a) => {
            let config = config()?;
            let run = new_run(Mode::Auto, a.cassette, &a.child, &config, a.pace, a.upstream, a.client)?;
            block_on(Run { merge: Merge::Append, ..run }.command(&a.child.command, &config))
        }
        Command::Shell(a) => {
            let config = config()?;
            let shell =
                env::var_os("SHELL").filter(|s| !s.is_empty()).unwrap_or_else(|| OsString::from("/bin/sh"));
            let child = ChildArg { command: vec![shell] };
            let mode = a.mode.into();
            let cassette = named_or(a.cassette, "shell", &config);
            let run = new_run(mode, cassette, &child, &config, None, a.upstream, a.client)?;
            eprintln!(
                "wiretape: {} shell, cassette {}; leave it with exit",
                run::mode_word(mode),
                style::shown(&run.cassette)
            );
            let merge = if mode == Mode::Auto { Merge::Append } else { Merge::Replace };
            block_on(Run { merge, ..run }.command(&child.command, &config))
        }
        Command::Proxy(a) => {
            let config = config()?;
            let mode = a.mode.into();
            // What has no meaning in a mode is refused, and not passed over in silence.
            let misplaced = [
                (a.refresh && mode != Mode::Record, "--refresh", "record"),
                (a.strict && mode != Mode::Replay, "--strict", "replay"),
                (a.pace.is_some() && !matches!(mode, Mode::Replay | Mode::Auto), "--pace", "replay or auto"),
            ];
            if let Some((_, flag, modes)) = misplaced.into_iter().find(|(is_misplaced, ..)| *is_misplaced) {
                return Err(Failure::input(format!("{flag} belongs to --mode {modes}")));
            }
            let no_own = a.sessions.is_some() && a.cassette.path.is_none();
            if no_own && !a.client.reverse.is_empty() {
                return Err(Failure::with_help(
                    "calls to a reverse port have no user name, and so no session",
                    "give them one: name a cassette with -c",
                ));
            }
            let cassette = named_or(a.cassette, "proxy", &config);
            let child = ChildArg { command: Vec::new() };
            let run = new_run(mode, cassette, &child, &config, a.pace, a.upstream, a.client)?;
            let merge = match mode {
                Mode::Auto => Merge::Append,
                _ if a.refresh => Merge::Refresh,
                _ => Merge::Replace,
            };
            let leftovers = if a.strict { Leftovers::Reject } else { Leftovers::Allow };
            let authority = proxy_command::authority()?;
            let sessions = SessionsWish { folder: a.sessions, no_own, control: None, lines: !a.quiet };
            let run = Run { merge, leftovers, listen: a.listen, authority, sessions, ..run };
            let lines = match a.quiet {
                true => proxy_command::Lines::None,
                false => proxy_command::Lines::Calls,
            };
            block_on(proxy_command::run(run, &config, lines, a.control))
        }
        Command::Ctl(a) => ctl::run(&a),
        Command::Env(a) => proxy_command::print_env(a.port, a.format),
        Command::Show(a) => show::show(&a.cassette, a.exchange, &config()?),
        Command::Scan(a) => scan::run(&a),
        Command::Diff(a) => diff::diff(&a.a, &a.b, &config()?),
        Command::Export(a) => export::export(&a, &config()?),
        Command::Import(a) => import::import(&a),
        Command::Ca(command) => ca::run(&command),
        Command::Doctor => doctor::run(&config()?),
        Command::Demo => block_on(demo::run()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut args::Cli::command(), "wiretape", &mut script);
            print!("{}", String::from_utf8_lossy(&script));
            Ok(Exit::Fine)
        }
    }
}

fn new_run(
    mode: Mode,
    cassette: CassetteArg,
    child: &ChildArg,
    config: &Config,
    pace: Option<PaceArg>,
    upstream: UpstreamArgs,
    client: ClientArgs,
) -> Result<Run, Failure> {
    let default = || places::default_cassette(config.cassettes.as_deref(), &child.command);
    Ok(Run {
        mode,
        cassette: cassette.path.unwrap_or_else(default),
        merge: Merge::Replace,
        leftovers: Leftovers::Allow,
        pace: pace.map(Into::into).or(config.pace).unwrap_or_default(),
        listen: Run::any_loopback_port(),
        upstream,
        client,
        authority: ephemeral_authority()?,
        sessions: SessionsWish::default(),
        inherits: Inherits::Everything,
    })
}

fn named_or(cassette: CassetteArg, name: &str, config: &Config) -> CassetteArg {
    let default = || places::default_cassette(config.cassettes.as_deref(), &[OsString::from(name)]);
    CassetteArg { path: Some(cassette.path.unwrap_or_else(default)) }
}

fn no_upstream() -> UpstreamArgs {
    UpstreamArgs { connect_to: Vec::new(), upstream_ca: Vec::new(), upstream_proxy: None, max_body: None }
}

fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(future)
}
