//! Where things are kept: the state folder, and cassettes that nobody named.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use crate::exit::Failure;

/// Journals, locks and the kept CA: never inside a project, so that nothing of it is committed.
pub(crate) fn state_dir() -> PathBuf {
    let home =
        || env::var_os("HOME").filter(|h| !h.is_empty()).map(|h| PathBuf::from(h).join(".local/state"));
    let base = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|p| p.is_absolute()).or_else(home);
    match base {
        Some(base) => base.join("wiretape"),
        // A name of our own in a folder that everybody shares.
        None => env::temp_dir().join(format!("wiretape-{}", rustix::process::geteuid().as_raw())),
    }
}

/// Makes the state folder ours alone, or refuses one that is not: what lies there is believed.
pub(crate) fn secure_state_dir() -> Result<(), Failure> {
    let dir = state_dir();
    let cannot = |error: io::Error| {
        Failure::Runtime(
            anyhow::Error::new(error).context(format!("cannot create the folder {}", dir.display())),
        )
    };
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(cannot)?;
    let metadata = fs::symlink_metadata(&dir).map_err(cannot)?;
    let is_ours = metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || metadata.mode() & 0o022 != 0 {
        return Err(Failure::with_help(
            format!("{} is not a folder that only you can write to", dir.display()),
            "run `chmod 700` on it, or set XDG_STATE_HOME to a folder of your own",
        ));
    }
    Ok(())
}

/// The folder of the kept CA.
pub(crate) fn ca_dir() -> PathBuf {
    state_dir().join("ca")
}

/// The cassette of a command, when none was named.
pub(crate) fn default_cassette(folder: Option<&Path>, command: &[OsString]) -> PathBuf {
    let name = command_name(command).unwrap_or_else(|| "wiretape".to_owned());
    folder.unwrap_or(Path::new(CASSETTES)).join(format!("{name}.yaml"))
}

/// The folder of cassettes, when none was named.
pub(crate) const CASSETTES: &str = "cassettes";

/// `python agent.py` is about the agent, not about Python.
fn command_name(command: &[OsString]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let name = stem(program)?;
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !INTERPRETERS.contains(&plain) {
        return Some(name);
    }
    let mut arguments = arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            // A module's name, or text to run: the text is no name.
            Some("-m") => return arguments.next().and_then(|m| stem(m)).or(Some(name)),
            Some("-c" | "-e" | "-") | None => return Some(name),
            Some("run" | "exec" | "x") if plain == "uv" || plain == "bun" || plain == "deno" => {}
            Some(flag) if flag.starts_with('-') => {}
            Some(_) => return stem(argument).or(Some(name)),
        }
    }
    Some(name)
}

fn stem(path: &OsStr) -> Option<String> {
    let stem = Path::new(path).file_stem()?.to_str()?;
    let safe: String =
        stem.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    (!safe.trim_matches('.').is_empty()).then_some(safe)
}

const INTERPRETERS: &[&str] = &[
    "python", "pypy", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "deno", "bun", "uv", "npx", "tsx",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn name(words: &[&str]) -> Option<String> {
        command_name(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_cassette_is_named_after_what_the_person_runs() {
        let named = |words: &[&str]| name(words).unwrap();
        assert_eq!(named(&["pytest", "-x"]), "pytest");
        assert_eq!(named(&["python3.11", "-u", "src/agent.py", "--fast"]), "agent");
        assert_eq!(named(&["/usr/bin/python3", "-m", "triage"]), "triage");
        assert_eq!(named(&["node", "bot.mjs"]), "bot");
        assert_eq!(named(&["uv", "run", "agent.py"]), "agent");
        assert_eq!(named(&["sh", "-c", "curl https://x"]), "sh");
        assert_eq!(named(&["gh", "issue", "list"]), "gh");
    }
}
