//! Server configurations with a leaf certificate for whatever host a client asks for.
//!
//! Owns the leaf key, which all leaves of a run share (it is not the CA's), and the cache.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::KeyPair;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use time::{Duration, OffsetDateTime};

use crate::{Authority, CertError, Host};

/// Mints leaf certificates and remembers the latest of them.
pub struct Minter {
    authority: Authority,
    leaf_key: KeyPair,
    signer: Arc<dyn SigningKey>,
    provider: Arc<CryptoProvider>,
    cache: Mutex<Cache>,
}

impl Minter {
    pub fn new(authority: Authority) -> Result<Self, CertError> {
        let leaf_key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let pkcs8 = PrivatePkcs8KeyDer::from(leaf_key.serialize_der());
        let signer = ring::sign::any_supported_type(&PrivateKeyDer::from(pkcs8))?;
        let provider = Arc::new(ring::default_provider());
        Ok(Self { authority, leaf_key, signer, provider, cache: Mutex::default() })
    }

    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// What to accept a TLS connection for `host` with; the host of the CONNECT line, since a client may
    /// send no server name.
    pub fn server_config(&self, host: &str, now: OffsetDateTime) -> Result<Arc<ServerConfig>, CertError> {
        let host = Host::parse(host)?;
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = cache.find(&host, now) {
            return Ok(config);
        }
        let (config, not_after) = self.mint(&host, now)?;
        // A leaf that ends with the CA cannot be bettered by minting it again.
        let fresh_until =
            if not_after < self.authority.not_after() { not_after - RENEW_BEFORE } else { not_after };
        cache.keep(host, Entry { config: config.clone(), fresh_from: now, fresh_until, used: 0 });
        Ok(config)
    }

    fn mint(
        &self,
        host: &Host,
        now: OffsetDateTime,
    ) -> Result<(Arc<ServerConfig>, OffsetDateTime), CertError> {
        let (leaf, not_after) = self.authority.sign(host, &self.leaf_key, now)?;
        // The CA goes along for clients that pin it by its key, such as Chromium.
        let chain = vec![leaf, self.authority.certificate().clone()];
        let certified = CertifiedKey::new(chain, self.signer.clone());
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Resuming saves next to nothing here, and tickets cost time on every handshake.
        config.send_tls13_tickets = 0;
        Ok((Arc::new(config), not_after))
    }
}

impl fmt::Debug for Minter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Minter").field("authority", &self.authority).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Cache {
    entries: HashMap<Host, Entry>,
    uses: u64,
}

struct Entry {
    config: Arc<ServerConfig>,
    fresh_from: OffsetDateTime,
    fresh_until: OffsetDateTime,
    used: u64,
}

impl Cache {
    fn find(&mut self, host: &Host, now: OffsetDateTime) -> Option<Arc<ServerConfig>> {
        let entry = self.entries.get_mut(host)?;
        // A clock set back by more than the skew that leaves allow for would make the leaf one of the future.
        if now < entry.fresh_from - CLOCK_SET_BACK || now >= entry.fresh_until {
            return None;
        }
        self.uses += 1;
        entry.used = self.uses;
        Some(entry.config.clone())
    }

    fn keep(&mut self, host: Host, entry: Entry) {
        if self.entries.len() >= CAPACITY && !self.entries.contains_key(&host) {
            // A walk over a thousand entries costs less than the leaf that was just minted.
            let oldest =
                self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(host, _)| host.clone());
            if let Some(oldest) = oldest {
                self.entries.remove(&oldest);
            }
        }
        self.uses += 1;
        self.entries.insert(host, Entry { used: self.uses, ..entry });
    }
}

const CAPACITY: usize = 1024;
const RENEW_BEFORE: Duration = Duration::hours(1);
const CLOCK_SET_BACK: Duration = Duration::minutes(59);

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-11-18 12:00 UTC);

    fn minter() -> Minter {
        Minter::new(Authority::ephemeral(NOW).unwrap()).unwrap()
    }

    #[test]
    fn spellings_of_a_host_share_one_configuration() {
        let minter = minter();
        let first = minter.server_config("api.example.com", NOW).unwrap();
        assert!(Arc::ptr_eq(&first, &minter.server_config("API.example.com.", NOW).unwrap()));
        assert!(!Arc::ptr_eq(&first, &minter.server_config("example.com", NOW).unwrap()));
    }

    #[test]
    fn the_least_used_host_makes_room() {
        let minter = minter();
        let first = minter.server_config("host-0", NOW).unwrap();
        let second = minter.server_config("host-1", NOW).unwrap();
        for number in 2..CAPACITY {
            minter.server_config(&format!("host-{number}"), NOW).unwrap();
        }
        minter.server_config("host-0", NOW).unwrap();
        minter.server_config("one-more", NOW).unwrap();
        assert_eq!(minter.cache.lock().unwrap().entries.len(), CAPACITY);
        assert!(Arc::ptr_eq(&first, &minter.server_config("host-0", NOW).unwrap()));
        assert!(!Arc::ptr_eq(&second, &minter.server_config("host-1", NOW).unwrap()));
    }

    #[test]
    fn a_leaf_is_minted_again_before_it_ends() {
        let dir = tempfile::TempDir::new().unwrap();
        let minter = Minter::new(Authority::init(&dir.path().join("ca"), NOW).unwrap()).unwrap();
        let first = minter.server_config("a", NOW).unwrap();
        let still = minter.server_config("a", NOW + Duration::hours(23) - Duration::SECOND).unwrap();
        assert!(Arc::ptr_eq(&first, &still));
        assert!(!Arc::ptr_eq(&first, &minter.server_config("a", NOW + Duration::hours(23)).unwrap()));
    }

    #[test]
    fn a_leaf_that_ends_with_the_ca_serves_until_then() {
        let minter = minter();
        let first = minter.server_config("a", NOW).unwrap();
        let last = NOW + Duration::hours(24) - Duration::SECOND;
        assert!(Arc::ptr_eq(&first, &minter.server_config("a", last).unwrap()));
        let error = minter.server_config("a", NOW + Duration::hours(24)).unwrap_err();
        assert!(matches!(error, CertError::RunExpired { .. }), "{error}");
    }

    #[test]
    fn a_leaf_of_the_future_is_minted_again() {
        let minter = minter();
        let first = minter.server_config("a", NOW + Duration::hours(2)).unwrap();
        assert!(!Arc::ptr_eq(&first, &minter.server_config("a", NOW).unwrap()));
    }

    #[test]
    fn a_configuration_offers_h2_first_and_sends_no_tickets() {
        let config = minter().server_config("a", NOW).unwrap();
        assert_eq!(config.alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
        assert_eq!(config.send_tls13_tickets, 0);
    }

    #[test]
    fn a_wildcard_is_refused() {
        let error = minter().server_config("*.example.com", NOW).unwrap_err();
        assert!(matches!(error, CertError::Host { .. }), "{error}");
    }
}
