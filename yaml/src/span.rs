//! Where something stands in a source text.
//!
//! Owns byte ranges and their translation into lines and columns; knows nothing of YAML.

use std::fmt;

/// A range of bytes in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// The range from `start` up to, not including, `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Line and column of the first byte; an offset past the end means the end.
    #[must_use]
    pub fn position(self, source: &str) -> Position {
        let start = floor_char_boundary(source, self.start);
        let before = &source[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        // A byte order mark is invisible in an editor, so it takes no column.
        let line = before[line_start..].trim_start_matches('\u{feff}');
        Position { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
    }
}

/// A place a person can go to: both numbers count from 1, columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// 1-based line.
    pub line: usize,
    /// 1-based column, in characters.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The nearest character boundary at or before `offset`.
pub(crate) fn floor_char_boundary(source: &str, offset: usize) -> usize {
    let mut offset = offset.min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let source = "a: 1\nstraße: x\n";
        let x = source.find('x').unwrap();
        assert_eq!(Span::new(x, x + 1).position(source), Position { line: 2, column: 9 });
        assert_eq!(Span::new(0, 1).position(source).to_string(), "1:1");
    }

    #[test]
    fn an_offset_past_the_end_is_the_end() {
        assert_eq!(Span::new(99, 100).position("a\nb"), Position { line: 2, column: 2 });
    }

    #[test]
    fn a_byte_order_mark_takes_no_column() {
        assert_eq!(Span::new(3, 4).position("\u{feff}a: 1\n"), Position { line: 1, column: 1 });
    }
}
