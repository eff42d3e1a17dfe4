//! Sets of bytes that tokens are made of.

/// What may stand in a part of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alphabet {
    /// `A-Z a-z 0-9`
    Alnum,
    /// The same with `_` and `-`.
    Word,
    /// The same with `.` too.
    Dotted,
    /// Lower-case hex.
    Hex,
    /// `A-Z 2-7`
    Base32,
    /// `A-Z 0-9`
    Upper,
    /// The standard alphabet of base64 with its padding.
    Base64,
}

impl Alphabet {
    pub(crate) const fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => is_word(byte),
            Self::Dotted => is_word(byte) || byte == b'.',
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Base32 => matches!(byte, b'A'..=b'Z' | b'2'..=b'7'),
            Self::Upper => matches!(byte, b'A'..=b'Z' | b'0'..=b'9'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }

    /// How many bytes from `at` belong, `most + 1` at most: whoever asks only needs to know that it is longer.
    pub(crate) fn run(self, bytes: &[u8], at: usize, most: usize) -> usize {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.iter().take(most + 1).take_while(|b| self.has(**b)).count()
    }
}

pub(crate) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
