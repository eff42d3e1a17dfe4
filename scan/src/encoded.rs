//! Runs of base64 and hex in text, decoded.

use std::ops::Range;

use crate::{report::Layer, view::Piece};

/// Hands on what every run of base64 or hex decodes to that `is_wanted`, with the pieces that its characters come from.
pub(crate) fn each_run(
    text: &[u8],
    is_wanted: impl Fn(usize, usize) -> bool,
    mut hand: impl FnMut(Vec<u8>, Vec<Piece>, Layer),
) {
    let mut at = 0;
    let mut lines: Vec<Range<usize>> = Vec::new();
    while let Some(start) = next_run(text, at) {
        let end = run_end(text, start);
        at = end;
        lines.clear();
        lines.push(start..end);
        if end - start >= LEAST_LINE && is_line_start(text, start) {
            while let Some(next) = next_line(text, at) {
                lines.push(next.clone());
                at = next.end;
            }
        }
        let all: usize = lines.iter().map(Range::len).sum();
        if all < LEAST || !is_wanted(start, at) {
            continue;
        }
        decode(text, &lines, all, &mut hand);
    }
}

/// One value, decoded whole.
pub(crate) fn base64(characters: &[u8]) -> Vec<u8> {
    let coded = characters.iter().position(|b| !is_coded(*b)).unwrap_or(characters.len());
    let mut decoder = Decoder::new(Layer::Base64, coded);
    decoder.take(&characters[..coded]);
    decoder.out
}

fn decode(
    text: &[u8],
    lines: &[Range<usize>],
    all: usize,
    hand: &mut impl FnMut(Vec<u8>, Vec<Piece>, Layer),
) {
    let is_hex = lines.iter().all(|line| text[line.clone()].iter().all(u8::is_ascii_hexdigit));
    let layer = if is_hex && all >= LEAST_HEX { Layer::Hex } else { Layer::Base64 };
    let is_short = all <= MOST_SHIFTED;
    // Text of the same alphabet may stand before a code, and then it does not start where the run does.
    let shifts = match layer {
        Layer::Hex => 1 + all % 2,
        _ if is_short => 4,
        _ => 1,
    };
    for shift in 0..shifts {
        // Most short runs are words and paths: only those that decode to text, or to a packed one, are decoded.
        let first = &text[lines[0].clone()];
        if layer == Layer::Base64
            && is_short
            && !(is_text_shifted(first, shift) || shift == 0 && may_be_packed(first))
        {
            continue;
        }
        let mut decoder = Decoder::new(layer, all);
        let mut pieces = Vec::with_capacity(lines.len());
        let mut skip = shift;
        let mut out = 0;
        for line in lines {
            let from = (line.start + skip).min(line.end);
            skip -= from - line.start;
            pieces.push(Piece { out, source: from });
            out += line.end - from;
            decoder.take(&text[from..line.end]);
        }
        hand(decoder.out, pieces, layer);
    }
}

/// Whether ASCII could be what this decodes to, judged by the highest bit of some bytes at the start and in the middle.
fn is_text_shifted(run: &[u8], shift: usize) -> bool {
    let is_ascii = |quad: &[u8]| {
        let value = |i: usize| BASE64[usize::from(quad[i])];
        // The highest bits of the three bytes that four characters hold.
        value(0) & 0x20 == 0 && value(1) & 0x08 == 0 && value(2) & 0x02 == 0
    };
    let quads = run.get(shift..).unwrap_or_default();
    let middle = &quads[quads.len() / 8 * 4..];
    [quads, middle].iter().any(|part| {
        let sample = part.chunks_exact(4).take(SAMPLE);
        let all = sample.len();
        let ascii = sample.filter(|quad| is_ascii(quad)).count();
        all > 0 && ascii * 5 >= all * 3
    })
}

/// By the characters that the first bytes of gzip, zstd, zlib and zip are written with; deflate alone has none, and
/// is looked for only in what looks random.
fn may_be_packed(run: &[u8]) -> bool {
    let starts = [&b"H4sI"[..], b"KLUv", b"eJ", b"eN", b"eA", b"eF", b"UEsD"];
    let has = |is: fn(&u8) -> bool| run.iter().any(is);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    starts.iter().any(|start| run.starts_with(start)) || (run.len() >= LEAST_DEFLATED && is_mixed)
}

