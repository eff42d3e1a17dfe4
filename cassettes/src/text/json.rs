//! JSON documents: their strings, keys and numbers.

use std::{borrow::Cow, sync::LazyLock};

use exchange::{Token, Tokens};
use memchr::memmem::Finder;

use super::{
    Find, Form, Leaf, Step, settle,
    view::{View, escaped_for_json, unescaped},
};
use crate::edits::Edit;

/// A string or a number of a document, before it is looked into.
pub(super) struct Value<'a, 'p> {
    pub(super) view: View<'a>,
    pub(super) form: Form,
    pub(super) path: &'p [Step<'a>],
}

pub(super) fn is_bracketed(text: &[u8]) -> bool {
    let text = without_guard(text).trim_ascii();
    matches!((text.first(), text.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
        || begins(text, b'{', b"\"")
        || begins(text, b'[', b"{[\"")
}

/// Whether a text that was cut short begins like a document.
fn begins(text: &[u8], bracket: u8, next: &[u8]) -> bool {
    let inner = text.strip_prefix(&[bracket]).map(|rest| rest.trim_ascii_start());
    inner.and_then(|inner| inner.first()).is_some_and(|first| next.contains(first))
}

/// What some services put before a document, so that no browser runs it, or so that editors know it is UTF-8.
fn without_guard(text: &[u8]) -> &[u8] {
    let guards = [b"\xef\xbb\xbf".as_slice(), b")]}',", b")]}'", b"while(1);", b"for(;;);"];
    guards.iter().find_map(|guard| text.strip_prefix(*guard)).unwrap_or(text)
}

/// The changes to a document. One that does not go on as JSON is looked at as a text too.
pub(super) fn look<'a>(text: &'a [u8], path: &mut Vec<Step<'a>>, find: &mut Find<'_>) -> Vec<Edit<'static>> {
    look_below(text, Form::Text, path, find, &mut |_| {})
}

/// The same for a whole document, whose values are told to somebody else too.
pub(super) fn look_and_tell<'a>(
    text: &'a [u8],
    find: &mut Find<'_>,
    tell: &mut dyn FnMut(&Value<'a, '_>),
) -> Vec<Edit<'static>> {
    look_below(text, Form::Text, &mut Vec::new(), find, tell)
}

fn look_below<'a>(
    text: &'a [u8],
    form: Form,
    path: &mut Vec<Step<'a>>,
    find: &mut Find<'_>,
    tell: &mut dyn FnMut(&Value<'a, '_>),
) -> Vec<Edit<'static>> {
    let in_grant = GRANT.find(text).is_some();
    let mut edits = Vec::new();
    let mut start = text.len() - without_guard(text).len();
    let is_whole = loop {
        let rest = &text[start..];
        let end = values(rest, path, &mut |value| {
            tell(&value);
            edits.extend(in_value(&value, in_grant, find).into_iter().map(|edit| edit.moved(start)));
        });
        match end {
            Ending::Whole => break true,
            // One document behind the other.
            Ending::More(at) if at > 0 => start += at,
            Ending::More(_) | Ending::Broken => break false,
        }
    };
    if !is_whole {
        let form = if std::str::from_utf8(text).is_ok() { form } else { Form::Binary };
        edits.extend(find(&Leaf { text, form, path, in_grant: false }));
        return settle(edits);
    }
    edits
}

/// How the reading of a document came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    /// A value is over here, and something follows.
    More(usize),
    Broken,
}

static GRANT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("grant_type"));

/// Visits every key, string and number of the document that a text begins with. A last string that is cut short is one
/// too.
pub(super) fn values<'a>(
    text: &'a [u8],
    path: &mut Vec<Step<'a>>,
    visit: &mut dyn FnMut(Value<'a, '_>),
) -> Ending {
    let base = path.len();
    let mut tokens = Tokens::new(text);
    // For each open object or array, its place in the path: an object's key or an array's index.
    let mut open: Vec<bool> = Vec::new();
    for (token, span) in tokens.by_ref() {
        let is_value = !matches!(token, Token::Key | Token::ObjectEnd | Token::ArrayEnd);
        if is_value
            && open.last() == Some(&false)
            && let Some(Step::Index(index)) = path.last_mut()
        {
            *index = index.wrapping_add(1);
        }
        match token {
            Token::ObjectStart => {
                open.push(true);
                path.push(Step::Key(Cow::Borrowed("")));
            }
            Token::ArrayStart => {
                open.push(false);
                path.push(Step::Index(usize::MAX));
            }
            Token::ObjectEnd | Token::ArrayEnd => {
                open.pop();
                path.truncate(base + open.len());
            }
            Token::Key => {
                let view = View::json_string(text, span.clone());
                let key = match std::str::from_utf8(&text[span]) {
                    Ok(key) if view.is_plain() => Cow::Borrowed(key),
                    _ => Cow::Owned(String::from_utf8_lossy(view.text()).into_owned()),
                };
                if let Some(step) = path.last_mut() {
                    *step = Step::Key(key);
                }
                visit(Value { view, form: Form::Key, path });
            }
            Token::String => visit(Value { view: View::json_string(text, span), form: Form::String, path }),
            Token::Number => visit(Value { view: View::plain(text, span), form: Form::Number, path }),
            Token::Word => {}
        }
    }
    let ending = match tokens.position() {
        _ if tokens.is_whole() => Ending::Whole,
        at if open.is_empty() && at > 0 => Ending::More(at),
        at => {
            let rest = &text[at..];
            let string = at + rest.len() - rest.trim_ascii_start().len();
            if text.get(string) == Some(&b'"') && !open.is_empty() {
                let view = View::json_string(text, string + 1..text.len());
                visit(Value { view, form: Form::String, path });
            }
            Ending::Broken
        }
    };
    path.truncate(base);
    ending
}

/// The changes to a value, where it stands in the document.
pub(super) fn in_value(value: &Value<'_, '_>, in_grant: bool, find: &mut Find<'_>) -> Vec<Edit<'static>> {
    let Value { view, form, path } = value;
    if view.text().is_empty() {
        return Vec::new();
    }
    let edits = in_string(view.text(), *form, path, in_grant, find);
    if edits.is_empty() {
        return edits;
    }
    view.in_source(edits, if *form == Form::Number { unescaped } else { escaped_for_json })
}

/// A string may hold a document of its own, such as the arguments of a tool call.
pub(super) fn in_string(
    text: &[u8],
    form: Form,
    path: &[Step<'_>],
    in_grant: bool,
    find: &mut Find<'_>,
) -> Vec<Edit<'static>> {
    if form == Form::String && is_bracketed(text) && path.len() < DEEPEST {
        // What only looks like a document is a value under its name after all.
        return look_below(text, form, &mut path.to_vec(), find, &mut |_| {});
    }
    find(&Leaf { text, form, path, in_grant })
}

/// Documents in strings in documents.
const DEEPEST: usize = 64;
