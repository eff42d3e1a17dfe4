//! `wiretape doctor`: does this machine have what wiretape needs?

use std::{
    env,
    ffi::OsStr,
    fs, io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};

use cassettes::{
    rule_hits::Unhit,
    scrub::rules::{Rule, Rules},
    store,
};
use certs::Authority;
use time::OffsetDateTime;

use crate::{
    config::Config,
    exit::{Exit, Failure},
    places,
    style::{Paint, To, tame},
};

enum Finding {
    Good,
    /// Worth knowing; nothing fails for it.
    Note,
    Bad,
}

pub(crate) fn run(config: &Config) -> Result<Exit, Failure> {
    let mut bad = 0;
    let mut tell = |finding: Finding, text: String| {
        let mark = match finding {
            Finding::Good => To::Stdout.paint(Paint::Green, "ok  "),
            Finding::Note => To::Stdout.paint(Paint::Yellow, "note"),
            Finding::Bad => {
                bad += 1;
                To::Stdout.paint(Paint::Red, "bad ")
            }
        };
        println!("{mark}  {}", tame(&text));
    };
    match TcpListener::bind(("127.0.0.1", 0)) {
        Ok(_) => tell(Finding::Good, "can listen on loopback".into()),
        Err(error) => tell(Finding::Bad, format!("cannot listen on loopback: {error}")),
    }
    match writable(&places::state_dir()) {
        Ok(()) => tell(Finding::Good, format!("journals go to {}", places::state_dir().display())),
        Err(error) => {
            tell(Finding::Bad, format!("cannot write to {}: {error}", places::state_dir().display()))
        }
    }
    match certs::upstream_client_config(&[], &[]) {
        Ok(_) => tell(Finding::Good, "found the system's root certificates".into()),
        Err(error) => tell(Finding::Bad, format!("recording cannot trust real hosts: {error}")),
    }
    match Authority::load(&places::ca_dir(), OffsetDateTime::now_utc()) {
        Ok(ca) => tell(Finding::Good, format!("kept CA valid until {}", ca.not_after().date())),
        Err(_) if !places::ca_dir().exists() => {
            tell(Finding::Good, "no kept CA: each run makes its own, in memory".into());
        }
        Err(error) => tell(Finding::Bad, error.to_string()),
    }
    match &config.file {
        Some(file) => tell(Finding::Good, format!("configuration from {}", file.display())),
        None => tell(Finding::Good, "no wiretape.yaml here or above: defaults apply".into()),
    }
    if !config.rules.is_empty() {
        let folder = config.cassettes.as_deref().unwrap_or(Path::new(places::CASSETTES));
        judge(&config.rules, folder, &mut tell);
    }
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        if env::var_os(name).is_some_and(|v| !v.is_empty()) {
            tell(Finding::Note, format!("{name} is set: recording reaches real hosts through that proxy"));
        }
    }
    for (program, works) in CLIENTS {
        match version(program) {
            Some(version) => tell(Finding::Good, format!("{version}: {works}")),
            None => tell(Finding::Note, format!("{program} is not installed")),
        }
    }
    Ok(if bad == 0 { Exit::Fine } else { Exit::Failed })
}

/// Names the rules that nothing was ever hit by.
fn judge(rules: &Rules, folder: &Path, tell: &mut dyn FnMut(Finding, String)) {
    let mut unhit = Unhit::of(rules);
    let mut count = 0;
    for file in yaml_files(folder) {
        match store::load(&file) {
            Ok(cassette) => {
                unhit.look(&cassette);
                count += 1;
            }
            Err(error) => {
                tell(Finding::Note, format!("rules were not held against {}: {error}", file.display()))
            }
        }
    }
    let is_set = |rule: &Rule<'_>| match rule {
        Rule::KeptEnv(glob) => env::vars_os().any(|(name, _)| glob.matches(&name.to_string_lossy())),
        _ => true,
    };
    let unset: Vec<_> = rules.listed().filter(|(_, rule)| !is_set(rule)).collect();
    for (list, rule) in &unset {
        tell(Finding::Note, format!("rule never hit: {list}.{rule} (no such variable is set)"));
    }
    if count == 0 {
        tell(Finding::Note, format!("no cassette in {} yet: rules cannot be judged", folder.display()));
        return;
    }
    let cassettes = if count == 1 { "1 cassette".to_owned() } else { format!("{count} cassettes") };
    let unhit = unhit.remaining();
    for (list, rule) in &unhit {
        tell(Finding::Note, format!("rule never hit: {list}.{rule} (in {cassettes})"));
    }
    if unset.is_empty() && unhit.is_empty() {
        tell(Finding::Good, format!("every rule was hit (in {cassettes})"));
    }
}

/// The YAML files in a folder and those below it, in order. Links are not followed.
fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "yaml" || e == "yml") => {
                    files.push(path);
                }
                _ => {}
            }
        }
    }
    files.sort();
    files
}

fn writable(dir: &PathBuf) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    tempfile::tempfile_in(dir).map(|_| ())
}

/// The first line in which a program names its version.
fn version(program: &str) -> Option<String> {
    let flag = if program == "java" { "-version" } else { "--version" };
    let output = Command::new(OsStr::new(program)).arg(flag).output().ok()?;
    let said = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let line = String::from_utf8_lossy(&said).lines().next()?.trim().to_owned();
    let names_itself = line.to_ascii_lowercase().contains(program.trim_end_matches('3'));
    let line = if names_itself { line } else { format!("{program} {line}") };
    // Some list every library they were built with.
    Some(line.split_whitespace().take(4).collect::<Vec<_>>().join(" "))
}

/// Clients we know how to lead through the proxy, and how.
const CLIENTS: &[(&str, &str)] = &[
    ("curl", "through the environment"),
    ("git", "through the environment"),
    ("gh", "through the environment"),
    ("python3", "through the environment; aiohttp through a start-up file"),
    ("node", "through a preload"),
    ("java", "through JAVA_TOOL_OPTIONS and a key store"),
];
