//! The tokens of a JSON text and where they stand, without building a value: for those who change a few of them and
//! leave every other byte as it was.

use std::ops::Range;

/// What stands at a place of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    ObjectStart,
    ObjectEnd,
    ArrayStart,
    ArrayEnd,
    /// The name of a member; its span lies between the quotes.
    Key,
    /// A string that is a value; its span lies between the quotes.
    String,
    Number,
    /// `true`, `false` or `null`.
    Word,
}

/// Reads one JSON value from the start of a text. Ends after it, or before the first thing that no JSON text holds;
/// [`Tokens::is_whole`] tells which.
#[derive(Debug, Clone)]
pub struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    /// What is open; `true` for an object.
    open: Vec<bool>,
    expect: Expect,
    failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// A value, or the end of the array that was just opened.
    ValueOrEnd,
    Key,
    /// A key, or the end of the object that was just opened.
    KeyOrEnd,
    /// A comma or an end.
    Next,
    Nothing,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, open: Vec::new(), expect: Expect::Value, failed: false }
    }

    /// Whether a whole value was read, with nothing but blanks behind it.
    pub fn is_whole(&self) -> bool {
        !self.failed && self.expect == Expect::Nothing && self.text[self.at..].iter().all(|b| is_blank(*b))
    }

    /// Where reading has come to.
    pub fn position(&self) -> usize {
        self.at
    }

    /// How many objects and arrays are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    fn read(&mut self) -> Option<(Token, Range<usize>)> {
        loop {
            self.skip_blanks();
            let start = self.at;
            let byte = *self.text.get(start)?;
            match (self.expect, byte) {
                (Expect::Nothing, _) => return None,
                (Expect::Next, b',') => {
                    self.at += 1;
                    self.expect = if self.open.last() == Some(&true) { Expect::Key } else { Expect::Value };
                }
                (Expect::Next | Expect::KeyOrEnd, b'}') if self.open.last() == Some(&true) => {
                    return Some(self.close(Token::ObjectEnd));
                }
                (Expect::Next | Expect::ValueOrEnd, b']') if self.open.last() == Some(&false) => {
                    return Some(self.close(Token::ArrayEnd));
                }
                (Expect::Key | Expect::KeyOrEnd, b'"') => {
                    let span = self.string()?;
                    self.skip_blanks();
                    if self.text.get(self.at) != Some(&b':') {
                        return None;
                    }
                    self.at += 1;
                    self.expect = Expect::Value;
                    return Some((Token::Key, span));
                }
                (Expect::Value | Expect::ValueOrEnd, _) => return self.value(byte),
                _ => return None,
            }
        }
    }

    fn value(&mut self, first: u8) -> Option<(Token, Range<usize>)> {
        let start = self.at;
        match first {
            b'{' | b'[' => {
                if self.open.len() >= DEEPEST {
                    return None;
                }
                self.at += 1;
                let is_object = first == b'{';
                self.open.push(is_object);
                self.expect = if is_object { Expect::KeyOrEnd } else { Expect::ValueOrEnd };
                let token = if is_object { Token::ObjectStart } else { Token::ArrayStart };
                Some((token, start..self.at))
            }
            b'"' => {
                let span = self.string()?;
                self.ended();
                Some((Token::String, span))
            }
            b'-' | b'0'..=b'9' => {
                let is_of_number = |b: &u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                self.at += self.text[start..].iter().take_while(|b| is_of_number(b)).count();
                self.ended();
                Some((Token::Number, start..self.at))
            }
            _ => {
                let rest = &self.text[start..];
                let word =
                    [b"true".as_slice(), b"false", b"null"].into_iter().find(|w| rest.starts_with(w))?;
                self.at += word.len();
                self.ended();
                Some((Token::Word, start..self.at))
            }
        }
    }

    /// The span between the quotes of the string that starts here.
    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at + 1;
        let mut at = start;
        loop {
            match self.text.get(at)? {
                b'"' => break,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(start..at)
    }

    fn close(&mut self, token: Token) -> (Token, Range<usize>) {
        let start = self.at;
        self.at += 1;
        self.open.pop();
        self.ended();
        (token, start..self.at)
    }

    fn ended(&mut self) {
        self.expect = if self.open.is_empty() { Expect::Nothing } else { Expect::Next };
    }

    fn skip_blanks(&mut self) {
        while self.text.get(self.at).is_some_and(|b| is_blank(*b)) {
            self.at += 1;
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = (Token, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.expect == Expect::Nothing {
            return None;
        }
        let token = self.read();
        self.failed = token.is_none();
        token
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Deeper than any honest text.
const DEEPEST: usize = 512;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(text: &str) -> (Vec<(Token, &str)>, bool) {
        let mut tokens = Tokens::new(text.as_bytes());
        let list = tokens.by_ref().map(|(token, span)| (token, &text[span])).collect();
        (list, tokens.is_whole())
    }

    #[test]
    fn tokens_stand_where_they_are_said_to() {
        use Token::*;
        let (tokens, whole) = told(r#" {"a\"b": ["x\\", -1.5e3, true], "c": {} } "#);
        assert!(whole);
        assert_eq!(
            tokens,
            [
                (ObjectStart, "{"),
                (Key, r#"a\"b"#),
                (ArrayStart, "["),
                (String, r"x\\"),
                (Number, "-1.5e3"),
                (Word, "true"),
                (ArrayEnd, "]"),
                (Key, "c"),
                (ObjectStart, "{"),
                (ObjectEnd, "}"),
                (ObjectEnd, "}"),
            ]
        );
    }

    #[test]
    fn what_is_cut_short_or_no_json_is_not_whole_and_gives_what_came_before() {
        for (text, count) in [
            (r#"{"a": "b"#, 2),
            (r#"{"a": 1"#, 3),
            ("[1,]", 2),
            ("[1 2]", 2),
            ("{1}", 1),
            ("tru", 0),
            ("]", 0),
            ("1 2", 1),
        ] {
            let (tokens, whole) = told(text);
            assert_eq!((tokens.len(), whole), (count, false), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_value_is_read_whole(numbers in proptest::collection::vec(any::<f64>(), 0..5), text in ".{0,20}") {
            let value = serde_json::json!({ "n": numbers, &text: [text, { "deep": null }] });
            prop_assert!(told(&value.to_string()).1);
            prop_assert!(told(&serde_json::to_string_pretty(&value).unwrap()).1);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\",:\\\\a1 -]{0,30}") {
            let (tokens, _) = told(&text);
            prop_assert!(tokens.len() <= text.len());
        }
    }
}
