//! The program under the proxy: started with our variables, told of our signals, its ending taken over.

use std::{ffi::OsString, io, os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use suite::{Base, Environment};
use tokio::{
    process::{Child, Command},
    signal::unix::{Signal as Listener, SignalKind, signal},
};

use crate::exit::Failure;

/// How the child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(u8),
    /// A person asked twice: no more waiting for anything.
    Interrupted,
}

/// The signals that ask us to stop, heard from the moment this is made.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupts: Listener,
    terminates: Listener,
    hangups: Listener,
    /// Heard so that writing past a file-size limit is an error like any other, and not the end of us.
    _file_sizes: Listener,
}

impl Signals {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind)
                .map_err(|e| Failure::Runtime(anyhow::Error::new(e).context("cannot listen for signals")))
        };
        Ok(Self {
            interrupts: listen(SignalKind::interrupt())?,
            terminates: listen(SignalKind::terminate())?,
            hangups: listen(SignalKind::hangup())?,
            _file_sizes: listen(SignalKind::from_raw(Signal::XFSZ.as_raw()))?,
        })
    }

    /// The next time that somebody asks.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupts.recv() => Signal::INT,
            _ = self.terminates.recv() => Signal::TERM,
            _ = self.hangups.recv() => Signal::HUP,
        }
    }
}

/// Runs a command to its end. Its input and outputs are ours, untouched.
pub(crate) async fn run(
    command: &[OsString],
    environment: &Environment,
    signals: &mut Signals,
) -> Result<Ended, Failure> {
    let mut child = spawn(command, environment)?;
    let mut asked = 0;
    loop {
        let told = tokio::select! {
            status = child.wait() => {
                let status = status.map_err(|e| Failure::Runtime(e.into()))?;
                return Ok(Ended::Code(code(status)));
            }
            told = signals.next() => told,
            () = tokio::time::sleep(PATIENCE), if asked > 0 => {
                let _ = child.start_kill();
                continue;
            }
        };
        asked += 1;
        if asked > 1 {
            let _ = child.start_kill();
            return Ok(Ended::Interrupted);
        }
        // From a terminal the child got the interrupt already, together with us.
        if told != Signal::INT || !is_in_foreground() {
            pass_on(&child, told);
        }
    }
}

fn spawn(command: &[OsString], environment: &Environment) -> Result<Child, Failure> {
    let [program, arguments @ ..] = command else {
        return Err(Failure::input("no command to run"));
    };
    let mut builder = Command::new(program);
    builder.args(arguments).kill_on_drop(true);
    if let Base::Only(variables) = environment.base() {
        builder.env_clear().envs(variables);
    }
    for (name, value) in environment.changes() {
        match value {
            Some(value) => builder.env(name, value),
            None => builder.env_remove(name),
        };
    }
    let shown = program.to_string_lossy();
    builder.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::with_help(
            format!("there is no command `{shown}`"),
            "check its name, or give its path; a shell's own words need `sh -c '…'`",
        ),
        io::ErrorKind::PermissionDenied => Failure::input(format!("`{shown}` may not be run: {error}")),
        _ => Failure::Runtime(anyhow::Error::new(error).context(format!("cannot run `{shown}`"))),
    })
}

fn pass_on(child: &Child, told: Signal) {
    let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended in this moment; then there is nobody to tell.
        let _ = kill_process(pid, told);
    }
}

fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// As a shell tells it: 128 and the signal's number for a child that a signal ended.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}

/// How long a child may take to end once it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);
