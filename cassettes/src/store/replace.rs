//! Replacing a file as a whole: all of the new one, or all of the old one.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
    process,
};

use super::{Saved, StoreError, failed, folder_of, sync_folder};

/// When a file is forced to the disk itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    /// Before it takes its place: a power failure loses nothing.
    Now,
    /// When the system sees fit: what can be made again need not be waited for.
    Later,
}

/// Puts what `write` writes in the place of `path`. On any error, and if the bytes are the same, the file that was
/// there is left alone and the temporary one removed. Called by one process at a time for one path. The new file is
/// as open to others as `model` is, if that exists, and at no moment more so.
pub(super) fn replace(
    path: &Path,
    model: &Path,
    flush: Flush,
    write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
) -> Result<Saved, StoreError> {
    let folder = folder_of(path);
    let model = fs::metadata(model).ok();
    let mut temporary = Temporary::create(path, if model.is_some() { PRIVATE_FILE } else { NEW_FILE })?;
    let mut buffer = BufWriter::with_capacity(BUFFER, &temporary.file);
    write(&mut buffer)?;
    buffer.flush().map_err(failed("write", path))?;
    drop(buffer);
    if is_same(path, &mut temporary.file).map_err(failed("compare", path))? {
        return Ok(Saved::Unchanged);
    }
    if let Some(model) = model {
        temporary.file.set_permissions(model.permissions()).map_err(failed("set the mode of", path))?;
    }
    if flush == Flush::Now {
        temporary.file.sync_all().map_err(failed("flush", path))?;
    }
    temporary.take_the_place_of(path)?;
    if flush == Flush::Now {
        sync_folder(folder)?;
    }
    Ok(Saved::Written)
}

/// A file beside the one that it is to replace. Dropped, it goes away.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    fn create(target: &Path, mode: u32) -> Result<Self, StoreError> {
        let folder = folder_of(target);
        let prefix = prefix_for(target);
        remove_leftovers(folder, &prefix);
        let mut name = prefix;
        name.push(process::id().to_string());
        let path = folder.join(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)
            .map_err(failed("create a file in", folder))?;
        Ok(Self { path, file })
    }

    fn take_the_place_of(self, target: &Path) -> Result<(), StoreError> {
        // Dropping it afterwards finds nothing to remove.
        fs::rename(&self.path, target).map_err(failed("replace", target))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// How the names of all temporary files for one path start, so that what a killed process left can be told.
fn prefix_for(target: &Path) -> OsString {
    let mut prefix = OsString::from(TEMPORARY);
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push("-");
    prefix
}

fn remove_leftovers(folder: &Path, prefix: &OsStr) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|e| e.file_name().as_bytes().starts_with(prefix.as_bytes())) {
        let _ = fs::remove_file(entry.path());
    }
}

fn is_same(path: &Path, new: &mut File) -> io::Result<bool> {
    let Ok(old) = File::open(path) else {
        return Ok(false);
    };
    let metadata = old.metadata()?;
    if !metadata.is_file() || metadata.len() != new.metadata()?.len() {
        return Ok(false);
    }
    new.rewind()?;
    let (mut old, mut new) = (BufReader::new(old), BufReader::new(new));
    let (mut left, mut right) = ([0; 8192], [0; 8192]);
    loop {
        let size = old.read(&mut left)?;
        if size == 0 {
            return Ok(true);
        }
        match new.read_exact(&mut right[..size]) {
            Ok(()) if left[..size] == right[..size] => {}
            _ => return Ok(false),
        }
    }
}

/// How a temporary file's name starts.
pub(super) const TEMPORARY: &str = ".wiretape-";

/// Less what the user's mask takes away, as for any new file.
const NEW_FILE: u32 = 0o666;

const PRIVATE_FILE: u32 = 0o600;

const BUFFER: usize = 256 * 1024;
