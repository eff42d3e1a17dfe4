//! From what a recorder kept to what was on the wire.
//!
//! Most recorders sit above the HTTP library, see a body after its coding was undone and headers from before. Both
//! cannot be true; which of them is can be told from the bytes.

use bytes::Bytes;
use exchange::{Body, Coding, CodingError, Content, Frame, Headers, codings_of, decode_frames};

/// Something that was put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Repair {
    /// The header names a coding, the body was kept without: it gets the coding back.
    CodingRestored,
    /// Some of several codings had been undone.
    CodingPartlyUndone,
    /// The recorder undid the coding and took its header away; it noted that it did.
    CodingHeaderRestored,
    /// An archive was unpacked by the recorder: what was in it is kept, and played.
    ArchiveUnpacked,
    /// The body is damaged, and is kept as it is.
    Damaged,
    /// The length in the header was not the body's.
    LengthCorrected,
    /// Chunked transfer of a body that is kept whole.
    TransferEncodingDropped,
    /// A character in the URL that no client sends unescaped.
    UrlEscaped,
    /// A JSON body that was kept as structure: how it was laid out is not known.
    LayoutUnknown,
    /// A redirect of which the archive has no page.
    RedirectEmptied,
    /// The URL named a user, or a password too.
    UserDropped,
    /// An entry that wiretape exported and somebody changed.
    CopyOutdated,
}

impl Repair {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CodingRestored => "bodies were kept decoded; they get their content-encoding back",
            Self::CodingPartlyUndone => "bodies were partly decoded; they get all of their codings back",
            Self::CodingHeaderRestored => "content-encoding headers that the recorder removed are restored",
            Self::ArchiveUnpacked => "archives had been unpacked by the recorder, and are played unpacked",
            Self::Damaged => "bodies do not fit their content-encoding, and are kept as they are",
            Self::LengthCorrected => "wrong content-length headers are corrected",
            Self::TransferEncodingDropped => "transfer-encoding headers of whole bodies are dropped",
            Self::UrlEscaped => "URLs had characters that must be escaped",
            Self::RedirectEmptied => {
                "redirects had a page that the archive has not kept, and are played without"
            }
            Self::UserDropped => "URLs held a user name, which no client sends there; it is dropped",
            Self::CopyOutdated => {
                "entries were changed since wiretape exported them, and are read as they are"
            }
            Self::LayoutUnknown => "JSON bodies were kept as structure; their layout is not known",
        }
    }
}

/// A body as a recorder kept it.
#[derive(Debug, Clone, Default)]
pub(super) struct Stored {
    pub(super) bytes: Bytes,
    pub(super) state: State,
    /// Where the wire cut it, if the recorder kept that; the lengths are of these bytes.
    pub(super) frames: Vec<Frame>,
}

/// What is known of a stored body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// With its codings or without: the bytes tell.
    #[default]
    Unknown,
    /// Without any coding, whatever the header says.
    Decoded,
    /// Made from structure.
    Structure,
}

impl Stored {
    pub(super) fn new(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), ..Self::default() }
    }

    pub(super) fn decoded(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), state: State::Decoded, frames: Vec::new() }
    }

    pub(super) fn structure(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), state: State::Structure, frames: Vec::new() }
    }
}

