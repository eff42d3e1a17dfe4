//! The files to scan: those named, and those in the folders named, in the order of their names.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use crate::exit::Failure;

/// Links are followed only where they were named themselves.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = BTreeSet::new();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::input(format!("there is no {}", path.display())),
            _ => cannot_read(path, &error),
        })?;
        if metadata.is_dir() {
            walk(path, &mut found)?;
        } else if metadata.is_file() {
            found.insert(path.clone());
            walk_blobs(path, &mut found)?;
        } else {
            return Err(Failure::input(format!("{} is neither a file nor a folder", path.display())));
        }
    }
    if found.is_empty() {
        return Err(Failure::with_help(
            "there is nothing to scan",
            "name files or folders, or scan what is staged for a commit with --staged",
        ));
    }
    Ok(found.into_iter().collect())
}

/// The content of a file, if it is not too large to be held.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |error: io::Error| cannot_read(path, &error);
    let file = open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if !metadata.is_file() {
        return Err(Failure::input(format!("{} is no longer a file", path.display())));
    }
    check_size(path, metadata.len())?;
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(cannot)?;
    check_size(path, bytes.len() as u64)?;
    Ok(bytes)
}

pub(super) fn check_size(path: &Path, size: u64) -> Result<(), Failure> {
    if size <= MOST_BYTES {
        return Ok(());
    }
    let most = MOST_BYTES >> 20;
    Err(Failure::with_help(
        format!("{} is larger than the {most} MiB that are scanned", path.display()),
        "split it, or leave it out by naming the other files",
    ))
}

fn walk(folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), Failure> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let cannot = |error: io::Error| cannot_read(&folder, &error);
        for entry in fs::read_dir(&folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let kind = entry.file_type().map_err(cannot)?;
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.insert(entry.path());
            }
        }
    }
    Ok(())
}

/// A cassette's large bodies lie beside it.
fn walk_blobs(cassette: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), Failure> {
    let mut blobs = cassette.as_os_str().to_owned();
    blobs.push(".blobs");
    let blobs = PathBuf::from(blobs);
    match fs::symlink_metadata(&blobs) {
        Ok(metadata) if metadata.is_dir() => walk(&blobs, found),
        _ => Ok(()),
    }
}

/// Without waiting, if it has become a pipe since it was found.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format!("cannot read {}: {error}", path.display()))
}

const MOST_BYTES: u64 = 256 << 20;
