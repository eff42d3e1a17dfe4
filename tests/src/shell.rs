//! Runs of shell scripts: calls of the stand-in by curl, and `wiretape` under limits that only a shell can set.

use std::{env, path::PathBuf};

use crate::sandbox::{Invocation, Sandbox};

/// `sh -c SCRIPT` on a cassette of the project.
pub fn shell<'a>(run: Invocation<'a>, cassette: &str, script: &str) -> Invocation<'a> {
    run.cassette(cassette).child(["sh", "-c", script])
}

/// A shell script that calls each path of the faulty host in turn and prints no reply.
pub fn calls(paths: &[&str]) -> String {
    let urls: Vec<String> =
        paths.iter().map(|path| format!("-o /dev/null 'https://faults.test/{path}'")).collect();
    format!("curl -sS {}", urls.join(" "))
}

/// The path of the `wiretape` under test, for a shell that runs it under a limit.
pub fn binary(sandbox: &Sandbox) -> PathBuf {
    // Built first, if that is still to be done.
    sandbox.wiretape("--version").run().exits(0);
    match env::var_os("WIRETAPE_BIN") {
        Some(binary) => binary.into(),
        None => {
            let test = env::current_exe().expect("a test knows its own path");
            let profile = test.ancestors().nth(2).expect("a test lies in target/<profile>/deps");
            profile.join("wiretape")
        }
    }
}

/// `wiretape COMMAND` run by a shell script, in which `"$@"` stands for it and the words that follow.
pub fn wrapped<'a>(sandbox: &'a Sandbox, script: &str, command: &str) -> Invocation<'a> {
    sandbox.program("sh").arg("-c").arg(script).arg("sh").arg(binary(sandbox)).arg(command)
}
