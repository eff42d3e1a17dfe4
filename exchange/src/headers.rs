//! Header fields: ordered, repeated names kept, values as bytes.

use std::fmt;

use thiserror::Error;

/// Header fields in the order they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<Header>);

/// One field. It can only hold a name and a value that are legal on the wire, so nothing read from a file can
/// inject a second header.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    #[error("header name {0:?} is empty or holds a character that no header name may hold")]
    Name(String),
    #[error("value of header `{0}` holds a line break or a control character")]
    Value(String),
}

impl Header {
    /// Names are kept in lower case, as HTTP/2 sends them and HTTP/1 compares them.
    pub fn new(name: &str, value: impl Into<Vec<u8>>) -> Result<Self, HeaderError> {
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(HeaderError::Name(name.to_owned()));
        }
        let value = value.into();
        if value.iter().any(|&b| (b < b' ' && b != b'\t') || b == 0x7f) {
            return Err(HeaderError::Value(name.to_owned()));
        }
        Ok(Self { name: name.to_ascii_lowercase(), value })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn value(&self) -> &[u8] {
        &self.value
    }

    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.value).ok()
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value may be a credential; names are enough to debug with.
        write!(f, "{}: [{} bytes]", self.name, self.value.len())
    }
}

impl Headers {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, header: Header) {
        self.0.push(header);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Header> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first value under this lower-case name, if it is UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|h| h.name == name).and_then(Header::text)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|h| h.name == name)
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Header> + 'a {
        self.0.iter().filter(move |h| h.name == name)
    }

    pub fn retain(&mut self, keep: impl FnMut(&Header) -> bool) {
        self.0.retain(keep);
    }

    /// Replaces every value under `name` by one; keeps the place of the first.
    pub fn set(&mut self, header: Header) {
        let place = self.0.iter().position(|h| h.name == header.name).unwrap_or(self.0.len());
        self.0.retain(|h| h.name != header.name);
        self.0.insert(place.min(self.0.len()), header);
    }

    /// The media type without parameters, in lower case.
    pub fn media_type(&self) -> Option<String> {
        let value = self.text("content-type")?;
        Some(value.split(';').next().unwrap_or("").trim().to_ascii_lowercase())
    }

    /// A parameter of the content type, such as `boundary`.
    pub fn media_parameter(&self, parameter: &str) -> Option<String> {
        let value = self.text("content-type")?;
        value.split(';').skip(1).find_map(|p| {
            let (name, value) = p.split_once('=')?;
            name.trim().eq_ignore_ascii_case(parameter).then(|| value.trim().trim_matches('"').to_owned())
        })
    }
}

impl FromIterator<Header> for Headers {
    fn from_iter<I: IntoIterator<Item = Header>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl IntoIterator for Headers {
    type Item = Header;
    type IntoIter = std::vec::IntoIter<Header>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Headers {
    type Item = &'a Header;
    type IntoIter = std::slice::Iter<'a, Header>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Whether a field belongs to one connection (RFC 9110, 7.6.1), is framing that each side makes anew, or offers a way
/// round a proxy. The name is in lower case.
pub fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.contains(&name)
}

fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

const HOP_BY_HOP: &[&str] = &[
    "alt-svc",
    "connection",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_a_line_break_is_refused() {
        assert_eq!(Header::new("x-a", "1\r\nx-b: 2"), Err(HeaderError::Value("x-a".into())));
        assert_eq!(Header::new("x a", "1"), Err(HeaderError::Name("x a".into())));
    }

    #[test]
    fn names_are_lower_case_and_repeats_are_kept_in_order() {
        let headers: Headers = [("Set-Cookie", "a"), ("X", "b"), ("set-cookie", "c")]
            .map(|(n, v)| Header::new(n, v).unwrap())
            .into_iter()
            .collect();
        let seen: Vec<_> = headers.all("set-cookie").map(|h| h.text().unwrap()).collect();
        assert_eq!(seen, ["a", "c"]);
    }

    #[test]
    fn set_keeps_the_place_of_the_first_and_drops_the_rest() {
        let mut headers: Headers = [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")]
            .map(|(n, v)| Header::new(n, v).unwrap())
            .into_iter()
            .collect();
        headers.set(Header::new("a", "9").unwrap());
        let seen: Vec<_> = headers.iter().map(|h| (h.name(), h.text().unwrap())).collect();
        assert_eq!(seen, [("a", "9"), ("b", "2"), ("c", "4")]);
    }

    #[test]
    fn debug_output_never_shows_a_value() {
        let header = Header::new("authorization", "hidden-value").unwrap();
        assert_eq!(format!("{header:?}"), "authorization: [12 bytes]");
    }
}
