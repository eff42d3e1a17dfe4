//! JSON that can be written again exactly as it came.
//!
//! A cassette shows a JSON body as structure, which is only honest if the recorded bytes can be made from it again.
//! A [`JsonStyle`] says how those bytes were laid out; [`JsonStyle::detect`] gives one only when it reproduces them.

mod tokens;

use std::{fmt, fmt::Write as _, str::FromStr};

use serde_json::Value;

pub use tokens::{Token, Tokens};

/// How a JSON text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JsonStyle {
    pub layout: Layout,
    pub escapes: Escapes,
    /// The text ends in a line feed.
    pub newline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// `{"a":1,"b":2}`
    #[default]
    Compact,
    /// `{"a": 1, "b": 2}`, as Python writes it.
    Spaced,
    /// One line per value, so many spaces a level.
    Indented(u8),
    /// One line per value, a tab a level.
    Tabbed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Escapes {
    /// Only what must be escaped.
    #[default]
    Minimal,
    /// Everything outside ASCII, as Python does by default.
    Ascii,
    /// `<`, `>` and `&` too, as Go does by default.
    Html,
}

impl JsonStyle {
    /// The value and the style that together give back exactly these bytes, if there is such a style.
    pub fn detect(bytes: &[u8]) -> Option<(Value, Self)> {
        let text = std::str::from_utf8(bytes).ok()?;
        let value: Value = serde_json::from_str(text).ok()?;
        if depth(&value) > MAX_DEPTH {
            return None;
        }
        let newline = text.ends_with('\n');
        let layout = guess_layout(text);
        let escapes = match () {
            () if !text.contains("\\u") => Escapes::Minimal,
            () if text.contains("\\u003c") || text.contains("\\u003e") || text.contains("\\u0026") => {
                Escapes::Html
            }
            () if text.is_ascii() => Escapes::Ascii,
            () => Escapes::Minimal,
        };
        let style = Self { layout, escapes, newline };
        (style.render(&value) == text).then_some((value, style))
    }

    pub fn render(self, value: &Value) -> String {
        let mut out = String::new();
        self.write(&mut out, value, 0);
        if self.newline {
            out.push('\n');
        }
        out
    }

    fn write(self, out: &mut String, value: &Value, level: usize) {
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(true) => out.push_str("true"),
            Value::Bool(false) => out.push_str("false"),
            Value::Number(number) => out.push_str(number.as_str()),
            Value::String(text) => self.write_string(out, text),
            Value::Array(items) if items.is_empty() => out.push_str("[]"),
            Value::Object(members) if members.is_empty() => out.push_str("{}"),
            Value::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    self.separate(out, i, level + 1);
                    self.write(out, item, level + 1);
                }
                self.close(out, level);
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (i, (key, member)) in members.iter().enumerate() {
                    self.separate(out, i, level + 1);
                    self.write_string(out, key);
                    out.push_str(if self.layout == Layout::Compact { ":" } else { ": " });
                    self.write(out, member, level + 1);
                }
                self.close(out, level);
                out.push('}');
            }
        }
    }

    fn separate(self, out: &mut String, index: usize, level: usize) {
        if index > 0 {
            out.push(',');
        }
        match self.layout {
            Layout::Compact => {}
            Layout::Spaced if index == 0 => {}
            Layout::Spaced => out.push(' '),
            Layout::Indented(_) | Layout::Tabbed => self.line(out, level),
        }
    }

    fn close(self, out: &mut String, level: usize) {
        if matches!(self.layout, Layout::Indented(_) | Layout::Tabbed) {
            self.line(out, level);
        }
    }

    fn line(self, out: &mut String, level: usize) {
        out.push('\n');
        match self.layout {
            Layout::Indented(width) => out.extend(std::iter::repeat_n(' ', usize::from(width) * level)),
            _ => out.extend(std::iter::repeat_n('\t', level)),
        }
    }

    fn write_string(self, out: &mut String, text: &str) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                c if c < ' ' => push_escape(out, c),
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if self.escapes == Escapes::Html => {
                    push_escape(out, c)
                }
                c if !c.is_ascii() && self.escapes == Escapes::Ascii => push_escape(out, c),
                c => out.push(c),
            }
        }
        out.push('"');
    }
}

