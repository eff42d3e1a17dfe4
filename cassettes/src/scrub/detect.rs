//! What of a text is secret: tokens by their shape, values that are known, credentials in URLs; in whatever encoding.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use exchange::Segment;

use super::{
    encoded,
    keys::{self, Says},
    names,
    query::{self, Query},
    rules::Rules,
    secrets::Secrets,
    shapes,
    sieve::Sieve,
};
use crate::{
    edits::{Edit, apply},
    text::{Form, Leaf, Step, View, settle, unescaped},
};

/// Looks for secrets and names them.
pub(super) struct Detector<'s> {
    secrets: &'s mut Secrets,
    rules: &'s Rules,
    /// Of the body that is being looked into.
    sieve: Option<Sieve<'s>>,
    /// What packed files may still unpack to. At none, not all was looked into.
    left: u64,
    /// Whether the project has rules of its own.
    has_rules: bool,
    /// What the names of the body say; few of them are different.
    says: HashMap<u64, (String, Says)>,
}

impl<'s> Detector<'s> {
    pub(super) fn new(secrets: &'s mut Secrets, rules: &'s Rules) -> Self {
        Self {
            secrets,
            rules,
            sieve: None,
            left: encoded::MOST,
            has_rules: !rules.is_empty(),
            says: HashMap::new(),
        }
    }

    /// For the values of one body.
    pub(super) fn of_body(secrets: &'s mut Secrets, rules: &'s Rules, body: &'s [u8]) -> Self {
        // A project's own patterns may hit anywhere.
        let sieve = rules.patterns().is_empty().then(|| Sieve::of(body, &secrets.learned));
        Self { sieve, ..Self::new(secrets, rules) }
    }

    /// Whether packed files came to more than is looked into.
    pub(super) fn gave_up(&self) -> bool {
        self.left == 0
    }

