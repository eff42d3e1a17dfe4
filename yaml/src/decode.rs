//! From a node to a value of the type a reader expects.
//!
//! Owns the words for a wrong kind of value. Each method takes what the value is called ("the status") and
//! names it in the problem; what a valid value then means is the reader's business.

use std::{fmt::Display, ops::RangeInclusive, time::Duration};

use crate::{
    duration,
    node::{Node, Scalar, ScalarKind, ScalarStyle, Value},
    problem::Problem,
    suggest,
};

impl<'s> Node<'s> {
    /// The scalar, if it is one.
    #[must_use]
    pub fn as_scalar(&self) -> Option<&Scalar<'s>> {
        match &self.value {
            Value::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text of any scalar, however it is written.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        self.as_scalar().map(|scalar| scalar.text.as_ref())
    }

    /// The text of a scalar that stands without quotes.
    #[must_use]
    pub fn as_plain(&self) -> Option<&str> {
        self.as_scalar()
            .filter(|scalar| scalar.style == ScalarStyle::Plain)
            .map(|scalar| scalar.text.as_ref())
    }

    /// Whether it is `null`, `~`, or a key without a value.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| scalar.kind() == ScalarKind::Null)
    }

    /// The value of a key, if it is a mapping that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node<'s>> {
        match &self.value {
            Value::Mapping(entries) => {
                entries.iter().find(|(name, _)| name.as_text() == Some(key)).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The text of a scalar other than null; `1.10` stays `1.10`.
    pub fn text(&self, what: &str) -> Result<&str, Problem> {
        match self.as_text() {
            Some(text) if !self.is_null() => Ok(text),
            Some(text) if !text.is_empty() => Err(self
                .expected(what, "as text")
                .with_help(format!("put it in quotes if you mean the text: '{text}'"))),
            _ => Err(self.expected(what, "as text")),
        }
    }

    /// A whole number within `range`, in decimal digits and without quotes.
    pub fn integer<T>(&self, what: &str, range: RangeInclusive<T>) -> Result<T, Problem>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        let wanted = "as a whole number";
        let Some(text) = self.as_plain() else {
            return Err(self.expected(what, wanted));
        };
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.expected(what, wanted));
        }
        text.parse::<i128>()
            .ok()
            .and_then(|number| T::try_from(number).ok())
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (least, most) = (range.start(), range.end());
                let text = shortened(text);
                Problem::new(self.span, format!("expected {what} between {least} and {most}, found {text}"))
            })
    }

    /// A finite number, with or without a fraction.
    pub fn number(&self, what: &str) -> Result<f64, Problem> {
        match self.as_scalar().map(Scalar::kind) {
            Some(ScalarKind::Number(text)) => text.parse().ok().filter(|number: &f64| number.is_finite()),
            _ => None,
        }
        .ok_or_else(|| self.expected(what, "as a number"))
    }

    /// `true` or `false`.
    pub fn boolean(&self, what: &str) -> Result<bool, Problem> {
        match self.as_scalar().map(Scalar::kind) {
            Some(ScalarKind::Boolean(value)) => Ok(value),
            _ => Err(self.expected(what, "as true or false")),
        }
    }

    /// The items of a list.
    pub fn sequence(&self, what: &str) -> Result<&[Node<'s>], Problem> {
        match &self.value {
            Value::Sequence(items) => Ok(items),
            _ => Err(self.expected(what, "as a list")),
        }
    }

    /// The entries of a mapping whose keys are free; for keys known beforehand see [`crate::Fields`].
    pub fn mapping(&self, what: &str) -> Result<&[(Node<'s>, Node<'s>)], Problem> {
        match &self.value {
            Value::Mapping(entries) => Ok(entries),
            _ => Err(self.expected(what, "as a mapping")),
        }
    }

    /// A duration with its unit: `250ms`, `1.5s`, `2m`, `1h`; a year at most.
    pub fn duration(&self, what: &str) -> Result<Duration, Problem> {
        let Some(text) = self.as_text().filter(|_| !self.is_null()) else {
            return Err(self.expected(what, "as a duration").with_help(duration::HELP));
        };
        duration::parse_duration(text).ok_or_else(|| {
            let text = shortened(text);
            Problem::new(self.span, format!("expected {what} as a duration, found `{text}`"))
                .with_help(duration::HELP)
        })
    }

    /// One of a few words, each standing for a value.
    pub fn choice<T: Clone>(&self, what: &str, choices: &[(&'static str, T)]) -> Result<T, Problem> {
        let text = self.text(what)?;
        choices.iter().find(|(word, _)| *word == text).map(|(_, value)| value.clone()).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let mut problem =
                Problem::new(self.span, format!("unknown value `{}` for {what}", shortened(text)));
            problem.help = suggest::help(text, &words);
            problem
        })
    }

    /// What this is, in a word or two, for "expected …, found …".
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match &self.value {
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
            Value::Scalar(scalar) => match scalar.kind() {
                ScalarKind::Null => "nothing",
                ScalarKind::Boolean(_) => "true or false",
                ScalarKind::Number(_) => "a number",
                ScalarKind::Text(_) if scalar.style == ScalarStyle::Quoted => "quoted text",
                ScalarKind::Text(_) if scalar.style == ScalarStyle::Binary => "bytes",
                ScalarKind::Text(_) => "text",
            },
        }
    }

    fn expected(&self, what: &str, wanted: &str) -> Problem {
        Problem::new(self.span, format!("expected {what} {wanted}, found {}", self.describe()))
    }
}

