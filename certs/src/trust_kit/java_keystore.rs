//! A Java key store (JKS) that holds certificates only.
//!
//! Java reads no PEM. This old format needs neither `keytool` nor a password to be read, unlike PKCS #12.

use rustls::pki_types::CertificateDer;
use sha1::{Digest, Sha1};
use time::OffsetDateTime;

/// The password Java assumes for its own store; it protects nothing, but the digest is made with one.
pub(super) const PASSWORD: &str = "changeit";

/// The store's bytes; the same certificates and time give the same bytes.
pub(super) fn encode(certificates: &[CertificateDer<'_>], made: OffsetDateTime) -> Vec<u8> {
    let mut store = Vec::new();
    store.extend(MAGIC.to_be_bytes());
    store.extend(VERSION.to_be_bytes());
    store.extend(length(certificates.len()));
    for (index, certificate) in certificates.iter().enumerate() {
        store.extend(TRUSTED_CERTIFICATE.to_be_bytes());
        put_text(&mut store, &format!("wiretape-{}", index + 1));
        store.extend((made.unix_timestamp() * 1000).to_be_bytes());
        put_text(&mut store, "X.509");
        store.extend(length(certificate.len()));
        store.extend_from_slice(certificate);
    }
    let digest = digest(&store);
    store.extend(digest);
    store
}

fn digest(store: &[u8]) -> [u8; 20] {
    let mut sha1 = Sha1::new();
    for unit in PASSWORD.encode_utf16() {
        sha1.update(unit.to_be_bytes());
    }
    sha1.update(WHITENER);
    sha1.update(store);
    sha1.finalize().into()
}

/// Java's `writeUTF`, for ASCII.
fn put_text(store: &mut Vec<u8>, text: &str) {
    store.extend(u16::try_from(text.len()).expect("aliases and type names are short").to_be_bytes());
    store.extend_from_slice(text.as_bytes());
}

fn length(count: usize) -> [u8; 4] {
    u32::try_from(count).expect("a trust store is far smaller than 4 GiB").to_be_bytes()
}

const MAGIC: u32 = 0xFEED_FEED;
const VERSION: u32 = 2;
const TRUSTED_CERTIFICATE: u32 = 2;
/// What Java mixes into the digest of every such store.
const WHITENER: &[u8] = b"Mighty Aphrodite";

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    struct Parts<'a>(&'a [u8]);

    impl<'a> Parts<'a> {
        fn take(&mut self, count: usize) -> &'a [u8] {
            let (taken, rest) = self.0.split_at(count);
            self.0 = rest;
            taken
        }

        fn number(&mut self) -> u32 {
            u32::from_be_bytes(self.take(4).try_into().unwrap())
        }

        fn text(&mut self) -> &'a str {
            let length = u16::from_be_bytes(self.take(2).try_into().unwrap());
            std::str::from_utf8(self.take(length.into())).unwrap()
        }
    }

    #[test]
    fn a_store_reads_back_entry_by_entry() {
        let certificates = [CertificateDer::from(vec![1; 300]), CertificateDer::from(vec![2; 5])];
        let store = encode(&certificates, datetime!(2001-09-09 01:46:40 UTC));
        let mut parts = Parts(&store);
        assert_eq!((parts.number(), parts.number(), parts.number()), (0xFEED_FEED, 2, 2));
        for (alias, certificate) in [("wiretape-1", &certificates[0]), ("wiretape-2", &certificates[1])] {
            assert_eq!((parts.number(), parts.text()), (2, alias));
            assert_eq!(parts.take(8), 1_000_000_000_000_u64.to_be_bytes());
            assert_eq!(parts.text(), "X.509");
            let length = parts.number() as usize;
            assert_eq!(parts.take(length), certificate.as_ref());
        }
        assert_eq!(parts.0.len(), 20);
    }

    #[test]
    fn the_digest_is_that_of_an_empty_store_as_java_writes_it() {
        // Taken from `KeyStore.getInstance("JKS")`, stored empty with the password `changeit`.
        let expected = "feedfeed0000000200000000e2686e45fb43dfa4d992dd41ceb6b21c6330d792";
        let store = encode(&[], OffsetDateTime::UNIX_EPOCH);
        let shown: String = store.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(shown, expected);
    }
}
