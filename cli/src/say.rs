//! Printing for a person who may have stopped reading: a closed pipe is no reason to fail, or to panic.
//!
//! What is said at once is written at once, so that lines of two threads do not mix.

macro_rules! print {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = std::io::stdout().write_all(format!($($words)*).as_bytes());
    }};
}

macro_rules! println {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = std::io::stdout().write_all((format!($($words)*) + "\n").as_bytes());
    }};
}

macro_rules! eprint {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = std::io::stderr().write_all(format!($($words)*).as_bytes());
    }};
}

macro_rules! eprintln {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = std::io::stderr().write_all((format!($($words)*) + "\n").as_bytes());
    }};
}
