//! What a run leaves: the files in its sandbox, the exchanges on its cassette, and its last words.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::sandbox::Sandbox;

/// The URLs on a cassette, in order.
pub fn urls(cassette: &str) -> Vec<&str> {
    cassette
        .lines()
        .filter_map(|line| line.strip_prefix("      url: "))
        .map(|url| url.trim_matches('\''))
        .collect()
}

/// The journals in the sandbox's state folder.
pub fn journals(sandbox: &Sandbox) -> Vec<PathBuf> {
    files(&sandbox.root().join("state"))
        .into_iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "journal"))
        .collect()
}

/// Every file under a folder, sorted. Links are not followed.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for entry in entries {
            let entry = entry.expect("an entry of the folder");
            if entry.file_type().expect("an entry has a type").is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// What `wiretape` said, with every duration at the end of a line as `(…)`.
pub fn timeless(said: &str) -> String {
    let without = |line: &str| match line.rsplit_once(" (") {
        Some((words, time)) if time.starts_with(|c: char| c.is_ascii_digit()) && time.ends_with("s)\n") => {
            format!("{words} (…)\n")
        }
        _ => line.to_owned(),
    };
    said.split_inclusive('\n').map(without).collect()
}
