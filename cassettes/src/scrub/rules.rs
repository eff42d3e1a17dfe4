//! The rules that a project adds to the built-in ones: what else is a secret, and what is none.
//!
//! Owns what a rule may say and what it applies to. Reading them from a file and scrubbing by them are elsewhere.

use std::collections::BTreeSet;

use exchange::{FieldPath, Segment};
use regex::bytes::{Regex, RegexBuilder};
use thiserror::Error;

use super::names;

/// A project's own rules. Without any, the built-in ones stand alone.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    redact: Redact,
    keep: Keep,
}

/// What is a secret, whatever the built-in rules say.
#[derive(Debug, Clone, Default)]
struct Redact {
    headers: BTreeSet<String>,
    query: Names,
    json_paths: Vec<FieldPath>,
    /// By the kind that their placeholders get.
    patterns: Vec<(String, Regex)>,
    env: BTreeSet<String>,
}

/// What is no secret, although a built-in rule takes it for one.
#[derive(Debug, Clone, Default)]
struct Keep {
    headers: BTreeSet<String>,
    query: Names,
    json_paths: Vec<FieldPath>,
    patterns: Vec<WholeValue>,
    env: Vec<EnvGlob>,
}

/// Keys of queries and forms: as they are compared, with how they were spelled.
type Names = Vec<(String, String)>;

/// A value that is kept where it matches from its first byte to its last.
#[derive(Debug, Clone)]
struct WholeValue {
    pattern: Regex,
    anchored: Regex,
}

/// The name of a variable, or with a `*` at its end all names that begin so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvGlob {
    start: String,
    is_open: bool,
}

