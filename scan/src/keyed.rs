//! Values under names that say they are secret: members of JSON and YAML, headers, form fields, query parameters,
//! assignments. The text around a name is read as loosely as people write it.

use std::ops::Range;

use memchr::memmem;

use crate::{
    cookies,
    credentials::{authorization, hit, is_secret_value},
    detect::{Certainty, Hit},
    names::{self, Class},
    worth::{entropy, is_evident, is_password},
};

/// The names of one view; each is judged once, however many anchors it has.
#[derive(Debug, Default)]
pub(crate) struct Names {
    done: usize,
    /// Where the last header ends: one inside of it is a part of its value.
    header_end: usize,
}

impl Names {
    pub(crate) fn take(&mut self, text: &[u8], start: usize, end: usize, hits: &mut Vec<Hit>) {
        if start < self.done {
            return;
        }
        let name = whole_name(text, start, end);
        self.done = name.end;
        let is_query =
            matches!(before(text, name.start), Some(b'?' | b'&' | b'#')) && text.get(name.end) == Some(&b'=');
        let Some(class) = names::class(&text[name.clone()], is_query) else { return };
        let is_header = matches!(class, Class::Authorization | Class::Cookies | Class::SetCookie);
        if is_header && start < self.header_end {
            return;
        }
        let mut at = name.end;
        // A header may stand several times, as a list.
        let is_whole = matches!(before(text, name.start), Some(b'"' | b'\''));
        let mut place = Place::Name { is_whole };
        for _ in 0..MOST_VALUES {
            let Some(value) = value_at(text, at, place, is_header) else { return };
            let at_value = value.range.clone();
            match class {
                Class::Cookies => cookie_hits(cookies::in_request(&text[at_value.clone()]), &at_value, hits),
                Class::SetCookie => {
                    cookie_hits(cookies::in_response(&text[at_value.clone()]), &at_value, hits)
                }
                _ => hits.extend(judge(text, &name, at_value, value.is_quoted, class)),
            }
            at = value.range.end;
            place = Place::Item;
            if is_header {
                self.header_end = at;
            }
            if !value.is_listed {
                return;
            }
        }
    }
}

fn judge(text: &[u8], name: &Range<usize>, at: Range<usize>, is_quoted: bool, class: Class) -> Option<Hit> {
    let value = &text[at.clone()];
    let found = |is_live: bool, kind| is_live.then(|| hit(at.start, at.end, kind, Certainty::Context));
    match class {
        Class::Authorization => authorization(text, at.start, at.end),
        Class::Account => found(!is_evident(value) && memmem::find(value, b"test").is_none(), "account_id"),
        Class::Password => {
            let is_chosen = is_password(value) && !value.contains(&b' ') && !is_code(value, is_quoted);
            found(is_chosen, "password")
        }
        Class::Credential => found(is_secret_value(value, 12), "credential"),
        Class::Cookie => found(is_secret_value(value, 16), "cookie"),
        Class::Vague => found(is_secret_value(value, 16) && entropy(value) > 3.0, "credential"),
        Class::Query => {
            let least = if name.len() <= 4 { 20 } else { 12 };
            found(is_secret_value(value, least), "url_credential")
        }
        Class::Cookies | Class::SetCookie => None,
        Class::Suspect => {
            let is_odd = is_secret_value(value, 24) && entropy(value) > 3.5;
            is_odd.then(|| hit(at.start, at.end, "high_entropy", Certainty::Doubt))
        }
    }
}

fn cookie_hits(live: Vec<Range<usize>>, value: &Range<usize>, hits: &mut Vec<Hit>) {
    let at = |part: Range<usize>| {
        hit(value.start + part.start, value.start + part.end, "cookie", Certainty::Context)
    };
    hits.extend(live.into_iter().map(at));
}

/// An expression in place of a value.
fn is_code(value: &[u8], is_quoted: bool) -> bool {
    !is_quoted && value.iter().any(|b| matches!(b, b'(' | b'[' | b'{' | b'<' | b'*' | b'\\'))
}

struct Value {
    range: Range<usize>,
    is_quoted: bool,
    /// An item of a YAML or JSON list: others may follow.
    is_listed: bool,
}

/// What a value stands behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// `is_whole`: a string of its own, and not the end of one.
    Name {
        is_whole: bool,
    },
    Item,
}

