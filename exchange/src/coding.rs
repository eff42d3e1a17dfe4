//! Content codings: taken off for the cassette, put on again for the wire.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::{Compression, write};
use thiserror::Error;

use crate::Headers;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

#[derive(Debug, Error)]
pub enum CodingError {
    #[error("content is not valid {}: {source}", coding.as_str())]
    Invalid { coding: Coding, source: io::Error },
    #[error("content unpacks to more than {0} bytes")]
    TooLarge(usize),
}

impl Coding {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    fn from_token(token: &str) -> Option<Self> {
        Some(match token.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }
}

/// The codings a message's `content-encoding` names, in order. `None` when one of them is unknown to us, or there
/// are more than any honest server sends.
pub fn codings_of(headers: &Headers) -> Option<Vec<Coding>> {
    let mut codings = Vec::new();
    for header in headers.all("content-encoding") {
        for token in header.text()?.split(',').map(str::trim) {
            if !token.is_empty() && !token.eq_ignore_ascii_case("identity") {
                codings.push(Coding::from_token(token)?);
            }
        }
    }
    (codings.len() <= 3).then_some(codings)
}

/// Whether an `accept-encoding` value takes all of these codings.
pub fn accepts(accept_encoding: Option<&str>, codings: &[Coding]) -> bool {
    codings.iter().all(|coding| accept_encoding.is_some_and(|value| accepts_one(value, coding.as_str())))
}

/// Takes the codings off a body that came in frames. Gives the content and, for each frame, how much of the content
/// was known once that frame had come.
pub fn decode_frames<'a>(
    codings: &[Coding],
    frames: impl Iterator<Item = &'a [u8]>,
    limit: usize,
) -> Result<(Vec<u8>, Vec<usize>), CodingError> {
    let mut frames: Vec<Vec<u8>> = frames.map(<[u8]>::to_vec).collect();
    for &coding in codings.iter().rev() {
        frames = decode_one(coding, &frames, limit)?;
    }
    Ok(joined(frames))
}

/// The same for a body that broke off: as much of it as can be known. The frame in which a coding fails, and what came
/// behind it, add nothing.
pub fn decode_cut_frames<'a>(
    codings: &[Coding],
    frames: impl Iterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<u8>, Vec<usize>) {
    let mut frames: Vec<Vec<u8>> = frames.map(<[u8]>::to_vec).collect();
    for &coding in codings.iter().rev() {
        frames = decode_cut(coding, &frames, limit);
    }
    joined(frames)
}

/// Puts the codings on a whole body.
pub fn encode(codings: &[Coding], content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = StreamEncoder::new(codings)?;
    let mut out = encoder.push(content)?.to_vec();
    out.extend_from_slice(&encoder.finish()?);
    Ok(out)
}

/// Puts codings on a stream: what has been pushed can be decoded by the receiver at once.
pub struct StreamEncoder(Vec<Encoder>);

impl StreamEncoder {
    pub fn new(codings: &[Coding]) -> io::Result<Self> {
        Ok(Self(codings.iter().map(|&c| Encoder::new(c)).collect::<io::Result<_>>()?))
    }

    pub fn push(&mut self, content: &[u8]) -> io::Result<Bytes> {
        let mut piece = content.to_vec();
        for encoder in &mut self.0 {
            piece = encoder.push(&piece)?;
        }
        Ok(piece.into())
    }

    pub fn finish(self) -> io::Result<Bytes> {
        let mut tail = Vec::new();
        for mut encoder in self.0 {
            let mut piece = if tail.is_empty() { Vec::new() } else { encoder.push(&tail)? };
            piece.extend(encoder.finish()?);
            tail = piece;
        }
        Ok(tail.into())
    }
}

impl std::fmt::Debug for StreamEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StreamEncoder({} codings)", self.0.len())
    }
}

