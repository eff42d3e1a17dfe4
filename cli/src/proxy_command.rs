//! `wiretape proxy`: a proxy that runs until it is told to stop, and the note by which `wiretape env` finds it.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process,
};

use anyhow::Context;
use certs::{Authority, TrustKit};
use proxy::{ControlConfig, Door, Observer};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::{
    child::Signals,
    config::Config,
    environment::{self, Changes},
    exit::{Exit, Failure},
    places,
    run::{Run, mode_word},
    status::in_words,
    style::{shown, tame},
};

/// Whether every call gets a line of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    Calls,
    None,
}

/// Runs a proxy until SIGINT or SIGTERM.
pub(crate) async fn run(
    mut run: Run,
    config: &Config,
    lines: Lines,
    control: Option<SocketAddr>,
) -> Result<Exit, Failure> {
    let mode = run.mode;
    let plays = match (&run.sessions.folder, run.sessions.no_own) {
        (Some(folder), true) => format!("sessions from {}", shown(folder)),
        (Some(folder), false) => {
            format!("cassette {}, sessions from {}", shown(&run.cassette), shown(folder))
        }
        (None, _) => format!("cassette {}", shown(&run.cassette)),
    };
    let mut signals = Signals::listen()?;
    places::secure_state_dir()?;
    let note = Note::new()?;
    run.sessions.control = Some(ControlConfig { socket: Some(note.dir.join(SOCKET)), tcp: control, mode });
    let observer = (lines == Lines::Calls)
        .then(|| Observer(Box::new(|call| eprintln!("{:>4}  {}", call.seq, tame(&in_words(call))))));
    let running = run.start(config, observer, Some(&note.kit_dir())).await?;
    let address = running.proxy.address();
    let reverse = running.reverse_variables();
    let door = running.proxy.control().and_then(|control| control.tcp.as_ref());
    note.write(address, running.no_proxy(), &reverse, &running.dummies().collect::<Vec<_>>(), door)?;
    println!("http://{address}");
    eprintln!("wiretape proxy: {} on http://{address}, {plays}", mode_word(mode));
    for (name, value) in &reverse {
        eprintln!("  {name}={value}");
    }
    eprintln!("  control: unix:{}", shown(&note.dir.join(SOCKET)));
    if let Some(door) = door {
        eprintln!("  control: http://{} (`wiretape env` prints its token)", door.address);
    }
    eprintln!("  in another shell: eval \"$(wiretape env --port {})\"", address.port());
    signals.next().await;
    drop(note);
    running.finish(0).await
}

/// `wiretape env`: the variables for a proxy that runs.
pub(crate) fn print_env(port: Option<u16>, format: crate::args::EnvFormat) -> Result<Exit, Failure> {
    places::secure_state_dir()?;
    let (note, dir) = find(port)?;
    let text = |key: &str| note[key].as_str().unwrap_or_default().to_owned();
    let kit = TrustKit::open(&dir.join(KIT))?;
    let variables = kit.variables(&text("proxy"), &text("no_proxy"), &|name| std::env::var_os(name))?;
    let mut changes = Changes::from(variables);
    let extra = ["dummies", "reverse"].into_iter().filter_map(|key| note[key].as_object());
    for (name, value) in extra.flatten() {
        changes.set(name, value.as_str().unwrap_or_default());
    }
    for (key, name) in [("control", "WIRETAPE_CONTROL"), ("token", "WIRETAPE_CONTROL_TOKEN")] {
        if let Some(value) = note[key].as_str() {
            changes.set(name, value);
        }
    }
    environment::print(&changes, format);
    Ok(Exit::Fine)
}

/// The control socket of the proxy that runs.
pub(crate) fn control_socket(port: Option<u16>) -> Result<PathBuf, Failure> {
    places::secure_state_dir()?;
    Ok(find(port)?.1.join(SOCKET))
}

/// The proxy that is meant: the only one, or the one on that port.
fn find(port: Option<u16>) -> Result<(Value, PathBuf), Failure> {
    let mut found: Vec<(u16, Value, PathBuf)> = Note::all();
    if let Some(port) = port {
        found.retain(|(p, _, _)| *p == port);
    }
    match found.len() {
        0 => Err(Failure::with_help(
            "no wiretape proxy is running",
            "start one with `wiretape proxy --mode record`, or run a program at once with `wiretape record -- CMD`",
        )),
        1 => {
            let (_, note, dir) = found.remove(0);
            Ok((note, dir))
        }
        _ => {
            let ports: Vec<String> = found.iter().map(|(port, _, _)| port.to_string()).collect();
            Err(Failure::with_help(
                format!("several proxies are running, on ports {}", ports.join(", ")),
                "name one with --port",
            ))
        }
    }
}

/// The CA of a proxy that other programs were set up to trust, or one for this run.
pub(crate) fn authority() -> Result<Authority, Failure> {
    let dir = places::ca_dir();
    if dir.exists() {
        return Ok(Authority::load(&dir, OffsetDateTime::now_utc())?);
    }
    crate::run::ephemeral_authority()
}

/// A folder that says: this proxy runs here. Gone when it stops.
struct Note {
    dir: PathBuf,
}

impl Note {
    fn new() -> Result<Self, Failure> {
        Ok(Self { dir: Self::home().join(process::id().to_string()) })
    }

    fn home() -> PathBuf {
        places::state_dir().join("proxies")
    }

    fn kit_dir(&self) -> PathBuf {
        self.dir.join(KIT)
    }

    fn write(
        &self,
        address: SocketAddr,
        no_proxy: &str,
        reverse: &[(String, String)],
        dummies: &[(&str, String)],
        door: Option<&Door>,
    ) -> Result<(), Failure> {
        let reverse: serde_json::Map<String, Value> =
            reverse.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let dummies: serde_json::Map<String, Value> =
            dummies.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let mut note = json!({
            "proxy": format!("http://{address}"),
            "no_proxy": no_proxy,
            "reverse": reverse,
            "dummies": dummies,
        });
        match door {
            Some(door) => {
                note["control"] = json!(format!("http://{}", door.address));
                note["token"] = json!(door.token);
            }
            None => note["control"] = json!(format!("unix:{}", self.dir.join(SOCKET).display())),
        }
        let path = self.dir.join(NOTE);
        // It may hold a token: it is the owner's alone from the first byte.
        let open = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        open()
            .and_then(|mut file| file.write_all(note.to_string().as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(())
    }

    /// Every proxy of this user that still runs, by port.
    fn all() -> Vec<(u16, Value, PathBuf)> {
        let entries = fs::read_dir(Self::home()).into_iter().flatten().flatten();
        let running = entries.map(|entry| entry.path()).filter(|dir| is_running(dir));
        running
            .filter_map(|dir| {
                let note: Value = serde_json::from_str(&fs::read_to_string(dir.join(NOTE)).ok()?).ok()?;
                let port = note["proxy"].as_str()?.rsplit(':').next()?.parse().ok()?;
                Some((port, note, dir))
            })
            .collect()
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn is_running(dir: &Path) -> bool {
    let pid = dir.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok()).and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

const KIT: &str = "trust";
const SOCKET: &str = "control.sock";
const NOTE: &str = "proxy.json";
