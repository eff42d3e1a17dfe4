//! Base64 and compressed data inside of texts: taken off, changed, and put on again, so that what the client decodes is
//! still what it was but for the change.

use std::{
    io::{Read, Write},
    ops::Range,
};

use base64::{
    Engine,
    engine::{
        DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig,
        general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
    },
};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};

use crate::edits::Edit;

/// Changes every run of base64 in a text whose content `change` wants changed.
/// Runs that are not new, and content in which `may_matter` sees nothing, are passed over.
pub(super) fn in_base64(
    text: &[u8],
    is_new: &dyn Fn(&Range<usize>) -> bool,
    may_matter: &dyn Fn(&[u8]) -> bool,
    change: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Vec<Edit<'static>> {
    let mut edits = Vec::new();
    each_run(text, &mut |span| {
        if !is_new(&span) {
            return;
        }
        let run = &text[span.clone()];
        if let Some((content, spelling)) = decoded(run).filter(|(content, _)| may_matter(content))
            && let Some(new) = change(&content)
        {
            edits.push(Edit::new(span, spelling.encode(&new).into_bytes()));
        }
    });
    edits
}

/// What is coded in either alphabet, with padding or without.
pub(super) fn decoded_base64(text: &[u8]) -> Option<Vec<u8>> {
    decoded(text).map(|(content, _)| content)
}

/// Whether a run is base64 of something that `may_matter`.
pub(super) fn may_matter(run: &[u8], may_matter: &dyn Fn(&[u8]) -> bool) -> bool {
    decoded(run).is_some_and(|(content, _)| may_matter(&content))
}

/// Whether a content is, or holds, a text that is long enough for a token; most runs are words and ids, and hold none.
pub(super) fn may_hold_text(content: &[u8]) -> bool {
    if has_mark(content) {
        return true;
    }
    let mut printable = 0;
    content.iter().any(|b| {
        printable = if matches!(b, b' '..=b'~' | b'\n' | b'\r' | b'\t') { printable + 1 } else { 0 };
        printable >= SHORTEST_TEXT
    })
}

/// The content of a gzip or zstd file with the change that `change` wants. It is given `most` bytes of the content at the
/// most.
pub(super) fn in_compressed(
    data: &[u8],
    most: u64,
    change: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let packing = Packing::of(data)?;
    let new = change(&packing.unpacked(data, most)?)?;
    match packing {
        Packing::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&new).ok()?;
            encoder.finish().ok()
        }
        Packing::Zstd => zstd::stream::encode_all(new.as_slice(), 3).ok(),
    }
}

/// Whether the data begins like a compressed file.
pub(super) fn has_mark(data: &[u8]) -> bool {
    Packing::of(data).is_some()
}

/// Whether all that anybody can unpack is little enough to be looked at.
pub(super) fn can_be_read(data: &[u8]) -> bool {
    Packing::of(data)
        .and_then(|packing| packing.unpacked(data, MOST))
        .is_some_and(|content| (content.len() as u64) < MOST)
}

#[derive(Debug, Clone, Copy)]
enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn of(data: &[u8]) -> Option<Self> {
        match data {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// As far as it can be read: a file may be cut short.
    fn unpacked(self, data: &[u8], most: u64) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        let reader: &mut dyn Read = match self {
            Self::Gzip => &mut MultiGzDecoder::new(data),
            Self::Zstd => &mut zstd::stream::read::Decoder::new(data).ok()?,
        };
        let _ = reader.take(most).read_to_end(&mut content);
        Some(content)
    }
}

#[derive(Debug, Clone, Copy)]
struct Spelling {
    url_safe: bool,
    padded: bool,
}

impl Spelling {
    fn encode(self, content: &[u8]) -> String {
        match (self.url_safe, self.padded) {
            (false, true) => STANDARD.encode(content),
            (false, false) => STANDARD_NO_PAD.encode(content),
            (true, true) => URL_SAFE.encode(content),
            (true, false) => URL_SAFE_NO_PAD.encode(content),
        }
    }
}

