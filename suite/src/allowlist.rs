//! What a replayed program gets of its caller's environment: what it needs to run, and no secret.
//!
//! A variable passes if its name is on the list below, speaks of no credential, and its value does not look like one.
//! What a person names passes whatever it is. It decides; it reads no environment itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::OsStrExt,
};

/// Decides for each variable. What the three questions mean is the caller's.
pub struct Sieve<'a> {
    /// Whether somebody asked for this variable by name.
    pub is_kept: &'a dyn Fn(&str) -> bool,
    /// Whether its value is known to be a secret, whatever it is called.
    pub is_secret: &'a dyn Fn(&str) -> bool,
    /// Whether a value has the looks of a secret, or holds one that another variable of this environment is: a token
    /// does not become harmless by standing in the URL of an index.
    pub looks_secret: &'a dyn Fn(&[u8]) -> bool,
}

/// An environment, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sifted {
    pub passed: BTreeMap<OsString, OsString>,
    /// Names of what did not pass.
    pub withheld: BTreeSet<String>,
    /// Names of what passed only because somebody asked for it, and may be a secret.
    pub exposed: BTreeSet<String>,
}

impl Sieve<'_> {
    pub fn sift(&self, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Sifted {
        let mut sifted = Sifted::default();
        for (name, value) in environment {
            let shown = name.to_string_lossy().into_owned();
            let passes = if (self.is_kept)(&shown) {
                if self.may_be_secret(&shown, &value) {
                    sifted.exposed.insert(shown.clone());
                }
                true
            } else {
                is_essential(&shown) || (is_plain(&shown) && !self.may_be_secret(&shown, &value))
            };
            if passes {
                sifted.passed.insert(name, value);
            } else {
                sifted.withheld.insert(shown);
            }
        }
        sifted
    }

    fn may_be_secret(&self, name: &str, value: &OsStr) -> bool {
        let value = value.as_bytes();
        !is_essential(name)
            && ((self.is_secret)(name)
                || names_a_credential(name)
                || (self.looks_secret)(value)
                || has_userinfo(value))
    }
}

impl fmt::Debug for Sieve<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sieve(..)")
    }
}

/// Whether a cassette, which may be a stranger's, can put a dummy in the place of this variable: not where programs
/// look for their way, for other programs, or for code.
pub fn can_be_dummy(name: &str) -> bool {
    !is_essential(name) && !STEERING.iter().any(|pattern| matches(pattern, name))
}

/// Whether a variable of this name holds a credential as a rule.
pub fn names_a_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    CREDENTIAL_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || words.into_iter().any(|word| {
            CREDENTIAL_WORDS.contains(&word) || CREDENTIAL_STARTS.iter().any(|start| word.starts_with(start))
        })
}

fn is_essential(name: &str) -> bool {
    ESSENTIAL.contains(&name)
}

fn is_plain(name: &str) -> bool {
    PLAIN.iter().any(|pattern| matches(pattern, name))
}

/// A pattern is a name, with a `*` at one of its ends for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

/// Whether a URL in the value names a user: most of them have a password behind it.
fn has_userinfo(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    text.match_indices("://").any(|(start, mark)| {
        let authority = &text[start + mark.len()..];
        let end = authority.find(|c: char| matches!(c, '/' | '?' | '#') || c.is_whitespace());
        authority[..end.unwrap_or(authority.len())].contains('@')
    })
}

/// Without these hardly anything runs, and they say who and where one is. They pass whatever they hold.
const ESSENTIAL: &[&str] = &["HOME", "LOGNAME", "PATH", "PWD", "SHELL", "TEMP", "TMP", "TMPDIR", "USER"];

