//! The bodies and queries of requests: every key is read by somebody, or refused by its name.

use http::StatusCode;
use serde_json::{Map, Value};

use super::reply::Answer;

/// A JSON object whose keys are taken out one by one.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Nothing at all is an object without keys.
    pub(super) fn of_body(body: &[u8]) -> Result<Self, Answer> {
        if body.trim_ascii().is_empty() {
            return Ok(Self(Map::new()));
        }
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(bad("the body must be a JSON object")),
            Err(error) => Err(bad(format!("the body is not JSON: {error}"))),
        }
    }

    /// The keys of a query hold text; a number in it is read by [`Fields::number`] all the same.
    pub(super) fn of_query(query: &str) -> Result<Self, Answer> {
        let mut fields = Map::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = value.parse::<u64>().map(Value::from);
            let value = number.unwrap_or_else(|_| Value::String(value.to_owned()));
            if fields.insert(key.to_owned(), value).is_some() {
                return Err(bad(format!("`{key}` stands twice in the query")));
            }
        }
        Ok(Self(fields))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, Answer> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(bad(format!("`{key}` must be text"))),
        }
    }

    pub(super) fn number<T: TryFrom<u64>>(&mut self, key: &str) -> Result<Option<T>, Answer> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let number = value.as_u64().and_then(|number| T::try_from(number).ok());
        number.map(Some).ok_or_else(|| bad(format!("`{key}` must be a whole number that is not negative")))
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, Answer> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let chosen = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        let all: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        chosen.map(Some).ok_or_else(|| bad(format!("`{key}` must be one of {}", all.join(", "))))
    }

    /// To be called last: a key that nobody read means nothing.
    pub(super) fn finish(self) -> Result<(), Answer> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(key) => Err(bad(format!("`{key}` is no key of this request"))),
        }
    }

    /// `null` is as good as nothing.
    fn take(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key).filter(|value| !value.is_null())
    }
}

pub(super) fn bad(message: impl Into<String>) -> Answer {
    Answer::error(StatusCode::BAD_REQUEST, message)
}
