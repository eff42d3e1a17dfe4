//! Durations as every file spells them: a number and a unit.

use std::time::Duration;

/// Writes a duration as [`crate::Node::duration`] reads it: whole milliseconds below ten seconds, then seconds
/// with up to three decimals. What is finer than a millisecond is dropped.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis < 10_000 {
        return format!("{millis}ms");
    }
    let decimals = format!("{:03}", millis % 1000);
    match decimals.trim_end_matches('0') {
        "" => format!("{}s", millis / 1000),
        decimals => format!("{}.{decimals}s", millis / 1000),
    }
}

/// Reads `250ms`, `1.5s`, `2m`, `1h`; `None` for anything else and for more than a year.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let nanos_per_unit: u64 = match unit {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let fraction_digits = u32::try_from(fraction.len()).ok().filter(|digits| *digits <= MOST_DECIMALS)?;
    let nanos = digits(whole)?.checked_mul(nanos_per_unit)?.checked_add(
        // At most 10^9 times 3.6 * 10^12: needs the wider type only in between.
        u64::try_from(
            u128::from(digits(fraction)?) * u128::from(nanos_per_unit) / 10_u128.pow(fraction_digits),
        )
        .ok()?,
    )?;
    Some(Duration::from_nanos(nanos)).filter(|duration| *duration <= LONGEST)
}

fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

pub(crate) const HELP: &str = "write a number and a unit, such as 250ms, 1.5s, 2m or 1h";

const MOST_DECIMALS: u32 = 9;

/// A clock cannot be moved arbitrarily far: adding an absurd duration to an instant would overflow.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_unit_is_read() {
        for (text, millis) in [
            ("0ms", 0),
            ("250ms", 250),
            ("2s", 2_000),
            ("1.5s", 1_500),
            ("0.25m", 15_000),
            ("1h", 3_600_000),
            ("8760h", 31_536_000_000),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse_duration("0.5ms"), Some(Duration::from_micros(500)));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "5",
            "s",
            ".5s",
            "1.s",
            "1,5s",
            "-1s",
            "+1s",
            "1 s",
            "1S",
            "1d",
            "1e3s",
            "8761h",
            "1.5.2s",
            "१s",
            "99999999999999999999s",
            "18446744073709551615h",
            "1.0000000001s",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn milliseconds_turn_into_seconds_at_ten() {
        for (millis, text) in [
            (0, "0ms"),
            (180, "180ms"),
            (1_500, "1500ms"),
            (9_999, "9999ms"),
            (10_000, "10s"),
            (12_340, "12.34s"),
            (60_001, "60.001s"),
        ] {
            assert_eq!(format_duration(Duration::from_millis(millis)), text);
        }
    }

    proptest! {
        #[test]
        fn formatting_is_the_inverse_of_reading(millis in 0_u64..31_536_000_000) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Some(duration));
        }
    }
}