enum Encoder {
    Gzip(write::GzEncoder<Vec<u8>>),
    Deflate(write::ZlibEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    fn new(coding: Coding) -> io::Result<Self> {
        Ok(match coding {
            Coding::Gzip => Self::Gzip(write::GzEncoder::new(Vec::new(), Compression::fast())),
            Coding::Deflate => Self::Deflate(write::ZlibEncoder::new(Vec::new(), Compression::fast())),
            Coding::Brotli => Self::Brotli(Box::new(brotli::CompressorWriter::new(Vec::new(), 4096, 4, 20))),
            Coding::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(Vec::new(), 1)?),
        })
    }

    fn push(&mut self, content: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(e) => write_and_take(e, content, write::GzEncoder::get_mut),
            Self::Deflate(e) => write_and_take(e, content, write::ZlibEncoder::get_mut),
            Self::Brotli(e) => write_and_take(e.as_mut(), content, brotli::CompressorWriter::get_mut),
            Self::Zstd(e) => write_and_take(e, content, zstd::stream::write::Encoder::get_mut),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(e) => e.finish(),
            Self::Deflate(e) => e.finish(),
            Self::Brotli(e) => Ok(e.into_inner()),
            Self::Zstd(e) => e.finish(),
        }
    }
}

fn write_and_take<W: Write>(
    encoder: &mut W,
    content: &[u8],
    inner: impl FnOnce(&mut W) -> &mut Vec<u8>,
) -> io::Result<Vec<u8>> {
    encoder.write_all(content)?;
    encoder.flush()?;
    Ok(std::mem::take(inner(encoder)))
}

fn accepts_one(accept_encoding: &str, coding: &str) -> bool {
    let quality_of = |wanted: &str| {
        accept_encoding.split(',').find_map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let name = parts.next()?;
            if !name.eq_ignore_ascii_case(wanted) {
                return None;
            }
            let quality =
                parts.find_map(|p| p.strip_prefix("q=")).map_or(Some(1.0), |q| q.parse::<f32>().ok());
            Some(quality.unwrap_or(0.0))
        })
    };
    quality_of(coding).or_else(|| quality_of("*")).is_some_and(|q| q > 0.0)
}

/// Frames as one content, and where each ends in it.
fn joined(frames: Vec<Vec<u8>>) -> (Vec<u8>, Vec<usize>) {
    let mut content = Vec::new();
    let ends = frames
        .into_iter()
        .map(|frame| {
            content.extend_from_slice(&frame);
            content.len()
        })
        .collect();
    (content, ends)
}

fn decode_cut(coding: Coding, frames: &[Vec<u8>], limit: usize) -> Vec<Vec<u8>> {
    let sink = Limited { bytes: Vec::new(), left: limit };
    match coding {
        Coding::Gzip => pump_cut(write::MultiGzDecoder::new(sink), frames, |d| &mut d.get_mut().bytes),
        Coding::Deflate if is_zlib(frames) => {
            pump_cut(write::ZlibDecoder::new(sink), frames, |d| &mut d.get_mut().bytes)
        }
        Coding::Deflate => pump_cut(write::DeflateDecoder::new(sink), frames, |d| &mut d.get_mut().bytes),
        Coding::Brotli => {
            pump_cut(brotli::DecompressorWriter::new(sink, 4096), frames, |d| &mut d.get_mut().bytes)
        }
        Coding::Zstd => match zstd::stream::write::Decoder::new(sink) {
            Ok(decoder) => pump_cut(decoder, frames, |d| &mut d.get_mut().bytes),
            Err(_) => vec![Vec::new(); frames.len()],
        },
    }
}

fn pump_cut<W: Write>(
    mut decoder: W,
    frames: &[Vec<u8>],
    inner: impl Fn(&mut W) -> &mut Vec<u8>,
) -> Vec<Vec<u8>> {
    let mut broken = false;
    frames
        .iter()
        .map(|frame| {
            if !broken {
                broken = decoder.write_all(frame).and_then(|()| decoder.flush()).is_err();
            }
            std::mem::take(inner(&mut decoder))
        })
        .collect()
}

