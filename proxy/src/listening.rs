//! The addresses that are our own, so that nothing is forwarded to them.

use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::{Mutex, PoisonError},
};

#[derive(Debug, Default)]
pub(crate) struct Listening(Mutex<Vec<SocketAddr>>);

impl Listening {
    pub(crate) fn add(&self, address: SocketAddr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(address);
    }

    pub(crate) fn is_ours(&self, address: SocketAddr) -> bool {
        let ours = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ours.iter().any(|o| {
            let (ours, theirs) = (o.ip().to_canonical(), address.ip().to_canonical());
            let same_host = ours == theirs
                || (theirs.is_unspecified() && (ours.is_loopback() || ours.is_unspecified()))
                || (ours.is_unspecified() && is_of_this_machine(theirs));
            o.port() == address.port() && same_host
        })
    }
}

/// An address that a socket can be bound to is one of ours.
fn is_of_this_machine(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}
