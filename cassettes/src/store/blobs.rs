//! Bodies too big for the text, in `<cassette>.blobs/<sha256>`.
//!
//! The folder may come from a stranger: nothing in it is followed anywhere else, and only names that are hashes
//! are looked at.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use bytes::Bytes;
use exchange::Sha256;
use rustix::fs::{Mode, OFlags};

use super::{
    MOST_BYTES, StoreError, failed,
    replace::{Flush, TEMPORARY, replace},
    with_suffix,
};

pub(super) fn folder(cassette: &Path) -> PathBuf {
    with_suffix(cassette, ".blobs")
}

/// The bytes of a blob, unchecked; `None` if there is none.
pub(super) fn read(folder: &Path, sha256: &Sha256) -> io::Result<Option<Bytes>> {
    let file = match open(folder, sha256) {
        Ok(file) => file,
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
            return Err(io::Error::other("it is a symbolic link, or its folder is no folder"));
        }
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    if file.take(MOST_BYTES + 1).read_to_end(&mut bytes)? as u64 > MOST_BYTES {
        return Err(io::Error::other(format!("it is larger than {MOST_BYTES} bytes")));
    }
    Ok(Some(bytes.into()))
}

/// Keeps a blob, unless it is there. A file of its name that holds something else was damaged, and is replaced. It is
/// as open to others as the cassette.
pub(super) fn write(
    folder: &Path,
    cassette: &Path,
    flush: Flush,
    (sha256, bytes): (&Sha256, &[u8]),
) -> Result<(), StoreError> {
    if is_link(folder) {
        return Err(failed("write into", folder)(io::Error::other("it is a symbolic link")));
    }
    let path = folder.join(sha256.to_string());
    let may_be_there = fs::symlink_metadata(&path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == bytes.len() as u64);
    if may_be_there && read(folder, sha256).is_ok_and(|kept| kept.is_some_and(|kept| kept == bytes)) {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(failed("create the folder", folder))?;
    replace(&path, cassette, flush, |file| file.write_all(bytes).map_err(failed("write", &path)))?;
    Ok(())
}

/// Removes blobs that no exchange names, what a killed writer left, and the folder once it is empty. A failure
/// is no loss: the cassette is whole, and the next save tries again.
pub(super) fn remove_others(folder: &Path, kept: &HashSet<Sha256>) {
    if is_link(folder) {
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_left_over = match Sha256::parse(name) {
            Some(sha256) => !kept.contains(&sha256),
            None => name.starts_with(TEMPORARY),
        };
        if is_left_over {
            let _ = fs::remove_file(entry.path());
        }
    }
    if kept.is_empty() {
        let _ = fs::remove_dir(folder);
    }
}

fn is_link(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink())
}

fn open(folder: &Path, sha256: &Sha256) -> rustix::io::Result<File> {
    let stay = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, stay | OFlags::DIRECTORY, Mode::empty())?;
    // Not waiting: a pipe in the place of a blob must not hang the reader.
    let file = rustix::fs::openat(&folder, sha256.to_string(), stay | OFlags::NONBLOCK, Mode::empty())?;
    Ok(file.into())
}
