//! `wiretape ctl`: the control API from a shell.

use std::{
    env,
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use serde_json::{Map, Value, json};

use crate::{
    args::{Ctl, CtlCommand, ModeArg, PaceArg},
    exit::{Exit, Failure},
    proxy_command,
};

pub(crate) fn run(args: &Ctl) -> Result<Exit, Failure> {
    let door = Door::find(args)?;
    let request = Request::of(&args.command)?;
    let (status, answer) = door.ask(&request)?;
    let text = serde_json::to_string_pretty(&answer).unwrap_or_default();
    match status {
        200..300 => {
            println!("{text}");
            Ok(verdict_of(&args.command, &answer))
        }
        408 => {
            let (message, help) = words(&answer);
            eprintln!("{message}{}", help.map_or(String::new(), |help| format!("; {help}")));
            Ok(Exit::Failed)
        }
        _ => match words(&answer) {
            (message, Some(help)) => Err(Failure::with_help(message, help)),
            (message, None) => Err(Failure::input(message)),
        },
    }
}

/// Whether what was asked for is a failure in itself.
fn verdict_of(command: &CtlCommand, answer: &Value) -> Exit {
    let key = match command {
        CtlCommand::Verdict { strict: true, .. } => "strict_passed",
        CtlCommand::Verdict { .. } | CtlCommand::End { .. } => "passed",
        _ => return Exit::Fine,
    };
    if answer[key] == true { Exit::Fine } else { Exit::Failed }
}

fn words(answer: &Value) -> (String, Option<String>) {
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or("the proxy gave no reason").to_owned();
    (message, error["help"].as_str().map(str::to_owned))
}

/// What is asked.
struct Request {
    method: &'static str,
    path: String,
    body: Option<Value>,
}

impl Request {
    fn of(command: &CtlCommand) -> Result<Self, Failure> {
        let get = |path: String| Self { method: "GET", path, body: None };
        let session = |name: &str| format!("/v1/sessions/{}", escaped(name));
        Ok(match command {
            CtlCommand::Sessions => get("/v1/sessions".to_owned()),
            CtlCommand::Show { name } => get(session(name)),
            CtlCommand::Verdict { name, .. } => get(format!("{}/verdict", session(name))),
            CtlCommand::Calls { name, since } => {
                get(format!("{}/calls?since={}", session(name), since.unwrap_or(0)))
            }
            CtlCommand::End { name } => Self { method: "DELETE", path: session(name), body: None },
            CtlCommand::Load { name, cassette } => Self {
                method: "PUT",
                path: format!("{}/cassette", session(name)),
                body: Some(json!({"path": absolute(cassette)?})),
            },
            CtlCommand::Create { name, cassette, mode, pace } => {
                let mut body = Map::new();
                body.insert("name".to_owned(), json!(name));
                if let Some(cassette) = cassette {
                    body.insert("cassette".to_owned(), json!(absolute(cassette)?));
                }
                if let Some(mode) = mode {
                    body.insert("mode".to_owned(), json!(mode_word(*mode)));
                }
                if let Some(pace) = pace {
                    body.insert("pace".to_owned(), json!(pace_word(*pace)));
                }
                Self { method: "POST", path: "/v1/sessions".to_owned(), body: Some(Value::Object(body)) }
            }
            CtlCommand::Wait { name, method, url, status, since, timeout } => {
                let given = [
                    ("method", method.as_ref().map(|method| json!(method))),
                    ("url", url.as_ref().map(|url| json!(url))),
                    ("status", status.map(|status| json!(status))),
                    ("since", since.map(|since| json!(since))),
                    ("timeout", Some(json!(timeout))),
                ];
                let body = given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
                let body = Value::Object(body.collect());
                Self { method: "POST", path: format!("{}/wait", session(name)), body: Some(body) }
            }
        })
    }
}

/// The proxy may run in another folder.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    Ok(std::path::absolute(path).context("cannot tell the current folder")?)
}

fn mode_word(mode: ModeArg) -> &'static str {
    proxy::Mode::from(mode).as_str()
}

fn pace_word(pace: PaceArg) -> &'static str {
    match pace {
        PaceArg::Instant => "instant",
        PaceArg::Recorded => "recorded",
    }
}

/// A name that is none still has to reach the proxy, which says what is wrong with it.
fn escaped(name: &str) -> String {
    let escape = |b: u8| match b {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'_' | b'-' => char::from(b).to_string(),
        b => format!("%{b:02X}"),
    };
    name.bytes().map(escape).collect()
}

/// Where the control API is.
enum Door {
    Socket(PathBuf),
    Tcp { address: String, token: String },
}

impl Door {
    fn find(args: &Ctl) -> Result<Self, Failure> {
        let Some(url) = &args.control else {
            return Ok(Self::Socket(proxy_command::control_socket(args.port)?));
        };
        if let Some(path) = url.strip_prefix("unix:") {
            return Ok(Self::Socket(path.into()));
        }
        let Some(address) = url.strip_prefix("http://") else {
            return Err(Failure::input("the control API is named as unix:PATH or http://ADDR:PORT"));
        };
        let token = env::var("WIRETAPE_CONTROL_TOKEN").map_err(|_| {
            Failure::with_help(
                "the control API at an address needs its token",
                "set WIRETAPE_CONTROL_TOKEN, as `eval \"$(wiretape env)\"` does",
            )
        })?;
        Ok(Self::Tcp { address: address.trim_end_matches('/').to_owned(), token })
    }

    fn ask(&self, request: &Request) -> Result<(u16, Value), Failure> {
        let (host, bearer) = match self {
            Self::Socket(_) => ("localhost", String::new()),
            Self::Tcp { address, token } => (address.as_str(), format!("authorization: Bearer {token}\r\n")),
        };
        let body = request.body.as_ref().map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{} {} HTTP/1.1\r\nhost: {host}\r\n{bearer}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            request.method,
            request.path,
            body.len()
        );
        let exchanged = match self {
            Self::Socket(path) => UnixStream::connect(path).and_then(|stream| {
                stream.set_read_timeout(Some(LONGEST))?;
                talk(stream, &head, &body)
            }),
            Self::Tcp { address, .. } => TcpStream::connect(address).and_then(|stream| {
                stream.set_read_timeout(Some(LONGEST))?;
                talk(stream, &head, &body)
            }),
        };
        let answer = exchanged.context("cannot reach the proxy")?;
        Ok(parse(&answer).context("the answer is not the control API's")?)
    }
}

fn talk(mut stream: impl Read + Write, head: &str, body: &str) -> io::Result<Vec<u8>> {
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer)?;
    Ok(answer)
}

/// The proxy answers one request a connection, whole and with its length.
fn parse(answer: &[u8]) -> Option<(u16, Value)> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_slice(&answer[end + 4..]).ok()?))
}

/// Longer than the longest wait that the proxy allows.
const LONGEST: Duration = Duration::from_secs(660);
const MOST: u64 = 256 << 20;
