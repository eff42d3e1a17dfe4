//! Everything that can go wrong with certificates, in words for the person who has to put it right.
//! Messages name files and hosts, never key material.

use std::io;
use std::path::{Path, PathBuf};

use time::OffsetDateTime;

/// Why a certificate, a CA or a trust kit could not be made or used.
#[derive(Debug, thiserror::Error)]
pub enum CertError {
    #[error("`{host}` cannot be put into a certificate: {problem}")]
    Host { host: String, problem: &'static str },
    #[error("cannot make a certificate")]
    Make(#[from] rcgen::Error),
    #[error("the system gave no random bytes")]
    NoRandomness,
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is there already: use `wiretape ca init --renew` to replace the CA", path.display())]
    Exists { path: PathBuf },
    #[error("no CA in {}: make one with `wiretape ca init`", dir.display())]
    Missing { dir: PathBuf },
    #[error("{} is inside the git work tree {}: a CA key there could be committed, choose another folder", dir.display(), tree.display())]
    InsideGit { dir: PathBuf, tree: PathBuf },
    #[error("{} is open to others (mode {mode:04o}): run `chmod {wanted:o} {}`", path.display(), path.display())]
    Loose { path: PathBuf, mode: u32, wanted: u32 },
    #[error("{} belongs to another user", path.display())]
    ForeignOwner { path: PathBuf },
    #[error("{} is not usable: {problem}", path.display())]
    Garbled { path: PathBuf, problem: &'static str },
    #[error("the CA in {} expired on {}: run `wiretape ca init --renew`", path.display(), on.date())]
    Expired { path: PathBuf, on: OffsetDateTime },
    #[error("the CA made for this run expired on {}: start the run again", on.date())]
    RunExpired { on: OffsetDateTime },
    #[error("extra CA {number} is not usable: {problem}")]
    ExtraCa { number: usize, problem: String },
    #[error("no root certificates were found on this system: name a CA for the upstream servers")]
    NoRoots,
    #[error("the folder {} cannot be named in environment variables: {problem}", path.display())]
    AwkwardFolder { path: PathBuf, problem: &'static str },
    #[error("the proxy address is not usable: {problem}")]
    ProxyUrl { problem: &'static str },
}

impl CertError {
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}
