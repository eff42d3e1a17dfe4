//! Cassettes as real files.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

fn exchange(id: u32, body: &str) -> Scrubbed<Exchange> {
    let source = format!(
        "- id: {id}\n  request:\n    method: GET\n    url: https://a/{id}\n  response:\n    status: 200\n    body:\n      text: {body}\n"
    );
    format::read_item(&source, &|_| Ok(None)).unwrap()
}

fn cassette(bodies: &[&str]) -> Cassette {
    let exchanges = bodies.iter().zip(1..).map(|(body, id)| exchange(id, body)).collect();
    Cassette { redaction: None, policy: None, exchanges }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn big(letter: &str) -> String {
    letter.repeat(format::BLOB_THRESHOLD + 1)
}

#[test]
fn what_was_saved_is_loaded() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("deep/er/a.yaml");
    let whole = cassette(&["one", &big("x"), "three", &big("x")]);
    assert_eq!(save(&path, &whole).unwrap(), Saved::Written);
    assert_eq!(load(&path).unwrap(), whole);
    let folder = path.parent().unwrap();
    assert_eq!(names(folder), ["a.yaml", "a.yaml.blobs"]);
    assert_eq!(names(&folder.join("a.yaml.blobs")), [Sha256::of(big("x").as_bytes()).to_string()]);
}

#[test]
fn the_same_cassette_is_not_written_twice() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    let whole = cassette(&["one", &big("x")]);
    save(&path, &whole).unwrap();
    let before = fs::metadata(&path).unwrap();
    assert_eq!(save(&path, &whole).unwrap(), Saved::Unchanged);
    let after = fs::metadata(&path).unwrap();
    assert_eq!((before.ino(), before.modified().unwrap()), (after.ino(), after.modified().unwrap()));
    assert_eq!(names(dir.path()), ["a.yaml", "a.yaml.blobs"]);
    assert_eq!(save(&path, &cassette(&["two", &big("x")])).unwrap(), Saved::Written);
}

#[test]
fn blobs_that_nothing_names_are_removed_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    save(&path, &cassette(&[&big("x"), &big("y")])).unwrap();
    let blobs = dir.path().join("a.yaml.blobs");
    fs::write(blobs.join(".wiretape-left"), "by a killed run").unwrap();
    fs::write(blobs.join("README"), "not ours").unwrap();
    save(&path, &cassette(&[&big("y")])).unwrap();
    let kept = Sha256::of(big("y").as_bytes()).to_string();
    let mut expected = ["README".to_owned(), kept];
    expected.sort();
    assert_eq!(names(&blobs), expected);
    fs::remove_file(blobs.join("README")).unwrap();
    save(&path, &cassette(&["small"])).unwrap();
    assert_eq!(names(dir.path()), ["a.yaml"]);
}

#[test]
fn a_blob_cut_short_is_written_again() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    let whole = cassette(&[&big("x")]);
    save(&path, &whole).unwrap();
    let blob = dir.path().join("a.yaml.blobs").join(Sha256::of(big("x").as_bytes()).to_string());
    fs::write(&blob, "xx").unwrap();
    assert!(load(&path).is_err());
    assert_eq!(save(&path, &whole).unwrap(), Saved::Unchanged);
    assert_eq!(load(&path).unwrap(), whole);
}

#[test]
fn a_blob_damaged_without_a_change_of_size_is_written_again() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    let whole = cassette(&[&big("x")]);
    save(&path, &whole).unwrap();
    let blob = dir.path().join("a.yaml.blobs").join(Sha256::of(big("x").as_bytes()).to_string());
    let inode = fs::metadata(&blob).unwrap().ino();
    save(&path, &whole).unwrap();
    assert_eq!(fs::metadata(&blob).unwrap().ino(), inode);

    fs::write(&blob, big("y")).unwrap();
    assert!(load(&path).is_err());
    assert_eq!(save(&path, &whole).unwrap(), Saved::Unchanged);
    assert_eq!(fs::read(&blob).unwrap(), big("x").as_bytes());
    assert_eq!(load(&path).unwrap(), whole);
}

#[test]
fn a_save_that_fails_leaves_the_old_cassette_and_no_other_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    save(&path, &cassette(&["old"])).unwrap();
    let old = fs::read(&path).unwrap();

    // While exchanges still come.
    let lost = || StoreError::Io { action: "read", file: "x".into(), source: io::Error::other("lost") };
    let result = save_from(&path, None, None, [Ok(exchange(1, "new")), Err(lost())]);
    assert_eq!(result.unwrap_err().to_string(), "cannot read x: lost");
    assert_eq!((fs::read(&path).unwrap(), names(dir.path())), (old.clone(), vec!["a.yaml".to_owned()]));

    // While a blob is written.
    let occupied = dir.path().join("a.yaml.blobs");
    fs::write(&occupied, "a file").unwrap();
    let result = save(&path, &cassette(&["new", &big("x")])).unwrap_err();
    let StoreError::Io { action: "create the folder", file, .. } = &result else { panic!("{result}") };
    assert_eq!(file.file_name(), occupied.file_name());
    assert_eq!(fs::read(&path).unwrap(), old);
    assert_eq!(names(dir.path()), ["a.yaml", "a.yaml.blobs"]);

    // Before anything is written.
    let result = save(&path.join("b.yaml"), &cassette(&["new"])).unwrap_err();
    assert!(matches!(result, StoreError::Io { action: "create the folder", .. }), "{result}");
    assert_eq!(fs::read(&path).unwrap(), old);

    // At the very last step.
    let folder = dir.path().join("c.yaml");
    fs::create_dir(&folder).unwrap();
    let result = save(&folder, &cassette(&["new"])).unwrap_err();
    assert!(matches!(result, StoreError::Io { action: "replace", .. }), "{result}");
    assert_eq!(names(dir.path()), ["a.yaml", "a.yaml.blobs", "c.yaml"]);
}

