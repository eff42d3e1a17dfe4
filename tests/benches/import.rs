//! The speed of `wiretape import` on the real recordings of the corpus, against what reading their YAML or JSON costs
//! alone, in the same run. Ratios count; absolute numbers belong to the machine.
//!
//! `cargo bench -p wiretape-tests --bench import [-- CORPUS]`. What is measured and how is written down in
//! `docs/design/performance.md`.

use std::{
    collections::BTreeMap,
    env, fs,
    hint::black_box,
    io,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use bytes::Bytes;
use cassettes::{
    format,
    import::{self, Format, Options, Source},
};
use yaml::Limits;

fn main() {
    let corpus = env::args()
        .skip(1)
        .find(|word| word != "--bench")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"), PathBuf::from);
    let mut files = Vec::new();
    collect(&corpus, &mut files);
    if files.is_empty() {
        println!("no corpus at {}: nothing is measured", corpus.display());
        return;
    }
    in_memory(&files);
    end_to_end(&corpus);
}

/// A file of the corpus and its format.
struct File {
    name: String,
    bytes: Vec<u8>,
    format: Format,
    exchanges: usize,
}

fn options() -> Options {
    Options { origin: exchange::Url::parse("https://api.github.com/").ok(), ..Options::default() }
}

fn nothing_beside(_: &str) -> io::Result<Option<Bytes>> {
    Ok(Some(Bytes::from_static(b"{}")))
}

fn collect(folder: &Path, files: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
            continue;
        }
        let Ok(bytes) = fs::read(&path) else { continue };
        let name = path.display().to_string();
        let source = Source { name: &name, bytes: &bytes, beside: &nothing_beside };
        if let Ok(imported) = import::import(source, None, &options()) {
            let (format, exchanges) = (imported.format, imported.cassette.exchanges.len());
            files.push(File { name, bytes, format, exchanges });
        }
    }
}

/// One core, no disk: reading, repairing, scrubbing and writing the cassette's text.
fn in_memory(files: &[File]) {
    let mut formats: BTreeMap<Format, Vec<&File>> = BTreeMap::new();
    for file in files {
        formats.entry(file.format).or_default().push(file);
    }
    println!("one core, in memory, best of {ROUNDS}");
    println!("| format | files | MB | import MB/s | exchanges/s | parse alone MB/s | import / parse |");
    println!("|---|---|---|---|---|---|---|");
    for (format, files) in formats {
        let size: usize = files.iter().map(|file| file.bytes.len()).sum();
        let exchanges: usize = files.iter().map(|file| file.exchanges).sum();
        let whole = best(|| files.iter().for_each(|file| import_one(file)));
        let parse = best(|| files.iter().for_each(|file| parse_one(file)));
        let rate = |took: Duration| size as f64 / 1e6 / took.as_secs_f64();
        println!(
            "| {format} | {} | {:.1} | {:.0} | {:.0} | {:.0} | {:.2} |",
            files.len(),
            size as f64 / 1e6,
            rate(whole),
            exchanges as f64 / whole.as_secs_f64(),
            rate(parse),
            rate(whole) / rate(parse),
        );
    }
}

fn import_one(file: &File) {
    let source = Source { name: &file.name, bytes: &file.bytes, beside: &nothing_beside };
    let imported = import::import(source, None, &options()).expect("it was imported before");
    for exchange in &imported.cassette.exchanges {
        black_box(format::item(exchange, format::BLOB_THRESHOLD, &mut Vec::new()));
    }
}

fn parse_one(file: &File) {
    let Ok(text) = std::str::from_utf8(&file.bytes) else { return };
    let limits = Limits::for_foreign(text.len());
    let is_json = text.trim_start().starts_with(['{', '[']);
    let _ = black_box(match is_json {
        true => yaml::parse_json(text, &limits),
        false => yaml::parse_foreign(text, &limits),
    });
}

/// The command as a person runs it, on the corpus once and eight times over: its memory must not grow.
fn end_to_end(corpus: &Path) {
    let binary = wiretape_tests::sandbox::binary();
    println!("\nthe command, all cores, with the disk");
    println!("| corpus | files written | s | peak memory |");
    println!("|---|---|---|---|");
    for copies in [1, 8] {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let input = scratch.path().join("in");
        for copy in 0..copies {
            copy_all(corpus, &input.join(copy.to_string()));
        }
        let output = scratch.path().join("out");
        let began = Instant::now();
        let mut child = Command::new(binary)
            .args(["import", "--origin", "https://api.github.com"])
            .arg(&input)
            .arg("-o")
            .arg(&output)
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("wiretape starts");
        let peak = peak_memory(&mut child);
        let took = began.elapsed();
        println!("| {copies}x | {} | {:.2} | {} MB |", count(&output), took.as_secs_f64(), peak / 1000);
    }
}

/// The most memory a child had at any time, in kB, watched until it ends.
fn peak_memory(child: &mut std::process::Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("the child is ours").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
        peak = peak.max(now);
        std::thread::sleep(Duration::from_millis(2));
    }
    peak
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder can be made");
    for path in fs::read_dir(from).expect("the corpus can be read").flatten().map(|entry| entry.path()) {
        let target = to.join(path.file_name().expect("entries have names"));
        if path.is_dir() {
            copy_all(&path, &target);
        } else {
            fs::write(&target, fs::read(&path).expect("a file can be read")).expect("a file can be written");
        }
    }
}

fn count(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}

fn best(mut work: impl FnMut()) -> Duration {
    let rounds = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed()
    });
    rounds.min().expect("there are rounds")
}

const ROUNDS: usize = 5;
