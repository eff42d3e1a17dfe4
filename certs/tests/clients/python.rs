//! Python, as strict as it is by default from 3.13 on, and the module it imports at start-up.

use std::fs;

use crate::run::{Setup, printed};

const STRICT: &str = r#"
import ssl, sys, urllib.request
for url in sys.argv[1:]:
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context()
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        context.minimum_version = context.maximum_version = version
        print(urllib.request.urlopen(url, context=context).read().decode())
"#;

#[test]
fn strict_python_accepts_names_and_addresses() {
    let setup = Setup::new();
    let urls = ["https://api.example.com/", "https://10.1.2.3/", "https://[2001:db8::1]/"];
    let printed = setup.printed("python3", &["-c", STRICT, urls[0], urls[1], urls[2]]);
    // Some versions of Python leave the brackets out of the CONNECT line.
    let printed = printed.replace(['[', ']'], "");
    let expected: String = ["api.example.com:443", "10.1.2.3:443", "2001:db8::1:443"]
        .map(|target| format!("hello from {target}\nhello from {target}\n"))
        .concat();
    assert_eq!(printed, expected);
    assert!(setup.seen().iter().all(|seen| seen.protocol == "https/1.1"));
}

#[test]
fn python_starts_without_aiohttp_and_finds_its_path_unchanged() {
    let setup = Setup::new();
    let code = "import sys, sitecustomize; print([p for p in sys.path if 'wiretape' in p], 'aiohttp' in sys.modules)";
    assert_eq!(setup.printed("python3", &["-c", code]), "[] False\n");
}

#[test]
fn the_sitecustomize_that_python_would_have_found_still_runs() {
    let setup = Setup::new();
    let home = tempfile::TempDir::new().unwrap();
    fs::write(home.path().join("sitecustomize.py"), "import sys\nsys.theirs = __name__\nMARK = 1\n").unwrap();
    let mut command =
        setup.command("python3", &["-c", "import sys, sitecustomize; print(sys.theirs, sitecustomize.MARK)"]);
    let ours = setup.kit.dir().join("py");
    command.env("PYTHONPATH", format!("{}:{}", ours.display(), home.path().display()));
    assert_eq!(printed(command), "sitecustomize 1\n");
}

#[test]
fn an_aiohttp_session_trusts_the_environment_unless_it_says_otherwise() {
    let setup = Setup::new();
    // Stands in for the real package: same module, same keyword.
    let home = tempfile::TempDir::new().unwrap();
    let package = home.path().join("aiohttp");
    fs::create_dir(&package).unwrap();
    fs::write(package.join("__init__.py"), "from .client import ClientSession\n").unwrap();
    let client = "class ClientSession:\n    def __init__(self, *, trust_env=False):\n        self.trust_env = trust_env\n";
    fs::write(package.join("client.py"), client).unwrap();
    let code = "import sys, aiohttp\n\
                print(aiohttp.ClientSession().trust_env, aiohttp.ClientSession(trust_env=False).trust_env)\n\
                print(any('Aiohttp' in type(finder).__name__ for finder in sys.meta_path))";
    let mut command = setup.command("python3", &["-c", code]);
    let ours = setup.kit.dir().join("py");
    command.env("PYTHONPATH", format!("{}:{}", ours.display(), home.path().display()));
    assert_eq!(printed(command), "True False\nFalse\n");
}
