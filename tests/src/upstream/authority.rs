//! The certificates of the upstream: a CA of its own, and a leaf for whatever name a client asks for.

use std::{collections::HashMap, sync::Arc, sync::Mutex};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SerialNumber,
};
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use time::{Duration, OffsetDateTime};

use super::fresh;

/// A CA that signs a leaf for every server name that is asked for.
#[derive(Debug)]
pub(super) struct Authority {
    ca_pem: String,
    issuer: Issuer<'static, KeyPair>,
    provider: Arc<CryptoProvider>,
    leaves: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a CA key");
        let mut params = dated(CertificateParams::default());
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let ca_pem = params.self_signed(&key).expect("a CA certificate").pem();
        Self {
            ca_pem,
            issuer: Issuer::new(params, key),
            provider: Arc::new(ring::default_provider()),
            leaves: Mutex::default(),
        }
    }

    pub(super) fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// A TLS configuration that offers HTTP/2 first.
    pub(super) fn into_server_config(self) -> Arc<ServerConfig> {
        let provider = Arc::clone(&self.provider);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring speaks TLS 1.2 and 1.3")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }

    fn mint(&self, host: &str) -> Arc<CertifiedKey> {
        let mut params = dated(CertificateParams::new([host.to_owned()]).expect("a host name for a leaf"));
        params.distinguished_name = DistinguishedName::new();
        params.use_authority_key_identifier_extension = true;
        // rcgen takes the serial from the key, which would be shared: see the strict verifiers.
        let serial = fresh::random(b"123456789", 16).into_bytes();
        params.serial_number = Some(SerialNumber::from(serial));
        let key = KeyPair::generate().expect("a leaf key");
        let leaf = params.signed_by(&key, &self.issuer).expect("a signed leaf");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let signer = self.provider.key_provider.load_private_key(key).expect("ring takes its own key");
        Arc::new(CertifiedKey::new(vec![CertificateDer::from(leaf.der().to_vec())], signer))
    }
}

impl ResolvesServerCert for Authority {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let host = hello.server_name().unwrap_or("127.0.0.1").to_owned();
        let mut leaves = self.leaves.lock().unwrap();
        let leaf = leaves.entry(host).or_insert_with_key(|host| self.mint(host));
        Some(Arc::clone(leaf))
    }
}

fn dated(mut params: CertificateParams) -> CertificateParams {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Duration::days(1);
    params.not_after = now + Duration::days(30);
    params
}
