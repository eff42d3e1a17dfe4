//! Suites: YAML expectations over real programs.
//!
//! A thin crate for now. It owns the sandbox in which a child process runs: today its environment.

pub mod allowlist;
mod environment;

pub use environment::{Base, Environment};
