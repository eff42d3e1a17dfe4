//! The recordings of other projects, which are too large and too much theirs to be part of this one.

use std::{env, path::PathBuf};

use crate::clients;

/// The corpus: `WIRETAPE_CORPUS`, or `shared/corpus` beside the workspace. Without one, says what is not tested.
pub fn folder() -> Option<PathBuf> {
    let named = env::var_os("WIRETAPE_CORPUS").map(PathBuf::from);
    let corpus = named.unwrap_or_else(|| clients::workspace().join("../shared/corpus"));
    if corpus.is_dir() {
        return Some(corpus);
    }
    println!("NOT TESTED: there is no corpus at {}", corpus.display());
    None
}
