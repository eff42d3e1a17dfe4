//! Changes at known places of a text; every other byte stays as it is.

use std::{borrow::Cow, ops::Range};

use exchange::{Body, Frame, Header, Headers, Message, Piece};

/// What takes the place of some bytes of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit<'a> {
    pub(crate) span: Range<usize>,
    pub(crate) new: Cow<'a, [u8]>,
}

impl<'a> Edit<'a> {
    pub(crate) fn new(span: Range<usize>, new: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { span, new: new.into() }
    }

    /// The same change, told by where it stands in a larger text.
    pub(crate) fn moved(self, by: usize) -> Self {
        Self { span: self.span.start + by..self.span.end + by, new: self.new }
    }
}

/// The text after its edits, which are in order and do not overlap.
pub(crate) fn apply(text: &[u8], edits: &[Edit<'_>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for edit in edits {
        out.extend_from_slice(&text[from..edit.span.start]);
        out.extend_from_slice(&edit.new);
        from = edit.span.end;
    }
    out.extend_from_slice(&text[from..]);
    out
}

/// The same for a text that has to stay one. `None` if it would not.
pub(crate) fn apply_to_str(text: &str, edits: &[Edit<'_>]) -> Option<String> {
    String::from_utf8(apply(text.as_bytes(), edits)).ok()
}

/// The body after the edits of its content. Its frames are cut where they were; a cut inside of what was replaced moves
/// behind it.
pub(crate) fn apply_to_body(body: &Body, edits: &[Edit<'_>]) -> Body {
    let Some(bytes) = body.bytes().filter(|_| !edits.is_empty()) else {
        return body.clone();
    };
    let mut frames = Vec::with_capacity(body.frames.len());
    let (mut old_end, mut new_start) = (0, 0);
    for frame in &body.frames {
        old_end += frame.len;
        let new_end = moved(old_end, edits);
        frames.push(Frame { len: new_end - new_start, after: frame.after });
        new_start = new_end;
    }
    let content = Body::from_bytes(apply(bytes, edits)).content;
    Body { content, codings: body.codings.clone(), frames }
}

/// Headers with the edits that `edits_of` finds in each value. One whose value would no longer be legal stays.
pub(crate) fn edit_headers<'a>(headers: &Headers, edits_of: impl Fn(&[u8]) -> Vec<Edit<'a>>) -> Headers {
    let edited = |header: &Header| {
        let edits = edits_of(header.value());
        let new = (!edits.is_empty()).then(|| Header::new(header.name(), apply(header.value(), &edits)));
        new.and_then(Result::ok).unwrap_or_else(|| header.clone())
    };
    headers.iter().map(edited).collect()
}

/// A message with the edits that `edits_of` finds in it.
pub(crate) fn edit_message<'a>(message: &Message, edits_of: impl FnOnce(&[u8]) -> Vec<Edit<'a>>) -> Message {
    let piece = match &message.piece {
        Piece::Text(text) => {
            // An edit inside of a character leaves a mark, and not what was to go.
            let new = apply(text.as_bytes(), &edits_of(text.as_bytes()));
            Piece::Text(String::from_utf8_lossy(&new).into_owned())
        }
        Piece::Binary(bytes) => Piece::Binary(apply(bytes, &edits_of(bytes)).into()),
        close @ Piece::Close(_) => close.clone(),
    };
    Message { piece, ..message.clone() }
}

/// Where an offset in the old text lies in the new one. An offset inside a replaced value moves to its end.
fn moved(offset: usize, edits: &[Edit<'_>]) -> usize {
    let mut new = offset;
    for edit in edits.iter().take_while(|edit| edit.span.start < offset) {
        new = new + edit.new.len() + edit.span.end.saturating_sub(offset) - edit.span.len();
    }
    new
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn body(content: &str, lens: &[usize]) -> Body {
        let frames = lens.iter().map(|&len| Frame { len, after: Duration::ZERO }).collect();
        Body { frames, ..Body::from_bytes(content.to_owned()) }
    }

    #[test]
    fn frames_follow_the_content_when_a_value_changes_its_length() {
        let out = apply_to_body(&body("ab 17 cd", &[3, 3, 2]), &[Edit::new(3..5, b"2026".as_slice())]);
        let pieces: Vec<_> = out.pieces().into_iter().map(|(_, b)| b).collect();
        assert_eq!(pieces, ["ab ", "2026 ", "cd"]);
    }

    proptest! {
        #[test]
        fn frames_always_cover_the_edited_content(
            before in "[ a]{0,9}", old in "[0-9]{1,30}", after in "[ a]{0,9}", cut in 0usize..50, new in "[0-9]{0,30}",
        ) {
            let content = format!("{before}{old}{after}");
            let cut = cut.min(content.len());
            let edit = Edit::new(before.len()..before.len() + old.len(), new.as_bytes());
            let out = apply_to_body(&body(&content, &[cut, content.len() - cut]), &[edit]);
            let total: usize = out.frames.iter().map(|f| f.len).sum();
            prop_assert_eq!(total as u64, out.len());
        }
    }
}
