//! Where the client programs and what they need are found. The one place that knows the layout of
//! `.cache`, which `scripts/test` fills; a client that is not there fails its test and says so.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The folder of the whole workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a member of the workspace")
}

/// A program of `tests/clients`, such as `openai_chat.py`.
pub fn program(name: &str) -> PathBuf {
    present(workspace().join("tests/clients").join(name), name)
}

/// The Python that has the pinned packages.
pub fn python() -> PathBuf {
    present(cache("venv/.stamp"), "the Python clients");
    present(cache("venv/bin/python"), "Python")
}

/// The folder with the pinned packages for Node.
pub fn node_modules() -> PathBuf {
    present(cache("node/.stamp"), "the Node clients");
    present(cache("node/node_modules"), "the Node clients")
}

/// A command on the path, such as `gh`.
pub fn command(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| missing(name))
}

/// Puts a JavaScript program into `folder` with the pinned packages beside it, where its imports look.
pub fn install_node_program(name: &str, folder: &Path) -> PathBuf {
    let installed = folder.join(name);
    fs::copy(program(name), &installed).expect("the program is copied");
    let modules = folder.join("node_modules");
    if !modules.exists() {
        std::os::unix::fs::symlink(node_modules(), modules).expect("a link to the packages");
    }
    installed
}

fn cache(path: &str) -> PathBuf {
    workspace().join(".cache").join(path)
}

fn present(path: PathBuf, what: &str) -> PathBuf {
    if path.exists() { path } else { missing(what) }
}

fn missing(what: &str) -> ! {
    panic!("{what} is not installed: run scripts/test --setup-only")
}
