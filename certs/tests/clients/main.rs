//! Certificates and trust kits against real TLS clients.

// All of this is test code; the configured leave to unwrap covers only the functions marked as tests.
#![allow(clippy::unwrap_used)]

mod handshake;
mod java;
mod node;
mod openssl;
mod proxy;
mod python;
mod run;
