//! What an id looks like, and what the one in its place does.
//!
//! A value that looks as if it had been made here is stable already and stays: to stabilize twice is to stabilize once.

use base64::{Engine, engine::general_purpose::STANDARD};
use matchers::catalog::IdForm;

/// The ids that are counted together. The text of a number is all that tells two of one kind apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// `chatcmpl-000001`
    Prefix(String),
    /// `1000000001`
    Number,
    /// `I_kwDO00000001`, by what stands before the number.
    Node(String),
    /// `00000000-0000-4000-8000-000000000001`
    Uuid,
    /// What stands between the quotes of an entity tag.
    Etag,
    /// By its template.
    Opaque(String),
}

/// An id as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Id {
    Of(Kind),
    /// `MDU6SXNzdWUxMjM=`, which is `05:Issue123`: a number in other clothes.
    OldNode(OldNode),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OldNode {
    head: String,
    pub(super) number: String,
    tail: String,
}

impl Id {
    /// `None`: a name, or something else that is nobody's to change.
    pub(super) fn read(form: &IdForm, value: &str) -> Option<Self> {
        let kind = match form {
            IdForm::Prefix(prefixes) => {
                let prefix = prefixes.iter().find(|prefix| value.starts_with(prefix.as_str()))?;
                let rest = &value[prefix.len()..];
                (rest.len() >= SHORTEST && rest.bytes().all(is_of_id))
                    .then(|| Kind::Prefix(prefix.clone()))?
            }
            IdForm::Number => is_number(value).then_some(Kind::Number)?,
            IdForm::Node => return node(value),
            IdForm::Uuid => is_uuid(value).then_some(Kind::Uuid)?,
            IdForm::Etag => {
                let is_of_tag = |b: u8| is_of_id(b) || matches!(b, b'+' | b'/' | b'=' | b':' | b'.');
                (value.len() >= SHORTEST && value.bytes().all(is_of_tag)).then_some(Kind::Etag)?
            }
            IdForm::Opaque(template) => {
                let is_one = value.len() >= SHORTEST && value.bytes().all(|b| b.is_ascii_graphic());
                // A redacted value is nobody's id, and neither is one that was never filled in.
                (is_one && !value.contains(['{', '\\'])).then(|| Kind::Opaque(template.clone()))?
            }
        };
        Some(Self::Of(kind))
    }

    /// The number of an id that was made here.
    pub(super) fn number_of(&self, text: &str) -> Option<u64> {
        match self {
            Self::Of(kind) => kind.number_of(text),
            Self::OldNode(node) => Kind::Number.number_of(&node.number),
        }
    }

    /// What no id is, for all ids of a kind.
    pub(super) fn nameless(&self) -> String {
        match self {
            Self::Of(kind) => kind.make(0),
            Self::OldNode(node) => node.with_number(&Kind::Number.make(0)),
        }
    }
}

impl Kind {
    /// The id with this number.
    pub(super) fn make(&self, number: u64) -> String {
        match self {
            Self::Prefix(prefix) => format!("{prefix}{number:06}"),
            Self::Number => (FIRST_NUMBER + number).to_string(),
            Self::Node(head) => format!("{head}{number:08}"),
            Self::Uuid => format!("{UUID_HEAD}{number:012}"),
            Self::Etag => format!("{number:064}"),
            Self::Opaque(template) => {
                let (start, digits, end) = parts(template);
                format!("{start}{number:0digits$}{end}")
            }
        }
    }

    /// The number of an id that was made by [`Kind::make`].
    pub(super) fn number_of(&self, id: &str) -> Option<u64> {
        let number = match self {
            Self::Number => id.parse::<u64>().ok()?.checked_sub(FIRST_NUMBER).filter(|n| *n < MOST)?,
            Self::Prefix(head) | Self::Node(head) => digits(id.strip_prefix(head.as_str())?)?,
            Self::Uuid => digits(id.strip_prefix(UUID_HEAD)?)?,
            Self::Etag => digits(id)?,
            Self::Opaque(template) => {
                let (start, _, end) = parts(template);
                digits(id.strip_prefix(start)?.strip_suffix(end)?)?
            }
        };
        // As it would be written, so that no two texts are one number.
        (number > 0 && self.make(number) == id).then_some(number)
    }
}

impl OldNode {
    /// The same with another number in it.
    pub(super) fn with_number(&self, number: &str) -> String {
        STANDARD.encode(format!("{}{number}{}", self.head, self.tail))
    }
}

/// Whether a text is as GitHub writes its numbers, and long enough to be known where it stands.
pub(super) fn is_number(value: &str) -> bool {
    (6..=15).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit()) && !value.starts_with('0')
}

fn node(value: &str) -> Option<Id> {
    if let Some((kind, rest)) = value.split_once('_') {
        let is_type = kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.len() <= 8
            && kind.bytes().all(|b| b.is_ascii_alphabetic());
        // The letters say which shard and how the rest is packed.
        let is_packed = rest.len() >= 8 && rest.starts_with(['k', 'l', 'm']) && rest.bytes().all(is_of_id);
        return (is_type && is_packed).then(|| Id::Of(Kind::Node(value[..kind.len() + 5].to_owned())));
    }
    if value.len() < 12 || !value.starts_with("MD") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
    let (count, rest) = text.split_once(':')?;
    if count.is_empty() || !count.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let name_len = rest.find(|c: char| !c.is_ascii_alphabetic())?;
    let (number, tail) = rest[name_len..]
        .split_at(rest[name_len..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - name_len));
    let head = text[..count.len() + 1 + name_len].to_owned();
    is_number(number).then(|| Id::OldNode(OldNode { head, number: number.to_owned(), tail: tail.to_owned() }))
}

