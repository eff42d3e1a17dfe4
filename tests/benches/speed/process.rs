//! A server in a process of its own, as long as the value lives.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// A child that is killed when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
    began: Instant,
}

impl Process {
    /// Starts a program with an environment of its own in `home`. Its stderr goes nowhere, as it would in a service.
    pub(crate) fn start(command: &mut Command, home: &Path) -> Self {
        own_environment(command, home);
        let began = Instant::now();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Self { child, stdout, began }
    }

    /// The next line that it says, and how long after its start.
    pub(crate) fn line(&mut self) -> (String, Duration) {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line).expect("its output can be read");
        assert!(read > 0, "{} ended before it was ready", self.child.id());
        (line.trim_end().to_owned(), self.began.elapsed())
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Processor time used so far, in user space and in the kernel.
    pub(crate) fn cpu(&self) -> Duration {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        // The name in brackets may hold anything; utime and stime are fields 14 and 15.
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks: u64 =
            fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * MS_PER_TICK)
    }

    /// Memory that it holds now, in MiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let kib = status.lines().find_map(|line| {
            let value = line.strip_prefix("VmRSS:")?;
            value.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()
        });
        kib.unwrap_or_default() / 1024
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; nobody is left to be killed then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nothing of the developer's settings but the way to programs.
pub(crate) fn own_environment(command: &mut Command, home: &Path) {
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .current_dir(home);
}

/// Linux tells processor time in hundredths of a second, whatever its own clock does.
const MS_PER_TICK: u64 = 10;
