//! Random bytes, from the same source as the TLS keys.

use rustls::crypto::ring;

use crate::CertError;

/// 256 random bits in hexadecimal, for a password that nobody has to remember.
pub fn token() -> Result<String, CertError> {
    let bytes: [u8; 32] = bytes()?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A serial of 16 bytes that is positive and never shorter: the top bit is clear, the next one is set.
///
/// Left alone, rcgen derives the serial from the public key, so all leaves that share a key would share it,
/// which NSS refuses. Go refuses negative ones.
pub(crate) fn serial() -> Result<[u8; 16], CertError> {
    let mut bytes: [u8; 16] = bytes()?;
    bytes[0] = (bytes[0] & 0x7f) | 0x40;
    Ok(bytes)
}

fn bytes<const N: usize>() -> Result<[u8; N], CertError> {
    let mut bytes = [0; N];
    ring::default_provider().secure_random.fill(&mut bytes).map_err(|_| CertError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_256_bits_and_is_another_every_time() {
        let (a, b) = (token().unwrap(), token().unwrap());
        assert!(a.len() == 64 && a.bytes().all(|c| c.is_ascii_hexdigit()), "{a}");
        assert_ne!(a, b);
    }
}
