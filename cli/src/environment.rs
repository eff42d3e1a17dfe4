//! Variables, printed for a shell to read.

use std::{collections::BTreeMap, ffi::OsString};

use certs::Variables;
use serde_json::json;

use crate::args::EnvFormat;

/// What to set and what to take away.
#[derive(Debug, Default)]
pub(crate) struct Changes(BTreeMap<String, Option<String>>);

impl Changes {
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), Some(value.to_owned()));
    }
}

impl From<Variables> for Changes {
    fn from(variables: Variables) -> Self {
        let text = |value: OsString| value.to_string_lossy().into_owned();
        let unset = variables.unset.into_iter().map(|name| (name.to_owned(), None));
        let set = variables.set.into_iter().map(|(name, value)| (name, Some(text(value))));
        Self(unset.chain(set).collect())
    }
}

pub(crate) fn print(changes: &Changes, format: EnvFormat) {
    print!("{}", rendered(changes, format));
}

fn rendered(changes: &Changes, format: EnvFormat) -> String {
    let lines = changes.0.iter();
    match format {
        EnvFormat::Sh => lines
            .map(|(name, value)| match value {
                Some(value) => format!("export {name}='{}'\n", value.replace('\'', r"'\''")),
                None => format!("unset {name}\n"),
            })
            .collect(),
        EnvFormat::Fish => lines
            .map(|(name, value)| match value {
                Some(value) => {
                    format!("set -gx {name} '{}'\n", value.replace('\\', r"\\").replace('\'', r"\'"))
                }
                None => format!("set -e {name}\n"),
            })
            .collect(),
        EnvFormat::Json => {
            let set: BTreeMap<_, _> = changes.0.iter().filter_map(|(n, v)| Some((n, v.as_ref()?))).collect();
            let unset: Vec<_> = changes.0.iter().filter(|(_, v)| v.is_none()).map(|(n, _)| n).collect();
            format!("{:#}\n", json!({"set": set, "unset": unset}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_for_the_shell_that_reads_them() {
        let mut changes = Changes::default();
        changes.set("A", "it's $HOME");
        changes.0.insert("B".into(), None);
        assert_eq!(rendered(&changes, EnvFormat::Sh), "export A='it'\\''s $HOME'\nunset B\n");
        assert_eq!(rendered(&changes, EnvFormat::Fish), "set -gx A 'it\\'s $HOME'\nset -e B\n");
        let json: serde_json::Value = serde_json::from_str(&rendered(&changes, EnvFormat::Json)).unwrap();
        assert_eq!(json, json!({"set": {"A": "it's $HOME"}, "unset": ["B"]}));
    }
}
