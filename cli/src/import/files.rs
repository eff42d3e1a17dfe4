//! Foreign files on disk: read within bounds, and never from outside of their folder.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use cassettes::import::MOST_BYTES;
use rustix::fs::OFlags;

use crate::exit::Failure;

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |error: io::Error| Failure::input(format!("cannot read {}: {error}", path.display()));
    let file = open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if metadata.len() > MOST_BYTES as u64 {
        let most = MOST_BYTES >> 20;
        return Err(Failure::input(format!(
            "{} is larger than the {most} MiB that are read",
            path.display()
        )));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(bytes)
}

/// A file that a recording names. The name goes only down, and what it leads to must still be in the folder: a link
/// on the way may point anywhere.
pub(super) fn beside(folder: &Path, name: &str) -> io::Result<Option<bytes::Bytes>> {
    let path = match fs::canonicalize(folder.join(name)) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !path.starts_with(fs::canonicalize(folder)?) {
        return Err(io::Error::other("a link leads out of the recording's own folder"));
    }
    let file = open(&path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    if file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)? > MOST_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than the {} MiB that are read",
            MOST_BYTES >> 20
        )));
    }
    Ok(Some(bytes.into()))
}

/// The first bytes of a file.
pub(super) fn opening(path: &Path) -> io::Result<Vec<u8>> {
    let mut opening = Vec::new();
    open(path)?.take(OPENING as u64).read_to_end(&mut opening)?;
    Ok(opening)
}

/// Whether a file is there that wiretape did not write.
pub(super) fn is_foreign(path: &Path) -> bool {
    if open(path).is_err() {
        return false;
    }
    let text = opening(path).unwrap_or_default();
    !String::from_utf8_lossy(&text).lines().any(|line| line.starts_with("wiretape: cassette/"))
}

/// Not waiting: a pipe in the place of a recording must not hang the reader.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)
}

const OPENING: usize = 4096;
