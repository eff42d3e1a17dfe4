//! How one text is spelled: plain, in single quotes, as a literal block, or in double quotes.
//!
//! The rules are the meeting point of YAML 1.1 and 1.2 readers: libyaml, PyYAML, ruamel, the saphyr family.
//! They must depend on the text alone, so that the same text always looks the same.

use std::fmt::Write;

use super::push_spaces;

/// Spells `text` on one line, as a key or a value.
pub(super) fn write_line(into: &mut String, text: &str) {
    if is_plain(text) {
        into.push_str(text);
    } else if text.chars().all(|character| character != '\n' && character != '\t' && is_readable(character)) {
        into.push('\'');
        into.push_str(&text.replace('\'', "''"));
        into.push('\'');
    } else {
        write_double_quoted(into, text);
    }
}

/// Whether `text` is better read as a block: it has line breaks, and nothing in it that a block would change.
pub(super) fn is_literal(text: &str) -> bool {
    let first = text.trim_start_matches('\n');
    text.contains('\n')
        && !first.is_empty()
        // libyaml takes a tab at the very start for indentation.
        && !first.starts_with('\t')
        && text.chars().all(is_readable)
        // Editors and hooks strip blanks at the end of a line; a block must survive that.
        && !text.split('\n').any(|line| line.ends_with([' ', '\t']))
}

/// Writes header and lines of a block whose content stands at `indent`, two columns inside its parent.
pub(super) fn write_literal(into: &mut String, indent: usize, text: &str) {
    into.push('|');
    if text.trim_start_matches('\n').starts_with(' ') {
        into.push('2');
    }
    let content = text.trim_end_matches('\n');
    match text.len() - content.len() {
        0 => into.push('-'),
        1 => {}
        _ => into.push('+'),
    }
    into.push('\n');
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            push_spaces(into, indent);
            into.push_str(line);
        }
        into.push('\n');
    }
}

/// Whether a number, boolean, null or duration can stand as it is.
pub(super) fn is_plain_word(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
    // `-`, `--` and `...` alone would be marks of YAML.
    text.bytes().all(word) && text.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// Whether no reader could take `text` for anything but this text if it stands without quotes.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    if !(first.is_ascii_alphabetic()
        || first == '/'
        || first == '_'
        || (!first.is_ascii() && first.is_alphabetic()))
    {
        return false;
    }
    let mut previous = first;
    for character in text.chars() {
        let fits = match character {
            ' ' => previous != ':',
            '#' => previous != ' ',
            '!'..='~' => true,
            // Blanks beyond ASCII are invisible without quotes around them.
            _ => !character.is_ascii() && is_readable(character) && !character.is_whitespace(),
        };
        if !fits {
            return false;
        }
        previous = character;
    }
    previous != ' ' && previous != ':' && !is_word_with_meaning(text)
}

/// The words of YAML 1.1 and 1.2 that are not text, in any case, and what some readers add.
fn is_word_with_meaning(text: &str) -> bool {
    const WORDS: [&str; 12] =
        ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"];
    text.len() <= 8 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Whether a character may stand as itself: YAML lets it, no reader takes it for a line break, and it does not
/// reorder the line in an editor.
fn is_readable(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => true,
        '\0'..='\u{9f}' => false,
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        _ => true,
    }
}

fn write_double_quoted(into: &mut String, text: &str) {
    into.push('"');
    for character in text.chars() {
        match character {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '\t' => into.push_str("\\t"),
            '\r' => into.push_str("\\r"),
            '\0' => into.push_str("\\0"),
            '\u{1b}' => into.push_str("\\e"),
            '\u{85}' => into.push_str("\\N"),
            '\u{2028}' => into.push_str("\\L"),
            '\u{2029}' => into.push_str("\\P"),
            _ if is_readable(character) => into.push(character),
            _ => {
                let code = u32::from(character);
                let written =
                    if code < 0x100 { write!(into, "\\x{code:02x}") } else { write!(into, "\\u{code:04x}") };
                written.expect("writing to a string cannot fail");
            }
        }
    }
    into.push('"');
}

#[cfg(test)]
mod tests {
    use crate::{Out, to_string};

    fn spelled(text: &str) -> String {
        to_string(&Out::mapping([("k", Out::text(text))]))
    }

    #[test]
    fn only_what_no_reader_mistakes_stands_plain() {
        for text in
            ["POST", "https://x.y/z?a=b&c#d", "/v1/a", "gpt-4o", "List what's \"new\"", "Grüße — 你好", "a:b"]
        {
            assert_eq!(spelled(text), format!("k: {text}\n"));
        }
    }

    #[test]
    fn what_looks_like_another_type_is_quoted() {
        for text in [
            "",
            "no",
            "No",
            "ON",
            "y",
            "true",
            "NULL",
            "~",
            "1",
            "1e3",
            "0o7",
            "0x1f",
            "1:20",
            "2024-01-01",
            "=",
            "<<",
            ".inf",
            "NaN",
            "-1",
            "+1",
            ".5",
            "1_000",
            "-",
            "?",
            "---",
            "...",
            "a: b",
            "a #b",
            "a:",
            " a",
            "a ",
            "#a",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a",
            "[a",
            "{a",
            "|",
            ">",
            "{\"a\":1}",
            "data: [DONE]",
            "{{redacted:openai_key:1}}",
            "a\u{a0}",
        ] {
            assert_eq!(spelled(text), format!("k: '{text}'\n"));
        }
        assert_eq!(spelled("'it's"), "k: '''it''s'\n");
    }

    #[test]
    fn lines_stand_as_a_block_with_the_indicators_they_need() {
        assert_eq!(spelled("a\nb"), "k: |-\n  a\n  b\n");
        assert_eq!(spelled("a\n\nb\n"), "k: |\n  a\n\n  b\n");
        assert_eq!(spelled("a\n\n\n"), "k: |+\n  a\n\n\n");
        assert_eq!(spelled(" a\nb\n"), "k: |2\n   a\n  b\n");
        assert_eq!(spelled("\n a\nb"), "k: |2-\n\n   a\n  b\n");
        assert_eq!(spelled("a\n\tb"), "k: |-\n  a\n  \tb\n");
    }

    #[test]
    fn what_a_block_would_change_is_escaped() {
        assert_eq!(spelled("a \nb"), "k: \"a \\nb\"\n");
        assert_eq!(spelled("\n\n"), "k: \"\\n\\n\"\n");
        assert_eq!(spelled("\ta\nb"), "k: \"\\ta\\nb\"\n");
        assert_eq!(
            spelled("a\r\nb\0\u{7f}\u{85}\u{2028}\u{feff}\u{202e}"),
            "k: \"a\\r\\nb\\0\\x7f\\N\\L\\ufeff\\u202e\"\n"
        );
        assert_eq!(spelled("\u{1b}[0m"), "k: \"\\e[0m\"\n");
    }
}
