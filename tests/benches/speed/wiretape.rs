//! The `wiretape` binary under test, built for release, and the proxies that it runs.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use wiretape_tests::clients::workspace;

use super::{
    bare::Bare,
    client::{Route, Target},
    corpus::HOST,
    process::{Process, own_environment},
};

#[derive(Debug)]
pub(crate) struct Wiretape {
    program: PathBuf,
    home: PathBuf,
    ca: Vec<u8>,
}

/// A proxy that is ready.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) process: Process,
    pub(crate) target: Target,
    /// From the start of the process until it listens.
    pub(crate) ready: Duration,
}

impl Wiretape {
    /// Builds the binary if it is not up to date. `WIRETAPE_BIN` names another one, which is then taken as it is.
    pub(crate) fn find(folder: &Path) -> Self {
        let program = env::var_os("WIRETAPE_BIN").map_or_else(built, PathBuf::from);
        let home = folder.join("wiretape");
        fs::create_dir(&home).expect("a home for wiretape");
        // A CA that is kept, so that every proxy of this run is trusted the same way.
        let mut init = Command::new(&program);
        own_environment(init.args(["ca", "init"]), &home);
        let output = init.output().expect("wiretape runs");
        assert!(output.status.success(), "wiretape ca init: {}", String::from_utf8_lossy(&output.stderr));
        let ca_file = String::from_utf8(output.stdout).expect("a path is UTF-8");
        let ca = fs::read(ca_file.trim_end()).expect("wiretape ca init names its CA file");
        Self { program, home, ca }
    }

    /// A folder to put cassettes into.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn replay(&self, cassette: &Path) -> Proxy {
        self.proxy(self.command("replay", cassette))
    }

    /// Records what the bare server says.
    pub(crate) fn record(&self, bare: &Bare, cassette: &Path) -> Proxy {
        let mut command = self.command("record", cassette);
        command
            .arg("--connect-to")
            .arg(format!("{HOST}:443:{}", bare.target.address()))
            .arg("--upstream-ca")
            .arg(&bare.ca_file);
        self.proxy(command)
    }

    fn command(&self, mode: &str, cassette: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["proxy", "--quiet", "--listen", "127.0.0.1:0", "--mode", mode, "-c"]).arg(cassette);
        command
    }

    fn proxy(&self, mut command: Command) -> Proxy {
        let mut process = Process::start(&mut command, &self.home);
        let (line, ready) = process.line();
        let address = line.strip_prefix("http://").and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("{command:?} said {line:?} in place of its address"));
        Proxy { process, target: Target::new(address, Route::Connect, &self.ca), ready }
    }
}

fn built() -> PathBuf {
    // target/release/deps/speed-…
    let bench = env::current_exe().expect("a program knows its own path");
    let profile = bench.ancestors().nth(2).expect("a bench lies in target/release/deps");
    let target = profile.parent().expect("a profile lies in the target folder");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "wiretape-cli", "--target-dir"])
        .arg(target)
        .current_dir(workspace())
        .status()
        .expect("cargo runs");
    assert!(status.success(), "cargo build --package wiretape-cli failed");
    target.join("release/wiretape")
}
