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
        || (text.starts_with(b"{\"") || text.starts_with(b"[{"))
}

/// What some services put before a document, so that no browser runs it, or so that editors know it is UTF-8.
fn without_guard(text: &[u8]) -> &[u8] {
    let guards = [b"\xef\xbb\xbf".as_slice(), b")]}',", b")]}'", b"while(1);", b"for(;;);"];
    guards.iter().find_map(|guard| text.strip_prefix(*guard)).unwrap_or(text)
}

/// The changes to a document. One that does not go on as JSON is looked at as a text too.
pub(super) fn look<'a>(text: &'a [u8], path: &mut Vec<Step<'a>>, find: &mut Find<'_>) -> Vec<Edit<'static>> {
    look_below(text, path, find, &mut |_| {})
}

/// The same for a whole document, whose values are told to somebody else too.
pub(super) fn look_and_tell<'a>(
    text: &'a [u8],
    find: &mut Find<'_>,
    tell: &mut dyn FnMut(&Value<'a, '_>),
) -> Vec<Edit<'static>> {
    look_below(text, &mut Vec::new(), find, tell)
}

fn look_below<'a>(
    text: &'a [u8],
    path: &mut Vec<Step<'a>>,
    find: &mut Find<'_>,
    tell: &mut dyn FnMut(&Value<'a, '_>),
) -> Vec<Edit<'static>> {
    let guard = text.len() - without_guard(text).len();
    if guard > 0 {
        let edits = look_below(&text[guard..], path, find, tell).into_iter();
        return edits.map(|e| Edit { span: e.span.start + guard..e.span.end + guard, new: e.new }).collect();
    }
    let in_grant = GRANT.find(text).is_some();
    let mut edits = Vec::new();
    let is_whole = values(text, path, &mut |value| {
        tell(&value);
        edits.extend(in_value(&value, in_grant, find));
    });
    if !is_whole {
        let form = if std::str::from_utf8(text).is_ok() { Form::Text } else { Form::Binary };
        edits.extend(find(&Leaf { text, form, path, in_grant: false }));
        return settle(edits);
    }
    edits
}

static GRANT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("grant_type"));

/// Visits every key, string and number. Whether all of it was one JSON value.
pub(super) fn values<'a>(
    text: &'a [u8],
    path: &mut Vec<Step<'a>>,
    visit: &mut dyn FnMut(Value<'a, '_>),
) -> bool {
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
    path.truncate(base);
    tokens.is_whole()
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
        let mut inner: Vec<Step<'_>> = path.to_vec();
        return look(text, &mut inner, find);
    }
    find(&Leaf { text, form, path, in_grant })
}

/// Documents in strings in documents.
const DEEPEST: usize = 64;
