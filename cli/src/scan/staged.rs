//! What is staged for a commit, as `git` would commit it: not what lies in the folder.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;

use super::files::check_size;
use crate::exit::Failure;

/// Hands every staged file's name and content to `hand`, in git's order. Links and submodules hold no content.
pub(super) fn each<T>(
    paths: &[PathBuf],
    mut hand: impl FnMut(PathBuf, Result<Vec<u8>, Failure>) -> T,
) -> Result<Vec<T>, Failure> {
    let staged = list(paths)?;
    if staged.is_empty() {
        return Ok(Vec::new());
    }
    let mut objects = Objects::open()?;
    let mut done = Vec::with_capacity(staged.len());
    for (name, id) in staged {
        let content = objects.read(&name, &id)?;
        done.push(hand(name, content));
    }
    Ok(done)
}

/// The names, as seen from here, with the ids of their contents.
fn list(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    let prefix = git(&["rev-parse", "--show-prefix"], &[])?;
    let prefix = prefix.strip_suffix(b"\n").unwrap_or(&prefix);
    let raw = git(
        &[
            "diff",
            "--cached",
            "--raw",
            "-z",
            "--no-abbrev",
            "--no-renames",
            "--no-relative",
            "--diff-filter=ACMR",
            "--",
        ],
        paths,
    )?;
    let mut fields = raw.split(|b| *b == 0);
    let mut staged = Vec::new();
    // `:OLD-MODE NEW-MODE OLD-ID NEW-ID STATUS`, and then the name.
    while let Some((about, name)) = fields.next().zip(fields.next()) {
        let about: Vec<&[u8]> = about.split(|b| *b == b' ').collect();
        if let [_, mode, _, id, _] = about[..]
            && mode.starts_with(b"100")
        {
            staged.push((from_here(prefix, name), id.to_vec()));
        }
    }
    Ok(staged)
}

/// Git names files from the top of the repository; a person reads names from where they are.
fn from_here(prefix: &[u8], name: &[u8]) -> PathBuf {
    let mut rest = prefix;
    let mut path = PathBuf::new();
    while !name.starts_with(rest) {
        path.push("..");
        let above = rest[..rest.len() - 1].iter().rposition(|b| *b == b'/').map_or(0, |slash| slash + 1);
        rest = &rest[..above];
    }
    path.join(OsStr::from_bytes(&name[rest.len()..]))
}

fn git(words: &[&str], paths: &[PathBuf]) -> Result<Vec<u8>, Failure> {
    let output = Command::new("git")
        .args(words)
        .args(paths)
        // A name is a name, and no pattern.
        .env("GIT_LITERAL_PATHSPECS", "1")
        .stdin(Stdio::null())
        .output()
        .map_err(no_git)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(Failure::input(format!(
        "git cannot tell what is staged: {}",
        words.lines().next().unwrap_or("it failed")
    )))
}

fn no_git(error: io::Error) -> Failure {
    Failure::with_help(format!("cannot run git: {error}"), "--staged needs git on the PATH")
}

/// `git cat-file --batch`: asked for one object after the other.
struct Objects {
    child: std::process::Child,
    ask: std::process::ChildStdin,
    answers: BufReader<std::process::ChildStdout>,
}

impl Objects {
    fn open() -> Result<Self, Failure> {
        let mut child = Command::new("git")
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(no_git)?;
        let ask = child.stdin.take().expect("its input is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        Ok(Self { child, ask, answers })
    }

    /// The outer error is git's, the inner one the file's.
    fn read(&mut self, name: &Path, id: &[u8]) -> Result<Result<Vec<u8>, Failure>, Failure> {
        let about = || format!("cannot read the staged content of {}", name.display());
        self.ask.write_all(&[id, b"\n"].concat()).and_then(|()| self.ask.flush()).with_context(about)?;
        let mut head = String::new();
        self.answers.read_line(&mut head).with_context(about)?;
        let size: u64 = match head.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            [_, "blob", size] => size.parse().with_context(about)?,
            _ => return Err(Failure::input(about())),
        };
        // Its line feed comes with it.
        let mut content = (&mut self.answers).take(size + 1);
        if let Err(failure) = check_size(name, size) {
            io::copy(&mut content, &mut io::sink()).with_context(about)?;
            return Ok(Err(failure));
        }
        let mut bytes = Vec::with_capacity(size as usize + 1);
        content.read_to_end(&mut bytes).with_context(about)?;
        bytes.truncate(size as usize);
        Ok(Ok(bytes))
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_as_seen_from_the_current_folder() {
        assert_eq!(from_here(b"", b"a/b"), Path::new("a/b"));
        assert_eq!(from_here(b"a/", b"a/b"), Path::new("b"));
        assert_eq!(from_here(b"a/b/", b"a/c"), Path::new("../c"));
        assert_eq!(from_here(b"ab/", b"a"), Path::new("../a"));
    }
}