struct Decoder {
    out: Vec<u8>,
    bits: u32,
    held: u32,
    width: u32,
}

impl Decoder {
    fn new(layer: Layer, characters: usize) -> Self {
        let width = if layer == Layer::Hex { 4 } else { 6 };
        Self { out: Vec::with_capacity(characters * width as usize / 8 + 1), bits: 0, held: 0, width }
    }

    fn take(&mut self, characters: &[u8]) {
        let table = if self.width == 4 { &HEX } else { &BASE64 };
        let mut rest = characters;
        if self.width == 6 && self.held == 0 {
            let mut whole = characters.chunks_exact(4);
            for four in &mut whole {
                let value = |i: usize| u32::from(table[usize::from(four[i])]);
                let bits = value(0) << 18 | value(1) << 12 | value(2) << 6 | value(3);
                self.out.extend_from_slice(&bits.to_be_bytes()[1..]);
            }
            rest = whole.remainder();
        }
        for character in rest {
            self.bits = self.bits << self.width | u32::from(table[usize::from(*character)]);
            self.held += self.width;
            if self.held >= 8 {
                self.held -= 8;
                self.out.push((self.bits >> self.held) as u8);
            }
        }
    }
}

fn next_run(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        // A run as long as wanted covers one of the places a stride apart.
        let probe = at + LEAST - 1;
        if is_coded(*text.get(probe)?) {
            let back = text[at..probe].iter().rev().take_while(|b| is_coded(**b)).count();
            let start = probe - back;
            if start == at
                || text.get(start..start + LEAST).is_some_and(|run| run.iter().all(|b| is_coded(*b)))
            {
                return Some(start);
            }
            at = run_end(text, probe);
        } else {
            at = probe + 1;
        }
    }
}

fn run_end(text: &[u8], start: usize) -> usize {
    text[start..].iter().position(|b| !is_coded(*b)).map_or(text.len(), |length| start + length)
}

/// Only an indent before it.
fn is_line_start(text: &[u8], start: usize) -> bool {
    let before = text[..start].iter().rev().find(|b| !matches!(b, b' ' | b'\t'));
    matches!(before, None | Some(b'\n' | b'"' | b'\''))
}

/// The run that the next line is, if this one ends here.
fn next_line(text: &[u8], end: usize) -> Option<Range<usize>> {
    let rest = &text[end..];
    let rest = rest.strip_prefix(b"\r").unwrap_or(rest);
    let rest = rest.strip_prefix(b"\n")?;
    let indent = rest.iter().take(MOST_INDENT).take_while(|b| matches!(b, b' ' | b'\t')).count();
    let start = text.len() - rest.len() + indent;
    let end = run_end(text, start);
    let behind = text.get(end).copied();
    let is_whole_line = matches!(behind, None | Some(b'\n' | b'\r' | b'=' | b'"' | b'\''));
    (end > start && is_whole_line).then_some(start..end)
}

fn is_coded(byte: u8) -> bool {
    BASE64[usize::from(byte)] != NONE
}

const fn table(alphabet: &[(u8, u8, u8)]) -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut i = 0;
    while i < alphabet.len() {
        let (first, last, value) = alphabet[i];
        let mut byte = first;
        while byte <= last {
            table[byte as usize] = value + (byte - first);
            byte += 1;
        }
        i += 1;
    }
    table
}

/// Both alphabets, standard and for URLs.
static BASE64: [u8; 256] = table(&[
    (b'A', b'Z', 0),
    (b'a', b'z', 26),
    (b'0', b'9', 52),
    (b'+', b'+', 62),
    (b'-', b'-', 62),
    (b'/', b'/', 63),
    (b'_', b'_', 63),
]);
static HEX: [u8; 256] = table(&[(b'0', b'9', 0), (b'a', b'f', 10), (b'A', b'F', 10)]);
const NONE: u8 = 0xff;
/// Shorter ones hold no secret.
const LEAST: usize = 24;
const LEAST_HEX: usize = 32;
/// Lines of wrapped base64 are not shorter, but for the last.
const LEAST_LINE: usize = 40;
const MOST_SHIFTED: usize = 2048;
/// Groups of four characters.
const SAMPLE: usize = 16;
const LEAST_DEFLATED: usize = 64;
const MOST_INDENT: usize = 200;
