//! Cassettes on disk: the only code below the proxy that touches one.
//!
//! A cassette is never opened for writing. It is replaced as a whole by a file that is already safe on disk, so
//! whatever goes wrong, the old one is still there, byte for byte. While a recording runs, everything goes to a
//! [`Journal`] first; a [`Lock`] keeps two recorders of one cassette apart.

mod blobs;
mod journal;
mod lock;
mod replace;

use std::{
    borrow::Borrow,
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use ::exchange::{Exchange, Sha256};
use matchers::Policy;
use rustix::fs::OFlags;
use thiserror::Error;
use yaml::Problem;

use crate::{
    Scrubbed,
    format::{self, Cassette, Redaction},
};

use replace::Flush;

pub use journal::{Entry, Journal, Records};
pub use lock::Lock;

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("{}:{}: {problem}", file.display(), problem.span.position(source_text))]
    Invalid { file: PathBuf, source_text: Arc<str>, problem: Box<Problem> },
    #[error("{}:{line}:{column}: the file is not UTF-8 text", file.display())]
    NotUtf8 { file: PathBuf, line: usize, column: usize },
    #[error("{} is larger than {limit} bytes", file.display())]
    TooLarge { file: PathBuf, limit: u64 },
    #[error("{} is being recorded by another wiretape{}", cassette.display(), process(*pid))]
    Locked { cassette: PathBuf, pid: Option<u32> },
    #[error("cannot {action} {}: {source}", file.display())]
    Io { action: &'static str, file: PathBuf, source: io::Error },
}

/// What [`save`] did to the cassette's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    Written,
    /// The same bytes stood there already; the file was not touched.
    Unchanged,
}

/// Reads a cassette and its blobs.
pub fn load(path: &Path) -> Result<Cassette, StoreError> {
    let bytes = read_bounded(path)?;
    let source =
        String::from_utf8(bytes).map_err(|error| not_utf8(path, error.as_bytes(), error.utf8_error()))?;
    let folder = blobs::folder(&resolve(path));
    format::read(&source, &|sha256| blobs::read(&folder, sha256)).map_err(|problem| StoreError::Invalid {
        file: path.to_owned(),
        source_text: source.as_str().into(),
        problem: Box::new(problem),
    })
}

/// Replaces the cassette at `path`, or makes it and its folder.
pub fn save(path: &Path, cassette: &Cassette) -> Result<Saved, StoreError> {
    save_from(path, cassette.redaction.as_ref(), cassette.policy.as_ref(), cassette.exchanges.iter().map(Ok))
}

/// As [`save`], for a cassette that can be made again from something else: it is replaced as a whole too, but nobody
/// waits for the disk, which for many small ones would take longer than all the rest.
pub fn save_derived(path: &Path, cassette: &Cassette) -> Result<Saved, StoreError> {
    let head = (cassette.redaction.as_ref(), cassette.policy.as_ref());
    put(path, head, cassette.exchanges.iter().map(Ok), Flush::Later)
}

/// Like [`save`], holding one exchange at a time. An error from `exchanges` leaves the old cassette as it is.
pub fn save_from<E: Borrow<Scrubbed<Exchange>>>(
    path: &Path,
    redaction: Option<&Redaction>,
    policy: Option<&Policy>,
    exchanges: impl IntoIterator<Item = Result<E, StoreError>>,
) -> Result<Saved, StoreError> {
    put(path, (redaction, policy), exchanges, Flush::Now)
}

fn put<E: Borrow<Scrubbed<Exchange>>>(
    path: &Path,
    (redaction, policy): (Option<&Redaction>, Option<&Policy>),
    exchanges: impl IntoIterator<Item = Result<E, StoreError>>,
    flush: Flush,
) -> Result<Saved, StoreError> {
    let path = resolve(path);
    let parent = folder_of(&path);
    fs::create_dir_all(parent).map_err(failed("create the folder", parent))?;
    let folder = blobs::folder(&path);
    let mut kept = HashSet::new();
    let saved = replace::replace(&path, &path, flush, |file| {
        let put = |file: &mut dyn Write, text: &str| {
            file.write_all(text.as_bytes()).map_err(failed("write", &path))
        };
        put(file, &format::header(redaction, policy))?;
        for exchange in exchanges {
            let mut bodies = format::Blobs::new();
            let text = format::item(exchange?.borrow(), format::BLOB_THRESHOLD, &mut bodies);
            for (sha256, body) in bodies {
                if kept.insert(sha256) {
                    blobs::write(&folder, &path, flush, (&sha256, &body))?;
                }
            }
            put(file, &text)?;
        }
        put(file, format::FOOTER)
    })?;
    blobs::remove_others(&folder, &kept);
    Ok(saved)
}

/// The file behind a path, so that a symbolic link to a cassette stays one and its blobs are found. What does
/// not exist yet is named from the nearest folder that does.
fn resolve(path: &Path) -> PathBuf {
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut known = path;
    loop {
        let candidate = if known.as_os_str().is_empty() { Path::new(".") } else { known };
        if let Ok(resolved) = fs::canonicalize(candidate) {
            return missing.iter().rev().fold(resolved, |path, name| path.join(name));
        }
        match (known.parent(), known.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                known = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

/// Where the lock and the journals of a cassette are.
fn state_folder(cassette: &Path, state_dir: &Path) -> PathBuf {
    state_dir.join(Sha256::of(cassette.as_os_str().as_bytes()).to_string())
}

fn create_private_folder(folder: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed("create the folder", folder))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the names in a folder as durable as the files they name.
fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("flush the folder", folder))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, StoreError> {
    let too_large = || StoreError::TooLarge { file: path.to_owned(), limit: MOST_BYTES };
    // Not waiting: a pipe in the place of a cassette must not hang the reader.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(failed("read", path))?;
    let metadata = file.metadata().map_err(failed("read", path))?;
    let size = metadata.len();
    if size > MOST_BYTES {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(size as usize);
    // Bounded once more: what is not a regular file tells no size.
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed("read", path))?;
    if bytes.len() as u64 > MOST_BYTES { Err(too_large()) } else { Ok(bytes) }
}

fn not_utf8(path: &Path, bytes: &[u8], error: std::str::Utf8Error) -> StoreError {
    let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
    let position = yaml::Span::new(before.len(), before.len()).position(&before);
    StoreError::NotUtf8 { file: path.to_owned(), line: position.line, column: position.column }
}

fn failed(action: &'static str, file: &Path) -> impl Fn(io::Error) -> StoreError + use<> {
    let file = file.to_owned();
    move |source| StoreError::Io { action, file: file.clone(), source }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or(String::new(), |pid| format!(" (process {pid})"))
}

/// Of a cassette, and of one blob. The format's own limit is the same.
const MOST_BYTES: u64 = 1 << 30;

#[cfg(test)]
mod tests;