/// Names that tell programs how to behave and hold no secret as a rule.
const PLAIN: &[&str] = &[
    // terminal, language, desktop
    "CLICOLOR*",
    "COLORTERM",
    "COLUMNS",
    "DISPLAY",
    "EDITOR",
    "FORCE_COLOR",
    "HOSTNAME",
    "INFOPATH",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LINES",
    "LS_COLORS",
    "MANPATH",
    "NO_COLOR",
    "OLDPWD",
    "PAGER",
    "SHLVL",
    "TERM",
    "TERMINFO",
    "TERM_PROGRAM",
    "TZ",
    "VISUAL",
    "WAYLAND_DISPLAY",
    "XDG_*",
    "_",
    // tools and languages
    "BUNDLE_*",
    "BUN_*",
    "CARGO_*",
    "COMPOSER_*",
    "CONDA_DEFAULT_ENV",
    "CONDA_PREFIX",
    "DENO_*",
    "DOTNET_*",
    "DYLD_*",
    "GEM_*",
    "GH_*",
    "GIT_AUTHOR_*",
    "GIT_COMMITTER_*",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_TERMINAL_PROMPT",
    "GOCACHE",
    "GOFLAGS",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_*",
    "JAVA_HOME",
    "JDK_*",
    "LD_LIBRARY_PATH",
    "MAVEN_*",
    "NODE_*",
    "NPM_CONFIG_*",
    "NVM_*",
    "PHP_*",
    "PIPENV_*",
    "PIP_*",
    "PKG_CONFIG_PATH",
    "PNPM_*",
    "POETRY_*",
    "PYENV_*",
    "PYTEST_*",
    "PYTHON*",
    "RBENV_*",
    "RUBY*",
    "RUST*",
    "TOX_*",
    "UV_*",
    "VIRTUAL_ENV",
    "YARN_*",
    "npm_config_*",
    // what a CI job says of itself
    "BUILDKITE*",
    "BUILD_*",
    "CI",
    "CIRCLE*",
    "CI_*",
    "GITHUB_*",
    "GITLAB_CI",
    "JENKINS_*",
    "RUNNER_*",
    "TRAVIS*",
];

/// Words of a name, between its `_`.
const CREDENTIAL_WORDS: &[&str] = &[
    "AUTH",
    "BEARER",
    "COOKIE",
    "COOKIES",
    "DSN",
    "JWT",
    "KEY",
    "KEYS",
    "PAT",
    "PRIVATE",
    "PWD",
    "SAS",
    "SECRET",
    "SECRETS",
    "SESSION",
    "SIGNATURE",
    "TOKEN",
    "TOKENS",
];

/// Beginnings of such words: `PASSWORD`, `PASSPHRASE`, `CREDENTIALS`.
const CREDENTIAL_STARTS: &[&str] = &["PASS", "CRED"];

/// Ends of a whole name, for those that are written together: `DBPASSWORD`, `_authToken`.
const CREDENTIAL_ENDINGS: &[&str] = &[
    "AUTH",
    "COOKIE",
    "CREDENTIALS",
    "DSN",
    "KEY",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "SECRET",
    "TOKEN",
];