#[test]
fn a_replaced_cassette_keeps_its_mode_and_the_link_to_it() {
    let dir = TempDir::new().unwrap();
    let (real, link) = (dir.path().join("real.yaml"), dir.path().join("link.yaml"));
    save(&real, &cassette(&["old"])).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.yaml", &link).unwrap();
    let whole = cassette(&["new", &big("x")]);
    save(&link, &whole).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(names(dir.path()), ["link.yaml", "real.yaml", "real.yaml.blobs"]);
    assert_eq!(load(&link).unwrap(), whole);
}

#[test]
fn a_bad_file_is_refused_by_name_line_and_column_and_left_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    fs::write(&path, "wiretape: cassette/9\n").unwrap();
    let error = load(&path).unwrap_err();
    let StoreError::Invalid { file, source_text, problem } = &error else { panic!("{error}") };
    assert_eq!((file, &**source_text), (&path, "wiretape: cassette/9\n"));
    assert_eq!(problem.help.as_deref(), Some("upgrade wiretape"));
    assert_eq!(
        error.to_string(),
        format!("{}:1:11: this cassette has format 9; this wiretape reads up to format 1", path.display())
    );

    fs::write(&path, b"wiretape: cassette/1\nexchanges: \xff\n").unwrap();
    let error = load(&path).unwrap_err();
    assert_eq!(error.to_string(), format!("{}:2:12: the file is not UTF-8 text", path.display()));
    assert_eq!(fs::read(&path).unwrap(), b"wiretape: cassette/1\nexchanges: \xff\n");

    let error = load(&dir.path().join("none.yaml")).unwrap_err();
    let StoreError::Io { action: "read", source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_file_over_the_limit_is_refused_unread() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    File::create(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
    let error = load(&path).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { limit: MOST_BYTES, .. }), "{error}");
}

#[test]
fn no_blob_is_read_through_a_link_or_from_a_pipe() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    save(&path, &cassette(&[&big("x")])).unwrap();
    let folder = dir.path().join("a.yaml.blobs");
    let blob = folder.join(Sha256::of(big("x").as_bytes()).to_string());
    let told = || load(&path).unwrap_err().to_string().split_once(": ").unwrap().1.to_owned();

    // The right bytes, but elsewhere.
    let elsewhere = dir.path().join("elsewhere");
    fs::rename(&blob, &elsewhere).unwrap();
    symlink(&elsewhere, &blob).unwrap();
    assert_eq!(told(), "the blob cannot be read: it is a symbolic link, or its folder is no folder");

    fs::remove_file(&blob).unwrap();
    assert_eq!(told(), "the blob is missing");

    rustix::fs::mknodat(rustix::fs::CWD, &blob, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    assert_eq!(told(), "the blob cannot be read: it is not a file");

    fs::remove_file(&blob).unwrap();
    fs::rename(&elsewhere, &blob).unwrap();
    assert!(load(&path).is_ok());
    let moved = dir.path().join("moved");
    fs::rename(&folder, &moved).unwrap();
    symlink(&moved, &folder).unwrap();
    assert_eq!(told(), "the blob cannot be read: it is a symbolic link, or its folder is no folder");
}

#[test]
fn no_blob_is_written_or_removed_through_a_link() {
    let dir = TempDir::new().unwrap();
    let (path, elsewhere) = (dir.path().join("a.yaml"), dir.path().join("elsewhere"));
    fs::create_dir(&elsewhere).unwrap();
    let bystander = Sha256::of(b"not ours").to_string();
    fs::write(elsewhere.join(&bystander), "not ours").unwrap();
    symlink(&elsewhere, dir.path().join("a.yaml.blobs")).unwrap();
    save(&path, &cassette(&["small"])).unwrap();
    let error = save(&path, &cassette(&[&big("x")])).unwrap_err().to_string();
    assert!(error.ends_with("a.yaml.blobs: it is a symbolic link"), "{error}");
    assert_eq!(load(&path).unwrap(), cassette(&["small"]));
    assert_eq!(names(&elsewhere), [bystander]);
}

#[test]
fn one_cassette_has_one_recorder() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    let cassette = dir.path().join("not/yet/a.yaml");
    let lock = Lock::acquire(&cassette, &state).unwrap();
    let by_another_name = dir.path().join("not/yet/../yet/a.yaml");
    fs::create_dir_all(dir.path().join("not/yet")).unwrap();
    let error = Lock::acquire(&by_another_name, &state).unwrap_err();
    assert!(
        matches!(error, StoreError::Locked { pid: Some(pid), .. } if pid == std::process::id()),
        "{error}"
    );
    let expected = format!(
        "{} is being recorded by another wiretape (process {})",
        by_another_name.display(),
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);
    let other = Lock::acquire(&dir.path().join("b.yaml"), &state).unwrap();
    drop(lock);
    let again = Lock::acquire(&cassette, &state).unwrap();
    drop((again, other));
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_replaces_a_private_cassette_is_private_and_so_are_its_blobs() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.yaml");
    save(&path, &cassette(&["one"])).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    save(&path, &cassette(&[&big("x")])).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    let blobs = dir.path().join("a.yaml.blobs");
    let [blob] = &names(&blobs)[..] else { panic!() };
    assert_eq!((mode(&path), mode(&blobs.join(blob))), (0o600, 0o600));
}
