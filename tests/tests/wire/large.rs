//! Bodies of any size pass in flat memory; above the cap only their size and hash are kept.

use std::{io::Write, net::TcpStream};

use sha2::{Digest, Sha256};

use super::{
    gate::{Gate, Lab, says},
    raw::Raw,
};

#[test]
fn a_large_download_passes_in_flat_memory_and_is_not_kept() {
    let mut lab = Lab::new().record_with(&["--max-body", "8MiB"]).lenient();
    let (small, large) = lab.record(|gate| {
        download(gate, SMALL);
        let small = gate.peak_memory();
        download(gate, LARGE);
        (small, gate.peak_memory())
    });
    assert_flat(small, large);

    let cassette = lab.cassette();
    assert_eq!(cassette.matches(" omitted: ").count(), 2, "{cassette}");
    says(&cassette, &format!("size: {LARGE}"));
    let (missed, outcome) = lab.replay(|gate| {
        let mut raw = Raw::open(gate.addr);
        raw.get("faults.test", &url(LARGE), "");
        raw.answer().unwrap()
    });
    assert_eq!(missed.status(), 424);
    assert!(
        missed.text().contains("exchange 2 matches, but its reply was too large to keep"),
        "{}",
        missed.text()
    );
    outcome.exits(1);
}

#[test]
fn a_large_upload_passes_in_flat_memory_and_replays_by_its_hash() {
    let cap = ["--max-body", "8MiB"];
    let mut lab = Lab::new().record_with(&cap).replay_with(&cap);
    let (small, large, recorded) = lab.record(|gate| {
        upload(gate, SMALL, b'a');
        let small = gate.peak_memory();
        let recorded = upload(gate, LARGE, b'a');
        (small, gate.peak_memory(), recorded)
    });
    assert_flat(small, large);
    let hash = hash_of(LARGE, b'a');
    assert!(recorded.contains(&hash), "{recorded}");
    let cassette = lab.cassette();
    says(&cassette, &format!("size: {LARGE}"));
    assert!(
        cassette.contains(&format!("omitted: {hash}")) || cassette.contains(&format!("omitted: '{hash}'"))
    );

    let ((first, replayed, peak), outcome) = lab.replay(|gate| {
        let first = upload(gate, SMALL, b'a');
        let small = gate.peak_memory();
        let second = upload(gate, LARGE, b'a');
        (first, second, (small, gate.peak_memory()))
    });
    outcome.exits(0);
    assert!(first.contains(&hash_of(SMALL, b'a')), "{first}");
    assert_eq!(replayed, recorded);
    assert_flat(peak.0, peak.1);
}

#[test]
fn a_large_upload_of_other_bytes_is_a_miss() {
    let mut lab = Lab::new().record_with(&["--max-body", "1MiB"]).lenient();
    lab.record(|gate| upload(gate, 2 << 20, b'a'));
    let (answer, outcome) = lab.replay(|gate| upload(gate, 2 << 20, b'b'));
    assert!(answer.contains("no recorded exchange"), "{answer}");
    outcome.exits(1);
}

#[track_caller]
fn assert_flat(small: u64, large: u64) {
    println!("peak memory: {small} KiB, then {large} KiB");
    assert!(large < 200 << 10, "{large} KiB");
    assert!(large - small < 20 << 10, "{small} KiB, then {large} KiB");
}

fn download(gate: &Gate, size: u64) {
    let mut raw = Raw::open(gate.addr);
    raw.get("faults.test", &url(size), "");
    raw.head().unwrap();
    assert_eq!(raw.skip(size), size);
}

/// In the clear on this side: it is the memory of the proxy that counts, and TLS without optimization is slow.
fn upload(gate: &Gate, size: u64, byte: u8) -> String {
    let mut raw = Raw::<TcpStream>::open(gate.addr);
    raw.send(format!(
        "POST http://faults.test/upload HTTP/1.1\r\nhost: faults.test\r\ncontent-length: {size}\r\n\r\n"
    ));
    let block = vec![byte; BLOCK as usize];
    for _ in 0..size / BLOCK {
        raw.io.write_all(&block).unwrap();
    }
    raw.answer().unwrap().text().to_owned()
}

fn hash_of(size: u64, byte: u8) -> String {
    let mut hash = Sha256::new();
    let block = vec![byte; BLOCK as usize];
    for _ in 0..size / BLOCK {
        hash.update(&block);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn url(size: u64) -> String {
    format!("http://faults.test/big?bytes={size}&length=known")
}

const BLOCK: u64 = 1 << 20;
const SMALL: u64 = 16 << 20;
const LARGE: u64 = 128 << 20;
