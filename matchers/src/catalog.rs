//! What is known of a provider, as data: where its servers are, and which values they make up anew.
//!
//! Owns the reading of `matchers/catalog/*.yaml`, which are part of the program; what the values become is the business
//! of whoever asks.

mod key;
mod read;

use std::sync::OnceLock;

use exchange::Exchange;
use yaml::{Limits, Problem};

use key::{Glob, Keyed};

/// The providers that are known.
#[derive(Debug)]
pub struct Catalog {
    providers: Vec<Provider>,
}

/// One provider.
#[derive(Debug)]
pub struct Provider {
    pub name: String,
    hosts: Vec<Glob>,
    elsewhere: Option<Elsewhere>,
    owners: Vec<String>,
    pub undated: Undated,
    ids: Keyed<IdForm>,
    times: Keyed<TimeClass>,
    header_ids: Vec<(Vec<Glob>, IdForm)>,
    header_times: Vec<Glob>,
    header_moments: Vec<Glob>,
}

/// A server of any name: under one of these paths, and it answers with this header.
#[derive(Debug)]
struct Elsewhere {
    paths: Vec<String>,
    header: String,
}

/// What a time counts as where no reply tells the server's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undated {
    /// Made for the reply, unless that only fetched something.
    New,
    /// From before the recording.
    Kept,
}

/// How an id is told from a name, and what one in its place looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdForm {
    /// One of these beginnings, with letters and digits behind it.
    Prefix(Vec<String>),
    /// Digits, at least six of them.
    Number,
    /// GitHub's global node ids, of both kinds.
    Node,
    Uuid,
    /// An entity tag.
    Etag,
    /// Anything; in its place this text, with a number for the `#` signs.
    Opaque(String),
}

/// Which times of one thing are one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeClass {
    /// Those with the same value.
    Shared,
    /// Those under the same key: whether two of them fell into one second is chance.
    Apart,
}

impl Catalog {
    /// The catalogue that comes with the program.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Catalog> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let read = |(name, source): &(&str, &str)| {
                Provider::read(source)
                    .unwrap_or_else(|problem| panic!("{name}:{}: {problem}", problem.span.position(source)))
            };
            Self { providers: SOURCES.iter().map(read).collect() }
        })
    }

    /// Whose server answered.
    pub fn provider_of(&self, exchange: &Exchange) -> Option<&Provider> {
        let host = &exchange.request.url.host;
        let named = self.providers.iter().find(|p| p.hosts.iter().any(|glob| glob.matches(host)));
        named.or_else(|| self.providers.iter().find(|p| p.is_elsewhere(exchange)))
    }
}

impl Provider {
    /// Reads one file of the catalogue. An unknown key is an error.
    pub fn read(source: &str) -> Result<Self, Problem> {
        read::provider(&yaml::parse(source, &Limits::small())?)
    }

    /// The forms that an id under this key may have, the key under `parent`.
    pub fn id_forms<'a>(
        &'a self,
        parent: &'a str,
        key: &'a str,
    ) -> impl Iterator<Item = &'a IdForm> + use<'a> {
        self.ids.of(parent, key)
    }

    /// What a time under this key counts as, if there are times under it.
    pub fn time_class(&self, parent: &str, key: &str) -> Option<TimeClass> {
        self.times.of(parent, key).next().copied()
    }

    /// The rank of a key as the name of what it stands in; the lowest counts.
    pub fn owner_rank(&self, key: &str) -> Option<usize> {
        self.owners.iter().position(|owner| owner == key)
    }

    pub fn header_id_forms<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a IdForm> + use<'a> {
        let named = |names: &[Glob]| names.iter().any(|glob| glob.matches(name));
        self.header_ids.iter().filter(move |(names, _)| named(names)).map(|(_, form)| form)
    }

    pub fn is_time_header(&self, name: &str) -> bool {
        self.header_times.iter().any(|glob| glob.matches(name))
    }

    /// Whether a header of a reply tells of its moment only, or which one it was, and nothing about the API.
    pub fn is_momentary_header(&self, name: &str) -> bool {
        self.header_moments.iter().any(|glob| glob.matches(name))
            || self.is_time_header(name)
            || self.header_id_forms(name).next().is_some()
    }

    fn is_elsewhere(&self, exchange: &Exchange) -> bool {
        let Some(Elsewhere { paths, header }) = &self.elsewhere else {
            return false;
        };
        let path = &exchange.request.url.path;
        let is_under = |root: &String| {
            path.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        paths.iter().any(is_under) && exchange.reply.response().is_some_and(|r| r.headers.has(header))
    }
}

const SOURCES: &[(&str, &str)] = &[
    ("anthropic.yaml", include_str!("../catalog/anthropic.yaml")),
    ("gemini.yaml", include_str!("../catalog/gemini.yaml")),
    ("github.yaml", include_str!("../catalog/github.yaml")),
    ("openai.yaml", include_str!("../catalog/openai.yaml")),
];

#[cfg(test)]
mod tests;
