//! Real recordings of other tools: imported, replayed through the proxy, exported and imported again. What was on the
//! wire is read a second time by `tests/fidelity/oracle.py`, which shares nothing with the importers.

use std::process::Command;

use wiretape_tests::{
    clients, corpus,
    sandbox::{Sandbox, binary},
};

#[test]
fn the_corpus_imports_replays_to_the_byte_and_survives_an_export() {
    let Some(corpus) = corpus::folder() else { return };
    let out = Sandbox::new();
    let script = clients::workspace().join("tests/fidelity/replay.py");
    let run = Command::new(clients::python())
        .arg(script)
        .args([binary::wiretape(), &corpus, &out.path("")])
        .arg("--roundtrip")
        .output()
        .unwrap();
    let table = String::from_utf8_lossy(&run.stdout);
    println!("{table}");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    // A corpus of which nothing was read would pass too.
    let report: serde_json::Value = serde_json::from_str(&out.read("report.json")).unwrap();
    let (total, trips) = (&report["total"], &report["roundtrip"]);
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    assert!(number(&total["exchanges"]) > 2_000, "{total}");
    let equal = ["byte_equal", "json_equal", "redacted_bodies"].map(|how| number(&total[how]));
    assert_eq!(equal.iter().sum::<u64>(), number(&total["exchanges"]), "{total}");
    for form in ["har", "vcrpy"] {
        assert_eq!(trips[form]["identical"], total["imported"], "{trips}");
    }
}