/// One rule, as a person reads of it.
#[derive(Debug, Clone, Copy)]
pub enum Rule<'r> {
    Header(&'r str),
    Query(&'r str),
    JsonPath(&'r FieldPath),
    /// Takes out what matches, under a placeholder of this kind.
    Pattern(&'r str),
    /// Keeps what matches this.
    Kept(&'r Regex),
    Env(&'r str),
    KeptEnv(&'r EnvGlob),
}

/// Which of the two lists a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    Redact,
    Keep,
}

/// Why a rule is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleError {
    #[error("`{0}` is not the name of a header")]
    HeaderName(String),
    #[error("`{0}` names a credential, and can never be kept")]
    Credential(String),
    #[error("a query key cannot be empty")]
    EmptyKey,
    #[error("not a field path of a body")]
    Path,
    #[error("`{0}` is not the name of a kind")]
    Kind(String),
    #[error("not the name of a variable")]
    EnvName,
    #[error("the pattern is not a regular expression: {0}")]
    Regex(String),
    #[error("the pattern matches the empty text, so it would match everywhere")]
    MatchesNothing,
    #[error("the pattern is longer than {LONGEST_PATTERN} bytes")]
    LongPattern,
    #[error("there are more than {MOST_PATTERNS} patterns")]
    ManyPatterns,
    #[error("`{0}` cannot be both redacted and kept")]
    Both(String),
}

impl RuleError {
    /// What to write instead.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Credential(_) => Some("remove it: its value is a placeholder on every cassette"),
            Self::Path => Some("write it like body.customer.email or body.items[*].ssn"),
            Self::Kind(_) => Some("small letters and `_`: it becomes the kind of the placeholder"),
            Self::EnvName => Some("letters, digits and `_`, such as ACME_LICENSE"),
            Self::MatchesNothing => Some("name at least one character that must be there"),
            Self::Both(_) => Some("remove it from one of the two"),
            _ => None,
        }
    }
}

/// What a file says is added one by one, so that each refusal has its place in that file.
impl Rules {
    pub fn redact_header(&mut self, name: &str) -> Result<(), RuleError> {
        let header = header_name(name)?;
        self.redact.headers.insert(header.clone());
        self.refuse_both(self.keep.headers.contains(&header), name)
    }

    pub fn keep_header(&mut self, name: &str) -> Result<(), RuleError> {
        let header = header_name(name)?;
        if names::is_credential_header(&header) || names::is_account_header(&header) {
            return Err(RuleError::Credential(name.to_owned()));
        }
        self.keep.headers.insert(header.clone());
        self.refuse_both(self.redact.headers.contains(&header), name)
    }

    pub fn redact_query(&mut self, key: &str) -> Result<(), RuleError> {
        self.redact.query.push(query_key(key)?);
        self.refuse_both(self.keeps_query(key), key)
    }

    pub fn keep_query(&mut self, key: &str) -> Result<(), RuleError> {
        self.keep.query.push(query_key(key)?);
        self.refuse_both(self.redacts_query(key), key)
    }

    pub fn redact_path(&mut self, path: &str) -> Result<(), RuleError> {
        let path = body_path(path)?;
        let both = self.keep.json_paths.contains(&path);
        let shown = path.to_string();
        self.redact.json_paths.push(path);
        self.refuse_both(both, &shown)
    }

    pub fn keep_path(&mut self, path: &str) -> Result<(), RuleError> {
        let path = body_path(path)?;
        let both = self.redact.json_paths.contains(&path);
        let shown = path.to_string();
        self.keep.json_paths.push(path);
        self.refuse_both(both, &shown)
    }

    /// `kind` becomes the kind of the placeholders: `{{redacted:customer:1}}`.
    pub fn redact_pattern(&mut self, kind: &str, pattern: &str) -> Result<(), RuleError> {
        if !is_kind(kind) {
            return Err(RuleError::Kind(kind.to_owned()));
        }
        let pattern = self.compiled(pattern)?;
        self.redact.patterns.push((kind.to_owned(), pattern));
        Ok(())
    }

    pub fn keep_pattern(&mut self, pattern: &str) -> Result<(), RuleError> {
        let source = pattern;
        let pattern = self.compiled(source)?;
        // On a line of its own the bracket is out of reach of a comment at the pattern's end.
        let anchored =
            regex(&format!(r"\A(?:{source})\z")).or_else(|_| regex(&format!("\\A(?:{source}\n)\\z")))?;
        self.keep.patterns.push(WholeValue { pattern, anchored });
        Ok(())
    }

    pub fn redact_env(&mut self, name: &str) -> Result<(), RuleError> {
        if !is_variable_name(name) {
            return Err(RuleError::EnvName);
        }
        self.redact.env.insert(name.to_owned());
        self.refuse_both(self.keeps_env(name), name)
    }

    /// `NAME`, or `NAME*` for all that begin so.
    pub fn keep_env(&mut self, name: &str) -> Result<(), RuleError> {
        let glob: EnvGlob = name.parse()?;
        let both = self.redact.env.iter().any(|name| glob.matches(name));
        self.keep.env.push(glob);
        self.refuse_both(both, name)
    }

    fn refuse_both(&self, both: bool, name: &str) -> Result<(), RuleError> {
        if both { Err(RuleError::Both(name.to_owned())) } else { Ok(()) }
    }

    fn compiled(&self, pattern: &str) -> Result<Regex, RuleError> {
        if self.redact.patterns.len() + self.keep.patterns.len() >= MOST_PATTERNS {
            return Err(RuleError::ManyPatterns);
        }
        if pattern.len() > LONGEST_PATTERN {
            return Err(RuleError::LongPattern);
        }
        let regex = regex(pattern)?;
        // What matches nothing here matches nothing wherever two such characters meet.
        let matches_nothing = |probe: &&[u8]| regex.find_iter(probe).any(|found| found.is_empty());
        if [b"".as_slice(), b"a", b"-", b"a a\n-a-\n\n--aa"].iter().any(matches_nothing) {
            return Err(RuleError::MatchesNothing);
        }
        Ok(regex)
    }
}

/// What the scrubber asks.
impl Rules {
    pub fn is_empty(&self) -> bool {
        self.listed().next().is_none()
    }

    /// Whether the value of this header is a secret; in any case, in requests and in replies.
    pub fn redacts_header(&self, name: &str) -> bool {
        self.redact.headers.contains(&name.to_ascii_lowercase())
    }

    pub fn keeps_header(&self, name: &str) -> bool {
        self.keep.headers.contains(&name.to_ascii_lowercase())
    }

    /// Whether the values of this key of a query or a form are secrets. The key is given without percent-encoding;
    /// case, `-`, `_`, `.`, `$` and brackets do not count, as for the built-in keys.
    pub fn redacts_query(&self, key: &str) -> bool {
        is_among(&self.redact.query, key)
    }

    pub fn keeps_query(&self, key: &str) -> bool {
        is_among(&self.keep.query, key)
    }

    /// Whether the value at this path of a body, or one that it stands in, is a secret.
    pub fn redacts_path(&self, path: &[Segment]) -> bool {
        is_under(&self.redact.json_paths, path)
    }

    pub fn keeps_path(&self, path: &[Segment]) -> bool {
        is_under(&self.keep.json_paths, path)
    }

    /// Kinds of placeholders, and what they are to stand for. No pattern matches the empty text.
    pub fn patterns(&self) -> &[(String, Regex)] {
        &self.redact.patterns
    }

    /// Whether this value, whole, is known to be no secret.
    pub fn keeps_value(&self, value: &[u8]) -> bool {
        self.keep.patterns.iter().any(|kept| kept.anchored.is_match(value))
    }

    /// The variables whose values are secrets, whatever they are called and whatever they hold.
    pub fn env_names(&self) -> impl Iterator<Item = &str> {
        self.redact.env.iter().map(String::as_str)
    }

    /// The variables that a replayed program gets, whatever they hold.
    pub fn kept_env(&self) -> &[EnvGlob] {
        &self.keep.env
    }

    pub fn keeps_env(&self, name: &str) -> bool {
        self.keep.env.iter().any(|glob| glob.matches(name))
    }

    /// Every rule, in the order in which the reference page tells of them.
    pub fn listed(&self) -> impl Iterator<Item = (List, Rule<'_>)> {
        let (redact, keep) = (&self.redact, &self.keep);
        let redacted = redact
            .headers
            .iter()
            .map(|name| Rule::Header(name))
            .chain(redact.query.iter().map(|(_, key)| Rule::Query(key)))
            .chain(redact.json_paths.iter().map(Rule::JsonPath))
            .chain(redact.patterns.iter().map(|(kind, _)| Rule::Pattern(kind)))
            .chain(redact.env.iter().map(|name| Rule::Env(name)));
        let kept = keep
            .headers
            .iter()
            .map(|name| Rule::Header(name))
            .chain(keep.query.iter().map(|(_, key)| Rule::Query(key)))
            .chain(keep.json_paths.iter().map(Rule::JsonPath))
            .chain(keep.patterns.iter().map(|kept| Rule::Kept(&kept.pattern)))
            .chain(keep.env.iter().map(Rule::KeptEnv));
        redacted.map(|rule| (List::Redact, rule)).chain(kept.map(|rule| (List::Keep, rule)))
    }
}

impl EnvGlob {
    pub fn matches(&self, name: &str) -> bool {
        if self.is_open { name.starts_with(&self.start) } else { name == self.start }
    }
}

impl std::str::FromStr for EnvGlob {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let (start, is_open) = text.strip_suffix('*').map_or((text, false), |start| (start, true));
        // A star alone would pass everything on, which nobody can mean who replays.
        if !is_variable_name(start) {
            return Err(RuleError::EnvName);
        }
        Ok(Self { start: start.to_owned(), is_open })
    }
}

impl std::fmt::Display for EnvGlob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.start, if self.is_open { "*" } else { "" })
    }
}