/// Visits runs that may be base64, with the line breaks that wrap it.
pub(super) fn each_run(text: &[u8], visit: &mut dyn FnMut(Range<usize>)) {
    let mut at = 0;
    while at < text.len() {
        // Steps over what cannot be a run: one has a character of base64 at every place of this length.
        if at + SHORTEST > text.len() {
            return;
        }
        if let Some(last) = text[at..at + SHORTEST].iter().rposition(|b| !is_base64(*b)) {
            at += last + 1;
            continue;
        }
        let start = at;
        let mut end = at;
        let mut line = start;
        while at < text.len() {
            if is_base64(text[at]) {
                at += 1;
                end = at;
                continue;
            }
            let breaks = text[at..].iter().take(2).take_while(|b| matches!(b, b'\r' | b'\n')).count();
            // Only long lines are wrapped; elsewhere the next line is another value.
            if breaks > 0
                && at - line >= SHORTEST_LINE
                && text.get(at + breaks).is_some_and(|b| is_base64(*b))
            {
                at += breaks;
                line = at;
                continue;
            }
            break;
        }
        while at < text.len() && text[at] == b'=' && at - end < 2 {
            at += 1;
        }
        visit(start..at.max(end));
        at = at.max(end).max(start + 1);
    }
}

fn decoded(run: &[u8]) -> Option<(Vec<u8>, Spelling)> {
    let url_safe = run.iter().any(|b| matches!(b, b'-' | b'_'));
    let spelling =
        Spelling { url_safe, padded: run.ends_with(b"=") || (!url_safe && run.len().is_multiple_of(4)) };
    let engine = if url_safe { &ANY_URL_SAFE } else { &ANY_STANDARD };
    let wrapped = run.iter().any(|b| matches!(b, b'\r' | b'\n'));
    let content = match wrapped {
        true => {
            engine.decode(run.iter().copied().filter(|b| !matches!(b, b'\r' | b'\n')).collect::<Vec<u8>>())
        }
        false => engine.decode(run),
    };
    content.ok().map(|content| (content, spelling))
}

fn is_base64(b: u8) -> bool {
    BASE64[usize::from(b)]
}

/// Asked of every byte.
static BASE64: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        table[b] = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
        b += 1;
    }
    table
};

const ANY: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const ANY_STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, ANY);
const ANY_URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, ANY);

/// Fewer characters hold no secret.
const SHORTEST: usize = 16;
const SHORTEST_LINE: usize = 56;
/// No token is shorter.
const SHORTEST_TEXT: usize = 16;
/// What the files of one body may unpack to.
pub(super) const MOST: u64 = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::apply;

    fn changed(text: &str) -> String {
        let edits = in_base64(text.as_bytes(), &|_| true, &|_| true, &mut |content| {
            let text = std::str::from_utf8(content).ok()?;
            text.contains("secret").then(|| text.replace("secret", "X").into_bytes())
        });
        String::from_utf8(apply(text.as_bytes(), &edits)).unwrap()
    }

    #[test]
    fn a_run_is_changed_in_its_own_spelling() {
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
            for content in ["user:secret???>>>", "user:secret???>>>1", "user:secret???>>>12"] {
                let text = format!("Basic {}, then", engine.encode(content));
                let new = changed(&text);
                let word = new.strip_prefix("Basic ").unwrap().strip_suffix(", then").unwrap();
                assert_eq!(decoded(word.as_bytes()).unwrap().0, content.replace("secret", "X").into_bytes());
            }
        }
    }

    #[test]
    fn base64_over_several_lines_is_one() {
        let content = format!("{}secret{}", "a".repeat(50), "b".repeat(80));
        let encoded = STANDARD.encode(&content);
        let wrapped = encoded
            .as_bytes()
            .chunks(60)
            .map(|c| std::str::from_utf8(c).unwrap())
            .collect::<Vec<_>>()
            .join("\n");
        assert_eq!(
            changed(&format!("{wrapped}\n")),
            format!("{}\n", STANDARD.encode(content.replace("secret", "X")))
        );
    }

    #[test]
    fn other_text_is_left_alone() {
        for text in ["short", "a sentence of usual words, /and/a/path/that/is/long", "", "===="] {
            assert_eq!(changed(text), text);
        }
    }

    #[test]
    fn a_compressed_file_is_changed_inside() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(b"a secret file").unwrap();
        let files = [encoder.finish().unwrap(), zstd::stream::encode_all(&b"a secret file"[..], 3).unwrap()];
        for file in files {
            let new = in_compressed(&file, MOST, &mut |content| Some(content.to_ascii_uppercase())).unwrap();
            let mut seen = Vec::new();
            in_compressed(&new, MOST, &mut |content| {
                seen = content.to_vec();
                None
            });
            assert_eq!(seen, b"A SECRET FILE");
        }
    }
}