/// Keeps a message readable when the value it quotes is not.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(QUOTED_AT_MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const QUOTED_AT_MOST: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    fn value(source: &str) -> Node<'_> {
        parse(source, &Limits::small()).unwrap()
    }

    fn message<T: std::fmt::Debug>(result: Result<T, Problem>) -> String {
        result.unwrap_err().message
    }

    #[test]
    fn a_plain_number_read_as_text_keeps_its_digits() {
        assert_eq!(value("1.10\n").text("the version"), Ok("1.10"));
        assert_eq!(value("'null'\n").text("the name"), Ok("null"));
    }

    #[test]
    fn null_is_no_text() {
        let node = value("null\n");
        let problem = node.text("the name").unwrap_err();
        assert_eq!(problem.message, "expected the name as text, found nothing");
        assert_eq!(problem.help.as_deref(), Some("put it in quotes if you mean the text: 'null'"));
    }

    #[test]
    fn an_integer_keeps_its_range() {
        assert_eq!(value("200\n").integer::<u16>("the status", 100..=599), Ok(200));
        assert_eq!(value("-5\n").integer::<i64>("the offset", i64::MIN..=i64::MAX), Ok(-5));
        assert_eq!(
            message(value("1000\n").integer::<u16>("the status", 100..=599)),
            "expected the status between 100 and 599, found 1000"
        );
        let huge = format!("{}\n", "9".repeat(500));
        assert_eq!(
            message(value(&huge).integer::<u16>("the status", 0..=1)),
            format!("expected the status between 0 and 1, found {}…", "9".repeat(60))
        );
        for wrong in ["'200'\n", "2.5\n", "+2\n", "0x10\n", "abc\n", "- 1\n"] {
            assert!(
                message(value(wrong).integer::<u16>("the status", 0..=999))
                    .starts_with("expected the status as a whole number, found")
            );
        }
    }

    #[test]
    fn a_number_is_finite() {
        assert_eq!(value("2.50\n").number("the ratio"), Ok(2.5));
        assert_eq!(
            message(value("1e999\n").number("the ratio")),
            "expected the ratio as a number, found a number"
        );
    }

    #[test]
    fn a_boolean_is_not_a_yes() {
        assert_eq!(value("true\n").boolean("strict"), Ok(true));
        assert_eq!(message(value("yes\n").boolean("strict")), "expected strict as true or false, found text");
        assert_eq!(
            message(value("'true'\n").boolean("strict")),
            "expected strict as true or false, found quoted text"
        );
    }

    #[test]
    fn a_duration_needs_its_unit() {
        assert_eq!(value("1.5s\n").duration("the delay"), Ok(Duration::from_millis(1500)));
        let problem = value("250\n").duration("the delay").unwrap_err();
        assert_eq!(problem.message, "expected the delay as a duration, found `250`");
        assert_eq!(problem.help.as_deref(), Some("write a number and a unit, such as 250ms, 1.5s, 2m or 1h"));
    }

    #[test]
    fn a_choice_suggests_the_nearest_word() {
        let choices = [("replay", 1), ("record", 2)];
        assert_eq!(value("record\n").choice("the mode", &choices), Ok(2));
        let problem = value("replya\n").choice("the mode", &choices).unwrap_err();
        assert_eq!(problem.message, "unknown value `replya` for the mode");
        assert_eq!(problem.help.as_deref(), Some("did you mean `replay`?"));
    }

    #[test]
    fn collections_are_told_apart() {
        assert_eq!(value("- 1\n- 2\n").sequence("the list").unwrap().len(), 2);
        assert_eq!(value("a: 1\n").mapping("the map").unwrap().len(), 1);
        assert_eq!(
            message(value("a: 1\n").sequence("the list")),
            "expected the list as a list, found a mapping"
        );
        assert_eq!(message(value("- 1\n").mapping("the map")), "expected the map as a mapping, found a list");
    }
}