    /// The changes to a value of a body.
    pub(super) fn in_leaf(&mut self, leaf: &Leaf<'_>) -> Vec<Edit<'static>> {
        if leaf.form == Form::Key && leaf.text.len() < SHORTEST {
            return Vec::new();
        }
        let named = match leaf.form {
            Form::String => self.by_name(leaf),
            Form::Number => return self.number(leaf),
            Form::Key | Form::Text | Form::Binary => None,
        };
        match named {
            Some(edit) => vec![edit],
            None if self
                .sieve
                .as_ref()
                .is_some_and(|sieve| sieve.lets_pass(leaf.text, &self.secrets.learned)) =>
            {
                Vec::new()
            }
            None => self.in_text(leaf.text, leaf.form),
        }
    }

    fn says(&mut self, name: &str, in_grant: bool) -> Says {
        if in_grant {
            return keys::says(name, in_grant);
        }
        // Asked for every value there is, so the map is keyed by a hash that costs little.
        let key = name
            .bytes()
            .fold(name.len() as u64, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        if let Some((known, says)) = self.says.get(&key)
            && known == name
        {
            return *says;
        }
        let says = keys::says(name, in_grant);
        self.says.insert(key, (name.to_owned(), says));
        says
    }

    /// The changes to a text that has no name.
    pub(super) fn in_text(&mut self, text: &[u8], form: Form) -> Vec<Edit<'static>> {
        self.look(text, form == Form::Binary, 0, None)
    }

    fn by_name(&mut self, leaf: &Leaf<'_>) -> Option<Edit<'static>> {
        let name = leaf.name()?;
        let (redacts, keeps) = self.rules_of(leaf);
        if redacts {
            return (!keys::is_stand_in(leaf.text)).then(|| self.whole(leaf.text, "rule"));
        }
        if keeps {
            return None;
        }
        let is_secret = match self.says(name, leaf.in_grant) {
            Says::Surely => !keys::is_stand_in(leaf.text),
            Says::Maybe => keys::is_random(leaf.text) && !keys::is_stand_in(leaf.text),
            Says::Nothing => false,
        };
        (is_secret && !self.rules.keeps_value(leaf.text)).then(|| self.whole(leaf.text, "secret"))
    }

    /// A number has to stay one.
    fn number(&mut self, leaf: &Leaf<'_>) -> Vec<Edit<'static>> {
        let Some(name) = leaf.name().filter(|_| leaf.text != b"0") else { return Vec::new() };
        let (redacts, keeps) = self.rules_of(leaf);
        let is_named = leaf.text.len() >= 4 && self.says(name, leaf.in_grant) == Says::Surely;
        let is_known = self.secrets.learned.place_of(leaf.text).is_some();
        let is_secret = redacts || is_known || (is_named && !keeps);
        match is_secret {
            true => vec![Edit::new(0..leaf.text.len(), b"0".to_vec())],
            false => Vec::new(),
        }
    }

    /// Whether the project's own rules redact or keep the value.
    fn rules_of(&self, leaf: &Leaf<'_>) -> (bool, bool) {
        if !self.has_rules {
            return (false, false);
        }
        let name = leaf.name().unwrap_or_default();
        let steps = leaf.path.iter().map(|step| match step {
            Step::Key(key) => Segment::Key(key.clone().into_owned()),
            Step::Index(index) => Segment::Index(*index),
        });
        let path: Vec<Segment> = std::iter::once(Segment::Key("body".into())).chain(steps).collect();
        let redacts = self.rules.redacts_path(&path) || self.rules.redacts_query(name);
        (redacts, self.rules.keeps_path(&path) || self.rules.keeps_query(name))
    }

    /// A placeholder for all of a value, which is from now on known everywhere.
    fn whole(&mut self, text: &[u8], kind: &'static str) -> Edit<'static> {
        let kind = shapes::kind_of(text).unwrap_or(kind);
        if keys::is_worth_knowing(text) {
            self.secrets.learned.learn(text, Cow::Borrowed(kind));
        }
        // A header that stands in a body: elsewhere the credential stands without its scheme.
        let mut words = text.splitn(2, |b| *b == b' ');
        if let (Some(scheme), Some(bare)) = (words.next(), words.next())
            && std::str::from_utf8(scheme).is_ok_and(names::is_scheme)
            && keys::is_random(bare)
        {
            self.secrets.learned.learn(bare, Cow::Borrowed(shapes::kind_of(bare).unwrap_or("token")));
        }
        Edit::new(0..text.len(), self.secrets.placeholder(Cow::Borrowed(kind), text).into_bytes())
    }

    /// `view` is what the text was decoded by: what stands in its source as it does here was looked at there.
    fn look(
        &mut self,
        text: &[u8],
        is_binary: bool,
        depth: usize,
        view: Option<&View<'_>>,
    ) -> Vec<Edit<'static>> {
        if text.len() < SHORTEST {
            return Vec::new();
        }
        let mut edits = self.as_it_stands(text);
        if depth < DEEPEST {
            let most = self.left;
            let mut packed = |content: &[u8]| {
                self.left = self.left.saturating_sub(content.len() as u64);
                self.inside(content, depth + 1)
            };
            if let Some(new) = encoded::in_compressed(text, most, &mut packed) {
                return vec![Edit::new(0..text.len(), new)];
            }
            if !is_binary {
                edits.extend(self.decoded(text, depth, view));
                let learned = self.secrets.learned.clone();
                let may_matter = |content: &[u8]| learned.may_matter_in(content);
                // What bounds a run may be what was decoded.
                let is_new = |run: &Range<usize>| {
                    let around = run.start.saturating_sub(1)..run.end + 1;
                    view.is_none_or(|view| view.is_decoded_in(&around))
                };
                edits.extend(encoded::in_base64(text, &is_new, &may_matter, &mut |content| {
                    self.inside(content, depth + 1)
                }));
            }
        }
        if edits.is_empty() {
            return edits;
        }
        // A placeholder is never looked into.
        let placeholders: Vec<_> = super::placeholder::spans(text);
        edits
            .retain(|edit| placeholders.iter().all(|p| edit.span.end <= p.start || p.end <= edit.span.start));
        settle(edits)
    }

    /// What was encoded, changed. `None` where nothing is to be changed.
    fn inside(&mut self, content: &[u8], depth: usize) -> Option<Vec<u8>> {
        let is_binary = std::str::from_utf8(content).is_err();
        let edits = self.look(content, is_binary, depth, None);
        (!edits.is_empty()).then(|| apply(content, &edits))
    }

    fn as_it_stands(&mut self, text: &[u8]) -> Vec<Edit<'static>> {
        let mut edits = Vec::new();
        for token in shapes::tokens_in(text) {
            let value = &text[token.span.clone()];
            if !self.rules.keeps_value(value) {
                self.secrets.learned.learn(value, Cow::Borrowed(token.kind));
                edits.push(self.hidden(token.span, Cow::Borrowed(token.kind), text));
            }
        }
        for (name, pattern) in self.rules.patterns() {
            for hit in pattern.find_iter(text).filter(|hit| !hit.is_empty()) {
                let name = Cow::Owned(name.clone());
                edits.push(self.hidden(hit.range(), name, text));
            }
        }
        let known = self.secrets.learned.hits(text).into_iter().chain(self.secrets.learned.masked_hits(text));
        for hit in known.collect::<Vec<_>>() {
            let value = self.secrets.learned.value(hit.value);
            let (kind, bytes) = (value.kind.clone(), value.bytes.clone());
            if !self.rules.keeps_value(&bytes) {
                edits.push(Edit::new(hit.span, self.secrets.placeholder(kind, &bytes).into_bytes()));
            }
        }
        edits.extend(self.urls(text));
        edits
    }

    fn hidden(&mut self, span: Range<usize>, kind: Cow<'static, str>, text: &[u8]) -> Edit<'static> {
        let placeholder = self.secrets.placeholder(kind, &text[span.clone()]);
        Edit::new(span, placeholder.into_bytes())
    }

    /// The same in what the text says with its escapes taken off.
    fn decoded(&mut self, text: &[u8], depth: usize, view: Option<&View<'_>>) -> Vec<Edit<'static>> {
        let mut edits = Vec::new();
        // An escape that the source has too was taken off there.
        let has_pair = |mark: u8, next: fn(&u8) -> bool| {
            let mut marks = memchr::memchr_iter(mark, text).filter(|at| text.get(at + 1).is_some_and(next));
            marks.any(|at| view.is_none_or(|view| view.is_decoded_in(&(at..at + 3))))
        };
        let all = 0..text.len();
        if has_pair(b'%', u8::is_ascii_hexdigit) {
            edits.extend(self.view(&View::percent_only(text, all.clone()), depth));
        }
        if has_pair(b'&', |b| *b == b'#' || b.is_ascii_alphabetic()) && text.contains(&b';') {
            edits.extend(self.view(&View::html(text, all.clone()), depth));
        }
        if has_pair(b'\\', |b| matches!(b, b'u' | b'/' | b'n' | b'r' | b't' | b'"' | b'\\')) {
            edits.extend(self.view(&View::json_string(text, all), depth));
        }
        edits
    }

    fn view(&mut self, view: &View<'_>, depth: usize) -> Vec<Edit<'static>> {
        if view.is_plain() {
            return Vec::new();
        }
        let edits = self.look(view.text(), false, depth + 1, Some(view));
        view.in_source(edits, unescaped)
    }

    /// Credentials in the URLs of a text.
    fn urls(&mut self, text: &[u8]) -> Vec<Edit<'static>> {
        let mut edits = Vec::new();
        // The URL before, and where its pairs start: one that stands inside of it ends where it ends.
        let (mut end, mut read_from) = (0, usize::MAX);
        for mark in query::URLS.find_iter(text) {
            let start = mark + 3;
            let is_within = start < end;
            let ends = |b: &u8| b.is_ascii_whitespace() || b"\"'<>`\\{}|^".contains(b) || *b < b' ';
            if !is_within {
                let len = text[start..].iter().take(LONGEST_URL).position(ends);
                end = start + len.unwrap_or_else(|| (text.len() - start).min(LONGEST_URL));
                read_from = usize::MAX;
            }
            let len = end - start;
            let Ok(url) = std::str::from_utf8(&text[start..start + len]) else { continue };
            let authority = &url[..url.find(['/', '?', '#']).unwrap_or(url.len())];
            if let Some((user, password)) =
                authority.rsplit_once('@').and_then(|(info, _)| info.split_once(':'))
                && !keys::is_stand_in(password.as_bytes())
                && !password.is_empty()
            {
                let at = start + user.len() + 1;
                self.secrets.learned.learn(password.as_bytes(), Cow::Borrowed("password"));
                edits.push(self.hidden(at..at + password.len(), Cow::Borrowed("password"), text));
            }
            if read_from < start {
                continue;
            }
            let Some(pairs_at) = memchr::memchr2(b'?', b'#', url.as_bytes()).map(|mark| mark + 1) else {
                continue;
            };
            read_from = start + pairs_at;
            let host = authority.rsplit('@').next().map(|host| host.split(':').next().unwrap_or(host));
            let query = Query::of(&url[pairs_at..], host);
            let mut at = start + pairs_at;
            for piece in url[pairs_at..].split_inclusive(['&', '#']) {
                let pair = piece.trim_end_matches(['&', '#', '.', ',', ')', ']', ';']);
                if let Some(secret) = query.secret_of(pair).filter(|from| *from < pair.len())
                    && !keys::is_stand_in(&pair.as_bytes()[secret..])
                {
                    edits.push(self.hidden(at + secret..at + pair.len(), Cow::Borrowed("query"), text));
                }
                at += piece.len();
            }
        }
        edits
    }
}

/// Nothing shorter is a token, and no shorter value is learned.
const SHORTEST: usize = 8;
/// Encodings in encodings.
pub(super) const DEEPEST: usize = 4;
const LONGEST_URL: usize = 8 * 1024;
