//! Journals as real files.

use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;
use crate::store::{Saved, load, save_from};

fn exchange(id: u32, body: &str) -> Scrubbed<Exchange> {
    let source = format!(
        "- id: {id}\n  request:\n    method: GET\n    url: https://a/{id}\n  response:\n    status: 200\n    body:\n      text: {body}\n"
    );
    format::read_item(&source, &|_| Ok(None)).unwrap()
}

fn seqs(path: &Path) -> Vec<u64> {
    Journal::read(path).unwrap().map(|record| record.unwrap().0).collect()
}

struct Run {
    _dir: TempDir,
    cassette: PathBuf,
    state: PathBuf,
}

fn run() -> Run {
    let dir = TempDir::new().unwrap();
    let (cassette, state) = (resolve(dir.path()).join("a.yaml"), dir.path().join("state"));
    Run { _dir: dir, cassette, state }
}

#[test]
fn what_was_appended_is_read_back_big_bodies_too() {
    let run = run();
    let mut journal = Journal::create(&run.cassette, &run.state).unwrap();
    let exchanges = [exchange(1, "one"), exchange(2, &"x".repeat(format::BLOB_THRESHOLD * 2))];
    journal.append(7, &exchanges[0]).unwrap();
    journal.append(5, &exchanges[1]).unwrap();
    let records = Journal::read(journal.path()).unwrap();
    assert_eq!(records.cassette(), Some(run.cassette.as_path()));
    let read: Vec<_> = records.map(Result::unwrap).collect();
    let [first, second] = exchanges;
    assert_eq!(read, [(7, first), (5, second)]);
}

#[test]
fn an_entry_made_beforehand_is_the_exchange_itself() {
    let run = run();
    let [first, second] = [exchange(1, "one"), exchange(2, "two")];
    let entries = [Journal::entry(&first), Journal::entry(&second)];
    let mut journal = Journal::create(&run.cassette, &run.state).unwrap();
    journal.append_entry(4, &entries[1]).unwrap();
    journal.append_entry(9, &entries[0]).unwrap();
    let read: Vec<_> = Journal::read(journal.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(read, [(4, second), (9, first)]);
}

#[test]
fn a_tear_anywhere_in_the_last_record_loses_that_record_alone() {
    let run = run();
    let mut journal = Journal::create(&run.cassette, &run.state).unwrap();
    journal.append(1, &exchange(1, "one")).unwrap();
    let whole = journal.end;
    journal.append(2, &exchange(2, "two")).unwrap();
    let bytes = fs::read(journal.path()).unwrap();
    assert_eq!(bytes.len() as u64, journal.end);
    for end in whole as usize..bytes.len() {
        fs::write(journal.path(), &bytes[..end]).unwrap();
        assert_eq!(seqs(journal.path()), [1], "torn at byte {end}");
    }
    for at in whole as usize..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 0x10;
        fs::write(journal.path(), &bad).unwrap();
        assert_eq!(seqs(journal.path()), [1], "changed at byte {at}");
    }
    fs::write(journal.path(), &bytes).unwrap();
    assert_eq!(seqs(journal.path()), [1, 2]);
}

#[test]
fn a_run_killed_before_its_first_record_left_nothing() {
    let run = run();
    let journal = Journal::create(&run.cassette, &run.state).unwrap();
    let header = fs::read(journal.path()).unwrap();
    for end in 0..header.len() {
        fs::write(journal.path(), &header[..end]).unwrap();
        let mut records = Journal::read(journal.path()).unwrap();
        assert_eq!(records.cassette(), None, "torn at byte {end}");
        assert!(records.next().is_none());
    }
}

#[test]
fn a_journal_of_another_version_is_refused_not_dropped() {
    let run = run();
    let journal = Journal::create(&run.cassette, &run.state).unwrap();
    fs::write(journal.path(), frame(0, b"wiretape: journal/2\n/a.yaml").unwrap()).unwrap();
    let error = Journal::read(journal.path()).unwrap_err().to_string();
    assert!(error.ends_with("it was written by another version of wiretape"), "{error}");
}

#[test]
fn a_record_that_could_not_be_written_is_gone_and_the_next_one_counts() {
    let run = run();
    let mut journal = Journal::create(&run.cassette, &run.state).unwrap();
    journal.append(1, &exchange(1, "one")).unwrap();

    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let disk = std::mem::replace(&mut journal.file, full);
    let error = journal.append(2, &exchange(2, "two")).unwrap_err();
    let StoreError::Io { action: "append to", source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), io::ErrorKind::StorageFull);
    journal.file = disk;

    // Half of a record that even cutting off did not remove, longer than the next one.
    let torn = frame(2, &[b'x'; 4000]).unwrap();
    journal.file.write_at(&torn[..3000], journal.end).unwrap();
    assert_eq!(seqs(journal.path()), [1]);
    journal.append(3, &exchange(2, "three")).unwrap();
    assert_eq!(seqs(journal.path()), [1, 3]);
}

