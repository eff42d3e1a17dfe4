//! `wiretape.yaml`: a project's defaults.

mod rules;

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    str::Utf8Error,
};

use cassettes::{Pace, format, scrub::rules::Rules};
use matchers::Policy;
use proxy::{ConnectTo, HostGlob, HostPolicy, HostRules};
use yaml::{Fields, Limits, Node, Problem, Span};

use crate::{exit::Failure, size::Size};

/// What the file says, with paths made absolute by the folder it stands in.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Where it was found.
    pub(crate) file: Option<PathBuf>,
    /// The folder of cassettes named after their command.
    pub(crate) cassettes: Option<PathBuf>,
    pub(crate) policy: Policy,
    pub(crate) hosts: HostRules,
    /// What is a secret here and what is none, besides the built-in rules.
    pub(crate) rules: Rules,
    pub(crate) pace: Option<Pace>,
    pub(crate) max_body: Option<Size>,
    pub(crate) connect_to: Vec<ConnectTo>,
    pub(crate) upstream_ca: Vec<PathBuf>,
}

impl Config {
    /// Reads the named file, or the nearest `wiretape.yaml` at or above `from`; without one, the defaults.
    pub(crate) fn find(named: Option<&Path>, from: &Path) -> Result<Self, Failure> {
        match named {
            Some(path) => Self::read(path),
            None => match from.ancestors().map(|dir| dir.join(NAME)).find(|path| path.is_file()) {
                Some(path) if is_foreign(&path) => Err(Failure::with_help(
                    format!("{} belongs to another user, or another user can change it", path.display()),
                    "it could send your keys elsewhere: name it with --config if you trust it, or make one of your own here",
                )),
                Some(path) => Self::read(&path),
                None => Ok(Self::default()),
            },
        }
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
        let text =
            String::from_utf8(bytes).map_err(|error| not_text(path, error.as_bytes(), error.utf8_error()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = parse(&text, folder).map_err(|problem| Failure::in_file(path, &text, problem))?;
        Ok(Self { file: Some(path.to_owned()), ..config })
    }
}

fn parse(text: &str, folder: &Path) -> Result<Config, Problem> {
    let document = yaml::parse(text, &Limits::small())?;
    let mut config = Config::default();
    if document.is_null() {
        return Ok(config);
    }
    let mut fields = Fields::of(&document, "wiretape.yaml")?;
    if let Some(node) = fields.optional("cassettes") {
        config.cassettes = Some(folder.join(node.text("the folder of cassettes")?));
    }
    if let Some(node) = fields.optional("match") {
        config.policy = format::read_policy(node)?;
    }
    if let Some(node) = fields.optional("hosts") {
        let rules = node.mapping("the host rules")?.iter().map(|(glob, policy)| host_rule(glob, policy));
        config.hosts = HostRules::new(rules.collect::<Result<_, _>>()?);
    }
    config.rules = rules::read(fields.optional("redact"), fields.optional("keep"))?;
    if let Some(node) = fields.optional("pace") {
        config.pace =
            Some(node.choice("`pace`", &[("instant", Pace::Instant), ("recorded", Pace::Recorded)])?);
    }
    if let Some(node) = fields.optional("max_body") {
        config.max_body = Some(parsed(node, "a size")?);
    }
    if let Some(node) = fields.optional("connect_to") {
        let rules = node.sequence("the list of `connect_to` rules")?.iter();
        config.connect_to =
            rules.map(|rule| parsed(rule, "a `connect_to` rule")).collect::<Result<_, _>>()?;
    }
    if let Some(node) = fields.optional("upstream_ca") {
        let files = node.sequence("the list of CA files")?.iter();
        config.upstream_ca =
            files.map(|file| Ok(folder.join(file.text("a CA file")?))).collect::<Result<_, Problem>>()?;
    }
    fields.finish()?;
    Ok(config)
}

fn host_rule(glob: &Node<'_>, policy: &Node<'_>) -> Result<(HostGlob, HostPolicy), Problem> {
    let parsed = HostGlob::parse(glob.text("a host")?).ok_or_else(|| {
        Problem::new(glob.span, "not a host name")
            .with_help("write it like api.github.com, '*.github.com', '*' or an address")
    })?;
    let words = [("replay", HostPolicy::Follow), ("live", HostPolicy::Live), ("deny", HostPolicy::Deny)];
    Ok((parsed, policy.choice("a host rule", &words)?))
}

fn parsed<T>(node: &Node<'_>, what: &'static str) -> Result<T, Problem>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    node.text(what)?.parse().map_err(|error: T::Err| Problem::new(node.span, error.to_string()))
}

/// A file that was found and not named speaks for the project only if nobody else could have put it there.
fn is_foreign(path: &Path) -> bool {
    let ours =
        |metadata: fs::Metadata| metadata.uid() == rustix::process::geteuid().as_raw() || metadata.uid() == 0;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let closed = |path: &Path| fs::metadata(path).is_ok_and(|m| m.mode() & 0o002 == 0 && ours(m));
    !(closed(path) && closed(folder))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::input(format!("cannot read {}: {error}", path.display()))
}

fn not_text(path: &Path, bytes: &[u8], error: Utf8Error) -> Failure {
    let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
    let place = Span::new(good.len(), good.len()).position(&good);
    Failure::input(format!("{}:{place}: the file is not UTF-8 text", path.display()))
}

const NAME: &str = "wiretape.yaml";

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "\
cassettes: recorded
match:
  volatile: [body.trace]
hosts:
  api.github.com: live
  '*': deny
redact:
  query: [ticket]
keep:
  query: [token]
pace: recorded
max_body: 1MiB
connect_to: ['api.test:443:127.0.0.1:8443']
upstream_ca: [ca.pem]
";

    #[test]
    fn every_key_is_read_and_paths_follow_the_file() {
        let config = parse(ALL, Path::new("/project")).unwrap();
        assert_eq!(config.cassettes.as_deref(), Some(Path::new("/project/recorded")));
        assert_eq!(config.policy.volatile, ["body.trace".parse().unwrap()]);
        assert_eq!(config.hosts.of("api.github.com"), HostPolicy::Live);
        assert_eq!(config.hosts.of("elsewhere"), HostPolicy::Deny);
        assert!(config.rules.redacts_query("ticket") && config.rules.keeps_query("token"));
        assert_eq!(config.pace, Some(Pace::Recorded));
        assert_eq!(config.max_body, Some(Size(1 << 20)));
        assert_eq!(config.connect_to, ["api.test:443:127.0.0.1:8443".parse().unwrap()]);
        assert_eq!(config.upstream_ca, [PathBuf::from("/project/ca.pem")]);
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_place_and_a_suggestion() {
        let problem = parse("pace: instant\ncasettes: x\n", Path::new("/")).unwrap_err();
        assert_eq!(problem.span.position("pace: instant\ncasettes: x\n").line, 2);
        assert!(problem.help.unwrap().contains("cassettes"));
    }

    #[test]
    fn an_empty_file_means_the_defaults() {
        assert_eq!(parse("# nothing yet\n", Path::new("/")).unwrap().cassettes, None);
    }
}
