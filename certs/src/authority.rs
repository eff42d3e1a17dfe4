//! The CA that signs every leaf certificate.
//!
//! Owns the CA's key. The key leaves this module only into the file that `init` writes, and is never printed.

mod folder;

use std::fmt;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber,
};
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use time::{Duration, OffsetDateTime};

use crate::random::serial;
use crate::{CertError, Host, pem};

/// A CA certificate and its P-256 key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
    origin: Origin,
}

impl Authority {
    /// A CA that lives in memory, for one run: from an hour ago until a day ahead.
    pub fn ephemeral(now: OffsetDateTime) -> Result<Self, CertError> {
        Self::generate(now, Duration::hours(24), Origin::Memory)
    }

    /// Makes a CA for 30 days and keeps it in `dir`: `ca.key` for this user alone, and `ca.pem`.
    ///
    /// Refuses to replace one, and to put a key where git could pick it up.
    pub fn init(dir: &Path, now: OffsetDateTime) -> Result<Self, CertError> {
        folder::refuse_existing(dir)?;
        let authority = Self::generate(now, KEPT_FOR, Origin::Folder(dir.to_owned()))?;
        folder::write(dir, &authority, crate::private_file::Existing::Keep)?;
        Ok(authority)
    }

    /// Like [`Authority::init`], but replaces the CA that may be there.
    pub fn renew(dir: &Path, now: OffsetDateTime) -> Result<Self, CertError> {
        let authority = Self::generate(now, KEPT_FOR, Origin::Folder(dir.to_owned()))?;
        folder::write(dir, &authority, crate::private_file::Existing::Replace)?;
        Ok(authority)
    }

    /// The CA that [`Authority::init`] kept in `dir`, if it is still private, whole and valid.
    pub fn load(dir: &Path, now: OffsetDateTime) -> Result<Self, CertError> {
        folder::load(dir, now)
    }

    /// The certificate, as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The certificate, as DER.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    pub fn not_before(&self) -> OffsetDateTime {
        self.not_before
    }

    pub fn not_after(&self) -> OffsetDateTime {
        self.not_after
    }

    /// SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` prints it.
    pub fn fingerprint(&self) -> String {
        let bytes: Vec<_> =
            Sha256::digest(&self.certificate).iter().map(|byte| format!("{byte:02X}")).collect();
        bytes.join(":")
    }

    /// Signs a certificate for one host, and says until when it holds: a day, but never longer than the CA.
    pub(crate) fn sign(
        &self,
        host: &Host,
        key: &KeyPair,
        now: OffsetDateTime,
    ) -> Result<(CertificateDer<'static>, OffsetDateTime), CertError> {
        if now >= self.not_after {
            return Err(self.expired());
        }
        let not_after = self.not_after.min(whole_seconds(now) + Duration::hours(24));
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![match host {
            Host::Name(name) => SanType::DnsName(name.as_str().try_into()?),
            Host::Address(address) => SanType::IpAddress(*address),
        }];
        params.distinguished_name =
            common_name(Some(host.to_string()).filter(|name| name.len() <= MAX_COMMON_NAME));
        params.serial_number = Some(SerialNumber::from_slice(&serial()?));
        params.not_before = self.not_before.max(whole_seconds(now) - CLOCK_SKEW);
        params.not_after = not_after;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Off in rcgen by default; Python 3.13 refuses a leaf without it.
        params.use_authority_key_identifier_extension = true;
        Ok((params.signed_by(key, &self.issuer)?.der().clone(), not_after))
    }

    fn generate(now: OffsetDateTime, valid_for: Duration, origin: Origin) -> Result<Self, CertError> {
        let now = whole_seconds(now);
        let (not_before, not_after) = (now - CLOCK_SKEW, now + valid_for);
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let params = ca_params(&key, not_before, not_after)?;
        let certificate = params.self_signed(&key)?.der().clone();
        let issuer = Issuer::new(params, key);
        Ok(Self { issuer, pem: pem::encode(&certificate), certificate, not_before, not_after, origin })
    }

    fn expired(&self) -> CertError {
        match &self.origin {
            Origin::Memory => CertError::RunExpired { on: self.not_after },
            Origin::Folder(dir) => {
                CertError::Expired { path: dir.join(folder::CERTIFICATE), on: self.not_after }
            }
        }
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("fingerprint", &self.fingerprint())
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

enum Origin {
    Memory,
    Folder(PathBuf),
}

fn ca_params(
    key: &KeyPair,
    not_before: OffsetDateTime,
    not_after: OffsetDateTime,
) -> Result<CertificateParams, CertError> {
    let mut params = CertificateParams::default();
    // The name follows from the key: two CAs in one bundle never share it, and `load` can make it again.
    let id: String =
        Sha256::digest(key.subject_public_key_info())[..4].iter().map(|b| format!("{b:02x}")).collect();
    params.distinguished_name = common_name(Some(format!("wiretape local CA {id}")));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.serial_number = Some(SerialNumber::from_slice(&serial()?));
    params.not_before = not_before;
    params.not_after = not_after;
    Ok(params)
}

fn common_name(name: Option<String>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    // Without a subject rcgen marks the host names as critical, as RFC 5280 (4.1.2.6) demands.
    if let Some(name) = name {
        subject.push(DnType::CommonName, name);
    }
    subject
}

fn whole_seconds(time: OffsetDateTime) -> OffsetDateTime {
    time.replace_nanosecond(0).expect("zero is a valid nanosecond")
}

const CLOCK_SKEW: Duration = Duration::hours(1);
const KEPT_FOR: Duration = Duration::days(30);
/// `ub-common-name` of RFC 5280, appendix A.1.
const MAX_COMMON_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::der::Fields;

    const NOW: OffsetDateTime = datetime!(2026-11-18 12:00:00.5 UTC);

    #[test]
    fn an_ephemeral_ca_holds_from_an_hour_ago_until_a_day_ahead() {
        let authority = Authority::ephemeral(NOW).unwrap();
        let fields = Fields::read(authority.certificate()).unwrap();
        assert_eq!(fields.not_before, datetime!(2026-11-18 11:00 UTC));
        assert_eq!(fields.not_after, datetime!(2026-11-19 12:00 UTC));
    }

    #[test]
    fn a_leaf_never_outlives_its_ca() {
        let authority = Authority::ephemeral(NOW).unwrap();
        let key = KeyPair::generate().unwrap();
        let host = Host::parse("api.example.com").unwrap();
        let (leaf, until) = authority.sign(&host, &key, NOW + Duration::hours(20)).unwrap();
        let fields = Fields::read(&leaf).unwrap();
        assert_eq!(until, authority.not_after());
        assert_eq!(fields.not_after, authority.not_after());
        assert_eq!(fields.not_before, datetime!(2026-11-19 07:00 UTC));
    }

    #[test]
    fn an_expired_ca_signs_nothing() {
        let authority = Authority::ephemeral(NOW).unwrap();
        let key = KeyPair::generate().unwrap();
        let host = Host::parse("api.example.com").unwrap();
        let error = authority.sign(&host, &key, NOW + Duration::hours(24)).unwrap_err();
        assert_eq!(error.to_string(), "the CA made for this run expired on 2026-11-19: start the run again");
    }

    #[test]
    fn debug_shows_no_key() {
        let authority = Authority::ephemeral(NOW).unwrap();
        let shown = format!("{authority:?}");
        assert!(shown.starts_with("Authority { fingerprint: \""), "{shown}");
        assert!(!shown.contains("key") && shown.len() < 200, "{shown}");
    }
}