/// The zlib header tells RFC 1950 from the bare RFC 1951 stream that some servers send as `deflate`.
fn is_zlib(frames: &[Vec<u8>]) -> bool {
    let head = frames.iter().flatten().take(2).copied().collect::<Vec<u8>>();
    head.len() == 2
        && head[0] & 0x0f == 8
        && (u16::from(head[0]) << 8 | u16::from(head[1])).is_multiple_of(31)
}

fn decode_one(coding: Coding, frames: &[Vec<u8>], limit: usize) -> Result<Vec<Vec<u8>>, CodingError> {
    let sink = Limited { bytes: Vec::new(), left: limit };
    let wrap = |source: io::Error| match source.get_ref().is_some_and(|e| e.is::<OverLimit>()) {
        true => CodingError::TooLarge(limit),
        false => CodingError::Invalid { coding, source },
    };
    let is_zlib = is_zlib(frames);
    if coding == Coding::Deflate {
        check_deflate_is_whole(&frames.concat(), is_zlib, limit).map_err(wrap)?;
    }
    let decoded = match coding {
        Coding::Gzip => {
            let mut d = write::MultiGzDecoder::new(sink);
            let out = pump(&mut d, frames, |d| &mut d.get_mut().bytes);
            out.and_then(|mut out| d.finish().map(|s| push_tail(&mut out, s.bytes)).map(|()| out))
        }
        Coding::Deflate if is_zlib => {
            let mut d = write::ZlibDecoder::new(sink);
            let out = pump(&mut d, frames, |d| &mut d.get_mut().bytes);
            out.and_then(|mut out| d.finish().map(|s| push_tail(&mut out, s.bytes)).map(|()| out))
        }
        Coding::Deflate => {
            let mut d = write::DeflateDecoder::new(sink);
            let out = pump(&mut d, frames, |d| &mut d.get_mut().bytes);
            out.and_then(|mut out| d.finish().map(|s| push_tail(&mut out, s.bytes)).map(|()| out))
        }
        Coding::Brotli => {
            let mut d = brotli::DecompressorWriter::new(sink, 4096);
            let out = pump(&mut d, frames, |d| &mut d.get_mut().bytes);
            out.and_then(|mut out| {
                d.close()?;
                push_tail(&mut out, std::mem::take(&mut d.get_mut().bytes));
                Ok(out)
            })
        }
        Coding::Zstd => zstd::stream::write::Decoder::new(sink).and_then(|mut d| {
            let mut out = pump(&mut d, frames, |d| &mut d.get_mut().bytes)?;
            push_tail(&mut out, d.into_inner().bytes);
            Ok(out)
        }),
    };
    decoded.map_err(wrap)
}

/// The writing decoders take a deflate stream that stops early for a whole one; the reading ones do not.
fn check_deflate_is_whole(wire: &[u8], is_zlib: bool, limit: usize) -> io::Result<()> {
    let mut sink = Limited { bytes: Vec::new(), left: limit };
    match is_zlib {
        true => io::copy(&mut flate2::bufread::ZlibDecoder::new(wire), &mut sink)?,
        false => io::copy(&mut flate2::bufread::DeflateDecoder::new(wire), &mut sink)?,
    };
    Ok(())
}

fn pump<W: Write>(
    decoder: &mut W,
    frames: &[Vec<u8>],
    inner: impl Fn(&mut W) -> &mut Vec<u8>,
) -> io::Result<Vec<Vec<u8>>> {
    frames
        .iter()
        .map(|frame| {
            decoder.write_all(frame)?;
            decoder.flush()?;
            Ok(std::mem::take(inner(decoder)))
        })
        .collect()
}

fn push_tail(frames: &mut Vec<Vec<u8>>, tail: Vec<u8>) {
    if tail.is_empty() {
        return;
    }
    match frames.last_mut() {
        Some(last) => last.extend(tail),
        None => frames.push(tail),
    }
}

/// A sink that refuses to grow past a limit, so that a small bomb cannot become a large body.
struct Limited {
    bytes: Vec<u8>,
    left: usize,
}

#[derive(Debug, Error)]
#[error("over the limit")]
struct OverLimit;

