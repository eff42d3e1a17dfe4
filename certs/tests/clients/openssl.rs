//! The certificates as OpenSSL reads them.

use std::fs;
use std::process::Command;

use rustls::pki_types::CertificateDer;
use time::OffsetDateTime;
use wiretape_certs::{Authority, Minter};

use crate::handshake::leaf;
use crate::run::{is_there, printed};

#[test]
fn the_ca_may_sign_leaves_and_nothing_else() {
    if !is_there("openssl", "version") {
        return;
    }
    let authority = Authority::ephemeral(OffsetDateTime::now_utc()).unwrap();
    let certificate = authority.certificate();
    assert_eq!(
        extension(certificate, "basicConstraints"),
        ["X509v3 Basic Constraints: critical", "CA:TRUE, pathlen:0"]
    );
    assert_eq!(
        extension(certificate, "keyUsage"),
        ["X509v3 Key Usage: critical", "Certificate Sign, CRL Sign"]
    );
    assert_eq!(extension(certificate, "subjectKeyIdentifier").len(), 2);
    let fingerprint = read(certificate, &["-fingerprint", "-sha256"]).concat();
    assert_eq!(fingerprint.split_once('=').unwrap().1, authority.fingerprint());
    assert_eq!(serial(certificate).len(), 32);
}

#[test]
fn a_leaf_names_one_host_and_serves_only() {
    if !is_there("openssl", "version") {
        return;
    }
    let minter = Minter::new(Authority::ephemeral(OffsetDateTime::now_utc()).unwrap()).unwrap();
    for (host, name) in [
        ("api.example.com", "DNS:api.example.com"),
        ("10.1.2.3", "IP Address:10.1.2.3"),
        ("2001:db8::1", "IP Address:2001:DB8:0:0:0:0:0:1"),
    ] {
        let leaf = leaf(&minter, host);
        assert_eq!(extension(&leaf, "subjectAltName"), ["X509v3 Subject Alternative Name:", name]);
        assert_eq!(
            extension(&leaf, "extendedKeyUsage"),
            ["X509v3 Extended Key Usage:", "TLS Web Server Authentication"]
        );
        assert_eq!(extension(&leaf, "keyUsage"), ["X509v3 Key Usage: critical", "Digital Signature"]);
        let issuer = extension(minter.authority().certificate(), "subjectKeyIdentifier")[1].clone();
        let named = extension(&leaf, "authorityKeyIdentifier")[1].clone();
        assert_eq!(named.trim_start_matches("keyid:"), issuer);
    }
}

#[test]
fn serials_are_positive_and_never_repeat() {
    if !is_there("openssl", "version") {
        return;
    }
    let minter = Minter::new(Authority::ephemeral(OffsetDateTime::now_utc()).unwrap()).unwrap();
    let mut serials: Vec<_> =
        (0..16).map(|number| serial(&leaf(&minter, &format!("host-{number}")))).collect();
    for serial in &serials {
        assert_eq!(serial.len(), 32, "{serial}");
        assert!(matches!(serial.as_bytes()[0], b'4'..=b'7'), "{serial}");
    }
    serials.sort();
    serials.dedup();
    assert_eq!(serials.len(), 16);
}

/// The name of an extension and what it holds.
fn extension(certificate: &CertificateDer<'_>, name: &str) -> Vec<String> {
    read(certificate, &["-ext", name])
}

/// In hexadecimal; OpenSSL puts a minus sign before a negative one.
fn serial(certificate: &CertificateDer<'_>) -> String {
    read(certificate, &["-serial"]).concat().replace("serial=", "")
}

/// What `openssl x509` says about a certificate, line by line.
fn read(certificate: &CertificateDer<'_>, args: &[&str]) -> Vec<String> {
    let home = tempfile::TempDir::new().unwrap();
    let path = home.path().join("certificate.der");
    fs::write(&path, certificate).unwrap();
    let mut command = Command::new("openssl");
    command.args(["x509", "-inform", "DER", "-noout", "-in"]).arg(&path).args(args);
    printed(command).lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
}
