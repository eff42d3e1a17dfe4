//! How far an import has come, on a terminal.

use std::{
    env,
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicUsize, Ordering},
};

/// A line that is drawn over and over. Dropped, it goes away.
pub(super) struct Progress {
    total: usize,
    done: AtomicUsize,
    is_shown: bool,
}

impl Progress {
    pub(super) fn start(total: usize) -> Self {
        let is_shown = total > 1
            && io::stderr().is_terminal()
            && env::var_os("TERM").is_some_and(|term| term != "dumb")
            && env::var_os("CI").is_none();
        Self { total, done: AtomicUsize::new(0), is_shown }
    }

    /// One more file is done.
    pub(super) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let hundredth = (self.total / 100).max(1);
        if self.is_shown && (done.is_multiple_of(hundredth) || done == self.total) {
            put(&bar(done, self.total));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            put("\r\x1b[2K");
        }
    }
}

fn bar(done: usize, total: usize) -> String {
    let filled = done * WIDTH / total.max(1);
    format!("\r\x1b[2Kimporting [{}{}] {done}/{total} files", "#".repeat(filled), " ".repeat(WIDTH - filled))
}

fn put(text: &str) {
    // A terminal that went away takes nothing with it.
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

const WIDTH: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_with_the_files() {
        assert_eq!(bar(1, 2), format!("\r\x1b[2Kimporting [{}{}] 1/2 files", "#".repeat(15), " ".repeat(15)));
        assert_eq!(bar(2, 2), format!("\r\x1b[2Kimporting [{}] 2/2 files", "#".repeat(30)));
    }
}