impl Write for Limited {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(buf.len()).ok_or_else(|| io::Error::other(OverLimit))?;
        self.bytes.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Header;

    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    proptest! {
        #[test]
        fn what_was_encoded_in_pieces_decodes_to_the_same_pieces(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 1..6),
            pick in 0usize..4,
        ) {
            let codings = [ALL[pick]];
            let mut encoder = StreamEncoder::new(&codings).unwrap();
            let mut wire: Vec<Bytes> = pieces.iter().map(|p| encoder.push(p).unwrap()).collect();
            wire.push(encoder.finish().unwrap());
            let (content, ends) = decode_frames(&codings, wire.iter().map(|b| b.as_ref()), 1 << 20).unwrap();
            prop_assert_eq!(&content, &pieces.concat());
            let mut total = 0;
            for (piece, end) in pieces.iter().zip(&ends) {
                total += piece.len();
                prop_assert_eq!(*end, total, "a pushed piece must be readable at once");
            }
        }
    }

    #[test]
    fn two_codings_are_taken_off_in_reverse() {
        let codings = [Coding::Gzip, Coding::Brotli];
        let wire = encode(&codings, b"twice").unwrap();
        let (content, _) = decode_frames(&codings, [wire.as_slice()].into_iter(), 1000).unwrap();
        assert_eq!(content, b"twice");
    }

    #[test]
    fn raw_deflate_is_understood() {
        let mut e = write::DeflateEncoder::new(Vec::new(), Compression::fast());
        e.write_all(b"bare stream").unwrap();
        let wire = e.finish().unwrap();
        let (content, _) = decode_frames(&[Coding::Deflate], [wire.as_slice()].into_iter(), 1000).unwrap();
        assert_eq!(content, b"bare stream");
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        for coding in ALL {
            let wire = encode(&[coding], &vec![0; 1 << 20]).unwrap();
            let result = decode_frames(&[coding], [wire.as_slice()].into_iter(), 1000);
            assert!(matches!(result, Err(CodingError::TooLarge(1000))), "{coding:?}: {result:?}");
        }
    }

    #[test]
    fn of_a_body_that_broke_off_all_that_came_is_known() {
        for coding in ALL {
            let mut encoder = StreamEncoder::new(&[coding]).unwrap();
            let first = encoder.push(b"first piece, ").unwrap();
            let second = encoder.push(b"second piece").unwrap();
            let pieces = [first.as_ref(), second.as_ref()];
            let (content, ends) = decode_cut_frames(&[coding], pieces.into_iter(), 1000);
            assert_eq!(
                (content.as_slice(), ends),
                (&b"first piece, second piece"[..], vec![13, 25]),
                "{coding:?}"
            );
            let broken = [first.as_ref(), b"\xff\xff\xff\xff", second.as_ref()];
            let (content, _) = decode_cut_frames(&[coding], broken.into_iter(), 1000);
            assert!(content.starts_with(b"first piece, "), "{coding:?}: {content:?}");
        }
    }

    #[test]
    fn a_truncated_gzip_or_brotli_body_is_an_error() {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli] {
            let wire = encode(&[coding], b"some content that is long enough to be cut").unwrap();
            let result = decode_frames(&[coding], [&wire[..wire.len() - 6]].into_iter(), 1000);
            assert!(matches!(result, Err(CodingError::Invalid { .. })), "{coding:?}: {result:?}");
        }
    }

    #[test]
    fn accept_encoding_is_read_with_its_weights() {
        assert!(accepts(Some("gzip, deflate"), &[Coding::Gzip]));
        assert!(!accepts(Some("gzip;q=0, *"), &[Coding::Gzip]));
        assert!(accepts(Some("*"), &[Coding::Brotli]));
        assert!(!accepts(None, &[Coding::Gzip]));
        assert!(accepts(None, &[]));
    }

    #[test]
    fn an_unknown_coding_is_left_alone() {
        let headers: Headers =
            [Header::new("content-encoding", "aws-chunked").unwrap()].into_iter().collect();
        assert_eq!(codings_of(&headers), None);
    }
}
