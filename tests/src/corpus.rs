//! The recordings of other projects, which are too large and too much theirs to be part of this one.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::clients;

/// The corpus: `WIRETAPE_CORPUS`, or `shared/corpus` beside the workspace. Without one, says what is not tested; in CI,
/// where nobody reads that, it fails.
pub fn folder() -> Option<PathBuf> {
    let named = env::var_os("WIRETAPE_CORPUS").map(PathBuf::from);
    let corpus = named.unwrap_or_else(|| clients::workspace().join("../shared/corpus"));
    if corpus.is_dir() {
        return Some(corpus);
    }
    missing(&corpus, env::var("CI").is_ok_and(|ci| ci == "true"));
    None
}

fn missing(corpus: &Path, is_ci: bool) {
    let words = format!(
        "NOT TESTED: no real recording was imported or replayed, for there is no corpus at {}; name one with WIRETAPE_CORPUS",
        corpus.display()
    );
    assert!(!is_ci, "{words}");
    println!("{words}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_corpus_is_said() {
        missing(Path::new("nowhere"), false);
    }

    #[test]
    #[should_panic(expected = "NOT TESTED: no real recording was imported")]
    fn a_missing_corpus_fails_in_ci() {
        missing(Path::new("nowhere"), true);
    }
}
