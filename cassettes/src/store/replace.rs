//! Replacing a file as a whole: all of the new one, or all of the old one.

use std::{
    fs::{self, File, Permissions},
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use super::{Saved, StoreError, failed, folder_of, sync_folder};

/// Puts what `write` writes in the place of `path`. On any error, and if the bytes are the same, the file that was
/// there is left alone and the temporary one removed.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
) -> Result<Saved, StoreError> {
    let folder = folder_of(path);
    let old = fs::metadata(path).ok();
    let mut temporary = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .permissions(Permissions::from_mode(NEW_FILE))
        .tempfile_in(folder)
        .map_err(failed("create a file in", folder))?;
    let mut buffer = BufWriter::with_capacity(BUFFER, temporary.as_file());
    write(&mut buffer)?;
    buffer.flush().map_err(failed("write", path))?;
    drop(buffer);
    if is_same(path, temporary.as_file_mut()).map_err(failed("compare", path))? {
        return Ok(Saved::Unchanged);
    }
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions()).map_err(failed("set the mode of", path))?;
    }
    temporary.as_file().sync_all().map_err(failed("flush", path))?;
    temporary.persist(path).map_err(|error| failed("replace", path)(error.error))?;
    sync_folder(folder)?;
    Ok(Saved::Written)
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

const BUFFER: usize = 256 * 1024;
