//! Sizes with a unit: `64MiB`, `500kB`, `1024`.

use std::{fmt, str::FromStr};

use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a size; write it like 64MiB, 500kB or 4096")]
pub(crate) struct SizeError(String);

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let fail = || SizeError(text.to_owned());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: usize = number.parse().map_err(|_| fail())?;
        let factor = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(fail)?.1;
        number.checked_mul(factor).map(Self).ok_or_else(fail)
    }
}

/// A size for a person to read: three digits are enough.
pub(crate) fn human(bytes: u64) -> impl fmt::Display {
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..10_000 => format!("{:.1} kB", value / 1e3),
        10_000..1_000_000 => format!("{:.0} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.1} GB", value / 1e9),
    }
}

const UNITS: &[(&str, usize)] = &[
    ("", 1),
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        assert_eq!("64MiB".parse(), Ok(Size(64 << 20)));
        assert_eq!("500 kB".parse(), Ok(Size(500_000)));
        assert_eq!("7".parse(), Ok(Size(7)));
        for bad in ["", "MiB", "64 Mi", "-1", "99999999999999999999", "99999999999999GiB"] {
            assert!(bad.parse::<Size>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_shown_with_a_fitting_unit() {
        let shown = [999, 1_234, 12_345, 1_234_567].map(|n| human(n).to_string());
        assert_eq!(shown, ["999 B", "1.2 kB", "12 kB", "1.2 MB"]);
    }
}
