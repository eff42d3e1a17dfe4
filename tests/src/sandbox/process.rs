//! A child process with its output collected and its life limited. Kills only the process group that it
//! started.

use std::{
    ffi::OsString,
    fmt,
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    line: String,
}

impl Outcome {
    /// The exit code; none if a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn stdout(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("what it printed is UTF-8")
    }

    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Fails the test with all that was said, unless the exit code is `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "exit code of {self}");
        self
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.line)?;
        writeln!(f, "code {:?}, signal {:?}", self.status.code(), self.status.signal())?;
        writeln!(f, "--- stdout\n{}", String::from_utf8_lossy(&self.stdout))?;
        write!(f, "--- stderr\n{}", self.stderr())
    }
}

/// A process that was started; killed with its group when dropped before its end.
#[derive(Debug)]
pub struct Running {
    line: String,
    /// Taken when the process has ended, so that no later process of that number is meant.
    group: Option<Pid>,
    deadline: Instant,
    stdout: Arc<Output>,
    stderr: Arc<Output>,
    ended: mpsc::Receiver<ExitStatus>,
}

impl Running {
    pub(super) fn start(
        words: &[OsString],
        env: impl IntoIterator<Item = (OsString, OsString)>,
        folder: &Path,
        stdin: Vec<u8>,
        limit: Duration,
    ) -> Self {
        let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .envs(env)
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        let group = Some(Pid::from_child(&child));
        let mut input = child.stdin.take().expect("its input is a pipe");
        // Ends when the child reads no more: an error here is the child's choice.
        thread::spawn(move || input.write_all(&stdin));
        let stdout = Output::collect(child.stdout.take().expect("its output is a pipe"));
        let stderr = Output::collect(child.stderr.take().expect("its output is a pipe"));
        let (end, ended) = mpsc::channel();
        thread::spawn(move || end.send(child.wait().expect("a child can be waited for")));
        Self { line, group, deadline: Instant::now() + limit, stdout, stderr, ended }
    }

    /// Waits for a line on stdout or stderr for which `pick` has an answer.
    pub fn wait_for<T>(&self, stream: Stream, pick: impl Fn(&str) -> Option<T>) -> T {
        let output = match stream {
            Stream::Stdout => &self.stdout,
            Stream::Stderr => &self.stderr,
        };
        output.wait_for(self.deadline, &pick).unwrap_or_else(|| {
            panic!(
                "{}: no such line on {stream:?} in\n{}",
                self.line,
                String::from_utf8_lossy(&output.so_far())
            )
        })
    }

    /// Sends `SIGTERM` to the process itself, as a supervisor does.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Sends `SIGINT` to the process itself, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Sends `SIGKILL` to the process itself, which cannot prepare for it.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Waits for the end; past the limit it kills the group and fails the test.
    pub fn finish(mut self) -> Outcome {
        let Ok(status) = self.ended.recv_timeout(self.deadline.saturating_duration_since(Instant::now()))
        else {
            self.kill_group();
            let (out, err) = (self.stdout.so_far(), self.stderr.so_far());
            let (out, err) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
            panic!("{} took too long\n--- stdout\n{out}\n--- stderr\n{err}", self.line);
        };
        // What it left behind would hold the pipes open.
        self.kill_group();
        let line = self.line.clone();
        Outcome { status, stdout: self.stdout.whole(), stderr: self.stderr.whole(), line }
    }

    fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            // An empty group is no error: most have nobody left.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    fn signal(&self, signal: Signal) {
        let process = self.group.expect("it has not been waited for");
        kill_process(process, signal).unwrap_or_else(|error| panic!("{}: {signal:?}: {error}", self.line));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// Which of its two voices a process uses.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// What was read from a pipe so far.
#[derive(Debug, Default)]
struct Output {
    state: Mutex<State>,
    grown: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    ended: bool,
}

impl Output {
    fn collect(pipe: impl Read + Send + 'static) -> Arc<Self> {
        let output = Arc::new(Self::default());
        let filled = Arc::clone(&output);
        thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            loop {
                let chunk = pipe.fill_buf().map(<[u8]>::to_vec).unwrap_or_default();
                pipe.consume(chunk.len());
                let mut state = filled.state.lock().unwrap();
                state.bytes.extend_from_slice(&chunk);
                state.ended = chunk.is_empty();
                filled.grown.notify_all();
                if state.ended {
                    return;
                }
            }
        });
        output
    }

    fn so_far(&self) -> Vec<u8> {
        self.state.lock().unwrap().bytes.clone()
    }

    fn whole(&self) -> Vec<u8> {
        let state = self.grown.wait_while(self.state.lock().unwrap(), |state| !state.ended).unwrap();
        state.bytes.clone()
    }

    fn wait_for<T>(&self, deadline: Instant, pick: &dyn Fn(&str) -> Option<T>) -> Option<T> {
        let mut state = self.state.lock().unwrap();
        loop {
            let text = String::from_utf8_lossy(&state.bytes);
            if let Some(picked) = text
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'))
                .find_map(|line| pick(line.trim_end()))
            {
                return Some(picked);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.ended || left.is_zero() {
                return None;
            }
            state = self.grown.wait_timeout(state, left).unwrap().0;
        }
    }
}
