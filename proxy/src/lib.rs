//! The proxy: listeners, TLS, HTTP/1.1, HTTP/2 and WebSocket, sessions, and the small interpreter that performs what
//! the pure crates decide.

mod abort;
mod answers;
mod body;
mod call_in_hand;
mod call_log;
mod capture;
mod control;
mod convert;
mod deck;
mod delivery;
mod forward;
mod handler;
mod hosts;
mod listening;
mod opener;
mod server;
mod session;
mod session_name;
mod sessions;
mod upload;
mod upstream;
mod websocket;
mod wire;

pub use answers::explain;
pub use control::{Control, ControlConfig, ControlError, Door};
pub use convert::Origin;
pub use deck::Unplayed;
pub use hosts::{HostGlob, HostPolicy, HostRules};
pub use opener::{Asker, Keeper, Opened, Opener, Refusal, RefusalKind, Wish};
pub use server::{Proxy, ProxyConfig, ProxyError};
pub use session::{FaultReport, KeepCalls, MissReport, Mode, Observer, Session, SessionConfig, Summary, Why};
pub use session_name::{BadName, SessionName};
pub use sessions::Sessions;
pub use upstream::{ConnectTo, ConnectToError, UpstreamConfig, UpstreamProxy, UpstreamProxyError};
