//! Quoted texts whose later lines are not indented enough.
//!
//! YAML wants the lines of a quoted text to stand further right than the key before it; the readers that other
//! recorders use do not mind, and so there are such files. The blanks at the start of such a line mean nothing, so more
//! of them change nothing.

use granit_parser::{ErrorKind, Parser};

/// The same document with those lines indented. `None` if that is not all that is wrong with it.
pub fn mend_indentation(source: &str) -> Option<String> {
    let mut text = source.to_owned();
    let (mut work, mut mended) = (0, 0);
    loop {
        let error = Parser::new_from_str(&text).find_map(Result::err);
        let Some(error) = error else { return Some(text) };
        if *error.kind() != ErrorKind::InvalidQuotedScalarIndent {
            return None;
        }
        work += text.len();
        if work > MOST_WORK {
            return None;
        }
        let at = error.marker().byte_offset()?;
        let line = text.get(..at)?.rfind('\n')? + 1;
        if line < mended {
            return None;
        }
        text.insert_str(line, INDENT);
        mended = line + INDENT.len();
    }
}

/// Further right than any key that nests within bounds.
const INDENT: &str = "                                                                                ";

/// Every line that is mended costs a reading up to it.
const MOST_WORK: usize = 64 << 20;
