//! Runs a client with the environment of a trust kit, and nothing else.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use time::OffsetDateTime;
use wiretape_certs::{Authority, CertError, LOOPBACK_IS_DIRECT, Minter, Roots, TrustKit};

use crate::proxy::{Proxy, Seen};

/// A proxy, and the kit that makes clients trust it.
pub struct Setup {
    pub proxy: Proxy,
    pub kit: TrustKit,
    pub no_proxy: &'static str,
}

impl Setup {
    pub fn new() -> Self {
        Self::with(|authority| TrustKit::create(authority, Roots::OursOnly, &|_| None))
    }

    /// With a kit that lies in a folder of one's own.
    pub fn kept_in(dir: &Path) -> Self {
        Self::with(|authority| TrustKit::create_in(dir, authority, Roots::OursOnly, &|_| None))
    }

    fn with(kit: impl FnOnce(&Authority) -> Result<TrustKit, CertError>) -> Self {
        let authority = Authority::ephemeral(OffsetDateTime::now_utc()).unwrap();
        let kit = kit(&authority).unwrap();
        let proxy = Proxy::start(Minter::new(authority).unwrap());
        Self { proxy, kit, no_proxy: LOOPBACK_IS_DIRECT }
    }

    /// A command under the kit's variables.
    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        let url = format!("http://case-7@{}", self.proxy.address());
        let variables = self.kit.variables(&url, self.no_proxy, &|_| None).unwrap();
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(variables.set);
        command
    }

    /// What the client printed; it must have ended well, and by itself.
    pub fn printed(&self, program: &str, args: &[&str]) -> String {
        printed(self.command(program, args))
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.proxy.seen()
    }

    /// The targets of the requests that came through the proxy, sorted.
    pub fn targets(&self) -> Vec<String> {
        let mut targets: Vec<_> = self.seen().into_iter().map(|seen| seen.target).collect();
        targets.sort();
        targets
    }
}

pub fn printed(command: Command) -> String {
    let output = output(command);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    stdout.into_owned()
}

/// Waits for the end of a client; one that hangs fails the test.
pub fn output(mut command: Command) -> Output {
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("client starts");
    let id = child.id();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            let _ = Command::new("kill").args(["-9", &id.to_string()]).status();
            panic!("the client did not end by itself: {command:?}");
        }
    }
}

/// Whether a program is there; says why a test is skipped if not.
pub fn is_there(program: &str, probe: &str) -> bool {
    let there = Command::new(program).arg(probe).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !there {
        println!("skipped: there is no `{program}` on this machine");
    }
    there
}
