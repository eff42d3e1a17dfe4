//! Files and folders that nobody else may read or change.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::CertError;

/// What to do when the file is there already.
#[derive(Clone, Copy)]
pub(crate) enum Existing {
    Keep,
    Replace,
}

/// Makes the folder, and those above it, for this user alone; one that is there stays as it is.
pub(crate) fn make_folder(dir: &Path) -> Result<(), CertError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(CertError::file("make the folder", dir))
}

/// Writes a file that is either there whole or not at all.
pub(crate) fn write(
    dir: &Path,
    name: &str,
    contents: &[u8],
    mode: u32,
    existing: Existing,
) -> Result<(), CertError> {
    let path = dir.join(name);
    let put = || -> io::Result<()> {
        let mut file = NamedTempFile::new_in(dir)?;
        file.write_all(contents)?;
        file.as_file().set_permissions(Permissions::from_mode(mode))?;
        file.as_file().sync_all()?;
        match existing {
            Existing::Keep => file.persist_noclobber(&path)?,
            Existing::Replace => file.persist(&path)?,
        };
        Ok(())
    };
    put().map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => CertError::Exists { path: path.clone() },
        _ => CertError::file("write", &path)(source),
    })
}

/// Refuses what another user owns, and what has any of the `forbidden` mode bits.
pub(crate) fn check(path: &Path, forbidden: u32, wanted: u32) -> Result<(), CertError> {
    let metadata = fs::metadata(path).map_err(CertError::file("read", path))?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(CertError::ForeignOwner { path: path.to_owned() });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & forbidden != 0 {
        return Err(CertError::Loose { path: path.to_owned(), mode, wanted });
    }
    Ok(())
}