/// The value behind a name, or behind an item of its list.
fn value_at(text: &[u8], mut at: usize, place: Place, is_header: bool) -> Option<Value> {
    let mut is_listed = false;
    if let Place::Name { is_whole } = place {
        at = past_separator(text, at, is_whole)?;
    } else if matches!(text.get(at), Some(b'"' | b'\'')) {
        at += 1;
    }
    let inline = spaces(text, at, b" \t");
    at += inline;
    if matches!(text.get(at), Some(b'\r' | b'\n' | b',' | b'[')) {
        let more = spaces(text, at, b" \t\r\n,[");
        at += more;
        let is_item = text[at.min(text.len())..].starts_with(b"- ");
        if is_item {
            at += 2 + spaces(text, at + 2, b" ");
        }
        is_listed = is_item || matches!(text.get(at), Some(b'"' | b'\''));
        if !is_listed {
            return None;
        }
    } else if place == Place::Item {
        return None;
    }
    // Block scalars start on the next line.
    if let Some(b'|' | b'>') = text.get(at) {
        at += spaces(text, at, b"|>-+");
        at += spaces(text, at, b" \r\n");
    }
    let quote = text.get(at).copied().filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    let mut start = at + usize::from(quote.is_some());
    // In a YAML string in single quotes every one of them stands twice.
    start += usize::from(quote == Some(b'\'') && text.get(start) == Some(&b'\''));
    let most = if quote.is_none() && !is_header { MOST_BARE } else { MOST_VALUE };
    let rest = &text[start..text.len().min(start + most)];
    let is_end = |b: &u8| match quote {
        Some(quote) => *b == quote || matches!(b, b'\n' | b'\\'),
        None if is_header => matches!(b, b'\n' | b'\r' | b'"' | b'\''),
        None => {
            *b <= b' '
                || matches!(
                    b,
                    b',' | b';' | b'&' | b'"' | b'\'' | b')' | b']' | b'}' | b'>' | b'\\' | b'`' | b'#'
                )
        }
    };
    let length = rest.iter().position(is_end).unwrap_or(rest.len());
    let mut range = start..start + length;
    if is_header && quote.is_none() {
        range.end = past_folded_lines(text, range.end);
    }
    // A bare word before a colon is the next name.
    let is_name = quote.is_none() && !is_header && text[range.clone()].ends_with(b":");
    (!is_name).then_some(Value { range, is_quoted: quote.is_some(), is_listed })
}

/// A long item of a YAML list goes on in lines of its own, which name nothing.
fn past_folded_lines(text: &[u8], mut at: usize) -> usize {
    for _ in 0..MOST_FOLDED {
        let Some(rest) = text.get(at + 1..) else { break };
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let words = line.trim_ascii();
        let is_folded = text[at] == b'\n'
            && !words.is_empty()
            && !words.starts_with(b"-")
            && !words.ends_with(b":")
            && memmem::find(words, b": ").is_none();
        if !is_folded {
            break;
        }
        at += 1 + line.len();
    }
    at
}

/// Past `: `, `=`, `": "`, `", "value": "` and the like.
fn past_separator(text: &[u8], mut at: usize, is_whole: bool) -> Option<usize> {
    let is_quoted = matches!(text.get(at), Some(b'"' | b'\''));
    at += usize::from(is_quoted);
    if text.get(at) == Some(&b']') {
        at += 1 + usize::from(matches!(text.get(at + 1), Some(b'"' | b'\'')));
    }
    at += spaces(text, at, b" \t");
    match text.get(at)? {
        b':' => Some(at + 1),
        b'=' => Some(at + 1 + usize::from(text.get(at + 1) == Some(&b'>'))),
        // A pair of name and value, as a list or as an object.
        b',' if is_quoted && is_whole => {
            let gap = 1 + spaces(text, at + 1, b" \t\r\n");
            let rest = &text[at + gap..];
            match rest.strip_prefix(b"\"value\"").or(rest.strip_prefix(b"'value'")) {
                Some(behind) => {
                    let at = text.len() - behind.len();
                    let colon = at + spaces(text, at, b" ");
                    (text.get(colon) == Some(&b':')).then_some(colon + 1)
                }
                None => rest.starts_with(b"\"").then_some(at + gap),
            }
        }
        _ => None,
    }
}

fn spaces(text: &[u8], at: usize, of: &[u8]) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().take(MOST_GAP).take_while(|b| of.contains(b)).count()
}

fn whole_name(text: &[u8], start: usize, end: usize) -> Range<usize> {
    let is_part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$');
    let back = text[..start].iter().rev().take(MOST_NAME).take_while(is_part).count();
    // The anchor may end in the sign behind the name.
    let own = text[start..end].iter().take_while(|b| is_part(b)).count();
    let on =
        if own == end - start { text[end..].iter().take(MOST_NAME).take_while(is_part).count() } else { 0 };
    start - back..start + own + on
}

fn before(text: &[u8], at: usize) -> Option<u8> {
    at.checked_sub(1).and_then(|i| text.get(i)).copied()
}

const MOST_NAME: usize = 64;
const MOST_GAP: usize = 200;
const MOST_VALUE: usize = 4096;
/// Enough to tell a secret by; the rest of a longer one adds nothing.
const MOST_BARE: usize = 512;
const MOST_VALUES: usize = 64;
const MOST_FOLDED: usize = 8;
