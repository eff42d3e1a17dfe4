//! Lines and columns, counted once for a whole file however many places are asked for.

/// 1-based, the column in characters (in bytes, where the file is not UTF-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

/// Turns rising offsets into places.
#[derive(Debug)]
pub(crate) struct Places<'a> {
    bytes: &'a [u8],
    is_utf8: bool,
    at: usize,
    place: Place,
}

impl<'a> Places<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        let is_utf8 = std::str::from_utf8(bytes).is_ok();
        Self { bytes, is_utf8, at: 0, place: Place { line: 1, column: 1 } }
    }

    /// `offset` is not before the one asked for last.
    pub(crate) fn at(&mut self, offset: usize) -> Place {
        let passed = &self.bytes[self.at..offset];
        let rest = match memchr::memrchr(b'\n', passed) {
            None => passed,
            Some(last) => {
                self.place.line += memchr::memchr_iter(b'\n', passed).count();
                self.place.column = 1;
                &passed[last + 1..]
            }
        };
        self.place.column += match self.is_utf8 {
            // A character counts at its first byte.
            true => rest.iter().filter(|b| **b & 0xc0 != 0x80).count(),
            false => rest.len(),
        };
        self.at = offset;
        self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_from_one() {
        let mut places = Places::of("ab\néé x\n".as_bytes());
        assert_eq!(places.at(1), Place { line: 1, column: 2 });
        assert_eq!(places.at(3), Place { line: 2, column: 1 });
        assert_eq!(places.at(8), Place { line: 2, column: 4 });
    }

    #[test]
    fn what_is_not_utf8_is_counted_in_bytes() {
        assert_eq!(Places::of(b"\xff\xe9\x80x").at(3), Place { line: 1, column: 4 });
    }
}
