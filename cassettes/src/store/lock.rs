//! One recorder at a time for a cassette.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::{StoreError, create_private_folder, failed, resolve, state_folder};

/// Held while a cassette is recorded. The kernel lets go of it when the process ends, however it ends.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, or says at once who has it.
    pub fn acquire(cassette: &Path, state_dir: &Path) -> Result<Self, StoreError> {
        let folder = state_folder(&resolve(cassette), state_dir);
        create_private_folder(&folder)?;
        let path = folder.join("lock");
        // Not truncated: the number of the process that holds it stands inside.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { cassette: cassette.to_owned(), pid: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{}", std::process::id()))
            .map_err(failed("write", &path))?;
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.parse().ok()
}
