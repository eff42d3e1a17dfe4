//! A `wiretape proxy` that runs beside its clients, and the ways to it: user names, `wiretape ctl`, raw control requests.

use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    sync::Mutex,
};

use serde_json::Value;

use crate::sandbox::{Invocation, Outcome, Running, Sandbox, Stream};

/// A proxy that was started in a sandbox.
pub struct Served<'a> {
    sandbox: &'a Sandbox,
    /// Clients on several threads share it.
    running: Mutex<Running>,
    port: u16,
    variables: Vec<(String, String)>,
}

impl<'a> Served<'a> {
    /// Starts `wiretape proxy` with these words and waits until it listens.
    pub fn start(sandbox: &'a Sandbox, run: Invocation<'a>) -> Self {
        let running = run.spawn();
        let url =
            running.wait_for(Stream::Stdout, |line| line.starts_with("http://").then(|| line.to_owned()));
        let port: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
        let asked = sandbox.wiretape("env").args(["--port", &port.to_string(), "--format", "json"]);
        let variables: Value = serde_json::from_str(asked.run().exits(0).stdout()).unwrap();
        let variables = variables["set"].as_object().unwrap().iter();
        let variables =
            variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Self { sandbox, running: Mutex::new(running), port, variables: variables.collect() }
    }

    /// `wiretape proxy --mode replay` with these words.
    pub fn replaying(sandbox: &'a Sandbox, words: &[&str]) -> Self {
        Self::start(sandbox, sandbox.wiretape("proxy").args(["--mode", "replay"]).args(words))
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// One of the variables that `wiretape env` prints.
    pub fn variable(&self, name: &str) -> &str {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("{name} is not set"), |(_, value)| value.as_str())
    }

    /// The proxy as a client sets it, with a user name or with none.
    pub fn url(&self, user: &str) -> String {
        match user {
            "" => format!("http://127.0.0.1:{}", self.port),
            user => format!("http://{user}:x@127.0.0.1:{}", self.port),
        }
    }

    /// A program whose traffic goes to the session of that name.
    pub fn program(&self, user: &str, words: &[&str]) -> Invocation<'a> {
        let run = self.sandbox.program(words[0]).args(&words[1..]);
        let run = self.variables.iter().fold(run, |run, (name, value)| run.env(name, value));
        ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
            .into_iter()
            .fold(run, |run, name| run.env(name, self.url(user)))
    }

    /// What curl got for a URL: the body, a space and the status; of a refused tunnel the status of that.
    pub fn get(&self, user: &str, url: &str) -> String {
        let said = "%{stderr}%{http_code} %{http_connect}";
        let outcome = self.program(user, &["curl", "-sS", "--max-time", "20", "-w", said, url]).run();
        let codes = outcome.stderr();
        let codes = codes.lines().last().unwrap_or_default();
        let (answered, tunnel) = codes.split_once(' ').unwrap_or((codes, ""));
        let status = if answered == "000" { tunnel } else { answered };
        format!("{} {status}", outcome.stdout())
    }

    /// `wiretape ctl` with these words.
    pub fn ctl(&self, words: &[&str]) -> Outcome {
        self.sandbox.wiretape("ctl").args(["--port", &self.port.to_string()]).args(words).run()
    }

    /// The JSON that `wiretape ctl` prints, which must be fine with its exit code.
    pub fn told(&self, words: &[&str]) -> Value {
        serde_json::from_str(self.ctl(words).exits(0).stdout()).unwrap()
    }

    /// A control request as it stands, over TCP: the status and the whole answer.
    pub fn raw(&self, request: &str) -> (u16, String) {
        let address = self.variable("WIRETAPE_CONTROL").strip_prefix("http://").unwrap().to_owned();
        answer_of(TcpStream::connect(address).unwrap(), request)
    }

    /// The same over the Unix socket.
    pub fn raw_local(&self, request: &str) -> (u16, String) {
        let path = self.variable("WIRETAPE_CONTROL").strip_prefix("unix:").unwrap().to_owned();
        answer_of(UnixStream::connect(path).unwrap(), request)
    }

    /// A control request over TCP with everything that it needs.
    pub fn asked(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let host = self.variable("WIRETAPE_CONTROL").trim_start_matches("http://");
        let token = self.variable("WIRETAPE_CONTROL_TOKEN");
        let (status, answer) = self.raw(&format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}")))
    }

    /// Ends the proxy as a supervisor does.
    pub fn stop(self) -> Outcome {
        let running = self.running.into_inner().unwrap();
        running.terminate();
        running.finish()
    }

    /// Kills it, which it cannot prepare for.
    pub fn kill(self) {
        let running = self.running.into_inner().unwrap();
        running.kill();
        running.finish();
    }
}

fn answer_of(mut stream: impl Read + Write, request: &str) -> (u16, String) {
    // A server that refuses early may close before all is written.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

/// A cassette of plain GETs: path on `api.test`, and body.
pub fn cassette(pairs: &[(&str, &str)]) -> String {
    let exchanges = pairs.iter().enumerate().map(|(n, (path, body))| {
        format!(
            "  - id: {}\n    request:\n      method: GET\n      url: https://api.test{path}\n    response:\n      status: 200\n      headers:\n        content-type: text/plain\n      body:\n        text: {body}\n",
            n + 1
        )
    });
    format!("---\nwiretape: cassette/1\nexchanges:\n{}...\n", exchanges.collect::<String>())
}
