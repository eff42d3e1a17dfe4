//! The files through which a child process comes to trust our CA, and the variables that name them.
//!
//! Owns one folder. It changes nothing outside of it: no system store, no file of the user's.

mod java_keystore;
mod root_certificates;
mod variables;

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use tempfile::TempDir;

use crate::private_file::{self, Existing};
use crate::{Authority, CertError, pem};

pub use variables::{LOOPBACK_IS_DIRECT, Variables};

/// Whom a child may trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Roots {
    /// The roots it would trust without us, and ours: for recording.
    SystemAndOurs,
    /// Ours alone, so that a child which goes round the proxy fails: for replaying.
    OursOnly,
}

/// A folder with everything that children need to trust a CA.
#[derive(Debug)]
pub struct TrustKit {
    dir: PathBuf,
    certificates: usize,
    /// Removes the folder when the kit is dropped; `None` when the folder is the caller's.
    _temporary: Option<TempDir>,
}

impl TrustKit {
    /// Writes the files into a fresh folder for this user alone, which goes away with the kit.
    pub fn create(
        authority: &Authority,
        roots: Roots,
        inherited: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, CertError> {
        let temporary = tempfile::Builder::new()
            .prefix("wiretape-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()
            .map_err(CertError::file("make a folder in", &std::env::temp_dir()))?;
        let kit = Self::write(temporary.path(), authority, roots, inherited)?;
        Ok(Self { _temporary: Some(temporary), ..kit })
    }

    /// Writes the files into `dir` and leaves them there, for a proxy that outlives its children's shells.
    pub fn create_in(
        dir: &Path,
        authority: &Authority,
        roots: Roots,
        inherited: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, CertError> {
        private_file::make_folder(dir)?;
        Self::write(dir, authority, roots, inherited)
    }

    /// A kit that [`TrustKit::create_in`] wrote earlier.
    pub fn open(dir: &Path) -> Result<Self, CertError> {
        let dir = dir.canonicalize().map_err(CertError::file("find", dir))?;
        refuse_awkward(&dir)?;
        private_file::check(&dir, 0o022, 0o700)?;
        let bundle = dir.join(BUNDLE);
        let text = std::fs::read_to_string(&bundle).map_err(CertError::file("read", &bundle))?;
        let certificates = text.matches("-----BEGIN CERTIFICATE-----").count();
        Ok(Self { dir, certificates, _temporary: None })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Our CA alone, as PEM.
    pub fn ca_pem(&self) -> PathBuf {
        self.dir.join(CA)
    }

    /// Every certificate a child trusts, as PEM.
    pub fn bundle_pem(&self) -> PathBuf {
        self.dir.join(BUNDLE)
    }

    /// How many certificates the bundle holds.
    pub fn certificates(&self) -> usize {
        self.certificates
    }

    fn write(
        dir: &Path,
        authority: &Authority,
        roots: Roots,
        inherited: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, CertError> {
        let dir = dir.canonicalize().map_err(CertError::file("find", dir))?;
        refuse_awkward(&dir)?;
        // Children run the code that lies here: nobody else may be able to change it.
        private_file::check(&dir, 0o022, 0o700)?;

        let ours = authority.certificate();
        let node_extra = match roots {
            Roots::SystemAndOurs => root_certificates::node_extra(inherited),
            Roots::OursOnly => Vec::new(),
        };
        let mut bundle = match roots {
            Roots::SystemAndOurs => root_certificates::system(inherited),
            Roots::OursOnly => Vec::new(),
        };
        bundle.extend(node_extra.iter().cloned());
        let bundle = distinct(bundle, ours);
        let node_extra = distinct(node_extra, ours);

        let kit = Self { dir, certificates: bundle.len(), _temporary: None };
        let bundle_path = kit.bundle_pem();
        let bundle_path = bundle_path.to_str().expect("an awkward folder was refused");
        kit.put("", CA, authority.pem().as_bytes())?;
        kit.put("", BUNDLE, to_pem(&bundle).as_bytes())?;
        kit.put("", NODE_EXTRA, to_pem(&node_extra).as_bytes())?;
        kit.put("", KEYSTORE, &java_keystore::encode(&bundle, authority.not_before()))?;
        kit.put("", PRELOAD, include_bytes!("../assets/preload.cjs"))?;
        kit.put("", WGETRC, format!("ca_certificate = {bundle_path}\n").as_bytes())?;
        let ini = format!("curl.cainfo = \"{bundle_path}\"\nopenssl.cafile = \"{bundle_path}\"\n");
        kit.put(PHP, "wiretape.ini", ini.as_bytes())?;
        kit.put(PYTHON, "sitecustomize.py", include_bytes!("../assets/sitecustomize.py"))?;
        Ok(kit)
    }

    fn put(&self, folder: &str, name: &str, contents: &[u8]) -> Result<(), CertError> {
        let folder = self.dir.join(folder);
        private_file::make_folder(&folder)?;
        private_file::write(&folder, name, contents, 0o600, Existing::Replace)
    }
}

/// Refuses a folder whose name means something in one of the files or variables it will stand in.
fn refuse_awkward(dir: &Path) -> Result<(), CertError> {
    let refuse = |problem| Err(CertError::AwkwardFolder { path: dir.to_owned(), problem });
    let Some(text) = dir.to_str() else {
        return refuse("its name is not UTF-8");
    };
    if text.contains(|c: char| c.is_control() || matches!(c, ':' | '"' | '\\' | '$')) {
        return refuse("its name holds a colon, a quote, a backslash, a dollar sign or a control character");
    }
    Ok(())
}

/// The certificates in their order, each once, ours last.
fn distinct(
    mut certificates: Vec<CertificateDer<'static>>,
    ours: &CertificateDer<'static>,
) -> Vec<CertificateDer<'static>> {
    let mut seen = std::collections::HashSet::from([ours.clone()]);
    certificates.retain(|certificate| seen.insert(certificate.clone()));
    certificates.push(ours.clone());
    certificates
}

fn to_pem(certificates: &[CertificateDer<'static>]) -> String {
    certificates.iter().map(pem::encode).collect()
}

const CA: &str = "ca.pem";
const BUNDLE: &str = "bundle.pem";
const NODE_EXTRA: &str = "node-extra.pem";
const KEYSTORE: &str = "trust.jks";
const PRELOAD: &str = "preload.cjs";
const WGETRC: &str = "wgetrc";
const PHP: &str = "php";
const PYTHON: &str = "py";

#[cfg(test)]
mod tests {
    use std::fs;

    use time::macros::datetime;

    use super::*;

    fn authority() -> Authority {
        Authority::ephemeral(datetime!(2026-11-18 12:00 UTC)).unwrap()
    }

    fn nothing(_: &str) -> Option<OsString> {
        None
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_kit_is_private_and_goes_away_when_dropped() {
        let authority = authority();
        let kit = TrustKit::create(&authority, Roots::OursOnly, &nothing).unwrap();
        let dir = kit.dir().to_owned();
        assert_eq!((mode(&dir), mode(&kit.ca_pem())), (0o700, 0o600));
        assert_eq!(fs::read_to_string(kit.ca_pem()).unwrap(), authority.pem());
        drop(kit);
        assert!(!dir.exists());
    }

    #[test]
    fn a_kit_in_a_given_folder_stays_and_can_be_written_again() {
        let home = TempDir::new().unwrap();
        let dir = home.path().join("a kit/of mine");
        TrustKit::create_in(&dir, &authority(), Roots::OursOnly, &nothing).unwrap();
        let second = authority();
        drop(TrustKit::create_in(&dir, &second, Roots::OursOnly, &nothing).unwrap());
        assert_eq!(mode(&dir), 0o700);
        assert_eq!(fs::read_to_string(dir.join(CA)).unwrap(), second.pem());
        let names: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 8, "{names:?}");
    }

    #[test]
    fn a_kit_that_was_left_can_be_opened_and_names_the_same_variables() {
        let home = TempDir::new().unwrap();
        let dir = home.path().join("kit");
        let written = TrustKit::create_in(&dir, &authority(), Roots::OursOnly, &nothing).unwrap();
        let opened = TrustKit::open(&dir).unwrap();
        assert_eq!(opened.certificates(), 1);
        let variables =
            |kit: &TrustKit| kit.variables("http://127.0.0.1:9", LOOPBACK_IS_DIRECT, &nothing).unwrap();
        assert_eq!(variables(&opened), variables(&written));
        assert!(matches!(TrustKit::open(home.path()), Err(CertError::File { action: "read", .. })));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let home = TempDir::new().unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(0o770)).unwrap();
        let error = TrustKit::create_in(home.path(), &authority(), Roots::OursOnly, &nothing).unwrap_err();
        assert!(matches!(error, CertError::Loose { mode: 0o770, .. }), "{error}");
    }

    #[test]
    fn a_folder_that_variables_cannot_name_is_refused() {
        let home = TempDir::new().unwrap();
        for name in ["a:b", "a\"b", "a$b", "a\nb"] {
            let dir = home.path().join(name);
            let error = TrustKit::create_in(&dir, &authority(), Roots::OursOnly, &nothing).unwrap_err();
            assert!(matches!(error, CertError::AwkwardFolder { .. }), "{error}");
        }
    }

    #[test]
    fn in_replay_the_bundle_holds_our_ca_alone() {
        let authority = authority();
        let home = TempDir::new().unwrap();
        let extra = home.path().join("extra.pem");
        fs::write(&extra, self::authority().pem()).unwrap();
        let inherited = |_: &str| Some(extra.clone().into_os_string());
        let kit = TrustKit::create(&authority, Roots::OursOnly, &inherited).unwrap();
        for name in [BUNDLE, NODE_EXTRA] {
            assert_eq!(fs::read_to_string(kit.dir().join(name)).unwrap(), authority.pem(), "{name}");
        }
        assert_eq!(kit.certificates(), 1);
    }

    #[test]
    fn in_record_the_bundle_holds_what_was_inherited_once_and_ours_last() {
        let (ours, roots, extra) = (authority(), authority(), authority());
        let home = TempDir::new().unwrap();
        let file = |name: &str, contents: String| {
            let path = home.path().join(name);
            fs::write(&path, contents).unwrap();
            path.into_os_string()
        };
        let roots_file = file("roots.pem", format!("# comment\n{}{}", roots.pem(), ours.pem()));
        let extra_file = file("extra.pem", format!("{}{}", roots.pem(), extra.pem()));
        let inherited = |name: &str| match name {
            "SSL_CERT_FILE" => Some(roots_file.clone()),
            "NODE_EXTRA_CA_CERTS" => Some(extra_file.clone()),
            _ => None,
        };
        let kit = TrustKit::create(&ours, Roots::SystemAndOurs, &inherited).unwrap();
        let expected = [roots.pem(), extra.pem(), ours.pem()].concat();
        assert_eq!(fs::read_to_string(kit.bundle_pem()).unwrap(), expected);
        assert_eq!(fs::read_to_string(kit.dir().join(NODE_EXTRA)).unwrap(), expected);
        assert_eq!(kit.certificates(), 3);
    }

    #[test]
    fn the_tools_with_files_of_their_own_are_pointed_at_the_bundle() {
        let kit = TrustKit::create(&authority(), Roots::OursOnly, &nothing).unwrap();
        let bundle = kit.bundle_pem();
        let bundle = bundle.to_str().unwrap();
        let read = |name: &str| fs::read_to_string(kit.dir().join(name)).unwrap();
        assert_eq!(read("wgetrc"), format!("ca_certificate = {bundle}\n"));
        let ini = format!("curl.cainfo = \"{bundle}\"\nopenssl.cafile = \"{bundle}\"\n");
        assert_eq!(read("php/wiretape.ini"), ini);
    }
}
