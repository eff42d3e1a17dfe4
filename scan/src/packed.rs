//! Compressed data, unpacked within a bound for the whole file.

use std::io::{ErrorKind, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use memchr::memmem;

use crate::{report::Layer, view::Search};

/// Whether the bytes start as one of the formats does.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    is_gzip(bytes) || is_zstd(bytes) || is_zlib(bytes) || bytes.starts_with(ZIP_ENTRY)
}

/// What a file or a decoded value unpacks to, if it is packed as a whole.
pub(crate) fn unpack(bytes: &[u8], search: &mut Search) -> Option<(Vec<u8>, Layer)> {
    if is_gzip(bytes) {
        return Some((read(MultiGzDecoder::new(bytes), search)?, Layer::Gzip));
    }
    if is_zstd(bytes) {
        return Some((read(zstd::stream::read::Decoder::new(bytes).ok()?, search)?, Layer::Zstd));
    }
    if is_zlib(bytes) {
        return Some((read(ZlibDecoder::new(bytes), search)?, Layer::Deflate));
    }
    None
}

/// Deflate without a header says nothing of itself: it is tried on short values that are not text.
pub(crate) fn inflate(bytes: &[u8], search: &mut Search) -> Option<(Vec<u8>, Layer)> {
    if bytes.len() < 32 || bytes.len() > MOST_TRIED {
        return None;
    }
    let text = read(DeflateDecoder::new(bytes), search)?;
    let is_sense = text.len() > bytes.len() / 2 && crate::view::is_text(&text);
    is_sense.then_some((text, Layer::Deflate))
}

/// The compressed entries of a zip archive, found by their headers, with their places. Stored ones are plain bytes.
pub(crate) fn zip_entries(bytes: &[u8], search: &mut Search) -> Vec<(usize, Vec<u8>)> {
    let mut entries = Vec::new();
    if !bytes.starts_with(ZIP_ENTRY) {
        return entries;
    }
    let mut at = 0;
    while let Some(next) = memmem::find(&bytes[at..], ZIP_ENTRY) {
        let start = at + next;
        at = start + ZIP_ENTRY.len();
        let Some(header) = bytes.get(start..start + ZIP_HEADER) else { break };
        let number = |i: usize| usize::from(u16::from_le_bytes([header[i], header[i + 1]]));
        let data = start + ZIP_HEADER + number(26) + number(28);
        if number(8) == DEFLATED
            && let Some(data) = bytes.get(data..)
            && let Some(entry) = read(DeflateDecoder::new(data), search)
        {
            entries.push((start, entry));
        }
    }
    entries
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x1f\x8b\x08")
}

fn is_zstd(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x28\xb5\x2f\xfd")
}

fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..])
}

/// As far as it goes: a stream that was cut off still shows what it had.
fn read(mut packed: impl Read, search: &mut Search) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut chunk = vec![0; 8 << 10];
    loop {
        match packed.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => out.extend_from_slice(&chunk[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
        if search.unpacked + out.len() > MOST_BYTES {
            search.is_cut_short = true;
            break;
        }
    }
    search.unpacked += out.len();
    (!out.is_empty()).then_some(out)
}

/// Unpacked from one file, all in all.
pub(crate) const MOST_BYTES: usize = 64 << 20;
const MOST_TRIED: usize = 1 << 20;
const ZIP_ENTRY: &[u8] = b"PK\x03\x04";
const ZIP_HEADER: usize = 30;
const DEFLATED: usize = 8;
