//! JSON numbers by value, whatever their size: `1`, `1.0` and `1e0` are one number.

use std::borrow::Cow;

/// A number in the one form that all its spellings share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decimal<'a> {
    /// `digits` × 10^`exponent`; no zero at either end of the digits, none at all for zero, which has no sign.
    Value { negative: bool, digits: Cow<'a, str>, exponent: i64 },
    /// Its exponent is beyond counting: compared by its text.
    Odd(String),
}

impl<'a> Decimal<'a> {
    /// `text` is a number as JSON spells it.
    pub(crate) fn of(text: &'a str) -> Self {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (digits, fraction_len) = match mantissa.split_once('.') {
            None => (Cow::Borrowed(mantissa), 0),
            Some((whole, fraction)) => (Cow::Owned(format!("{whole}{fraction}")), fraction.len()),
        };
        let digits = trim_start(digits);
        let len = digits.len();
        let digits = trim_end(digits);
        if digits.is_empty() {
            return Self::Value { negative: false, digits, exponent: 0 };
        }
        // A length fits in an i64, the exponent that was written may not.
        let moved = (len - digits.len()) as i64 - fraction_len as i64;
        match power.parse::<i64>().ok().and_then(|power| power.checked_add(moved)) {
            Some(exponent) => Self::Value { negative, digits, exponent },
            None => Self::Odd(text.to_ascii_lowercase().replace('+', "")),
        }
    }

    /// The digits before the point, if it is a positive number with this many of them.
    pub(crate) fn whole_part(&self, len: usize) -> Option<u64> {
        let Self::Value { negative: false, digits, exponent } = self else {
            return None;
        };
        if (digits.len() as i64).checked_add(*exponent)? != len as i64 {
            return None;
        }
        let kept = &digits[..digits.len().min(len)];
        kept.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow((len - kept.len()) as u32)?)
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self, Self::Value { exponent: 0.., .. })
    }
}

fn trim_start(digits: Cow<'_, str>) -> Cow<'_, str> {
    match digits {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_start_matches('0')),
        Cow::Owned(text) => Cow::Owned(text.trim_start_matches('0').to_owned()),
    }
}

fn trim_end(digits: Cow<'_, str>) -> Cow<'_, str> {
    match digits {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_end_matches('0')),
        Cow::Owned(mut text) => {
            text.truncate(text.trim_end_matches('0').len());
            Cow::Owned(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value_are_one_number() {
        for spellings in [
            &["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.00"][..],
            &["0", "-0", "0.0", "0e99999999999999999999", "-0.0e5"],
            &["1500", "1.5e3", "15e2"],
            &["-0.001", "-1e-3"],
            &["123456789012345678901234567890", "12345678901234567890123456789e1"],
        ] {
            for spelling in spellings {
                assert_eq!(Decimal::of(spelling), Decimal::of(spellings[0]), "{spelling}");
            }
        }
    }

    #[test]
    fn different_values_are_different_numbers() {
        let texts = [
            "1",
            "-1",
            "10",
            "0.1",
            "0",
            "1e400",
            "1e99999999999999999999",
            "2e99999999999999999999",
            "123456789012345678901234567890",
            "123456789012345678901234567891",
        ];
        for (i, a) in texts.iter().enumerate() {
            for b in &texts[i + 1..] {
                assert_ne!(Decimal::of(a), Decimal::of(b), "{a} {b}");
            }
        }
    }

    #[test]
    fn the_whole_part_is_found_in_any_spelling() {
        assert_eq!(Decimal::of("1700000000.25").whole_part(10), Some(1_700_000_000));
        assert_eq!(Decimal::of("1.7e9").whole_part(10), Some(1_700_000_000));
        assert_eq!(Decimal::of("170000000").whole_part(10), None);
        assert_eq!(Decimal::of("-1700000000").whole_part(10), None);
        assert_eq!(Decimal::of("1e9223372036854775807").whole_part(10), None);
    }
}
