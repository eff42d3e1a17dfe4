//! Times as providers write them, and other times written the same way.

use time::{Date, Duration, Month, PrimitiveDateTime, Time, UtcOffset};

/// A time, in seconds since 1970, and how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) seconds: i64,
    spelling: Spelling,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Spelling {
    /// Seconds since 1970, with what follows the point.
    Epoch { fraction: String },
    /// Milliseconds since 1970.
    Millis,
    /// ISO 8601: what stands between date and time, what follows the seconds, and how far the clock is off.
    Iso { separator: char, fraction: String, zone: String, offset: UtcOffset },
    /// `Wed, 18 Nov 2026 20:00:00 GMT`
    Http,
}

impl Stamp {
    /// `None` for what is no moment of our time.
    pub(super) fn read(text: &str) -> Option<Self> {
        if !text.is_ascii() || !(10..=40).contains(&text.len()) {
            return None;
        }
        let read =
            if text.as_bytes()[0].is_ascii_digit() { epoch(text).or_else(|| iso(text)) } else { http(text) };
        read.filter(|stamp| OUR_TIME.contains(&stamp.seconds))
    }

    /// Another time in the same spelling. Parts of a second become zeros.
    pub(super) fn at(&self, seconds: i64) -> String {
        let zeros = |fraction: &str| fraction.replace(|c: char| c.is_ascii_digit(), "0");
        match &self.spelling {
            Spelling::Epoch { fraction } => format!("{seconds}{}", zeros(fraction)),
            Spelling::Millis => format!("{seconds}000"),
            Spelling::Iso { separator, fraction, zone, offset } => {
                let moment = moment(seconds + i64::from(offset.whole_seconds()));
                let (year, month, day) = moment.to_calendar_date();
                let (hour, minute, second) = moment.as_hms();
                let month = u8::from(month);
                let fraction = zeros(fraction);
                format!(
                    "{year:04}-{month:02}-{day:02}{separator}{hour:02}:{minute:02}:{second:02}{fraction}{zone}"
                )
            }
            Spelling::Http => {
                let moment = moment(seconds);
                let (year, month, day) = moment.to_calendar_date();
                let (hour, minute, second) = moment.as_hms();
                let weekday = &moment.weekday().to_string()[..3];
                let month = &month.to_string()[..3];
                format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
            }
        }
    }
}

/// The first second of the day that comes after this moment's tomorrow has begun.
pub(super) fn a_day_after(seconds: i64) -> i64 {
    (seconds.div_euclid(DAY) + 2) * DAY
}

fn epoch(text: &str) -> Option<Stamp> {
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction.strip_prefix('.').unwrap_or("")) || fraction == "." {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    match (whole.len(), fraction) {
        (10, _) => {
            Some(Stamp { seconds: number, spelling: Spelling::Epoch { fraction: fraction.to_owned() } })
        }
        (13, "") => Some(Stamp { seconds: number / 1000, spelling: Spelling::Millis }),
        _ => None,
    }
}

