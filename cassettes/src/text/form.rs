//! Forms: `a=1&b=2`.

use std::borrow::Cow;

use super::{
    Find, Form, Leaf, Step, in_text, json,
    view::{View, unescaped},
};
use crate::edits::Edit;

pub(super) fn look<'a>(
    content: &'a [u8],
    path: &mut Vec<Step<'a>>,
    find: &mut Find<'_>,
) -> Vec<Edit<'static>> {
    if std::str::from_utf8(content).is_err() || !content.contains(&b'=') {
        return in_text(content, path, find);
    }
    let in_grant = memchr::memmem::find(content, b"grant_type=").is_some();
    let mut edits = Vec::new();
    let mut start = 0;
    for pair in content.split(|&b| b == b'&') {
        let end = start + pair.len();
        let mark = pair.iter().position(|&b| b == b'=').map_or(end, |mark| start + mark);
        let key = View::percent(content, start..mark);
        path.push(Step::Key(Cow::Owned(String::from_utf8_lossy(key.text()).into_owned())));
        let found = find(&Leaf { text: key.text(), form: Form::Key, path, in_grant });
        edits.extend(key.in_source(found, unescaped));
        if mark < end {
            let value = View::percent(content, mark + 1..end);
            let found = json::in_string(value.text(), Form::String, path, in_grant, find);
            edits.extend(value.in_source(found, unescaped));
        }
        path.pop();
        start = end + 1;
    }
    edits
}