/// Names by which other programs are found, started or told what to load.
const STEERING: &[&str] = &[
    "*ASKPASS",
    "*OPT",
    "*OPTIONS",
    "*OPTS",
    "*PATH",
    "*_COMMAND",
    "BASH_*",
    "CARGO_*",
    "DENO_*",
    "DYLD_*",
    "EDITOR",
    "ENV",
    "GIT_*",
    "GOFLAGS",
    "IFS",
    "JAVA_*",
    "LD_*",
    "LESS*",
    "NODE_EXTRA*",
    "NODE_PATH",
    "PAGER",
    "PERL*",
    "PROMPT_COMMAND",
    "PYTHON*",
    "RUBY*",
    "RUST*",
    "SHELLOPTS",
    "SSL_*",
    "VISUAL",
    "XDG_*",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sieve(kept: &'static [&'static str]) -> Sieve<'static> {
        Sieve {
            is_kept: Box::leak(Box::new(move |name: &str| kept.contains(&name))),
            is_secret: &|name| name == "ACME_LICENSE" || name == "CI_LICENSE",
            looks_secret: &|value| value.starts_with(b"tok-"),
        }
    }

    fn sifted(kept: &'static [&'static str], variables: &[(&str, &str)]) -> Sifted {
        sieve(kept).sift(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }

    fn names(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    #[test]
    fn what_a_program_needs_passes_and_the_rest_does_not() {
        let plain = [
            ("PATH", "/usr/bin"),
            ("HOME", "/root"),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
            ("PYTHONUNBUFFERED", "1"),
            ("npm_config_cache", "/c"),
            ("NODE_ENV", "test"),
            ("CI", "true"),
            ("GITHUB_REPOSITORY", "octo/hello"),
            ("CI_PIPELINE_URL", "https://ci.test/p/1"),
        ];
        let other = [("DATABASE_HOST", "db"), ("LC", "x"), ("path", "/x"), ("FOO", "")];
        let sifted = sifted(&[], &[plain.as_slice(), &other].concat());
        assert_eq!(sifted.passed, plain.iter().map(|(n, v)| (n.into(), v.into())).collect());
        assert_eq!(names(&sifted.withheld), ["DATABASE_HOST", "FOO", "LC", "path"]);
        assert_eq!(sifted.exposed, BTreeSet::new());
    }

    #[test]
    fn a_name_that_speaks_of_a_credential_does_not_pass() {
        let names: Vec<&str> = vec![
            "CARGO_REGISTRY_TOKEN",
            "CI_DB_PASS",
            "CI_DB_PASSWORD",
            "CI_DEPLOY_CREDS",
            "CI_JOB_JWT",
            "CI_MY_PAT",
            "GITHUB_TOKEN",
            "GRADLE_PUBLISH_KEY",
            "NODE_AUTH_VALUE",
            "NPM_CONFIG__AUTH",
            "POETRY_HTTP_BASIC_X_PASSWORD",
            "PYTHON_SESSION",
            "UV_COOKIE",
            "XDG_PRIVATE",
            "npm_config_//registry.test/:_authToken",
        ];
        let variables: Vec<_> = names.iter().map(|name| (*name, "x")).collect();
        let sifted = sifted(&[], &variables);
        assert_eq!((sifted.passed.len(), sifted.withheld.len()), (0, names.len()), "{:?}", sifted.passed);
        for name in ["MONKEYS", "PATH", "COMPASS_NORTH", "CI_PATH", "BUILD_KEYBOARD", "TOKENIZER"] {
            assert!(!names_a_credential(name), "{name}");
        }
    }

    #[test]
    fn a_value_that_looks_like_a_secret_does_not_pass_under_any_name() {
        let sifted = sifted(
            &[],
            &[
                ("CI_A", "tok-1"),
                ("PIP_INDEX_URL", "https://me:word@pypi.test/simple"),
                ("PIP_EXTRA", "a https://me@pypi.test"),
                ("CI_LICENSE", "abc"),
                ("CI_URL", "https://pypi.test/@scope"),
            ],
        );
        assert_eq!(names(&sifted.withheld), ["CI_A", "CI_LICENSE", "PIP_EXTRA", "PIP_INDEX_URL"]);
        assert_eq!(sifted.passed.len(), 1);
    }

    #[test]
    fn what_was_asked_for_passes_and_is_told_where_it_may_be_a_secret() {
        let kept = &["DATABASE_HOST", "GH_TOKEN", "ACME_LICENSE", "CI_A", "HOME"];
        let sifted = sifted(
            kept,
            &[
                ("DATABASE_HOST", "db"),
                ("GH_TOKEN", "x"),
                ("ACME_LICENSE", "x"),
                ("CI_A", "tok-1"),
                ("HOME", "/root"),
                ("OTHER", "x"),
            ],
        );
        assert_eq!(sifted.passed.len(), 5);
        assert_eq!(names(&sifted.withheld), ["OTHER"]);
        assert_eq!(names(&sifted.exposed), ["ACME_LICENSE", "CI_A", "GH_TOKEN"]);
    }

    #[test]
    fn the_reference_page_names_what_passes_and_nothing_else() {
        let page = include_str!("../../docs/reference/environment.md");
        let (_, section) = page.split_once("## What passes\n").unwrap();
        let (section, _) = section.split_once("A variable may be a secret").unwrap();
        let named: BTreeSet<&str> = section.split('`').skip(1).step_by(2).collect();
        assert_eq!(named, ESSENTIAL.iter().chain(PLAIN).copied().collect());
    }

    #[test]
    fn a_cassette_cannot_put_a_dummy_where_programs_look_for_code() {
        for name in
            ["PATH", "HOME", "LD_PRELOAD", "BASH_ENV", "ENV", "NODE_OPTIONS", "PYTHONSTARTUP", "GIT_ASKPASS"]
        {
            assert!(!can_be_dummy(name), "{name}");
        }
        for name in
            ["OPENAI_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "CI_LICENSE", "ACME_LICENSE", "NODE_AUTH_TOKEN"]
        {
            assert!(can_be_dummy(name), "{name}");
        }
    }
}
