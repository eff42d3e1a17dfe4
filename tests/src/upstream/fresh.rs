//! Values that no two replies share. Ids and times are remembered as minted, words of an answer are not:
//! a replay may rename the former and must repeat the latter.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::{
        Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

/// Makes up values and remembers those a server would call its own.
#[derive(Debug, Default)]
pub struct Fresh {
    minted: Mutex<Vec<String>>,
    words: Words,
    ticks: AtomicI64,
    used: AtomicU64,
}

/// What the text of an answer is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Words {
    /// A made-up word in every answer, so that a mix-up of replies shows.
    #[default]
    Fresh,
    /// Always the same word: only ids and times are new.
    Same,
}

impl Fresh {
    pub fn with(words: Words) -> Self {
        Self { words, ..Self::default() }
    }

    /// An id such as `chatcmpl-` with `len` letters and digits behind it.
    pub fn id(&self, prefix: &str, len: usize) -> String {
        self.mint(format!("{prefix}{}", random(ALPHANUMERIC, len)))
    }

    /// Lower-case hexadecimal digits, as in request ids and ETags.
    pub fn hex(&self, prefix: &str, len: usize) -> String {
        self.mint(format!("{prefix}{}", random(HEX, len)))
    }

    /// A number of ten digits, as GitHub numbers things.
    pub fn number(&self) -> u64 {
        // Not below two: there the stable ones begin, and a server's own are kept.
        let number = 2_000_000_000 + random_u64() % 8_000_000_000;
        self.mint(number.to_string());
        number
    }

    /// Seconds since 1970 by the server's clock, which tells the time of day to all that is made now.
    pub fn epoch(&self) -> i64 {
        let epoch = self.now().unix_timestamp();
        self.mint(epoch.to_string());
        epoch
    }

    /// The same as ISO 8601 in whole seconds.
    pub fn iso_time(&self) -> String {
        self.iso(self.now())
    }

    /// The same for what was made some time in the last year.
    pub fn past_iso_time(&self) -> String {
        self.iso(OffsetDateTime::now_utc() - Duration::seconds((3_600 + random_u64() % 30_000_000) as i64))
    }

    fn iso(&self, time: OffsetDateTime) -> String {
        let time = time.replace_nanosecond(0).expect("zero is a nanosecond");
        let iso = time.format(&Rfc3339).expect("a time of this century has a text");
        // `gh` prints the time as Go spells it: another text of the same minted value.
        self.mint(iso.replace('T', " ").replace('Z', " +0000 UTC"));
        self.mint(iso)
    }

    /// The same as HTTP writes it, in a `date` header.
    pub fn http_date(&self) -> String {
        let time = self.now();
        let (weekday, month) = (time.weekday().to_string(), time.month().to_string());
        let (day, year, clock) = (time.day(), time.year(), time.time());
        let (hour, minute, second) = clock.as_hms();
        self.mint(format!(
            "{}, {day:02} {} {year} {hour:02}:{minute:02}:{second:02} GMT",
            &weekday[..3],
            &month[..3]
        ))
    }

    /// A version 4 UUID.
    pub fn uuid(&self) -> String {
        let hex = |len| random(HEX, len);
        self.mint(format!("{}-{}-4{}-a{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12)))
    }

    /// What is left of a rate limit: less with every request.
    pub fn remaining(&self, limit: u64) -> u64 {
        limit - self.used.fetch_add(1 + random_u64() % 3, Ordering::Relaxed) % limit
    }

    /// A made-up word for the text of an answer: not an id, so a replay must repeat it.
    pub fn word(&self) -> String {
        match self.words {
            Words::Fresh => random(LETTERS, 7),
            Words::Same => "same".to_owned(),
        }
    }

    /// Every id and time made so far.
    pub fn minted(&self) -> Vec<String> {
        self.minted.lock().unwrap().clone()
    }

    /// A clock of which no two readings are the same, so that one value is one time.
    fn now(&self) -> OffsetDateTime {
        let tick = self.ticks.fetch_add(1, Ordering::Relaxed);
        OffsetDateTime::now_utc() - Duration::minutes(5) + Duration::seconds(tick)
    }

    /// Remembers a value as one that the server made up.
    pub fn mint(&self, value: String) -> String {
        self.minted.lock().unwrap().push(value.clone());
        value
    }
}

/// `len` characters drawn from `alphabet`.
pub(crate) fn random(alphabet: &[u8], len: usize) -> String {
    let draw = || alphabet[(random_u64() % alphabet.len() as u64) as usize];
    (0..len).map(|_| char::from(draw())).collect()
}

/// The standard library seeds every `RandomState` anew: randomness enough without another crate.
fn random_u64() -> u64 {
    RandomState::new().build_hasher().finish()
}

pub(crate) const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &[u8] = b"0123456789abcdef";
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz";
