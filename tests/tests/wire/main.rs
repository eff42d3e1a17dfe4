//! The proxy as clients meet it on the wire: shapes of requests, streams, faults, and what a client may do
//! wrong. Every fact is held while recording, and again on replay with the upstream stopped.

#![allow(clippy::unwrap_used)]

mod bodies;
mod codings;
mod delivery;
mod faults;
mod framing;
mod garbage;
mod gate;
mod h2;
mod heads;
mod large;
mod leaving;
mod loops;
mod matching;
mod misses;
mod raw;
mod reverse;
mod scripted;
mod shapes;
mod silence;
mod streams;
mod targets;
mod unanswered;
mod unscrubbable;
mod upstream_proxy;
mod websocket;
mod websocket_ends;
