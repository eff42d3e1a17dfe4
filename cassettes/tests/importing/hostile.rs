//! Files that mean harm.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use proptest::prelude::*;
use wiretape_cassettes::import::{self, Format, Options, Source};

use crate::{law, nothing_beside, refusal};

/// The files that fuzzing starts from: a folder for each format, and whole recordings in it.
fn seeds() -> Vec<(Format, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
    let of = |format: Format| {
        let files = fs::read_dir(folder.join(format.as_str())).expect("every format has seeds");
        let mut files: Vec<_> = files.map(|file| file.expect("it is listed").path()).collect();
        files.sort();
        files.into_iter().map(move |file| (format, fs::read(file).expect("a seed is read")))
    };
    Format::ALL.into_iter().flat_map(of).collect()
}

fn text_seeds() -> Vec<String> {
    seeds().into_iter().filter_map(|(_, bytes)| String::from_utf8(bytes).ok()).collect()
}

fn try_all(bytes: &[u8]) {
    for format in [None].into_iter().chain(Format::ALL.map(Some)) {
        law::holds(bytes, format);
    }
}

#[test]
fn what_fuzzing_starts_from_is_taken_by_its_reader() {
    for (format, bytes) in seeds() {
        assert!(law::holds(&bytes, Some(format)) > 0, "{format:?}: {}", String::from_utf8_lossy(&bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_damaged_file_is_refused_or_becomes_a_cassette(
        (format, mut bytes) in prop::sample::select(seeds()),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..12),
    ) {
        for (at, byte, how) in edits {
            let at = at.index(bytes.len().max(1));
            match how {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => { bytes.remove(at); }
                2 if at < bytes.len() => bytes[at] = byte,
                _ => bytes.truncate(at),
            }
        }
        law::holds(&bytes, None);
        law::holds(&bytes, Some(format));
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        try_all(&bytes);
    }
}

#[test]
fn wrong_types_everywhere_are_refused_and_never_panic() {
    for value in ["null", "7", "'x'", "[1]", "{a: b}", "[[]]", "!!binary ''"] {
        for seed in &text_seeds() {
            // Every key in turn gets this value.
            for (at, _) in seed.match_indices(": ") {
                let end = seed[at + 2..].find([',', '\n', '}', ']']).map_or(seed.len(), |n| at + 2 + n);
                try_all(format!("{}{value}{}", &seed[..at + 2], &seed[end..]).as_bytes());
            }
        }
    }
}

#[test]
fn an_alias_bomb_is_refused_at_once_with_its_place() {
    let mut text = "interactions:\n- &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let copies = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("- &a{level} [{copies}]\n");
    }
    let began = Instant::now();
    let refused = refusal(&text);
    assert!(
        refused.ends_with("the aliases of this file stand for more than is allowed in one file"),
        "{refused}"
    );
    assert!(began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
}

#[test]
fn a_small_file_that_unpacks_to_a_giant_is_refused() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..300 {
        std::io::Write::write_all(&mut packed, &zeros).unwrap();
    }
    let packed = packed.finish().unwrap();
    let source = Source { name: "bomb.yaml.gz", bytes: &packed, beside: &nothing_beside };
    let refused = import::import(source, None, &Options::default()).unwrap_err();
    assert_eq!(refused.to_string(), "the file is larger than the 256 MiB that are read");
}

#[test]
fn a_file_that_is_cut_short_is_refused() {
    for seed in text_seeds().iter().filter(|seed| seed.starts_with(['[', '{'])) {
        for end in 1..seed.len() {
            let source = Source { name: "a.json", bytes: &seed.as_bytes()[..end], beside: &nothing_beside };
            assert!(import::import(source, None, &Options::default()).is_err(), "{}", &seed[..end]);
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    let refused = refusal(&format!("{{\"interactions\": {}", "[".repeat(1_000_000)));
    assert!(refused.ends_with("nested more than 100 levels deep"), "{refused}");
}

#[test]
fn a_gzip_body_that_grows_without_end_is_refused_with_its_place() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..257 {
        std::io::Write::write_all(&mut packed, &[0; 1 << 20]).unwrap();
    }
    let body = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, packed.finish().unwrap());
    let text = format!(
        "interactions:\n- request: {{method: GET, uri: 'https://a.test/', headers: {{}}, body: ''}}\n  response:\n    \
         status: {{code: 200, message: OK}}\n    headers: {{content-encoding: [gzip]}}\n    body: {{string: !!binary '{body}'}}\n\
         version: 1\n"
    );
    assert_eq!(refusal(&text), "2:3: a body of this exchange is larger than 256 MiB");
}

#[test]
fn bodies_that_could_be_taken_alone_are_refused_where_their_sum_is_too_large() {
    let large = Bytes::from(vec![0; 200 << 20]);
    let beside = |_: &str| Ok(Some(large.clone()));
    let mapping =
        "{\"request\": {\"method\": \"GET\", \"url\": \"/\"}, \"response\": {\"bodyFileName\": \"a\"}}";
    let source = |name| Source { name, bytes: mapping.as_bytes(), beside: &beside };
    let options = Options { origin: exchange::Url::parse("https://a.test/").ok(), ..Options::default() };
    let sources = ["a.json", "b.json", "c.json"].map(source);
    let (place, refusal) = import::import_all(&sources, None, &options).unwrap_err();
    assert_eq!(
        (place, refusal.to_string().as_str()),
        (2, "1:1: up to this exchange, the bodies come to more than 512 MiB")
    );
}

#[test]
fn a_file_above_the_limit_is_refused_before_it_is_looked_at() {
    let bytes = vec![b' '; import::MOST_BYTES + 1];
    let source = Source { name: "a.yaml", bytes: &bytes, beside: &nothing_beside };
    let refused = import::import(source, None, &Options::default()).unwrap_err();
    assert_eq!(refused.to_string(), "the file is larger than the 256 MiB that are read");
}
