//! What this process knows of secrets before any traffic: its environment and the project's own rules.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::Arc,
};

use cassettes::Scrubber;

use crate::config::Config;

/// A scrubber that knows what the environment holds. `compared` are the headers that a match policy needs in clear.
pub(crate) fn scrubber(config: &Config, compared: &[String]) -> Scrubber {
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    knowing(config, compared, variables)
}

fn knowing(
    config: &Config,
    compared: &[String],
    variables: impl Iterator<Item = (String, OsString)>,
) -> Scrubber {
    let variables: Vec<_> = variables.collect();
    // A path is no secret, however it is called, unless somebody says that this one is.
    let is_path = |value: &OsStr| value.as_bytes().starts_with(b"/") && Path::new(value).exists();
    let is_named = |name: &str| config.rules.env_names().any(|named| named == name);
    let values = variables.iter().filter(|(name, value)| is_named(name) || !is_path(value));
    Scrubber::keeping(compared)
        .with_rules(Arc::new(config.rules.clone()))
        .knowing(values.map(|(name, value)| (name.as_str(), value.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_secret_only_where_the_project_says_so() {
        let here = std::env::current_dir().unwrap().into_os_string();
        let mut config = Config::default();
        config.rules.redact_env("DROP_TOKEN").unwrap();
        let knows = |name: &str| {
            let scrubber = knowing(&config, &[], std::iter::once((name.to_owned(), here.clone())));
            scrubber.known() > 0
        };
        assert!(knows("DROP_TOKEN"));
        assert!(!knows("OTHER_TOKEN"));
    }
}
