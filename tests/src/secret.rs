//! Credentials made up at run time, and the search for what became of them.

use std::{fmt, fs, path::Path, path::PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD as BASE64};

use crate::upstream::random_text;

/// A made-up credential of a real shape. It does not print itself, so that a failing test leaks nothing
/// that a scan of its output would take for a real one.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    pub fn openai() -> Self {
        Self(format!("sk-proj-{}", random_text(48)))
    }

    pub fn anthropic() -> Self {
        Self(format!("sk-ant-api03-{}AA", random_text(93)))
    }

    pub fn google() -> Self {
        Self(format!("AIza{}", random_text(35)))
    }

    pub fn github() -> Self {
        Self(format!("ghp_{}", random_text(36)))
    }

    /// A value without any known shape, as in a header of one's own.
    pub fn shapeless() -> Self {
        Self(random_text(24))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the secret stands in `bytes`: as it is, in hexadecimal, or in base64 at any offset.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.forms().iter().any(|form| bytes.windows(form.len()).any(|window| window == form.as_bytes()))
    }

    /// The files under `folder` that hold the secret. Links are not followed.
    pub fn files_with(&self, folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder of the sandbox can be listed") {
                let entry = entry.expect("an entry of the sandbox");
                let kind = entry.file_type().expect("an entry has a type");
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() && self.is_in(&fs::read(entry.path()).expect("a file can be read")) {
                    found.push(entry.path());
                }
            }
        }
        found
    }

    fn forms(&self) -> Vec<String> {
        let hex = self.0.bytes().map(|byte| format!("{byte:02x}")).collect();
        let base64 = (0..3).map(|offset| {
            let shifted = [vec![0; offset], self.0.clone().into_bytes()].concat();
            let coded = BASE64.encode(&shifted[..shifted.len() / 3 * 3]);
            // The first characters are made of the padding too.
            coded[if offset == 0 { 0 } else { 4 }..].to_owned()
        });
        [self.0.clone(), hex].into_iter().chain(base64).collect()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_base64_at_every_offset() {
        let secret = Secret::openai();
        for prefix in ["", "x", "xy", "user:"] {
            let coded = BASE64.encode(format!("{prefix}{}{prefix}", secret.reveal()));
            assert!(secret.is_in(coded.as_bytes()), "behind {prefix:?}");
        }
        assert!(!secret.is_in(BASE64.encode(Secret::openai().reveal()).as_bytes()));
    }

    #[test]
    fn a_secret_is_found_in_a_file_of_a_subfolder() {
        let folder = tempfile::tempdir().unwrap();
        let secret = Secret::github();
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("clean"), "nothing").unwrap();
        fs::write(folder.path().join("deep/dirty"), format!("token {}", secret.reveal())).unwrap();
        assert_eq!(secret.files_with(folder.path()), [folder.path().join("deep/dirty")]);
    }
}
