//! The end-to-end harness: a stand-in for the real services, a sandbox to run `wiretape` in, and the
//! clients that speak through it. It owns no behavior of `wiretape` itself and reaches the product only
//! as a user does, through the binary.

// A harness that cannot go on has failed its test: here a panic is the report.
#![allow(clippy::unwrap_used)]

pub mod clients;
pub mod corpus;
pub mod sandbox;
pub mod secret;
pub mod served;
pub mod shell;
pub mod terminal;
pub mod traces;
pub mod transcript;
pub mod tunnel;
pub mod upstream;