fn iso(text: &str) -> Option<Stamp> {
    let date = text.get(..10)?;
    let separator = text[10..].chars().next().filter(|c| matches!(c, 'T' | 't' | ' '))?;
    let clock = text.get(11..19)?;
    let rest = &text[19..];
    let fraction_len = match rest.strip_prefix('.') {
        Some(digits) => 1 + digits.bytes().take_while(u8::is_ascii_digit).count(),
        None => 0,
    };
    let (fraction, zone) = rest.split_at(fraction_len);
    if fraction == "." {
        return None;
    }
    let offset = zone_offset(zone)?;
    let mut parts = date.splitn(3, '-');
    let (year, month, day) =
        (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let seconds = seconds_of(year, month, day, clock)? - i64::from(offset.whole_seconds());
    let spelling = Spelling::Iso { separator, fraction: fraction.to_owned(), zone: zone.to_owned(), offset };
    Some(Stamp { seconds, spelling })
}

fn zone_offset(zone: &str) -> Option<UtcOffset> {
    if matches!(zone, "" | "Z" | "z" | " UTC" | " +0000 UTC") {
        return Some(UtcOffset::UTC);
    }
    let sign = match zone.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = zone[1..].replace(':', "");
    let value = i8::try_from(number(digits.get(..2)?, 2)?).ok()?;
    let minutes = match digits.get(2..) {
        Some("") => 0,
        Some(rest) => i8::try_from(number(rest, 2)?).ok()?,
        None => return None,
    };
    UtcOffset::from_hms(sign * value, sign * minutes, 0).ok()
}

fn http(text: &str) -> Option<Stamp> {
    let rest = text.get(3..)?.strip_prefix(", ")?;
    let mut words = rest.strip_suffix(" GMT")?.split(' ');
    let (day, month, year, clock) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? as u32 + 1;
    if words.next().is_some() {
        return None;
    }
    let seconds = seconds_of(number(year, 4)?, month, number(day, 2)?, clock)?;
    Some(Stamp { seconds, spelling: Spelling::Http })
}

fn seconds_of(year: u32, month: u32, day: u32, clock: &str) -> Option<i64> {
    let mut parts = clock.splitn(3, ':');
    let mut next = || number(parts.next()?, 2).and_then(|n| u8::try_from(n).ok());
    let time = Time::from_hms(next()?, next()?, next()?).ok()?;
    let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp())
}

fn moment(seconds: i64) -> PrimitiveDateTime {
    let epoch = Date::from_calendar_date(1970, Month::January, 1).expect("1970 began in January");
    // Far beyond anything that was read: as good as any.
    epoch.midnight().checked_add(Duration::seconds(seconds)).unwrap_or(PrimitiveDateTime::MAX)
}

fn number(text: &str, len: usize) -> Option<u32> {
    (text.len() == len && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY: i64 = 86_400;
/// From 2001, when there were ten digits, to 2100.
const OUR_TIME: std::ops::Range<i64> = 1_000_000_000..4_102_444_800;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2024-01-01T00:00:05Z
    const NEW: i64 = 1_704_067_205;

    #[test]
    fn another_time_is_written_as_this_one_was() {
        for (text, new) in [
            ("1711915922", "1704067205"),
            ("1787150054.0", "1704067205.0"),
            ("1787150054.125", "1704067205.000"),
            ("1711915922123", "1704067205000"),
            ("2018-01-01T22:35:01Z", "2024-01-01T00:00:05Z"),
            ("2026-08-19T14:34:11.612000Z", "2024-01-01T00:00:05.000000Z"),
            ("2026-08-20T14:44:51.493319+00:00", "2024-01-01T00:00:05.000000+00:00"),
            ("2018-01-04T17:36:06-06:00", "2023-12-31T18:00:05-06:00"),
            ("2018-01-04T17:36:06+0530", "2024-01-01T05:30:05+0530"),
            ("2018-01-01T22:35:01", "2024-01-01T00:00:05"),
            ("2018-01-01 22:35:01 UTC", "2024-01-01 00:00:05 UTC"),
            ("Fri, 07 Sep 2018 08:59:11 GMT", "Mon, 01 Jan 2024 00:00:05 GMT"),
        ] {
            assert_eq!(Stamp::read(text).map(|stamp| stamp.at(NEW)).as_deref(), Some(new), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_left_alone() {
        for text in [
            "",
            "12345",
            "0000000001",
            "171191592200",
            "1711915922.",
            "2018-01-01",
            "2018-13-01T22:35:01Z",
            "2018-01-01T22:35:01.Z",
            "2018-01-01T22:35:01 and more",
            "Fri, 07 Sep 2018 08:59:11 CET",
            "Frühling, 07 Sep 2018",
        ] {
            assert_eq!(Stamp::read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(seconds in OUR_TIME, other in OUR_TIME) {
            for text in ["1711915922", "2018-01-04T17:36:06-06:00", "Fri, 07 Sep 2018 08:59:11 GMT"] {
                let written = Stamp::read(text).unwrap().at(seconds);
                let read = Stamp::read(&written).unwrap();
                prop_assert_eq!(read.seconds, seconds);
                prop_assert_eq!(read.at(other), Stamp::read(text).unwrap().at(other));
            }
        }
    }
}
