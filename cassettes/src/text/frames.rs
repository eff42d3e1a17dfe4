//! Binary streams. An AWS event stream is read message by message, and a message that changes gets its lengths and sums
//! anew; of any other only the bytes are looked at.

use std::ops::Range;

use super::{Find, in_part, in_text};
use crate::edits::{Edit, apply};

pub(super) fn look(content: &[u8], find: &mut Find<'_>) -> Vec<Edit<'static>> {
    let Some(messages) = messages(content) else {
        return in_text(content, &mut Vec::new(), find);
    };
    let (mut edits, mut end) = (Vec::new(), 0);
    for Frame { whole, payload } in messages {
        let found = in_part(&content[payload.clone()], "", &mut Vec::new(), find);
        end = whole.end;
        if !found.is_empty() {
            let head = &content[whole.start + PRELUDE..payload.start];
            let new = message(head, &apply(&content[payload], &found));
            edits.push(Edit::new(whole, new));
        }
    }
    // The last message may have been cut short.
    let rest = in_text(&content[end..], &mut Vec::new(), find);
    edits.extend(rest.into_iter().map(|edit| edit.moved(end)));
    edits
}

struct Frame {
    whole: Range<usize>,
    payload: Range<usize>,
}

/// `None` unless all of it is messages with the right sums; the last may be cut short.
fn messages(content: &[u8]) -> Option<Vec<Frame>> {
    let mut frames = Vec::new();
    let mut start = 0;
    while start < content.len() {
        let rest = &content[start..];
        if rest.len() < PRELUDE {
            break;
        }
        let number = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let (size, head, sum) = (number(0)? as usize, number(4)? as usize, number(8)?);
        if crc32fast::hash(&rest[..8]) != sum || size < PRELUDE + head + 4 {
            return None;
        }
        if size > rest.len() {
            break;
        }
        frames.push(Frame { whole: start..start + size, payload: start + PRELUDE + head..start + size - 4 });
        start += size;
    }
    (!frames.is_empty()).then_some(frames)
}

fn message(head: &[u8], payload: &[u8]) -> Vec<u8> {
    let size = PRELUDE + head.len() + payload.len() + 4;
    let mut out = Vec::with_capacity(size);
    out.extend(u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(u32::try_from(head.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out.extend_from_slice(head);
    out.extend_from_slice(payload);
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out
}

/// Two lengths and their sum.
const PRELUDE: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_changes_gets_its_lengths_and_sums_anew() {
        let stream = [message(b"head", br#"{"a":"old"}"#), message(b"", br#"{"b":"kept"}"#)].concat();
        let edits = look(&stream, &mut |leaf| match leaf.text {
            b"old" => vec![Edit::new(0..3, b"longer".to_vec())],
            _ => Vec::new(),
        });
        let changed = apply(&stream, &edits);
        assert_eq!(
            changed,
            [message(b"head", br#"{"a":"longer"}"#), message(b"", br#"{"b":"kept"}"#)].concat()
        );
        assert_eq!(messages(&changed).unwrap().len(), 2);
    }
}
