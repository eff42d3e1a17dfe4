//! The proxy: listeners, TLS, HTTP/1.1, HTTP/2 and WebSocket, sessions, and the small interpreter that performs what
//! the pure crates decide.

mod abort;
mod answers;
mod body;
mod capture;
mod convert;
mod delivery;
mod forward;
mod handler;
mod hosts;
mod server;
mod session;
mod upload;
mod upstream;
mod websocket;
mod wire;

pub use answers::explain;
pub use convert::Origin;
pub use hosts::{HostGlob, HostPolicy, HostRules};
pub use server::{Proxy, ProxyConfig, ProxyError};
pub use session::{FaultReport, MissReport, Mode, Observer, Session, SessionConfig, Summary, Why};
pub use upstream::{ConnectTo, ConnectToError, UpstreamConfig, UpstreamProxy, UpstreamProxyError};
