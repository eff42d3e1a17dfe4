//! From a file's bytes to a document: unpacked, decoded, parsed.

use std::{io::Read, sync::Arc};

use yaml::{Limits, Node, Position, Problem, Span};

use super::{MOST_BYTES, Refusal};

/// A foreign text file.
#[derive(Debug, Clone)]
pub(super) struct Text(Arc<str>);

/// Takes a gzip or zlib coat off, where a recorder put one on the whole file.
pub(super) fn unpack(bytes: &[u8]) -> Result<std::borrow::Cow<'_, [u8]>, Refusal> {
    let too_large = || {
        Refusal::with_help(
            format!("the file is larger than the {} MiB that are read", MOST_BYTES >> 20),
            "split it into several files",
        )
    };
    if bytes.len() > MOST_BYTES {
        return Err(too_large());
    }
    let Some(unpacking) = unpacking(bytes) else { return Ok(bytes.into()) };
    match read_to_limit(unpacking) {
        Ok(unpacked) if unpacked.len() > MOST_BYTES => Err(too_large()),
        Ok(unpacked) => Ok(unpacked.into()),
        Err(error) => Err(Refusal::whole(format!("the compressed file cannot be unpacked: {error}"))),
    }
}

/// A reader of what is in a coat, if there is one.
pub(super) fn unpacking(bytes: &[u8]) -> Option<Box<dyn Read + '_>> {
    match bytes {
        [0x1f, 0x8b, ..] => Some(Box::new(flate2::read::MultiGzDecoder::new(bytes))),
        // The header of zlib, whose two bytes are a multiple of 31 and never the start of a text of ours.
        [0x78, second @ (0x01 | 0x5e | 0x9c | 0xda), ..] if (0x7800 + u16::from(*second)) % 31 == 0 => {
            Some(Box::new(flate2::read::ZlibDecoder::new(bytes)))
        }
        _ => None,
    }
}

fn read_to_limit(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    reader.take(MOST_BYTES as u64 + 1).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

impl Text {
    pub(super) fn of(bytes: &[u8], name: &str) -> Result<Self, Refusal> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self(text.into())),
            Err(error) => {
                // A picture is no broken recording.
                if !super::is_recording_name(name) {
                    return Err(Refusal::Unknown);
                }
                let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
                let end = good.len();
                let problem = Problem::new(Span::new(end, end), "the file is not UTF-8 text from here on");
                Err(Refusal::At { text: good.into(), problem: Box::new(problem) })
            }
        }
    }

    pub(super) fn parse(&self, name: &str) -> Result<Node<'_>, Problem> {
        let limits = Limits::for_foreign(self.0.len());
        let opening = self.0.trim_start_matches('\u{feff}').trim_start();
        if !opening.starts_with(['{', '[']) {
            return yaml::parse_foreign(&self.0, &limits);
        }
        match yaml::parse_json(&self.0, &limits) {
            // YAML may open with a bracket too.
            Err(_) if name.contains(".y") => yaml::parse_foreign(&self.0, &limits),
            other => other,
        }
    }

    /// The same text where only its indentation kept it from being read.
    pub(super) fn mended(&self) -> Option<Self> {
        yaml::mend_indentation(&self.0).map(|text| Self(text.into()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn position(&self, span: Span) -> Position {
        span.position(&self.0)
    }

    pub(super) fn refuse(&self, problem: Problem) -> Refusal {
        Refusal::At { text: Arc::clone(&self.0), problem: Box::new(problem) }
    }
}
