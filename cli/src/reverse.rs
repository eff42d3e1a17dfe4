//! `--reverse NAME=URL`: a port of ours that stands in for an origin, and the variables that lead clients to it.

use std::{net::SocketAddr, str::FromStr};

use exchange::Url;
use proxy::Origin;
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reverse {
    name: String,
    url: Url,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not NAME=URL, such as openai=https://api.openai.com")]
pub(crate) struct ReverseError(String);

impl Reverse {
    pub(crate) fn origin(&self) -> Origin {
        Origin::new(self.url.scheme, &self.url.host, Some(self.url.port))
    }

    /// The variables that SDKs read their base URL from.
    pub(crate) fn variables(&self, address: SocketAddr) -> Vec<(String, String)> {
        let base = format!("http://{address}");
        let path = self.url.path.trim_end_matches('/');
        let known = KNOWN.iter().find(|(name, _)| *name == self.name);
        match known {
            Some((_, variables)) => variables
                .iter()
                .map(|(variable, usual)| {
                    let path = if path.is_empty() { usual } else { path };
                    ((*variable).to_owned(), format!("{base}{path}"))
                })
                .collect(),
            None => {
                let name = self.name.to_ascii_uppercase().replace('-', "_");
                vec![(format!("{name}_BASE_URL"), format!("{base}{path}"))]
            }
        }
    }
}

impl FromStr for Reverse {
    type Err = ReverseError;

    fn from_str(text: &str) -> Result<Self, ReverseError> {
        let fail = || ReverseError(text.to_owned());
        let (name, url) = text.split_once('=').ok_or_else(fail)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(fail());
        }
        let url = Url::parse(url).map_err(|_| fail())?;
        Ok(Self { name: name.to_owned(), url })
    }
}

/// Variables by provider, each with the path that its SDK expects behind the host.
const KNOWN: &[(&str, &[(&str, &str)])] = &[
    ("openai", &[("OPENAI_BASE_URL", "/v1"), ("OPENAI_API_BASE", "/v1")]),
    ("anthropic", &[("ANTHROPIC_BASE_URL", "")]),
    ("gemini", &[("GOOGLE_GEMINI_BASE_URL", "")]),
    ("github", &[("GITHUB_API_URL", "")]),
    ("mistral", &[("MISTRAL_BASE_URL", "")]),
    ("groq", &[("GROQ_BASE_URL", "")]),
    ("ollama", &[("OLLAMA_HOST", "")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_set_the_variables_of_their_sdk_and_others_one_of_their_own() {
        let address = "127.0.0.1:4000".parse().unwrap();
        let of = |text: &str| text.parse::<Reverse>().unwrap().variables(address);
        assert_eq!(
            of("openai=https://api.openai.com")[0],
            ("OPENAI_BASE_URL".into(), "http://127.0.0.1:4000/v1".into())
        );
        assert_eq!(
            of("my-api=https://x.test/base/"),
            [("MY_API_BASE_URL".to_owned(), "http://127.0.0.1:4000/base".to_owned())]
        );
        assert!("openai".parse::<Reverse>().is_err());
        assert!("=https://x".parse::<Reverse>().is_err());
    }
}
