//! `wiretape ca`: the CA that is kept, for programs that are set up by hand to trust it.

use certs::{Authority, Roots, TrustKit};
use time::OffsetDateTime;

use crate::{
    args,
    environment::{self, Changes},
    exit::{Exit, Failure},
    places,
};

pub(crate) fn run(command: &args::Ca) -> Result<Exit, Failure> {
    let dir = places::ca_dir();
    let now = OffsetDateTime::now_utc();
    match command {
        args::Ca::Path => {
            Authority::load(&dir, now)?;
            println!("{}", dir.join("ca.pem").display());
        }
        args::Ca::Init { renew } => {
            let authority = if *renew { Authority::renew(&dir, now)? } else { Authority::init(&dir, now)? };
            println!("{}", dir.join("ca.pem").display());
            eprintln!("wiretape: made a CA, valid until {}", authority.not_after().date());
            eprintln!("  SHA-256 {}", authority.fingerprint());
            eprintln!("  `wiretape proxy` uses it from now on; its key stays in {}", dir.display());
        }
        args::Ca::Env { format } => {
            let authority = Authority::load(&dir, now)?;
            let kit = TrustKit::create_in(&dir.join("trust"), &authority, Roots::SystemAndOurs, &|n| {
                std::env::var_os(n)
            })?;
            let bundle = kit.bundle_pem().display().to_string();
            let mut changes = Changes::default();
            for name in TRUST {
                changes.set(name, &bundle);
            }
            changes.set("NODE_EXTRA_CA_CERTS", &kit.ca_pem().display().to_string());
            changes.set("DENO_CERT", &kit.ca_pem().display().to_string());
            environment::print(&changes, *format);
        }
    }
    Ok(Exit::Fine)
}

/// Variables that replace a program's roots, so each names a bundle of the system's and ours.
const TRUST: &[&str] = &[
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "NPM_CONFIG_CAFILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];
