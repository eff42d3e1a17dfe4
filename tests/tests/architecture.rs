//! The layers of the design, held against the manifests: who may depend on whom, and which crates must
//! stay free of sockets and runtimes.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    process::Command,
};

use serde_json::Value;
use wiretape_tests::clients::workspace;

#[test]
fn every_member_depends_only_on_the_layers_below_it() {
    let members = direct_dependencies();
    assert_eq!(
        members.keys().map(String::as_str).collect::<Vec<_>>(),
        layers().keys().copied().collect::<Vec<_>>()
    );
    for (member, below) in layers() {
        let own = members[member].iter().filter(|name| name.starts_with(PREFIX));
        let above: Vec<&String> = own.filter(|name| !below.contains(&name.as_str())).collect();
        assert!(above.is_empty(), "{member} may not depend on {above:?}");
    }
}

#[test]
fn nothing_depends_on_the_tests() {
    for (member, dependencies) in direct_dependencies() {
        assert!(!dependencies.contains("wiretape-tests"), "{member} depends on the tests");
    }
}

#[test]
fn the_pure_crates_stay_free_of_sockets_and_runtimes() {
    for member in PURE {
        let reached = closure(member);
        let impure: Vec<&&str> = IMPURE.iter().filter(|name| reached.contains(**name)).collect();
        assert!(impure.is_empty(), "{member} is pure and may not reach {impure:?}");
    }
}

/// For each member, what may stand under `[dependencies]` of our own.
fn layers() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("wiretape-yaml", [].as_slice()),
        ("wiretape-exchange", &["wiretape-yaml"]),
        ("wiretape-matchers", &["wiretape-yaml", "wiretape-exchange"]),
        ("wiretape-cassettes", &["wiretape-yaml", "wiretape-exchange", "wiretape-matchers"]),
        ("wiretape-certs", &[]),
        (
            "wiretape-proxy",
            &[
                "wiretape-yaml",
                "wiretape-exchange",
                "wiretape-matchers",
                "wiretape-cassettes",
                "wiretape-certs",
            ],
        ),
        (
            "wiretape-suite",
            &[
                "wiretape-yaml",
                "wiretape-exchange",
                "wiretape-matchers",
                "wiretape-cassettes",
                "wiretape-certs",
                "wiretape-proxy",
            ],
        ),
        (
            "wiretape-cli",
            &[
                "wiretape-yaml",
                "wiretape-exchange",
                "wiretape-matchers",
                "wiretape-cassettes",
                "wiretape-certs",
                "wiretape-proxy",
                "wiretape-suite",
                "wiretape-scan",
            ],
        ),
        // A second look shares nothing with the scrubber that it looks after.
        ("wiretape-scan", &[]),
        // The tests reach the product as a user does, through its binary.
        ("wiretape-tests", &[]),
    ])
}

/// The members of the workspace with what they name under `[dependencies]` and `[build-dependencies]`.
fn direct_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let named = |package: &Value| {
        let all = package["dependencies"].as_array().expect("a list of dependencies").iter();
        all.filter(|dependency| dependency["kind"] != "dev").map(name).collect()
    };
    packages.iter().map(|package| (name(package), named(package))).collect()
}

/// Every package that a member is linked with.
fn closure(member: &str) -> BTreeSet<String> {
    let tree = [
        "tree",
        "--offline",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--package",
        member,
    ];
    cargo(&tree).lines().filter_map(|line| line.split(' ').next()).map(ToOwned::to_owned).collect()
}

fn cargo(args: &[&str]) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(args).current_dir(workspace()).output().expect("cargo runs");
    assert!(output.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo speaks UTF-8")
}

const PREFIX: &str = "wiretape-";
const PURE: &[&str] =
    &["wiretape-yaml", "wiretape-exchange", "wiretape-matchers", "wiretape-cassettes", "wiretape-scan"];
const IMPURE: &[&str] = &[
    "tokio",
    "tokio-util",
    "tokio-rustls",
    "hyper",
    "hyper-util",
    "h2",
    "rustls",
    "rcgen",
    "socket2",
    "mio",
];
