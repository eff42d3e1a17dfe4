//! The roots that a child would trust without us.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use rustls::pki_types::CertificateDer;

use crate::pem;

/// What `SSL_CERT_FILE` and `SSL_CERT_DIR` name, or the system's own roots.
///
/// Unreadable ones are left out, as a client would leave them out.
pub(super) fn system(inherited: &dyn Fn(&str) -> Option<OsString>) -> Vec<CertificateDer<'static>> {
    let path = |name| inherited(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let (file, dir) = (path("SSL_CERT_FILE"), path("SSL_CERT_DIR"));
    let found = match (&file, &dir) {
        (None, None) => rustls_native_certs::load_native_certs(),
        (file, dir) => rustls_native_certs::load_certs_from_paths(file.as_deref(), dir.as_deref()),
    };
    found.certs
}

/// What `NODE_EXTRA_CA_CERTS` names.
pub(super) fn node_extra(inherited: &dyn Fn(&str) -> Option<OsString>) -> Vec<CertificateDer<'static>> {
    let contents = inherited("NODE_EXTRA_CA_CERTS").and_then(|path| fs::read(PathBuf::from(path)).ok());
    contents.map(|contents| pem::decode(&contents)).unwrap_or_default()
}