/// What stands before the `#` signs of a template, how many they are, and what stands behind them.
fn parts(template: &str) -> (&str, usize, &str) {
    let start = template.find('#').unwrap_or(template.len());
    let end = template.rfind('#').map_or(start, |last| last + 1);
    (&template[..start], end - start, &template[end..])
}

fn digits(text: &str) -> Option<u64> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_of_id(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Shorter texts are words.
const SHORTEST: usize = 6;
const FIRST_NUMBER: u64 = 1_000_000_000;
/// More ids than any cassette has.
const MOST: u64 = 1_000_000;
const UUID_HEAD: &str = "00000000-0000-4000-8000-";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefixes() -> IdForm {
        IdForm::Prefix(["batch_req_", "batch_", "chatcmpl-", "call_"].map(Into::into).to_vec())
    }

    fn made(form: &IdForm, value: &str) -> Option<String> {
        match Id::read(form, value)? {
            Id::Of(kind) => Some(kind.make(7)),
            Id::OldNode(node) => Some(node.with_number("1000000007")),
        }
    }

    #[test]
    fn an_id_is_replaced_by_one_of_its_shape() {
        let opaque = IdForm::Opaque("################-AMS".into());
        for (form, value, new) in [
            (&prefixes(), "chatcmpl-978tsEgIx0oqdZwD8Gm02Ly8q1cmg", "chatcmpl-000007"),
            (&prefixes(), "batch_req_66f1c8d0b5d48190", "batch_req_000007"),
            (&prefixes(), "call_TRB1jnZxAdUJcnUg2vJEBejG", "call_000007"),
            (&IdForm::Number, "240830", "1000000007"),
            (&IdForm::Node, "I_kwDOHrjsK85OBUJp", "I_kwDO00000007"),
            (&IdForm::Node, "LA_kwDOHrjsK88AAAABAsKgWg", "LA_kwDO00000007"),
            (&IdForm::Node, "PRC_lALOHrjuF84A3qrSzgUGUwM", "PRC_lALO00000007"),
            // 012:Organization31898100 and 012:Organization1000000007
            (&IdForm::Node, "MDEyOk9yZ2FuaXphdGlvbjMxODk4MTAw", "MDEyOk9yZ2FuaXphdGlvbjEwMDAwMDAwMDc="),
            (&IdForm::Uuid, "8b1e7bf8-28c8-46b2-ba74-9de25294cff4", "00000000-0000-4000-8000-000000000007"),
            (&IdForm::Opaque("#".repeat(22)), "8e97asPMLaS4qtsP7oGv4Ag", "0000000000000000000007"),
            (&opaque, "86fc6ba8bd2f0c5b-FRA", "0000000000000007-AMS"),
        ] {
            assert_eq!(made(form, value).as_deref(), Some(new), "{value}");
        }
        assert_eq!(made(&IdForm::Etag, "3a1f0c55").unwrap().len(), 64);
    }

    #[test]
    fn a_name_is_no_id() {
        for (form, value) in [
            (&prefixes(), "gpt-4o-mini"),
            (&prefixes(), "call_1"),
            (&prefixes(), "call_the model"),
            (&IdForm::Number, "12345"),
            (&IdForm::Number, "012345678"),
            (&IdForm::Number, "1.5e10000"),
            (&IdForm::Node, "octocat"),
            (&IdForm::Node, "I_am_a_name"),
            (&IdForm::Node, "MDU6SXNzdWUxMjM="),
            (&IdForm::Uuid, "8b1e7bf828c846b2ba749de25294cff4"),
            (&IdForm::Opaque("######".into()), "{{redacted:token:1}}"),
        ] {
            assert_eq!(made(form, value), None, "{value}");
        }
    }

    #[test]
    fn only_what_was_made_here_has_a_number() {
        let kinds = [
            Kind::Prefix("msg_".into()),
            Kind::Number,
            Kind::Node("I_kwDO".into()),
            Kind::Uuid,
            Kind::Etag,
            Kind::Opaque("a:######:b".into()),
        ];
        for kind in kinds {
            assert_eq!(kind.number_of(&kind.make(12)), Some(12), "{kind:?}");
            assert_eq!(kind.number_of(&kind.make(0)), None, "{kind:?}");
        }
        assert_eq!(Kind::Prefix("msg_".into()).number_of("msg_12"), None);
        assert_eq!(Kind::Prefix("msg_".into()).number_of("msg_0000012"), None);
        assert_eq!(Kind::Prefix("msg_".into()).number_of("msg_1234567"), Some(1_234_567));
        assert_eq!(Kind::Number.number_of("2000000001"), None);
    }

    proptest! {
        #[test]
        fn no_two_numbers_make_one_id(a in 1u64..MOST, b in 1u64..MOST) {
            for kind in [Kind::Prefix("m_".into()), Kind::Number, Kind::Uuid, Kind::Opaque("######".into())] {
                prop_assert_eq!(kind.make(a) == kind.make(b), a == b);
            }
        }
    }
}
