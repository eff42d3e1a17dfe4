//! The local CA, the leaf certificates it signs, and how each kind of child process is made to trust it.
//!
//! This crate owns certificates, keys and the files and variables that carry trust to a child. It opens no
//! socket, starts no process and reads no clock: whoever calls it passes the time, and the environment as a
//! function. Nothing is ever installed into a trust store of the machine.

mod authority;
mod der;
mod error;
mod host;
mod minter;
mod pem;
mod private_file;
mod random;
mod trust_kit;
mod upstream;

pub use authority::Authority;
pub use error::CertError;
pub use host::Host;
pub use minter::Minter;
pub use random::token;
pub use trust_kit::{LOOPBACK_IS_DIRECT, Roots, TrustKit, Variables};
pub use upstream::upstream_client_config;
