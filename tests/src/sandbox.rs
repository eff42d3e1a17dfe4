//! A place to run `wiretape` in as a user would: a project folder, a home of its own, a clean
//! environment, and time limits. It must not leave anything running or read the developer's settings.

pub mod binary;
mod process;

use std::{
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::TempDir;

use crate::upstream::Upstream;
pub use process::{Outcome, Running, Stream};

/// The binary under test, built if it was not.
pub fn binary() -> &'static Path {
    binary::wiretape()
}

/// A scratch folder with a project and a home in it; gone when dropped.
#[derive(Debug)]
pub struct Sandbox {
    root: TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        let root = TempDir::with_prefix("sandbox-").expect("a temporary folder");
        for folder in ["project", "home", "state", "config", "cache", "tmp"] {
            fs::create_dir(root.path().join(folder)).expect("a folder in the sandbox");
        }
        Self { root }
    }

    /// Another sandbox that has nothing of this one but the cassettes, as another machine would.
    pub fn elsewhere(&self) -> Self {
        let other = Self::new();
        copy_folder(&self.path("cassettes"), &other.path("cassettes"));
        other
    }

    /// Everything the sandbox holds: project, home and state.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// A path in the project, which is the working folder of what runs here.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.path().join("project").join(relative)
    }

    /// Writes a file of the project, with the folders that it needs.
    pub fn write(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a folder in the project");
        fs::write(&path, content).expect("a file of the project is written");
        path
    }

    pub fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// `wiretape record` with every host of the upstream mapped to it and its CA trusted.
    pub fn record(&self, upstream: &Upstream) -> Invocation<'_> {
        self.wiretape("record").upstream(upstream)
    }

    /// `wiretape auto`, wired like [`Sandbox::record`].
    pub fn auto(&self, upstream: &Upstream) -> Invocation<'_> {
        self.wiretape("auto").upstream(upstream)
    }

    /// `wiretape replay`, which is told of no upstream at all.
    pub fn replay(&self) -> Invocation<'_> {
        self.wiretape("replay")
    }

    /// Any other command of `wiretape`.
    pub fn wiretape(&self, command: &str) -> Invocation<'_> {
        self.program(binary::wiretape()).arg(command)
    }

    /// A program without `wiretape` around it.
    pub fn program(&self, program: impl Into<OsString>) -> Invocation<'_> {
        Invocation {
            sandbox: self,
            words: vec![program.into()],
            env: Vec::new(),
            stdin: Vec::new(),
            limit: LIMIT,
        }
    }

    fn base_env(&self) -> Vec<(OsString, OsString)> {
        let own = [
            ("HOME", "home"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_CACHE_HOME", "cache"),
            ("TMPDIR", "tmp"),
        ];
        let fixed = [
            ("LANG", "C.UTF-8"),
            ("TZ", "UTC"),
            ("NO_COLOR", "1"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GH_NO_UPDATE_NOTIFIER", "1"),
            ("GH_PROMPT_DISABLED", "1"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ];
        let folders = own.map(|(name, folder)| (name.into(), self.root.path().join(folder).into_os_string()));
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        folders
            .into_iter()
            .chain(fixed.map(|(name, value)| (name.into(), value.into())))
            .chain(path)
            .collect()
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

/// A command line with its environment, to be run once.
#[derive(Debug)]
#[must_use]
pub struct Invocation<'a> {
    sandbox: &'a Sandbox,
    words: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    limit: Duration,
}

impl Invocation<'_> {
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.words.push(word.as_ref().to_owned());
        self
    }

    pub fn args<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// `-c CASSETTE`, relative to the project.
    pub fn cassette(self, path: &str) -> Self {
        self.arg("-c").arg(path)
    }

    /// `--connect-to` for every host of the upstream, and `--upstream-ca`.
    pub fn upstream(self, upstream: &Upstream) -> Self {
        let mapped =
            upstream.connect_to().into_iter().fold(self, |run, map| run.arg("--connect-to").arg(map));
        mapped.arg("--upstream-ca").arg(upstream.ca_file())
    }

    /// The program that runs inside: everything after `--`.
    pub fn child<W: AsRef<OsStr>>(self, words: impl IntoIterator<Item = W>) -> Self {
        self.arg("--").args(words)
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.stdin = input.into();
        self
    }

    /// How long it may take before it is killed and the test fails.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs to the end.
    pub fn run(self) -> Outcome {
        self.spawn().finish()
    }

    /// Starts and goes on, for a proxy that runs beside its clients.
    pub fn spawn(self) -> Running {
        let env = self.sandbox.base_env().into_iter().chain(self.env);
        Running::start(&self.words, env, &self.sandbox.path(""), self.stdin, self.limit)
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder in the sandbox");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("an entry of the sandbox");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}

/// Generous, for a machine that builds something else at the same time.
const LIMIT: Duration = Duration::from_secs(60);
