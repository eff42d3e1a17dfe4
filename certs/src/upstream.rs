//! How the proxy itself trusts the servers it records.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use crate::{CertError, pem};

/// A client that trusts the system's roots (`SSL_CERT_FILE` and `SSL_CERT_DIR` are honored) and the extra
/// CAs, each a PEM file's contents.
///
/// A system store may hold a root that cannot be read: it is left out. An extra CA was named by a person,
/// so one that cannot be used is an error.
pub fn upstream_client_config(extra_ca_pems: &[Vec<u8>], alpn: &[&[u8]]) -> Result<ClientConfig, CertError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for (index, contents) in extra_ca_pems.iter().enumerate() {
        let refuse = |problem: String| CertError::ExtraCa { number: index + 1, problem };
        let certificates = pem::decode(contents);
        if certificates.is_empty() {
            return Err(refuse("it holds no certificate in PEM form".into()));
        }
        for certificate in certificates {
            roots
                .add(certificate)
                .map_err(|_| refuse("it holds a certificate that cannot be read".into()))?;
        }
    }
    if roots.is_empty() {
        return Err(CertError::NoRoots);
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extra_ca_without_a_certificate_is_named_by_its_number() {
        let good = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem().into_bytes();
        let error = upstream_client_config(&[good.clone(), b"nothing".to_vec()], &[]).unwrap_err();
        assert_eq!(error.to_string(), "extra CA 2 is not usable: it holds no certificate in PEM form");
        let config = upstream_client_config(&[good], &[b"h2"]).unwrap();
        assert_eq!(config.alpn_protocols, [b"h2".to_vec()]);
    }
}
