//! Tagged netstrings: `LENGTH:PAYLOAD` and a byte that says what the payload is.

use crate::import::Refusal;

/// One value, borrowed from the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item<'b> {
    Bytes(&'b [u8]),
    Text(&'b str),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Null,
    List(Vec<Item<'b>>),
    Dictionary(Vec<(Item<'b>, Item<'b>)>),
}

impl<'b> Item<'b> {
    pub(super) fn get(&self, key: &str) -> Option<&Item<'b>> {
        match self {
            Self::Dictionary(entries) => {
                entries.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Names are text in some places and bytes in others.
    pub(super) fn text(&self) -> Option<&'b str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(super) fn bytes(&self) -> Option<&'b [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Text(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    pub(super) fn integer(&self) -> Option<i64> {
        if let Self::Integer(number) = self { Some(*number) } else { None }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Float(number) => Some(*number),
            Self::Integer(number) => Some(*number as f64),
            _ => None,
        }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        if let Self::Boolean(value) = self { Some(*value) } else { None }
    }

    pub(super) fn list(&self) -> Option<&[Item<'b>]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    pub(super) fn is_null(&self) -> bool {
        *self == Self::Null
    }
}

/// Reads items one after the other.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    items: usize,
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, items: 0 }
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn item(&mut self) -> Result<Item<'b>, Refusal> {
        self.within(self.bytes.len(), 0)
    }

    /// The next item, which must end before `end`. The depth is bounded, so calling itself is safe.
    fn within(&mut self, end: usize, depth: usize) -> Result<Item<'b>, Refusal> {
        self.items += 1;
        if self.items > MOST_ITEMS {
            return Err(self.wrong(format!("more than the {MOST_ITEMS} values allowed in one file")));
        }
        if depth > DEEPEST {
            return Err(self.wrong(format!("nested more than {DEEPEST} levels deep")));
        }
        let start = self.at;
        let digits = self.bytes[start..end].iter().take_while(|b| b.is_ascii_digit()).count();
        let length = std::str::from_utf8(&self.bytes[start..start + digits])
            .ok()
            .filter(|text| (1..=12).contains(&text.len()))
            .and_then(|text| text.parse::<usize>().ok());
        let Some(length) = length.filter(|_| self.bytes.get(start + digits) == Some(&b':')) else {
            return Err(self.wrong("expected a length and a colon".to_owned()));
        };
        let from = start + digits + 1;
        let to = from.checked_add(length).filter(|to| *to < end);
        let Some(to) = to else {
            return Err(self.wrong(format!("{length} bytes are announced, and fewer are there")));
        };
        let payload = &self.bytes[from..to];
        let item = match self.bytes[to] {
            b',' => Item::Bytes(payload),
            b';' => Item::Text(self.text(payload)?),
            b'#' => Item::Integer(self.parsed(payload, "a whole number")?),
            b'^' => Item::Float(self.parsed(payload, "a number")?),
            b'!' => Item::Boolean(self.parsed(payload, "true or false")?),
            b'~' if payload.is_empty() => Item::Null,
            b']' => {
                self.at = from;
                let mut items = Vec::new();
                while self.at < to {
                    items.push(self.within(to, depth + 1)?);
                }
                Item::List(items)
            }
            b'}' => {
                self.at = from;
                let mut entries = Vec::new();
                while self.at < to {
                    let key = self.within(to, depth + 1)?;
                    entries.push((key, self.within(to, depth + 1)?));
                }
                Item::Dictionary(entries)
            }
            mark => return Err(self.wrong(format!("unknown mark {:?}", char::from(mark)))),
        };
        self.at = to + 1;
        Ok(item)
    }

    fn text(&self, payload: &'b [u8]) -> Result<&'b str, Refusal> {
        std::str::from_utf8(payload).map_err(|_| self.wrong("text that is not UTF-8".to_owned()))
    }

    fn parsed<T: std::str::FromStr>(&self, payload: &'b [u8], what: &str) -> Result<T, Refusal> {
        self.text(payload)?.parse().map_err(|_| self.wrong(format!("expected {what}")))
    }

    fn wrong(&self, message: String) -> Refusal {
        Refusal::Offset { offset: self.at, message }
    }
}

const DEEPEST: usize = 40;
const MOST_ITEMS: usize = 4_000_000;
