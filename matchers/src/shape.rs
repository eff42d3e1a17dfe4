//! Values that are new in every run, known by what they look like.
//!
//! A shape is a property of a whole value and of the name it stands under, never of a part of a text.

use crate::number::Decimal;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// With hyphens, of any version, in any case.
    Uuid,
    /// A date with a time of day, as ISO 8601 or RFC 3339 write it. A date alone is no volatile value.
    Time,
    /// Seconds (with or without a fraction) or milliseconds since 1970, from 2014 to 2046.
    Epoch,
}

impl Shape {
    pub(crate) fn of_text(text: &str, name: &str) -> Option<Self> {
        if text.len() < 10 || text.len() > LONGEST {
            return None;
        }
        if is_uuid(text) {
            return Some(Self::Uuid);
        }
        if !text.as_bytes()[0].is_ascii_digit() {
            return None;
        }
        if is_time(text) {
            return Some(Self::Time);
        }
        (is_epoch_text(text) && tells_time(name)).then_some(Self::Epoch)
    }

    pub(crate) fn of_number(text: &str, name: &str) -> Option<Self> {
        if text.len() < 10 && !text.contains(['e', 'E']) {
            return None;
        }
        // By value, as numbers are compared: 1.7e9 must have the shape that 1700000000 has.
        (tells_time(name) && is_epoch(&Decimal::of(text))).then_some(Self::Epoch)
    }

    /// A path segment has no name and many of them are numbers, so only a UUID is certain enough.
    pub(crate) fn of_segment(text: &str) -> Option<Self> {
        is_uuid(text).then_some(Self::Uuid)
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// `2026-11-18T07:58:00.123+01:00`, with what ISO 8601 lets one leave out, or `20261118T075800Z`.
fn is_time(text: &str) -> bool {
    let reader = Reader(text.as_bytes());
    extended_time(reader).or_else(|| basic_time(reader)).is_some()
}

fn extended_time(mut text: Reader<'_>) -> Option<()> {
    text.number(4, 0..=9999)?;
    text.one_of(b"-")?;
    text.number(2, 1..=12)?;
    text.one_of(b"-")?;
    text.number(2, 1..=31)?;
    text.one_of(b"Tt ")?;
    text.number(2, 0..=24)?;
    text.one_of(b":")?;
    text.number(2, 0..=59)?;
    if text.one_of(b":").is_some() {
        text.number(2, 0..=60)?;
        text.fraction()?;
    }
    text.zone()
}

fn basic_time(mut text: Reader<'_>) -> Option<()> {
    text.number(4, 0..=9999)?;
    text.number(2, 1..=12)?;
    text.number(2, 1..=31)?;
    text.one_of(b"T")?;
    text.number(2, 0..=24)?;
    text.number(2, 0..=59)?;
    text.number(2, 0..=60)?;
    text.fraction()?;
    text.zone()
}

/// What is left of a text.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn one_of(&mut self, wanted: &[u8]) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        wanted.contains(first).then(|| self.0 = rest)
    }

    fn number(&mut self, len: usize, range: std::ops::RangeInclusive<u32>) -> Option<()> {
        let (digits, rest) = self.0.split_at_checked(len)?;
        let value =
            digits.iter().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u32::from(b - b'0')))?;
        range.contains(&value).then(|| self.0 = rest)
    }

    fn fraction(&mut self) -> Option<()> {
        if self.one_of(b".,").is_none() {
            return Some(());
        }
        let len = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        self.0 = &self.0[len..];
        (len > 0).then_some(())
    }

    /// `Z`, `+01:00`, `+0100`, `+01` or nothing, and then the end.
    fn zone(mut self) -> Option<()> {
        if self.one_of(b"Zz").is_none() && self.one_of(b"+-").is_some() {
            self.number(2, 0..=23)?;
            let minutes = self.one_of(b":");
            if minutes.is_some() || !self.0.is_empty() {
                self.number(2, 0..=59)?;
            }
        }
        self.0.is_empty().then_some(())
    }
}

fn is_epoch_text(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    digits(whole) && digits(fraction) && !whole.starts_with('0') && is_epoch(&Decimal::of(text))
}

fn is_epoch(number: &Decimal<'_>) -> bool {
    let seconds = number.whole_part(10).is_some_and(|n| SECONDS.contains(&n));
    seconds || (number.is_integer() && number.whole_part(13).is_some_and(|n| SECONDS.contains(&(n / 1000))))
}

