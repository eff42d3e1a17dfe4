//! Colors, where the reader is a terminal and nobody asked for none.

use std::{
    env, fmt,
    io::{self, IsTerminal},
    path::Path,
};

/// A word in a color, or plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

/// Where the words go decides whether they are colored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    Stdout,
    Stderr,
}

pub(crate) struct Painted<T> {
    text: T,
    paint: Option<Paint>,
}

impl To {
    pub(crate) fn paint<T: fmt::Display>(self, paint: Paint, text: T) -> Painted<T> {
        Painted { text, paint: self.is_colored().then_some(paint) }
    }

    pub(crate) fn is_colored(self) -> bool {
        let terminal = match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        };
        let wanted = env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        terminal && wanted && env::var_os("TERM").is_none_or(|term| term != "dumb")
    }
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = match self.paint {
            None => return self.text.fmt(f),
            Some(Paint::Bold) => 1,
            Some(Paint::Dim) => 2,
            Some(Paint::Red) => 31,
            Some(Paint::Green) => 32,
            Some(Paint::Yellow) => 33,
            Some(Paint::Cyan) => 36,
        };
        write!(f, "\x1b[{code}m")?;
        self.text.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}

pub(crate) fn is_colored() -> bool {
    To::Stderr.is_colored()
}

pub(crate) fn error() -> String {
    To::Stderr.paint(Paint::Red, "error: ").to_string()
}

pub(crate) fn warning() -> String {
    To::Stderr.paint(Paint::Yellow, "warning: ").to_string()
}

pub(crate) fn help() -> String {
    To::Stderr.paint(Paint::Cyan, "help: ").to_string()
}

/// Text from traffic or from a file, safe to show on a terminal: what could drive it, or hide, loses its power.
pub(crate) fn tame(text: &str) -> String {
    if text.bytes().all(|b| (b' '..0x7f).contains(&b) || b == b'\n') {
        return text.to_owned();
    }
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// A path, safe to show.
pub(crate) fn shown(path: &Path) -> String {
    tame(&path.display().to_string())
}

/// The same, byte for byte as long as before.
pub(crate) fn tame_in_place(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_harmful(c) {
            true => out.extend(std::iter::repeat_n('?', c.len_utf8())),
            false => out.push(c),
        }
    }
    out
}

fn is_harmful(c: char) -> bool {
    let invisible = matches!(
        c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
    );
    invisible || (c.is_control() && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_traffic_cannot_drive_the_terminal() {
        assert_eq!(tame_in_place("a\x1b\u{9b}b"), "a???b");
        assert_eq!(tame("a\x1b[31mb\u{202e}c\nd"), "a\u{fffd}[31mb\u{fffd}c\nd");
    }
}