/// The body unpacks to more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// The body that was on the wire, of `limit` bytes at most, and what had to be put right for it.
pub(super) fn body(
    stored: Stored,
    headers: &Headers,
    limit: usize,
    note: &mut dyn FnMut(Repair),
) -> Result<Body, TooLarge> {
    if stored.bytes.len() > limit {
        return Err(TooLarge);
    }
    let Stored { bytes, state, frames } = stored;
    if state == State::Structure && !bytes.is_empty() {
        note(Repair::LayoutUnknown);
    }
    let claimed = codings_of(headers).unwrap_or_default();
    if bytes.is_empty() || claimed.is_empty() {
        if is_unpacked_archive(&bytes, headers) {
            note(Repair::ArchiveUnpacked);
        }
        return Ok(Body { content: Content::Bytes(bytes), codings: Vec::new(), frames });
    }
    if state == State::Unknown && !is_text(&bytes) {
        if let Some((content, ends, undone)) = undo(&claimed, &bytes, &frames, limit)? {
            if undone < claimed.len() {
                note(Repair::CodingPartlyUndone);
            }
            let frames = decoded_frames(&frames, &ends);
            return Ok(Body { content: Content::Bytes(content.into()), codings: claimed, frames });
        }
        if has_mark(&bytes, &claimed) {
            note(Repair::Damaged);
            return Ok(Body { content: Content::Bytes(bytes), codings: Vec::new(), frames });
        }
    }
    if is_unpacked_archive(&bytes, headers) {
        note(Repair::ArchiveUnpacked);
    }
    note(Repair::CodingRestored);
    Ok(Body { content: Content::Bytes(bytes), codings: claimed, frames })
}

/// The content, where each stored frame ended in it, and how many codings there were to undo.
type Undone = (Vec<u8>, Vec<usize>, usize);

/// Undoes as many of the codings as are still on. The last named was put on last, so it is the first to be gone.
fn undo(
    claimed: &[Coding],
    bytes: &[u8],
    frames: &[Frame],
    limit: usize,
) -> Result<Option<Undone>, TooLarge> {
    let cut: Vec<&[u8]> = match frames.is_empty() {
        true => vec![bytes],
        false => {
            let mut rest = bytes;
            frames.iter().map(|frame| rest.split_off(..frame.len.min(rest.len())).unwrap_or(&[])).collect()
        }
    };
    for count in (1..=claimed.len()).rev() {
        match decode_frames(&claimed[..count], cut.iter().copied(), limit) {
            Ok((content, ends)) => return Ok(Some((content, ends, count))),
            Err(CodingError::TooLarge(_)) => return Err(TooLarge),
            Err(CodingError::Invalid { .. }) => {}
        }
    }
    Ok(None)
}

fn decoded_frames(frames: &[Frame], ends: &[usize]) -> Vec<Frame> {
    let mut start = 0;
    let cut = frames.iter().zip(ends).filter_map(|(frame, &end)| {
        let len = end - start;
        start = end;
        (len > 0).then_some(Frame { len, after: frame.after })
    });
    cut.collect()
}

/// No coding gives text: its first bytes are not UTF-8, or control characters.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .is_ok_and(|text| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')))
}

fn has_mark(bytes: &[u8], claimed: &[Coding]) -> bool {
    claimed.iter().any(|coding| match coding {
        Coding::Gzip => bytes.starts_with(&[0x1f, 0x8b]),
        Coding::Zstd => bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        Coding::Deflate | Coding::Brotli => false,
    })
}

/// A gzip file whose bytes are no gzip: the recorder undid one layer too many.
fn is_unpacked_archive(bytes: &[u8], headers: &Headers) -> bool {
    let is_gzip_file = headers
        .media_type()
        .is_some_and(|media| matches!(media.as_str(), "application/gzip" | "application/x-gzip"));
    is_gzip_file && !bytes.is_empty() && !bytes.starts_with(&[0x1f, 0x8b])
}

#[cfg(test)]
mod tests {
    use exchange::{Header, encode};

    use super::*;

    #[test]
    fn what_a_body_unpacks_to_is_bounded() {
        let mut headers = Headers::new();
        headers.push(Header::new("content-encoding", "gzip").expect("it is a header"));
        let stored = || Stored::new(encode(&[Coding::Gzip], &[0; 1000]).expect("memory takes it"));
        assert_eq!(body(stored(), &headers, 999, &mut |_| ()), Err(TooLarge));
        assert_eq!(body(stored(), &headers, 1000, &mut |_| ()).map(|body| body.len()), Ok(1000));
        assert_eq!(body(Stored::new(vec![0; 1000]), &Headers::new(), 999, &mut |_| ()), Err(TooLarge));
    }
}
