//! What may happen to requests for a host, whatever the session's mode.

/// Rules by host; the first that fits decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules(Vec<(HostGlob, HostPolicy)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostPolicy {
    /// As the session's mode says.
    Follow,
    /// Forward, and keep nothing.
    Live,
    /// Refuse, and fail the run.
    Deny,
}

/// A host name, or `*.name` for every host below it, or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostGlob(String);

impl HostRules {
    pub fn new(rules: Vec<(HostGlob, HostPolicy)>) -> Self {
        Self(rules)
    }

    pub fn of(&self, host: &str) -> HostPolicy {
        self.0.iter().find(|(glob, _)| glob.matches(host)).map_or(HostPolicy::Follow, |(_, policy)| *policy)
    }

    pub fn any_live(&self) -> bool {
        self.0.iter().any(|(_, policy)| *policy == HostPolicy::Live)
    }
}

impl HostGlob {
    /// `None` for anything else: a port, or a star that is not a whole label in front.
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.strip_prefix("*.").unwrap_or(text);
        let is_name = || {
            let label =
                |l: &str| !l.is_empty() && l.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
            name.split('.').all(label)
        };
        let is_address = text.parse::<std::net::IpAddr>().is_ok();
        (text == "*" || is_address || is_name()).then(|| Self(text.to_ascii_lowercase()))
    }

    fn matches(&self, host: &str) -> bool {
        match self.0.strip_prefix('*') {
            Some("") => true,
            Some(suffix) => host.ends_with(suffix),
            None => host == self.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rule = |glob: &str, policy| (HostGlob::parse(glob).unwrap(), policy);
        let rules = HostRules::new(vec![
            rule("api.github.com", HostPolicy::Follow),
            rule("*.github.com", HostPolicy::Live),
            rule("*", HostPolicy::Deny),
        ]);
        assert_eq!(rules.of("api.github.com"), HostPolicy::Follow);
        assert_eq!(rules.of("uploads.github.com"), HostPolicy::Live);
        assert_eq!(rules.of("github.com"), HostPolicy::Deny);
        for wrong in ["", "api.*.com", "*github.com", "api.github.com:8443", "a..b", "https://a"] {
            assert_eq!(HostGlob::parse(wrong), None, "{wrong}");
        }
        assert!(HostGlob::parse("::1").is_some());
    }
}
