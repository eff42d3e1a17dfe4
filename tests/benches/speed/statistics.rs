//! The few numbers that a row of samples comes down to.

use std::fmt;

/// Samples in order of size.
#[derive(Debug, Clone)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn new(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.into_iter().collect();
        assert!(!samples.is_empty(), "nothing was measured");
        samples.sort_by(f64::total_cmp);
        Self(samples)
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The sample below which this share of them lies.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let last = self.0.len() - 1;
        self.0[(share * last as f64).round() as usize]
    }

    pub(crate) fn least(&self) -> f64 {
        self.quantile(0.0)
    }

    pub(crate) fn most(&self) -> f64 {
        self.quantile(1.0)
    }
}

/// `median (least–most)`.
impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = f.precision().unwrap_or(2);
        write!(f, "{:.places$} ({:.places$}–{:.places$})", self.median(), self.least(), self.most())
    }
}

/// Numbers that look random and are the same in every run.
#[derive(Debug)]
pub(crate) struct Shuffler(u64);

impl Shuffler {
    pub(crate) fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// The numbers below `count` in another order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, self.below(place + 1));
        }
        order
    }
}
