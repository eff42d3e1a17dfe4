//! The few fields of an X.509 certificate that loading a CA has to look at.
//!
//! It reads our own certificates back, so it knows just enough DER to walk to the fields. It verifies nothing.

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

/// Parts of a certificate, the encoded ones with their tag and length.
#[derive(Debug, PartialEq)]
pub(crate) struct Fields<'a> {
    pub(crate) subject: &'a [u8],
    pub(crate) public_key: &'a [u8],
    pub(crate) not_before: OffsetDateTime,
    pub(crate) not_after: OffsetDateTime,
}

impl<'a> Fields<'a> {
    /// `None` when the bytes are not a certificate.
    pub(crate) fn read(certificate: &'a [u8]) -> Option<Self> {
        let mut body = Reader(Reader(certificate).next(SEQUENCE)?.content);
        let mut body = Reader(body.next(SEQUENCE)?.content);
        body.next(VERSION)?;
        body.next(INTEGER)?; // serial
        body.next(SEQUENCE)?; // signature algorithm
        body.next(SEQUENCE)?; // issuer
        let mut validity = Reader(body.next(SEQUENCE)?.content);
        let not_before = validity.next_time()?;
        let not_after = validity.next_time()?;
        let subject = body.next(SEQUENCE)?.whole;
        let public_key = body.next(SEQUENCE)?.whole;
        Some(Self { subject, public_key, not_before, not_after })
    }
}

struct Reader<'a>(&'a [u8]);

struct Element<'a> {
    tag: u8,
    content: &'a [u8],
    whole: &'a [u8],
}

impl<'a> Reader<'a> {
    fn next(&mut self, tag: u8) -> Option<Element<'a>> {
        self.next_any().filter(|element| element.tag == tag)
    }

    fn next_any(&mut self) -> Option<Element<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // A certificate is shorter than 64 KiB, so longer lengths are not ours.
            0x81 | 0x82 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        let whole = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        Some(Element { tag, content, whole })
    }

    fn next_time(&mut self) -> Option<OffsetDateTime> {
        let element = self.next_any()?;
        let text = std::str::from_utf8(element.content).ok()?.strip_suffix('Z')?;
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (year, rest) = match (element.tag, text.len()) {
            (UTC_TIME, 12) => {
                let year: i32 = text[..2].parse().ok()?;
                // RFC 5280, 4.1.2.5.1
                (if year < 50 { 2000 + year } else { 1900 + year }, &text[2..])
            }
            (GENERALIZED_TIME, 14) => (text[..4].parse().ok()?, &text[4..]),
            _ => return None,
        };
        let part = |at: usize| rest[at..at + 2].parse::<u8>().ok();
        let date = Date::from_calendar_date(year, Month::try_from(part(0)?).ok()?, part(2)?).ok()?;
        let time = Time::from_hms(part(4)?, part(6)?, part(8)?).ok()?;
        Some(PrimitiveDateTime::new(date, time).assume_utc())
    }
}

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

#[cfg(test)]
mod tests {
    use super::*;

    fn time(tag: u8, text: &str) -> Option<i64> {
        let mut bytes = vec![tag, u8::try_from(text.len()).unwrap()];
        bytes.extend_from_slice(text.as_bytes());
        Reader(&bytes).next_time().map(OffsetDateTime::unix_timestamp)
    }

    #[test]
    fn both_forms_of_time_are_read() {
        assert_eq!(time(UTC_TIME, "700101000001Z"), Some(1));
        assert_eq!(time(UTC_TIME, "010909014640Z"), Some(1_000_000_000));
        assert_eq!(time(GENERALIZED_TIME, "20010909014640Z"), Some(1_000_000_000));
    }

    #[test]
    fn a_malformed_time_is_refused() {
        for text in ["", "Z", "010909014640", "011309014640Z", "0109090146é0Z", "+10909014640Z"] {
            assert_eq!(time(UTC_TIME, text), None, "{text}");
        }
    }

    #[test]
    fn no_prefix_of_a_certificate_reads_as_one_before_its_public_key_ends() {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        let der = certificate.der();
        assert!(Fields::read(der).is_some());
        for length in 0..der.len() {
            assert_eq!(Fields::read(&der[..length]), None, "{length} bytes");
        }
    }
}