#[test]
fn journals_of_killed_runs_are_found_oldest_first() {
    let run = run();
    assert_eq!(Journal::orphans(&run.cassette, &run.state).unwrap(), Vec::<PathBuf>::new());
    let journals: Vec<_> = (0..11).map(|_| Journal::create(&run.cassette, &run.state).unwrap()).collect();
    let other = Journal::create(&run.cassette.with_extension("other"), &run.state).unwrap();
    let paths: Vec<_> = journals.iter().map(|journal| journal.path().to_owned()).collect();
    assert_eq!(Journal::orphans(&run.cassette, &run.state).unwrap(), paths);
    assert_eq!(paths[10].file_name().unwrap(), "11.journal");
    for journal in journals {
        journal.finish().unwrap();
    }
    assert_eq!(Journal::orphans(&run.cassette, &run.state).unwrap(), Vec::<PathBuf>::new());
    assert!(other.path().exists());
    Journal::discard(&paths[0]).unwrap();
}

#[test]
fn recovering_twice_is_recovering_once() {
    let run = run();
    let mut journal = Journal::create(&run.cassette, &run.state).unwrap();
    journal.append(1, &exchange(1, "one")).unwrap();
    journal.append(2, &exchange(2, &"x".repeat(format::BLOB_THRESHOLD + 1))).unwrap();
    drop(journal);
    let recover = || {
        let [orphan] = &Journal::orphans(&run.cassette, &run.state).unwrap()[..] else {
            panic!("one orphan")
        };
        let records = Journal::read(orphan).unwrap();
        let exchanges = records.map(|record| record.map(|(_, exchange)| exchange));
        save_from(&run.cassette, None, None, exchanges).unwrap()
    };
    assert_eq!(recover(), Saved::Written);
    let once = load(&run.cassette).unwrap();
    assert_eq!(once.exchanges.len(), 2);
    // Killed after the cassette was saved, before the journal was removed.
    assert_eq!(recover(), Saved::Unchanged);
    assert_eq!(load(&run.cassette).unwrap(), once);
}

#[test]
fn nobody_else_can_read_a_journal() {
    let run = run();
    let journal = Journal::create(&run.cassette, &run.state).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(journal.path()), 0o600);
    assert_eq!(mode(journal.path().parent().unwrap()), 0o700);
    assert_eq!(mode(&run.state), 0o700);
}

#[test]
fn half_a_rewritten_journal_is_not_left_behind() {
    let run = run();
    let mut journal = Journal::create(&run.cassette, &run.state).unwrap();
    journal.append(1, &exchange(1, "one")).unwrap();
    let new = journal.path().with_extension("new");

    // Not an exchange at all: rewriting it fails.
    journal.put(2, b"two").unwrap();
    journal.rewrite(&|_| true, &mut |exchange| exchange).unwrap_err();
    assert!(!new.exists(), "after an error");

    fs::write(&new, "half").unwrap();
    let next = Journal::create(&run.cassette, &run.state).unwrap();
    assert!(!new.exists(), "when the next one is made");

    fs::write(&new, "half").unwrap();
    Journal::sweep(&run.cassette, &run.state).unwrap();
    assert!(!new.exists() && journal.path().exists() && next.path().exists());

    fs::write(&new, "half").unwrap();
    journal.finish().unwrap();
    assert!(!new.exists(), "when the journal goes");
}

#[test]
fn the_variables_that_were_met_last_are_read_back_and_are_no_exchange() {
    let run = run();
    let mut journal = Journal::create(&run.cassette, &run.state).unwrap();
    let met = |names: &[&str]| -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), "{{redacted:token:1}}".to_owned())).collect()
    };
    journal.note_variables(met(&[])).unwrap();
    journal.note_variables(met(&["ONE"])).unwrap();
    journal.append(1, &exchange(1, "one")).unwrap();
    journal.note_variables(met(&["ONE", "TWO"])).unwrap();
    let noted = journal.end;
    journal.note_variables(met(&["ONE", "TWO"])).unwrap();
    assert_eq!(journal.end, noted, "the same is not noted again");
    journal.rewrite(&|_| true, &mut |exchange| exchange).unwrap();
    let mut records = Journal::read(journal.path()).unwrap();
    let exchanges: Vec<_> = records.by_ref().map(Result::unwrap).collect();
    assert_eq!(exchanges, [(1, exchange(1, "one"))]);
    assert_eq!(records.into_variables(), met(&["ONE", "TWO"]).into_iter().collect());
}
