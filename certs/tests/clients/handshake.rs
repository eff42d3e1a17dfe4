//! rustls on both sides, in memory.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
use time::{Duration, OffsetDateTime};
use wiretape_certs::{Authority, Minter, upstream_client_config};

type Versions = &'static [&'static rustls::SupportedProtocolVersion];

fn minter() -> Minter {
    Minter::new(Authority::ephemeral(OffsetDateTime::now_utc()).unwrap()).unwrap()
}

/// A client that trusts one CA and no other.
fn client(minter: &Minter, versions: Versions, alpn: &[&[u8]]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(minter.authority().certificate().clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    config
}

/// The certificate that a client is shown for `host`.
pub fn leaf(minter: &Minter, host: &str) -> CertificateDer<'static> {
    let connection = connect(minter, host, host, client(minter, BOTH, &[])).unwrap();
    connection.peer_certificates().unwrap()[0].clone()
}

/// Lets a client that wants `name` meet the server for `host`; gives the agreed protocol.
fn meet(
    minter: &Minter,
    host: &str,
    name: &str,
    client: ClientConfig,
) -> Result<Option<Vec<u8>>, rustls::Error> {
    connect(minter, host, name, client).map(|client| client.alpn_protocol().map(<[u8]>::to_vec))
}

fn connect(
    minter: &Minter,
    host: &str,
    name: &str,
    client: ClientConfig,
) -> Result<ClientConnection, rustls::Error> {
    let mut server = ServerConnection::new(minter.server_config(host, OffsetDateTime::now_utc()).unwrap())?;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut client = ClientConnection::new(Arc::new(client), name)?;
    while client.is_handshaking() || server.is_handshaking() {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut wire = wire.as_slice();
        while !wire.is_empty() {
            server.read_tls(&mut wire).unwrap();
            server.process_new_packets()?;
        }
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut wire = wire.as_slice();
        while !wire.is_empty() {
            client.read_tls(&mut wire).unwrap();
            client.process_new_packets()?;
        }
    }
    Ok(client)
}

const BOTH: Versions = &[&rustls::version::TLS13, &rustls::version::TLS12];
const ONLY_12: Versions = &[&rustls::version::TLS12];
const ONLY_13: Versions = &[&rustls::version::TLS13];

#[test]
fn a_client_that_trusts_only_our_ca_accepts_names_and_addresses() {
    let minter = minter();
    for (host, name) in [
        ("api.example.com", "api.example.com"),
        ("API.Example.com.", "api.example.com"),
        ("my_service.internal", "my_service.internal"),
        ("10.1.2.3", "10.1.2.3"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("::1", "::1"),
        (&format!("{}.example", "a".repeat(63)), &format!("{}.example", "a".repeat(63))),
    ] {
        for versions in [ONLY_12, ONLY_13] {
            let agreed = meet(&minter, host, name, client(&minter, versions, &[]));
            assert_eq!(agreed, Ok(None), "{host}");
        }
    }
}

#[test]
fn a_certificate_is_good_for_its_host_alone() {
    let minter = minter();
    for (host, name) in [
        ("api.example.com", "example.com"),
        ("example.com", "api.example.com"),
        ("10.1.2.3", "10.1.2.4"),
        ("2001:db8::1", "2001:db8::2"),
    ] {
        let refusal = meet(&minter, host, name, client(&minter, BOTH, &[])).unwrap_err();
        assert!(
            matches!(
                refusal,
                rustls::Error::InvalidCertificate(rustls::CertificateError::NotValidForNameContext { .. })
            ),
            "{refusal:?}"
        );
    }
}

#[test]
fn another_runs_ca_does_not_vouch_for_us() {
    let (ours, other) = (minter(), minter());
    let refusal = meet(&ours, "a.example", "a.example", client(&other, BOTH, &[])).unwrap_err();
    assert!(matches!(refusal, rustls::Error::InvalidCertificate(_)), "{refusal:?}");
}

#[test]
fn the_protocol_is_h2_where_the_client_knows_it() {
    let minter = minter();
    let agree =
        |alpn: &[&[u8]]| meet(&minter, "a.example", "a.example", client(&minter, BOTH, alpn)).unwrap();
    assert_eq!(agree(&[b"http/1.1", b"h2"]), Some(b"h2".to_vec()));
    assert_eq!(agree(&[b"http/1.1"]), Some(b"http/1.1".to_vec()));
    assert_eq!(agree(&[]), None);
}

#[test]
fn a_client_that_sends_no_server_name_is_served() {
    let minter = minter();
    let mut config = client(&minter, BOTH, &[]);
    config.enable_sni = false;
    assert_eq!(meet(&minter, "a.example", "a.example", config), Ok(None));
}

#[test]
fn a_loaded_ca_signs_leaves_that_its_certificate_vouches_for() {
    let home = tempfile::TempDir::new().unwrap();
    let dir = home.path().join("ca");
    let now = OffsetDateTime::now_utc();
    Authority::init(&dir, now - Duration::days(2)).unwrap();
    let minter = Minter::new(Authority::load(&dir, now).unwrap()).unwrap();
    assert_eq!(meet(&minter, "a.example", "a.example", client(&minter, BOTH, &[])), Ok(None));
}

#[test]
fn an_extra_ca_makes_the_upstream_client_trust_its_servers() {
    let (ours, other) = (minter(), minter());
    let config = upstream_client_config(&[ours.authority().pem().into()], &[b"h2"]).unwrap();
    assert_eq!(meet(&ours, "a.example", "a.example", config.clone()), Ok(Some(b"h2".to_vec())));
    assert!(meet(&other, "a.example", "a.example", config).is_err());
}