impl Rule<'_> {
    /// Whether this is a rule about that key of a query or a form.
    pub(crate) fn names_query(&self, key: &str) -> bool {
        matches!(self, Self::Query(named) if normalized(named) == normalized(key))
    }
}

/// What stands behind `redact.` or `keep.`, and what the rule says.
impl std::fmt::Display for Rule<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Header(name) => write!(f, "headers: {name}"),
            Self::Query(key) => write!(f, "query: {key}"),
            Self::JsonPath(path) => write!(f, "json_paths: {path}"),
            Self::Pattern(kind) => write!(f, "patterns: {kind}"),
            Self::Kept(pattern) => write!(f, "patterns: {pattern}"),
            Self::Env(name) => write!(f, "env: {name}"),
            Self::KeptEnv(glob) => write!(f, "env: {glob}"),
        }
    }
}

impl std::fmt::Display for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Redact => "redact",
            Self::Keep => "keep",
        })
    }
}

fn header_name(name: &str) -> Result<String, RuleError> {
    let parsed = http::HeaderName::try_from(name).map_err(|_| RuleError::HeaderName(name.to_owned()))?;
    Ok(parsed.as_str().to_owned())
}

fn query_key(key: &str) -> Result<(String, String), RuleError> {
    match normalized(key) {
        compared if compared.is_empty() => Err(RuleError::EmptyKey),
        compared => Ok((compared, key.to_owned())),
    }
}

fn body_path(text: &str) -> Result<FieldPath, RuleError> {
    // `request.body` is read as `body` elsewhere, where it can only be the request's.
    let path = text.parse().ok().filter(|_| text.starts_with(BODY));
    path.filter(|FieldPath(segments)| segments.first() == Some(&Segment::Key(BODY.into())))
        .ok_or(RuleError::Path)
}

fn is_under(rules: &[FieldPath], path: &[Segment]) -> bool {
    rules.iter().any(|rule| path.get(..rule.0.len()).is_some_and(|start| rule.matches(start)))
}

fn is_among(keys: &Names, key: &str) -> bool {
    let compared = normalized(key);
    keys.iter().any(|(known, _)| *known == compared)
}

fn normalized(key: &str) -> String {
    let counts = |c: &char| !matches!(c, '-' | '_' | '.' | '[' | ']' | '$');
    key.chars().filter(counts).map(|c| c.to_ascii_lowercase()).collect()
}

fn is_kind(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

/// What a shell takes for the name of a variable.
pub(crate) fn is_variable_name(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.starts_with(|first: char| !first.is_ascii_digit())
}

fn regex(pattern: &str) -> Result<Regex, RuleError> {
    let built = RegexBuilder::new(pattern).size_limit(REGEX_SIZE).dfa_size_limit(REGEX_SIZE).build();
    built.map_err(|error| {
        // Its words draw the pattern over several lines; the last one tells what is wrong with it.
        let words = error.to_string();
        let reason = words.lines().last().unwrap_or_default().trim();
        RuleError::Regex(reason.strip_prefix("error: ").unwrap_or(reason).trim_end_matches('.').to_owned())
    })
}

const BODY: &str = "body";
const MOST_PATTERNS: usize = 200;
const LONGEST_PATTERN: usize = 1 << 10;
/// Bytes that one compiled pattern may take.
const REGEX_SIZE: usize = 1 << 20;

#[cfg(test)]
mod tests;
