//! A CA kept in a folder: `ca.key` and `ca.pem`.
//!
//! Whoever can read the key can pose as any server to the children that trust the CA, so a folder or a key
//! that others can reach is refused rather than put right in silence.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rcgen::{Issuer, KeyPair, PublicKeyData};
use time::OffsetDateTime;

use super::{Authority, Origin, ca_params};
use crate::der::Fields;
use crate::private_file::{self, Existing};
use crate::{CertError, pem};

pub(super) const KEY: &str = "ca.key";
pub(super) const CERTIFICATE: &str = "ca.pem";

pub(super) fn refuse_existing(dir: &Path) -> Result<(), CertError> {
    for name in [KEY, CERTIFICATE] {
        let path = dir.join(name);
        if fs::symlink_metadata(&path).is_ok() {
            return Err(CertError::Exists { path });
        }
    }
    Ok(())
}

pub(super) fn write(dir: &Path, authority: &Authority, existing: Existing) -> Result<(), CertError> {
    refuse_git(dir)?;
    private_file::make_folder(dir)?;
    check_folder(dir)?;
    // A crash between the two leaves a key without its certificate, which `load` names.
    private_file::write(dir, KEY, authority.issuer.key().serialize_pem().as_bytes(), 0o600, existing)?;
    private_file::write(dir, CERTIFICATE, authority.pem.as_bytes(), 0o644, existing)
}

pub(super) fn load(dir: &Path, now: OffsetDateTime) -> Result<Authority, CertError> {
    let (key_path, certificate_path) = (dir.join(KEY), dir.join(CERTIFICATE));
    if fs::symlink_metadata(&key_path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Err(CertError::Missing { dir: dir.to_owned() });
    }
    check_folder(dir)?;
    refuse_git(dir)?;
    // Others' bits and any execute bit: what is not 0600 or stricter was not written by us.
    private_file::check(&key_path, 0o7177, 0o600)?;

    let garbled = |path: &Path, problem| CertError::Garbled { path: path.to_owned(), problem };
    let key = fs::read(&key_path).map_err(CertError::file("read", &key_path))?;
    let key = String::from_utf8(key)
        .ok()
        .and_then(|text| KeyPair::from_pem(&text).ok())
        .ok_or_else(|| garbled(&key_path, "it holds no private key in PEM form"))?;
    let text = fs::read(&certificate_path).map_err(CertError::file("read", &certificate_path))?;
    let certificate = pem::decode(&text)
        .into_iter()
        .next()
        .ok_or_else(|| garbled(&certificate_path, "it holds no certificate in PEM form"))?;
    let fields = Fields::read(&certificate)
        .ok_or_else(|| garbled(&certificate_path, "its certificate cannot be read"))?;
    if fields.public_key != key.subject_public_key_info() {
        return Err(garbled(&certificate_path, "its certificate does not belong to the key in ca.key"));
    }
    let (not_before, not_after) = (fields.not_before, fields.not_after);
    let params = ca_params(&key, not_before, not_after)?;
    // Leaves name their issuer as we would name it; a CA from elsewhere would not be found by that name.
    let made_again = params.self_signed(&key)?;
    if Fields::read(made_again.der()).map(|again| again.subject) != Some(fields.subject) {
        return Err(garbled(&certificate_path, "its certificate was not made by `wiretape ca init`"));
    }
    if now >= not_after {
        return Err(CertError::Expired { path: certificate_path, on: not_after });
    }
    Ok(Authority {
        issuer: Issuer::new(params, key),
        pem: pem::encode(&certificate),
        certificate,
        not_before,
        not_after,
        origin: Origin::Folder(dir.to_owned()),
    })
}

fn check_folder(dir: &Path) -> Result<(), CertError> {
    private_file::check(dir, 0o077, 0o700)
}