/// Ten digits are an order number as often as a time; the name decides.
fn tells_time(name: &str) -> bool {
    if name.ends_with("At") {
        return true;
    }
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "ts" | "t" | "iat" | "exp" | "nbf" | "at")
        || name.ends_with("_at")
        || name.ends_with("_ts")
        || ["time", "date", "created", "updated", "expires", "nonce"].iter().any(|word| name.contains(word))
}

const SECONDS: std::ops::Range<u64> = 1_400_000_000..2_400_000_000;

/// Longer texts have no shape: a time with nanoseconds and an offset has 35 characters, a UUID 36.
const LONGEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_hyphens_and_any_case() {
        let shape = |text| Shape::of_text(text, "x");
        assert_eq!(shape("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), Some(Shape::Uuid));
        assert_eq!(shape("F81D4FAE-7DEC-41D0-A765-00A0C91E6BF6"), Some(Shape::Uuid));
        assert_eq!(shape("00000000-0000-0000-0000-000000000000"), Some(Shape::Uuid));
        assert_eq!(shape("f81d4fae7dec11d0a76500a0c91e6bf6"), None);
        assert_eq!(shape("g81d4fae-7dec-11d0-a765-00a0c91e6bf6"), None);
        assert_eq!(shape("id f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), None);
    }

    #[test]
    fn a_time_needs_a_date_and_a_time_of_day() {
        for text in [
            "2026-11-18T07:58:00Z",
            "2026-11-18T07:58:00.123456789+01:00",
            "2026-11-18 07:58:00",
            "2026-11-18t07:58z",
            "2026-11-18T07:58:00-0530",
            "2026-11-18T07:58:00+01",
            "20261118T075800Z",
        ] {
            assert_eq!(Shape::of_text(text, "x"), Some(Shape::Time), "{text}");
        }
        for text in [
            "2026-11-18",
            "2026-13-18T07:58:00Z",
            "2026-11-32T07:58:00Z",
            "2026-11-18T25:58:00Z",
            "2026-11-18T07:58:00.Z",
            "2026-11-18T07:58:00Z and more",
            "2026-11-18T07:58:00+1",
            "2026-11-18T07:58:00+01:",
            "20261118",
        ] {
            assert_eq!(Shape::of_text(text, "date"), None, "{text}");
        }
    }

    #[test]
    fn an_epoch_needs_a_name_that_tells_of_time() {
        for name in [
            "timestamp",
            "created",
            "createdAt",
            "updated_at",
            "event_ts",
            "ts",
            "t",
            "iat",
            "exp",
            "nbf",
            "at",
            "Nonce",
            "expires_in",
            "startDate",
        ] {
            assert_eq!(Shape::of_number("1700000000", name), Some(Shape::Epoch), "{name}");
            assert_eq!(Shape::of_text("1700000000", name), Some(Shape::Epoch), "{name}");
        }
        for name in ["", "id", "seed", "format", "cat", "ts2", "max_tokens"] {
            assert_eq!(Shape::of_number("1700000000", name), None, "{name}");
            assert_eq!(Shape::of_text("1700000000", name), None, "{name}");
        }
    }

    #[test]
    fn an_epoch_is_seconds_or_milliseconds_of_our_time() {
        for text in ["1400000000", "2399999999", "1700000000123", "1700000000.123"] {
            assert_eq!(Shape::of_number(text, "ts"), Some(Shape::Epoch), "{text}");
            assert_eq!(Shape::of_text(text, "ts"), Some(Shape::Epoch), "{text}");
        }
        for text in ["1399999999", "2400000000", "170000000", "17000000000", "1700000000123.5", "-1700000000"]
        {
            assert_eq!(Shape::of_number(text, "ts"), None, "{text}");
            assert_eq!(Shape::of_text(text, "ts"), None, "{text}");
        }
        assert_eq!(Shape::of_number("1.7e9", "ts"), Some(Shape::Epoch));
        assert_eq!(Shape::of_text("1.7e9000000", "ts"), None);
        assert_eq!(Shape::of_text("1700000000.", "ts"), None);
        assert_eq!(Shape::of_text("01700000000", "ts"), None);
    }
}