impl fmt::Display for JsonStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layout {
            Layout::Compact => f.write_str("compact")?,
            Layout::Spaced => f.write_str("spaced")?,
            Layout::Indented(width) => write!(f, "indent{width}")?,
            Layout::Tabbed => f.write_str("tab")?,
        }
        match self.escapes {
            Escapes::Minimal => {}
            Escapes::Ascii => f.write_str(" ascii")?,
            Escapes::Html => f.write_str(" html")?,
        }
        if self.newline { f.write_str(" newline") } else { Ok(()) }
    }
}

impl FromStr for JsonStyle {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut style = Self::default();
        for word in text.split_ascii_whitespace() {
            match word {
                "compact" => style.layout = Layout::Compact,
                "spaced" => style.layout = Layout::Spaced,
                "tab" => style.layout = Layout::Tabbed,
                "ascii" => style.escapes = Escapes::Ascii,
                "html" => style.escapes = Escapes::Html,
                "newline" => style.newline = true,
                _ => {
                    let width = word.strip_prefix("indent").and_then(|w| w.parse().ok()).filter(|w| *w <= 8);
                    style.layout = Layout::Indented(width.ok_or(())?);
                }
            }
        }
        Ok(style)
    }
}

fn guess_layout(text: &str) -> Layout {
    let body = text.trim_end();
    if let Some((_, rest)) = body.split_once('\n') {
        if rest.starts_with('\t') {
            return Layout::Tabbed;
        }
        let spaces = rest.bytes().take_while(|&b| b == b' ').count();
        return Layout::Indented(spaces.min(8) as u8);
    }
    if has_space_between(body) { Layout::Spaced } else { Layout::Compact }
}

/// Whether a space stands outside the strings.
fn has_space_between(text: &str) -> bool {
    let (mut in_string, mut escaped) = (false, false);
    text.bytes().any(|b| {
        match b {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b' ' => return !in_string,
            _ => {}
        }
        false
    })
}

fn push_escape(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        write!(out, "\\u{unit:04x}").expect("writing to a string cannot fail");
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Deeper bodies are shown as text: nobody reads them as structure, and a YAML reader bounds its depth.
const MAX_DEPTH: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    fn style_of(text: &str) -> Option<String> {
        JsonStyle::detect(text.as_bytes()).map(|(_, style)| style.to_string())
    }

    #[test]
    fn a_style_is_found_only_where_it_gives_the_same_bytes_back() {
        assert_eq!(style_of(r#"{"a":1,"b":[true,null]}"#).as_deref(), Some("compact"));
        assert_eq!(style_of(r#"{"a": 1, "b": [1, 2]}"#).as_deref(), Some("spaced"));
        assert_eq!(
            style_of("{\n  \"a\": [],\n  \"b\": {\n    \"c\": 1\n  }\n}\n").as_deref(),
            Some("indent2 newline")
        );
        assert_eq!(style_of("{\n\t\"a\": 1\n}").as_deref(), Some("tab"));
        assert_eq!(style_of(r#"{"a": "caf\u00e9 \ud83d\ude00"}"#).as_deref(), Some("spaced ascii"));
        assert_eq!(style_of(r#"{"a":"\u003cb\u003e é"}"#).as_deref(), Some("compact html"));
        assert_eq!(style_of(r#"{"a":1, "b":2}"#), None);
        assert_eq!(style_of(r#"{"a":1,"a":2}"#), None);
        assert_eq!(style_of(r#"{"a":"\/"}"#), None);
        assert_eq!(style_of("not json"), None);
    }

    #[test]
    fn numbers_keep_their_spelling() {
        let text = "[1.0,-0,123456789012345678901234567890,0.10]";
        let (value, style) = JsonStyle::detect(text.as_bytes()).unwrap();
        assert_eq!(style.render(&value), text);
    }

    #[test]
    fn a_style_reads_its_own_words() {
        for words in ["compact", "spaced ascii", "indent4 html newline", "tab"] {
            assert_eq!(words.parse::<JsonStyle>().unwrap().to_string(), words);
        }
        assert!("indent99".parse::<JsonStyle>().is_err());
        assert!("fancy".parse::<JsonStyle>().is_err());
    }

    #[test]
    fn a_very_deep_body_is_not_shown_as_structure() {
        let deep = format!("{}{}", "[".repeat(40), "]".repeat(40));
        assert_eq!(style_of(&deep), None);
    }
}
