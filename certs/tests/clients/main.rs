//! Certificates and trust kits against real TLS clients.

mod handshake;
mod java;
mod node;
mod openssl;
mod proxy;
mod python;
mod run;
