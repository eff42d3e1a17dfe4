//! The search for what became of a secret: any piece of it as it is, its beginning and its end in every spelling; in
//! files, in what they hold compressed, and in what they hold in base64.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    io::Read,
    path::Path,
};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use wiretape_tests::traces::files;

/// Looks for many canaries at once.
pub struct Search {
    automaton: AhoCorasick,
    /// Of each spelling, whose it is and which.
    owners: Vec<(usize, &'static str)>,
}

/// Which canary, in which spelling, and where.
pub type Finds = BTreeMap<usize, BTreeSet<String>>;

impl Search {
    /// Of every canary only the part that was drawn is given: a well-known beginning may stay.
    pub fn of<'c>(canaries: impl IntoIterator<Item = &'c str>) -> Self {
        let mut spellings = Vec::new();
        let mut owners = Vec::new();
        for (canary, drawn) in canaries.into_iter().enumerate() {
            assert!(drawn.len() >= 2 * FRAGMENT, "a canary has two ends");
            for fragment in [&drawn[..FRAGMENT], &drawn[drawn.len() - FRAGMENT..]] {
                for (name, spelling) in spelled(fragment.as_bytes()) {
                    spellings.push(spelling);
                    owners.push((canary, name));
                }
            }
            for piece in drawn.as_bytes().windows(PIECE) {
                spellings.push(piece.to_vec());
                owners.push((canary, "a piece"));
            }
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&spellings).unwrap();
        Self { automaton, owners }
    }

    /// Everything below a folder, names of files included.
    pub fn folder(&self, folder: &Path, finds: &mut Finds) {
        for file in files(folder) {
            let name = file.strip_prefix(folder).unwrap().display().to_string();
            self.bytes(name.as_bytes(), "a file's name", finds);
            // A socket is no file, and holds nothing.
            let Ok(content) = fs::read(&file) else { continue };
            self.bytes(&content, &name, finds);
        }
    }

    pub fn bytes(&self, bytes: &[u8], place: &str, finds: &mut Finds) {
        self.look(bytes, place, DEEPEST, finds);
    }

    fn look(&self, bytes: &[u8], place: &str, depth: usize, finds: &mut Finds) {
        self.here(bytes, place, finds);
        if depth == 0 {
            return;
        }
        for inside in unpacked(bytes) {
            self.look(&inside, &format!("{place}, unpacked"), depth - 1, finds);
        }
        let unwrapped: Vec<u8> = bytes.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
        if unwrapped.len() < bytes.len() {
            self.here(&unwrapped, &format!("{place}, without line breaks"), finds);
        }
        for inside in from_base64(&unwrapped) {
            self.look(&inside, &format!("{place}, in base64"), depth - 1, finds);
        }
    }

    fn here(&self, bytes: &[u8], place: &str, finds: &mut Finds) {
        for hit in self.automaton.find_overlapping_iter(bytes) {
            let (canary, spelling) = self.owners[hit.pattern().as_usize()];
            finds.entry(canary).or_default().insert(format!("{spelling} in {place}"));
        }
    }
}

fn spelled(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let each = |byte: fn(u8) -> String| text.iter().map(|b| byte(*b)).collect::<String>().into_bytes();
    let mut all = vec![
        ("raw", text.to_vec()),
        ("percent", each(|b| format!("%{b:02X}"))),
        ("percent, lower case", each(|b| format!("%{b:02x}"))),
        ("hex", each(|b| format!("{b:02x}"))),
        ("hex, upper case", each(|b| format!("{b:02X}"))),
        ("JSON", each(|b| format!("\\u{b:04x}"))),
        ("JSON, upper case", each(|b| format!("\\u{b:04X}"))),
        ("HTML", each(|b| format!("&#{b};"))),
        ("HTML, hex", each(|b| format!("&#x{b:x};"))),
        ("HTML, hex, upper case", each(|b| format!("&#x{b:X};"))),
        ("UTF-16", text.iter().flat_map(|b| [*b, 0]).collect()),
    ];
    for (name, before) in [("base64", 0), ("base64 + 1", 1), ("base64 + 2", 2)] {
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let shifted = [&[0; 2][..before], text].concat();
            let coded = engine.encode(&shifted);
            // Only what is made of the text alone.
            all.push((name, coded[(before * 8).div_ceil(6)..shifted.len() * 8 / 6].into()));
        }
    }
    all
}

/// What begins in the bytes like a compressed file, and the bytes as a whole where a coding has no mark.
fn unpacked(bytes: &[u8]) -> Vec<Vec<u8>> {
    let starts = |mark: &'static [u8]| {
        (0..bytes.len().saturating_sub(mark.len())).filter(move |at| bytes[*at..].starts_with(mark))
    };
    let mut all: Vec<Vec<u8>> =
        starts(&[0x1f, 0x8b, 8]).map(|at| read(MultiGzDecoder::new(&bytes[at..]))).collect();
    all.extend(starts(&[0x28, 0xb5, 0x2f, 0xfd]).map(|at| read(zstd::Decoder::new(&bytes[at..]).unwrap())));
    if std::str::from_utf8(bytes).is_err() {
        all.push(read(ZlibDecoder::new(bytes)));
        all.push(read(brotli::Decompressor::new(bytes, 4096)));
    }
    all.retain(|content| !content.is_empty());
    all
}

/// As far as it goes.
fn read(from: impl Read) -> Vec<u8> {
    let mut content = Vec::new();
    let _ = from.take(64 << 20).read_to_end(&mut content);
    content
}

fn from_base64(text: &[u8]) -> Vec<Vec<u8>> {
    let is_base64 = |b: &u8| b.is_ascii_alphanumeric() || b"+/-_".contains(b);
    text.split(|b| !is_base64(b))
        .filter(|run| run.len() >= 24)
        .filter_map(|run| {
            let run = &run[..run.len() - usize::from(run.len() % 4 == 1)];
            let engine =
                if run.iter().any(|b| b"-_".contains(b)) { URL_SAFE_NO_PAD } else { STANDARD_NO_PAD };
            engine.decode(run).ok()
        })
        .collect()
}

/// In every way in which anything of ours could spell it.
pub fn proofs(secret: &str) -> Vec<(&'static str, Vec<u8>)> {
    let mut all = spelled(secret.as_bytes());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let form = secret.bytes().fold(String::new(), |mut out, b| {
        let _ = match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => write!(out, "{}", char::from(b)),
            _ => write!(out, "%{b:02X}"),
        };
        out
    });
    all.push(("form", format!("a=1&b={form}&c").into_bytes()));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut gzip, secret.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(secret.as_bytes(), 3).unwrap();
    all.push(("gzip in base64", format!("body: !!binary |\n  {}\n", STANDARD.encode(&gzip)).into_bytes()));
    all.push(("gzip", [b"head", gzip.as_slice(), b"tail"].concat()));
    all.push(("zstd in base64", URL_SAFE.encode(&zstd).into_bytes()));
    all.push(("zstd", zstd));
    let wrapped: Vec<String> =
        STANDARD.encode(format!("x{secret}")).as_bytes().chunks(20).map(text).collect();
    all.push(("base64 over lines", wrapped.join("\n    ").into_bytes()));
    all
}

const FRAGMENT: usize = 12;
/// Long enough to stand nowhere by chance.
pub const PIECE: usize = 9;
/// Encodings in encodings.
const DEEPEST: usize = 3;
