//! Random bytes, from the same source as the TLS keys.

use rustls::crypto::ring;

use crate::CertError;

/// A serial of 16 bytes that is positive and never shorter: the top bit is clear, the next one is set.
///
/// Left alone, rcgen derives the serial from the public key, so all leaves that share a key would share it,
/// which NSS refuses. Go refuses negative ones.
pub(crate) fn serial() -> Result<[u8; 16], CertError> {
    let mut bytes = [0; 16];
    ring::default_provider().secure_random.fill(&mut bytes).map_err(|_| CertError::NoRandomness)?;
    bytes[0] = (bytes[0] & 0x7f) | 0x40;
    Ok(bytes)
}
