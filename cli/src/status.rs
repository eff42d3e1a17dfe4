//! One line at the foot of the terminal while a program is being recorded.
//!
//! The child writes to the same terminal, so the line lives below the part that scrolls: the scrolling region ends
//! one row above it.

use std::{
    env,
    io::{self, IsTerminal, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use exchange::{Call, Outcome, Provenance};
use proxy::{Mode, Observer};

use crate::{
    run::mode_word,
    style::{Paint, To, tame},
    summary::{count, seconds},
};

/// The line, if there is a terminal to show it on. Dropped, it goes away.
pub(crate) struct Status(Option<Arc<Mutex<Line>>>);

struct Line {
    mode: Mode,
    rows: u16,
    columns: u16,
    calls: usize,
    last: String,
    began: Instant,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Shown,
    Gone,
}

impl Status {
    pub(crate) fn start(mode: Mode) -> Self {
        let wanted = matches!(mode, Mode::Record | Mode::Auto)
            && io::stderr().is_terminal()
            && env::var_os("TERM").is_some_and(|term| term != "dumb")
            && env::var_os("CI").is_none();
        let size = rustix::termios::tcgetwinsize(io::stderr()).ok().filter(|s| s.ws_row > 4 && s.ws_col > 20);
        let Some(size) = size.filter(|_| wanted) else { return Self(None) };
        let line = Line {
            mode,
            rows: size.ws_row,
            columns: size.ws_col,
            calls: 0,
            last: String::new(),
            began: Instant::now(),
            state: State::Shown,
        };
        line.open();
        let line = Arc::new(Mutex::new(line));
        keep_drawing(Arc::clone(&line));
        Self(Some(line))
    }

    /// Notes every call for the next drawing.
    pub(crate) fn observer(&self) -> Option<Observer> {
        let line = Arc::clone(self.0.as_ref()?);
        Some(Observer(Box::new(move |call| {
            let mut line = lock(&line);
            line.calls += 1;
            line.last = tame(&in_words(call));
        })))
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        if let Some(line) = &self.0 {
            lock(line).close();
        }
    }
}

impl Line {
    /// Makes room, and keeps the last row out of the scrolling.
    fn open(&self) {
        put(&format!("\n\x1b7\x1b[1;{}r\x1b8\x1b[1A", self.rows - 1));
    }

    fn draw(&self) {
        let (mode, calls) = (mode_word(self.mode), count(self.calls, "call"));
        let text = format!("wiretape {mode}  {calls}  {}  {}", seconds(self.began.elapsed()), self.last);
        let text: String = text.chars().take(usize::from(self.columns) - 1).collect();
        put(&format!("\x1b7\x1b[{};1H\x1b[2K{}\x1b8", self.rows, To::Stderr.paint(Paint::Dim, text)));
    }

    fn close(&mut self) {
        self.state = State::Gone;
        put(&format!("\x1b7\x1b[r\x1b[{};1H\x1b[2K\x1b8", self.rows));
    }
}

/// A thread of its own, since the line tells the time too. It ends with the line.
fn keep_drawing(line: Arc<Mutex<Line>>) {
    thread::spawn(move || {
        loop {
            {
                let line = lock(&line);
                if line.state == State::Gone {
                    return;
                }
                line.draw();
            }
            thread::sleep(OFTEN_ENOUGH);
        }
    });
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call on one line.
pub(crate) fn in_words(call: &Call) -> String {
    let outcome = match call.outcome {
        Outcome::Status(status) => status.to_string(),
        Outcome::Fault(fault) => fault.to_string(),
        Outcome::Denied => "denied".to_owned(),
    };
    let provenance = match call.provenance {
        Provenance::Live => "",
        Provenance::Cassette => " from the cassette",
        Provenance::Miss => " miss",
    };
    format!("{} {} {outcome}{provenance} {}", call.method, call.url, seconds(call.took))
}

fn put(text: &str) {
    // A terminal that went away takes nothing with it.
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

const OFTEN_ENOUGH: Duration = Duration::from_millis(100);
