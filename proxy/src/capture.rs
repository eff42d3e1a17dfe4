//! Keeps a copy of a body while it passes, up to a limit.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use exchange::{
    Body, Content, Frame, Headers, Sha256, StreamKind, codings_of, decode_cut_frames, decode_frames,
};
use sha2::Digest;

/// A copy in the making. Above its limit it keeps only a count and a hash, so a body of any size passes in flat
/// memory.
#[derive(Debug)]
pub(crate) struct Capture {
    kept: BytesMut,
    frames: Vec<(usize, Duration)>,
    last: Instant,
    size: u64,
    limit: usize,
    overflow: Option<sha2::Sha256>,
}

/// Whether the copy is of a whole body; one that broke off cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    Part,
}

impl Capture {
    pub(crate) fn new(limit: usize, start: Instant) -> Self {
        Self { kept: BytesMut::new(), frames: Vec::new(), last: start, size: 0, limit, overflow: None }
    }

    pub(crate) fn push(&mut self, data: &Bytes, now: Instant) {
        if data.is_empty() {
            return;
        }
        self.size += data.len() as u64;
        if let Some(hash) = &mut self.overflow {
            hash.update(data);
            return;
        }
        // A frame costs memory whatever its size: endless crumbs are as large as an endless body.
        if self.kept.len() + data.len() + self.frames.len() * FRAME > self.limit {
            let mut hash = sha2::Sha256::new();
            hash.update(&self.kept);
            hash.update(data);
            self.overflow = Some(hash);
            self.kept = BytesMut::new();
            self.frames = Vec::new();
            return;
        }
        self.kept.extend_from_slice(data);
        self.frames.push((data.len(), now.saturating_duration_since(self.last)));
        self.last = now;
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The body as it goes on a cassette: codings taken off where that can be undone, cuts kept for streams.
    pub(crate) fn into_body(self, headers: &Headers, extent: Extent) -> Body {
        if let Some(hash) = self.overflow {
            let sha256 = Sha256(hash.finalize().into());
            return Body { content: Content::Omitted { size: self.size, sha256 }, ..Body::empty() };
        }
        let wire = self.kept.freeze();
        let codings = if wire.is_empty() { Vec::new() } else { codings_of(headers).unwrap_or_default() };
        let streamed = is_stream(headers, &self.frames, self.limit);
        let as_sent = || Body {
            frames: if streamed { frames(&self.frames) } else { Vec::new() },
            ..Body::from_bytes(wire.clone())
        };
        if codings.is_empty() {
            return as_sent();
        }
        let mut start = 0;
        let pieces = self.frames.iter().map(|(len, _)| {
            let piece = &wire[start..start + len];
            start += len;
            piece
        });
        let decoded = match extent {
            Extent::Whole => decode_frames(&codings, pieces, self.limit),
            // What cannot be read cannot be looked into either, so all that came is taken out of its coding.
            Extent::Part => Ok(decode_cut_frames(&codings, pieces, self.limit)),
        };
        match decoded {
            Ok((content, ends)) => {
                let frames = if streamed { decoded_frames(&self.frames, &ends) } else { Vec::new() };
                Body { codings, frames, ..Body::from_bytes(content) }
            }
            // A lying or unknown coding: what was on the wire is kept as it was.
            Err(_) => as_sent(),
        }
    }
}

/// Streams by type keep their cuts. So does a body with a long pause in it: somebody meant that pause.
fn is_stream(headers: &Headers, frames: &[(usize, Duration)], limit: usize) -> bool {
    let paused = || frames.len() < limit / 64 && frames.iter().skip(1).any(|(_, after)| *after >= PAUSE);
    StreamKind::of(headers).is_some() || paused()
}

fn frames(cuts: &[(usize, Duration)]) -> Vec<Frame> {
    cuts.iter().map(|&(len, after)| Frame { len, after: whole_ms(after) }).collect()
}

/// The cuts of the decoded content. A frame that decoded to nothing lends its time to the next one.
fn decoded_frames(cuts: &[(usize, Duration)], ends: &[usize]) -> Vec<Frame> {
    let mut frames = Vec::with_capacity(cuts.len());
    let (mut start, mut waited) = (0, Duration::ZERO);
    for ((_, after), &end) in cuts.iter().zip(ends) {
        waited += *after;
        if end > start {
            frames.push(Frame { len: end - start, after: whole_ms(waited) });
            (start, waited) = (end, Duration::ZERO);
        }
    }
    frames
}

/// Finer than a millisecond nothing repeats, and a cassette is easier to read without.
pub(crate) fn whole_ms(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// About what one entry of the list of frames takes.
const FRAME: usize = 24;
const PAUSE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use exchange::{Coding, Header, StreamEncoder};

    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Headers {
        pairs.iter().map(|(n, v)| Header::new(n, *v).unwrap()).collect()
    }

    fn captured(pieces: &[(&[u8], u64)], limit: usize) -> Capture {
        let start = Instant::now();
        let mut capture = Capture::new(limit, start);
        let mut now = start;
        for (piece, ms) in pieces {
            now += Duration::from_millis(*ms);
            capture.push(&Bytes::copy_from_slice(piece), now);
        }
        capture
    }

    #[test]
    fn a_stream_keeps_its_cuts_and_a_plain_body_does_not() {
        let pieces: &[(&[u8], u64)] = &[(b"data: a\n\n", 5), (b"data: b\n\n", 7)];
        let sse = captured(pieces, 999)
            .into_body(&headers(&[("content-type", "text/event-stream")]), Extent::Whole);
        let ms: Vec<_> = sse.frames.iter().map(|f| (f.len, f.after.as_millis())).collect();
        assert_eq!(ms, [(9, 5), (9, 7)]);
        let plain =
            captured(pieces, 999).into_body(&headers(&[("content-type", "text/plain")]), Extent::Whole);
        assert_eq!(plain.frames, []);
        let paused = captured(&[(b"a", 0), (b"b", 150)], 9999).into_body(&headers(&[]), Extent::Whole);
        assert_eq!(paused.frames.len(), 2);
    }

    #[test]
    fn a_coded_stream_keeps_its_cuts_in_the_decoded_content() {
        let mut encoder = StreamEncoder::new(&[Coding::Gzip]).unwrap();
        let first = encoder.push(b"data: a\n\n").unwrap();
        let second = encoder.push(b"data: bb\n\n").unwrap();
        let tail = encoder.finish().unwrap();
        let capture = captured(&[(&first, 1), (&second, 2), (&tail, 3)], 999);
        let of = headers(&[("content-type", "text/event-stream"), ("content-encoding", "gzip")]);
        let body = capture.into_body(&of, Extent::Whole);
        assert_eq!(body.bytes().unwrap().as_ref(), b"data: a\n\ndata: bb\n\n");
        assert_eq!(body.codings, [Coding::Gzip]);
        assert_eq!(body.frames.iter().map(|f| f.len).collect::<Vec<_>>(), [9, 10]);
    }

    #[test]
    fn a_body_that_lies_about_its_coding_is_kept_as_sent_and_one_that_broke_off_as_far_as_it_came() {
        let of = headers(&[("content-encoding", "gzip")]);
        let lie = captured(&[(b"plain", 0)], 999).into_body(&of, Extent::Whole);
        assert_eq!((lie.bytes().unwrap().as_ref(), lie.codings.len()), (b"plain".as_slice(), 0));
        let mut encoder = StreamEncoder::new(&[Coding::Gzip]).unwrap();
        let first = encoder.push(b"so far").unwrap();
        let part = captured(&[(&first, 0)], 999).into_body(&of, Extent::Part);
        assert_eq!((part.bytes().unwrap().as_ref(), part.codings.len()), (b"so far".as_slice(), 1));
        let nothing = captured(&[(b"\x1f\x8b", 0)], 999).into_body(&of, Extent::Part);
        assert_eq!((nothing.bytes().unwrap().as_ref(), nothing.codings.len()), (b"".as_slice(), 1));
    }

    #[test]
    fn endless_crumbs_reach_the_limit_too() {
        let capture = captured(&[(b"x".as_slice(), 0); 100], 1_000);
        assert!(capture.frames.is_empty());
        assert_eq!(capture.size(), 100);
    }

    #[test]
    fn above_the_limit_only_size_and_hash_are_kept() {
        let capture = captured(&[(b"abc", 0), (b"def", 0), (b"ghi", 0)], 5);
        assert!(capture.kept.is_empty());
        let body = capture.into_body(&headers(&[]), Extent::Whole);
        assert_eq!(body.content, Content::Omitted { size: 9, sha256: Sha256::of(b"abcdefghi") });
    }
}
