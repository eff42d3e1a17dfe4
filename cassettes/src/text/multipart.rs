//! Multipart bodies: part by part (RFC 2046, 5.1).

use std::{borrow::Cow, ops::Range};

use super::{Find, Form, Leaf, Step, in_part, settle};
use crate::edits::Edit;

/// `None` where the boundary does not stand in the content.
pub(super) fn look(content: &[u8], boundary: &str, find: &mut Find<'_>) -> Option<Vec<Edit<'static>>> {
    let mut edits = Vec::new();
    for part in parts(content, boundary)? {
        let bytes = &content[part.clone()];
        let (head, body) = bytes
            .windows(4)
            .position(|w| w == b"\r\n\r\n")
            .map_or((&bytes[..0], bytes), |end| (&bytes[..end], &bytes[end + 4..]));
        let head_text = String::from_utf8_lossy(head).into_owned();
        let name = parameter(&head_text, "name").unwrap_or_default();
        let media = field(&head_text, "content-type").unwrap_or_default();
        let mut path = vec![Step::Key(Cow::Owned(name))];
        let found = find(&Leaf { text: head, form: Form::Text, path: &[], in_grant: false });
        edits.extend(moved(found, part.start));
        let essence = media.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        let is_field = field(&head_text, "content-disposition").is_some_and(|d| !d.contains("filename"));
        let found = if is_field && !super::json::is_bracketed(body) && std::str::from_utf8(body).is_ok() {
            find(&Leaf { text: body, form: Form::String, path: &path, in_grant: false })
        } else {
            in_part(body, &essence, &mut path, find)
        };
        edits.extend(moved(found, part.end - body.len()));
    }
    Some(settle(edits))
}

fn moved(edits: Vec<Edit<'static>>, by: usize) -> impl Iterator<Item = Edit<'static>> {
    edits.into_iter().map(move |edit| edit.moved(by))
}

/// What stands between the delimiters, heads included, and what stands before the first and behind the last: nobody
/// is to read that, and it is written down all the same.
fn parts(content: &[u8], boundary: &str) -> Option<Vec<Range<usize>>> {
    let delimiter = format!("--{boundary}");
    let mut starts = memchr::memmem::find_iter(content, delimiter.as_bytes()).peekable();
    let first = *starts.peek()?;
    let preamble = 0..first;
    let mut parts = Vec::from([preamble]);
    while let Some(start) = starts.next() {
        let from = start + delimiter.len();
        let end = starts.peek().copied().unwrap_or(content.len());
        let from = if content[from..].starts_with(b"\r\n") { from + 2 } else { from };
        let to = if end >= 2 && content[..end].ends_with(b"\r\n") && end - 2 >= from { end - 2 } else { end };
        parts.push(from.min(to)..to);
    }
    Some(parts)
}

fn field(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

fn parameter(head: &str, name: &str) -> Option<String> {
    let disposition = field(head, "content-disposition")?;
    disposition.split(';').skip(1).find_map(|part| {
        let (key, value) = part.split_once('=')?;
        (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    })
}
