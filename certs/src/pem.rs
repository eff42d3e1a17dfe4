//! Certificates to and from PEM text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// One certificate as a PEM block.
pub(crate) fn encode(certificate: &CertificateDer<'_>) -> String {
    let text = STANDARD.encode(certificate);
    let mut pem = String::with_capacity(text.len() + text.len() / LINE + 64);
    pem.push_str("-----BEGIN CERTIFICATE-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(LINE));
        pem.push_str(line);
        pem.push('\n');
        rest = more;
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

/// The certificates in a PEM file; blocks of another kind and broken ones are left out.
pub(crate) fn decode(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

const LINE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_certificate_has_lines_of_64_and_comes_back() {
        let certificate = CertificateDer::from((0..=255).collect::<Vec<u8>>());
        let pem = encode(&certificate);
        let longest = pem.lines().filter(|line| !line.starts_with('-')).map(str::len).max();
        assert_eq!(longest, Some(64));
        assert_eq!(decode(pem.as_bytes()), [certificate]);
    }

    #[test]
    fn text_without_a_certificate_decodes_to_none() {
        assert!(decode(b"# nothing here\n").is_empty());
    }
}
