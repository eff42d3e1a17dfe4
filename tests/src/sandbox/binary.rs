//! The `wiretape` binary under test: beside the test's own executable, built if it is missing or older
//! than a source file, so that no test passes on yesterday's code.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::SystemTime,
};

use crate::clients::workspace;

/// The path of the binary. `WIRETAPE_BIN` names another one, which is then taken as it is.
pub fn wiretape() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match env::var_os("WIRETAPE_BIN") {
        Some(binary) => binary.into(),
        None => built(),
    })
}

fn built() -> PathBuf {
    // target/<profile>/deps/<test>
    let test = env::current_exe().expect("a test knows its own path");
    let profile = test.parent().and_then(Path::parent).expect("a test lies in target/<profile>/deps");
    let target = profile.parent().expect("a profile lies in the target folder");
    let binary = profile.join("wiretape");

    // One test builds, the others wait for it.
    let lock = File::create(profile.join("wiretape-tests.lock")).expect("a lock file in the target folder");
    lock.lock().expect("the lock is had in the end");
    if is_stale(&binary) {
        let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "--package", "wiretape-cli", "--target-dir"]).arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(workspace()).status().expect("cargo runs");
        assert!(status.success(), "cargo build --package wiretape-cli failed");
    }
    binary
}

fn is_stale(binary: &Path) -> bool {
    let Ok(built) = fs::metadata(binary).and_then(|metadata| metadata.modified()) else {
        return true;
    };
    MEMBERS.iter().any(|member| newest(&workspace().join(member)) > Some(built))
}

fn newest(path: &Path) -> Option<SystemTime> {
    let metadata = fs::metadata(path).ok()?;
    if metadata.is_file() {
        return metadata.modified().ok();
    }
    fs::read_dir(path).ok()?.filter_map(|entry| newest(&entry.ok()?.path())).max()
}

/// The crates that the binary is made of.
const MEMBERS: &[&str] =
    &["yaml", "exchange", "matchers", "cassettes", "certs", "proxy", "suite", "scan", "cli"];