/// Refuses a folder, made or not yet made, below one that holds `.git` (a file in a linked work tree).
fn refuse_git(dir: &Path) -> Result<(), CertError> {
    let absolute = std::path::absolute(dir).map_err(CertError::file("find", dir))?;
    // Links are followed as far as the path exists: the key lies where they lead.
    let real = absolute.ancestors().find_map(|ancestor| {
        let missing = absolute.strip_prefix(ancestor).ok()?;
        Some(ancestor.canonicalize().ok()?.join(missing))
    });
    match real.as_deref().unwrap_or(&absolute).ancestors().find(|dir| dir.join(".git").exists()) {
        Some(tree) => Err(CertError::InsideGit { dir: dir.to_owned(), tree: tree.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    use tempfile::TempDir;
    use time::Duration;
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-11-18 12:00 UTC);

    fn kept() -> (TempDir, PathBuf) {
        let home = TempDir::new().unwrap();
        let dir = home.path().join("state/wiretape/project");
        Authority::init(&dir, NOW).unwrap();
        (home, dir)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn refusal(dir: &Path) -> String {
        Authority::load(dir, NOW).unwrap_err().to_string()
    }

    #[test]
    fn a_new_ca_is_private_and_holds_30_days() {
        let (_home, dir) = kept();
        assert_eq!((mode(&dir), mode(&dir.join(KEY)), mode(&dir.join(CERTIFICATE))), (0o700, 0o600, 0o644));
        let loaded = Authority::load(&dir, NOW).unwrap();
        assert_eq!(loaded.not_after(), NOW + Duration::days(30));
        assert_eq!(loaded.pem().as_bytes(), fs::read(dir.join(CERTIFICATE)).unwrap());
    }

    #[test]
    fn a_ca_is_never_overwritten_but_can_be_renewed() {
        let (_home, dir) = kept();
        let first = Authority::load(&dir, NOW).unwrap().fingerprint();
        let error = Authority::init(&dir, NOW).unwrap_err().to_string();
        let key = dir.join(KEY);
        let expected = "is there already: use `wiretape ca init --renew` to replace the CA";
        assert_eq!(error, format!("{} {expected}", key.display()));
        assert_eq!(Authority::load(&dir, NOW).unwrap().fingerprint(), first);
        let renewed = Authority::renew(&dir, NOW + Duration::days(40)).unwrap();
        assert_ne!(renewed.fingerprint(), first);
        let loaded = Authority::load(&dir, NOW + Duration::days(69)).unwrap();
        assert_eq!(loaded.fingerprint(), renewed.fingerprint());
    }

    #[test]
    fn either_file_alone_stops_init() {
        for name in [KEY, CERTIFICATE] {
            let (_home, dir) = kept();
            fs::remove_file(dir.join(name)).unwrap();
            assert!(matches!(Authority::init(&dir, NOW), Err(CertError::Exists { .. })), "without {name}");
        }
    }

    #[test]
    fn a_folder_in_a_git_work_tree_is_refused() {
        let home = TempDir::new().unwrap();
        fs::create_dir_all(home.path().join("repo/.git")).unwrap();
        let inside = home.path().join("repo/state/ca");
        let error = Authority::init(&inside, NOW).unwrap_err();
        assert!(matches!(error, CertError::InsideGit { .. }), "{error}");
        assert!(!home.path().join("repo/state").exists());

        // Also by way of a link.
        symlink(home.path().join("repo"), home.path().join("link")).unwrap();
        let error = Authority::init(&home.path().join("link/ca"), NOW).unwrap_err();
        assert!(matches!(error, CertError::InsideGit { .. }), "{error}");

        // A repository made around a CA that was fine: its key must not be used any more.
        let (outer, dir) = kept();
        fs::write(outer.path().join(".git"), "gitdir: elsewhere").unwrap();
        assert!(matches!(Authority::load(&dir, NOW), Err(CertError::InsideGit { .. })));
    }

    #[test]
    fn looser_permissions_are_refused_and_the_file_is_named() {
        let (_home, dir) = kept();
        let key = dir.join(KEY);
        for loose in [0o640, 0o604, 0o620, 0o700] {
            set_mode(&key, loose);
            let expected =
                format!("{0} is open to others (mode {loose:04o}): run `chmod 600 {0}`", key.display());
            assert_eq!(refusal(&dir), expected);
        }
        set_mode(&key, 0o400);
        assert!(Authority::load(&dir, NOW).is_ok());
        for loose in [0o750, 0o701] {
            set_mode(&dir, loose);
            let error = refusal(&dir);
            assert!(error.ends_with(&format!("run `chmod 700 {}`", dir.display())), "{error}");
            assert!(matches!(Authority::renew(&dir, NOW), Err(CertError::Loose { .. })));
        }
    }

    #[test]
    fn an_expired_ca_is_refused_with_the_way_out() {
        let (_home, dir) = kept();
        let late = NOW + Duration::days(30);
        assert!(Authority::load(&dir, late - Duration::SECOND).is_ok());
        let error = Authority::load(&dir, late).unwrap_err().to_string();
        let path = dir.join(CERTIFICATE);
        let path = path.display();
        assert_eq!(error, format!("the CA in {path} expired on 2026-12-18: run `wiretape ca init --renew`"));
    }

    #[test]
    fn a_missing_ca_is_told_from_a_broken_one() {
        let home = TempDir::new().unwrap();
        let dir = home.path().join("none");
        let expected = format!("no CA in {}: make one with `wiretape ca init`", dir.display());
        assert_eq!(refusal(&dir), expected);

        let (_home, dir) = kept();
        fs::remove_file(dir.join(CERTIFICATE)).unwrap();
        assert_eq!(refusal(&dir), format!("cannot read {}", dir.join(CERTIFICATE).display()));
    }

    #[test]
    fn a_garbled_file_is_named() {
        let cases: [(&str, &[u8], &str); 5] = [
            (KEY, b"", "it holds no private key in PEM form"),
            (KEY, b"\xff\xfe", "it holds no private key in PEM form"),
            (CERTIFICATE, b"hello", "it holds no certificate in PEM form"),
            (CERTIFICATE, b"-----BEGIN CERTIFICATE-----\n", "it holds no certificate in PEM form"),
            (
                CERTIFICATE,
                b"-----BEGIN CERTIFICATE-----\nMAAA\n-----END CERTIFICATE-----\n",
                "its certificate cannot be read",
            ),
        ];
        for (name, contents, problem) in cases {
            let (_home, dir) = kept();
            fs::write(dir.join(name), contents).unwrap();
            assert_eq!(refusal(&dir), format!("{} is not usable: {problem}", dir.join(name).display()));
        }
    }

    #[test]
    fn a_certificate_of_another_key_is_refused() {
        let (_home, dir) = kept();
        let (_other_home, other) = kept();
        fs::copy(other.join(CERTIFICATE), dir.join(CERTIFICATE)).unwrap();
        let error = refusal(&dir);
        assert!(error.ends_with("its certificate does not belong to the key in ca.key"), "{error}");
    }

    #[test]
    fn a_certificate_from_elsewhere_is_refused() {
        let (_home, dir) = kept();
        let key = KeyPair::from_pem(&fs::read_to_string(dir.join(KEY)).unwrap()).unwrap();
        let foreign = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        fs::write(dir.join(CERTIFICATE), foreign.pem()).unwrap();
        let error = refusal(&dir);
        assert!(error.ends_with("its certificate was not made by `wiretape ca init`"), "{error}");
    }
}
