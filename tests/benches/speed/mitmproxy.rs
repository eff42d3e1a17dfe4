//! mitmproxy under the same load, where it is installed. It is asked only for what it documents.

use std::{
    env,
    fs::{self, File},
    io::{BufWriter, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use serde_json::json;
use wiretape_tests::clients::workspace;

use super::{
    bare::Bare,
    client::{Route, Target},
    corpus::{GET_PATH, HOST, POST_PATH, chat_reply, chat_request, one_kib},
    process::{Process, own_environment},
    wiretape::Proxy,
};

#[derive(Debug)]
pub(crate) struct Mitmproxy {
    program: PathBuf,
    home: PathBuf,
    addon: PathBuf,
}

impl Mitmproxy {
    /// `mitmdump` on the path, or in `.cache/bench-venv`, which `WIRETAPE_BENCH_MITMPROXY=1` has made. With `0` there
    /// it is left out even where it is installed.
    pub(crate) fn find(folder: &Path) -> Option<Self> {
        let wish = env::var(WISH).unwrap_or_default();
        if wish == "0" {
            return None;
        }
        let venv = workspace().join(".cache/bench-venv");
        let installed = venv.join("bin/mitmdump");
        let path = env::var_os("PATH").unwrap_or_default();
        let mut places =
            env::split_paths(&path).map(|folder| folder.join("mitmdump")).chain([installed.clone()]);
        let program = match places.find(|file| file.is_file()) {
            Some(program) => program,
            None if wish == "1" => {
                install(&venv);
                installed
            }
            None => return None,
        };
        let home = folder.join("mitmproxy");
        fs::create_dir(&home).expect("a home for mitmproxy");
        let addon = home.join("speed.py");
        fs::write(&addon, ADDON).expect("the addon is written");
        Some(Self { program, home, addon })
    }

    /// Flows with the exchanges of the load.
    pub(crate) fn load(&self) -> PathBuf {
        let get = ("GET", GET_PATH, String::new(), one_kib());
        let post = ("POST", POST_PATH, chat_request(0), one_kib());
        self.flows("load", [get, post])
    }

    /// Flows with so many chats.
    pub(crate) fn chats(&self, count: usize) -> PathBuf {
        let chats = (0..count).map(|number| ("POST", POST_PATH, chat_request(number), chat_reply(number)));
        self.flows(&count.to_string(), chats)
    }

    /// Replays; `None` if it does not listen within the limit.
    pub(crate) fn replay(&self, flows: &Path) -> Option<Proxy> {
        let mut command = self.command();
        command.arg("--server-replay").arg(flows);
        command.args(["--set", "server_replay_reuse=true"]);
        command.args(["--set", "server_replay_extra=kill"]);
        command.args(["--set", "upstream_cert=false"]);
        self.proxy(command)
    }

    /// Records what the bare server says.
    pub(crate) fn record(&self, bare: &Bare) -> Option<Proxy> {
        let address = bare.target.address();
        let mut command = self.command();
        command.arg("-s").arg(&self.addon);
        command.arg("--set").arg(format!("speed_upstream={address}"));
        command.arg("--set").arg(format!("ssl_verify_upstream_trusted_ca={}", bare.ca_file.display()));
        command.arg("-w").arg(self.home.join("recorded.flows"));
        self.proxy(command)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["--quiet", "--set", "connection_strategy=lazy", "--set"])
            .arg(format!("confdir={}", self.home.display()));
        command
    }

    fn proxy(&self, mut command: Command) -> Option<Proxy> {
        let address = free_address();
        command.args(["--listen-host", "127.0.0.1", "--listen-port"]).arg(address.port().to_string());
        let mut process = Process::start(&mut command, &self.home);
        // It says nothing on its output when it listens, so it is asked until it answers.
        while TcpStream::connect(address).is_err() {
            assert!(!process.has_ended(), "{command:?} ended before it was ready");
            if process.began().elapsed() > LIMIT {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let ready = process.began().elapsed();
        let ca = fs::read(self.home.join("mitmproxy-ca-cert.pem")).expect("mitmproxy leaves its CA");
        Some(Proxy { process, target: Target::new(address, Route::Connect, &ca), ready })
    }

    /// Has mitmproxy write a flow file in its own format.
    fn flows(
        &self,
        name: &str,
        exchanges: impl IntoIterator<Item = (&'static str, &'static str, String, String)>,
    ) -> PathBuf {
        let asked = self.home.join(format!("{name}.jsonl"));
        let flows = self.home.join(format!("{name}.flows"));
        let mut file = BufWriter::new(File::create(&asked).expect("a file for the exchanges"));
        for (method, path, body, reply) in exchanges {
            let line = json!([method, format!("https://{HOST}{path}"), body, reply]);
            writeln!(file, "{line}").expect("the exchanges are written");
        }
        file.flush().expect("the exchanges are written");
        let mut command = self.command();
        command.arg("-n").arg("-s").arg(&self.addon);
        command.arg("--set").arg(format!("speed_exchanges={}", asked.display()));
        command.arg("--set").arg(format!("speed_flows={}", flows.display()));
        own_environment(&mut command, &self.home);
        let status = command.status().expect("mitmdump runs");
        assert!(status.success() && flows.exists(), "mitmdump made no flows");
        flows
    }
}

fn install(venv: &Path) {
    let run = |command: &mut Command| {
        let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(status.success(), "{command:?} failed");
    };
    run(Command::new("python3").args(["-m", "venv"]).arg(venv));
    run(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "mitmproxy"]));
}

/// A port that was free a moment ago: mitmproxy does not tell which one it took.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("a bound listener has an address")
}

pub(crate) const MISSING: &str =
    "mitmproxy not installed (WIRETAPE_BENCH_MITMPROXY=1 installs it for this benchmark) or left out";
const WISH: &str = "WIRETAPE_BENCH_MITMPROXY";
const ADDON: &str = include_str!("mitmproxy.py");
const LIMIT: Duration = Duration::from_secs(60);
