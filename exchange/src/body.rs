//! A body: its decoded content, the codings it wore on the wire, and where the wire cut it.

use std::{fmt, time::Duration};

use bytes::Bytes;
use sha2::Digest;

use crate::Coding;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    pub content: Content,
    /// Codings that were taken off, in the order the `content-encoding` header names them. Empty: `content` is
    /// what was on the wire, even if a header claims a coding (it could not be undone faithfully).
    pub codings: Vec<Coding>,
    /// How the content was cut on its way, for streams only. Empty, or the lengths add up to the content's.
    pub frames: Vec<Frame>,
}

/// The content of a body.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    Bytes(Bytes),
    /// Larger than the recorder keeps: only its size and hash are known. A request can still be matched; a
    /// reply cannot be played.
    Omitted {
        size: u64,
        sha256: Sha256,
    },
}

/// A piece of a stream: so many bytes, so long after the piece before it (or after the head).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub len: usize,
    pub after: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256(pub [u8; 32]);

impl Body {
    pub fn empty() -> Self {
        Self::default()
    }

    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self { content: Content::Bytes(bytes.into()), ..Self::default() }
    }

    /// The content, if it was kept.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Bytes(bytes) => Some(bytes),
            Content::Omitted { .. } => None,
        }
    }

    pub fn len(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Omitted { size, .. } => *size,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content cut as `frames` says; one piece when there are none.
    pub fn pieces(&self) -> Vec<(Duration, Bytes)> {
        let Some(bytes) = self.bytes() else {
            return Vec::new();
        };
        if self.frames.is_empty() {
            return if bytes.is_empty() { Vec::new() } else { vec![(Duration::ZERO, bytes.clone())] };
        }
        let mut start = 0;
        self.frames
            .iter()
            .map(|frame| {
                let end = (start + frame.len).min(bytes.len());
                let piece = bytes.slice(start.min(end)..end);
                start = end;
                (frame.after, piece)
            })
            .collect()
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Bytes(Bytes::new())
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Content may hold secrets until it is scrubbed: show its size only.
        match self {
            Self::Bytes(bytes) => write!(f, "[{} bytes]", bytes.len()),
            Self::Omitted { size, sha256 } => write!(f, "[{size} bytes, sha256 {sha256}]"),
        }
    }
}

impl Sha256 {
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    pub fn parse(hex: &str) -> Option<Self> {
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return None;
        }
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(out))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_content_cut_at_the_frames() {
        let body = Body {
            frames: [(2, 10), (3, 0)]
                .map(|(len, ms)| Frame { len, after: Duration::from_millis(ms) })
                .to_vec(),
            ..Body::from_bytes("abcde")
        };
        let pieces: Vec<_> = body.pieces().into_iter().map(|(d, b)| (d.as_millis(), b)).collect();
        assert_eq!(pieces, [(10, Bytes::from("ab")), (0, Bytes::from("cde"))]);
    }

    #[test]
    fn a_hash_is_read_back_from_its_own_text_and_nothing_else() {
        let hash = Sha256::of(b"abc");
        assert_eq!(hash.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Sha256::parse(&hash.to_string()), Some(hash));
        assert_eq!(Sha256::parse("../../etc/passwd"), None);
    }
}
