//! What this process knows of secrets before any traffic: its environment and the project's own rules.

use std::{os::unix::ffi::OsStrExt, path::Path, sync::Arc};

use cassettes::Scrubber;

use crate::config::Config;

/// A scrubber that knows what the environment holds. `compared` are the headers that a match policy needs in clear.
pub(crate) fn scrubber(config: &Config, compared: &[String]) -> Scrubber {
    let variables: Vec<_> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    // A path is no secret, however it is called.
    let is_path = |value: &std::ffi::OsStr| value.as_bytes().starts_with(b"/") && Path::new(value).exists();
    let values = variables.iter().filter(|(_, value)| !is_path(value));
    Scrubber::keeping(compared)
        .with_rules(Arc::new(config.rules.clone()))
        .knowing(values.map(|(name, value)| (name.as_str(), value.as_bytes())))
}
