//! `github.com`: git's smart HTTP protocol, by git's own `http-backend` run as a CGI program over a
//! repository that is made at the first request.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use http::{HeaderName, StatusCode};
use tokio::io::AsyncWriteExt;

use super::{
    Fresh,
    reply::{Answer, Reply},
    routes::Asked,
};

/// The repository `o/r`, with one commit whose message and file hold a fresh word.
#[derive(Debug)]
pub(super) struct Git {
    folder: PathBuf,
    word: String,
    repository: OnceLock<PathBuf>,
}

impl Git {
    pub(super) fn new(folder: PathBuf, fresh: &Fresh) -> Self {
        Self { folder, word: fresh.word(), repository: OnceLock::new() }
    }

    /// The bare repository on disk.
    pub(super) fn repository(&self) -> &Path {
        self.repository.get_or_init(|| make_repository(&self.folder, &self.word))
    }

    pub(super) async fn answer(&self, asked: &Asked) -> Answer {
        self.repository();
        // GitHub serves a repository with and without the suffix.
        let path = match asked.path().strip_prefix("/o/r/") {
            Some(rest) => format!("/o/r.git/{rest}"),
            None => asked.path().to_owned(),
        };
        let mut command = tokio::process::Command::from(clean_git(&self.folder));
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.folder)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", asked.method().as_str())
            .env("PATH_INFO", path)
            .env("QUERY_STRING", asked.query())
            .env("CONTENT_LENGTH", asked.body.len().to_string())
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("REMOTE_USER", "octo-tester")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        for (variable, header) in [
            ("CONTENT_TYPE", "content-type"),
            ("HTTP_CONTENT_ENCODING", "content-encoding"),
            ("GIT_PROTOCOL", "git-protocol"),
        ] {
            if let Some(value) = asked.header(header) {
                command.env(variable, value);
            }
        }
        let mut backend = command.spawn()?;
        let mut stdin = backend.stdin.take().expect("its input is a pipe");
        let body = asked.body.clone();
        // Written beside the reading of the output: both pipes may fill.
        let feed = tokio::spawn(async move { stdin.write_all(&body).await });
        let output = backend.wait_with_output().await?;
        let _ = feed.await?;
        from_cgi(&output.stdout)
    }
}

/// Reads a CGI program's output: a head with an optional `Status`, a blank line, a body.
fn from_cgi(output: &[u8]) -> Answer {
    let end =
        output.windows(4).position(|window| window == b"\r\n\r\n").ok_or("http-backend gave no head")?;
    let head = std::str::from_utf8(&output[..end])?;
    let mut status = StatusCode::OK;
    let mut headers = Vec::new();
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(": ").ok_or("a header line of http-backend without a colon")?;
        if name == "Status" {
            status = value.split(' ').next().unwrap_or_default().parse()?;
        } else {
            headers.push((name.parse::<HeaderName>()?, value));
        }
    }
    let reply = Reply::new(status, output[end + 4..].to_vec());
    headers.into_iter().fold(reply, |reply, (name, value)| reply.header(name, value)).answer()
}

fn make_repository(folder: &Path, word: &str) -> PathBuf {
    let bare = folder.join("o/r.git");
    let tree = folder.join("tree");
    let run = |arguments: &[&str], place: &Path| {
        std::fs::create_dir_all(place).expect("a folder for git");
        let output = clean_git(folder).args(arguments).current_dir(place).output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["init", "--quiet", "--bare", "--initial-branch=main", "."], &bare);
    run(&["config", "http.receivepack", "true"], &bare);
    run(&["init", "--quiet", "--initial-branch=main", "."], &tree);
    std::fs::write(tree.join("README.md"), format!("# r\n\nabout {word}\n")).expect("a file to commit");
    run(&["add", "README.md"], &tree);
    run(&["commit", "--quiet", "--message", &format!("Add {word}")], &tree);
    run(&["push", "--quiet", "../o/r.git", "main"], &tree);
    bare
}

/// git without anyone's configuration, at a fixed date.
fn clean_git(home: &Path) -> Command {
    let mut git = Command::new("git");
    git.env_clear();
    git.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    git.env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "Octo Tester")
            .env(format!("GIT_{who}_EMAIL"), "octo@faults.test")
            .env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05Z");
    }
    git
}
