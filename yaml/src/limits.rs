//! How much a source text may ask of the reader.

/// Bounds that a document must keep; past any of them it is refused, not read in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of source.
    pub max_bytes: usize,
    /// Most collections inside each other; values above 128 count as 128, so that no tree can exhaust the stack.
    pub max_depth: usize,
    /// Most nodes: every scalar (keys too), every sequence and every mapping is one.
    pub max_nodes: usize,
}

impl Limits {
    /// For files a person writes by hand: configuration, overlays, suites.
    #[must_use]
    pub fn small() -> Self {
        Self { max_bytes: 1 << 20, max_depth: 32, max_nodes: 250_000 }
    }

    /// For a cassette of `bytes` bytes: the nodes grow with the file, because a long recording is no attack.
    #[must_use]
    pub fn for_cassette(bytes: usize) -> Self {
        // The smallest node our emitter writes takes some four bytes (`- 1` and its line break).
        Self { max_bytes: 1 << 30, max_depth: 48, max_nodes: 10_000 + bytes / 2 }
    }

    /// For a recording of another program of `bytes` bytes. Ten times the file in aliases is more than any honest
    /// recorder writes.
    #[must_use]
    pub fn for_foreign(bytes: usize) -> Self {
        Self {
            max_bytes: bytes.saturating_mul(10).max(1 << 20),
            max_depth: 100,
            max_nodes: (10_000 + bytes).min(MOST_FOREIGN_NODES),
        }
    }

    pub(crate) fn depth(&self) -> usize {
        self.max_depth.min(DEEPEST)
    }
}

const DEEPEST: usize = 128;
/// Some 400 MB of tree; a recording of 50 MB has about half of it.
const MOST_FOREIGN_NODES: usize = 4_000_000;
