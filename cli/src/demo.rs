//! `wiretape demo`: the main job, on a built-in program and cassette.

use std::{ffi::OsString, fs};

use anyhow::Context;
use cassettes::{Merge, Pace};
use proxy::Mode;

use crate::{
    args::{ClientArgs, UpstreamArgs},
    child_environment::Inherits,
    config::Config,
    exit::{Exit, Failure},
    run::{Leftovers, Run, SessionsWish, ephemeral_authority},
};

pub(crate) async fn run() -> Result<Exit, Failure> {
    let dir = tempfile::Builder::new()
        .prefix("wiretape-demo-")
        .tempdir()
        .context("cannot make a folder for the demo")?;
    let program = dir.path().join("agent.py");
    let cassette = dir.path().join("agent.yaml");
    fs::write(&program, AGENT).context("cannot write the demo's program")?;
    fs::write(&cassette, CASSETTE).context("cannot write the demo's cassette")?;
    eprintln!("wiretape: running a Python program that calls api.github.com and api.openai.com, offline\n");
    let run = Run {
        mode: Mode::Replay,
        cassette,
        merge: Merge::Replace,
        leftovers: Leftovers::Reject,
        pace: Pace::Recorded,
        listen: Run::any_loopback_port(),
        upstream: UpstreamArgs {
            connect_to: Vec::new(),
            upstream_ca: Vec::new(),
            upstream_proxy: None,
            max_body: None,
        },
        client: ClientArgs { reverse: Vec::new(), loopback: false },
        authority: ephemeral_authority()?,
        sessions: SessionsWish::default(),
        inherits: Inherits::Allowed { keep: Vec::new() },
    };
    let command = [OsString::from("python3"), program.into_os_string()];
    let exit = run.command(&command, &Config::default()).await?;
    if exit == Exit::Fine {
        eprintln!(
            "\nEvery byte came from a cassette; nothing left this machine. With a program of your own:\n  \
             wiretape record -- python agent.py    once, with your keys and the network\n  \
             wiretape replay -- python agent.py    ever after, with neither"
        );
    }
    Ok(exit)
}

const AGENT: &str = include_str!("../demo/agent.py");
const CASSETTE: &str = include_str!("../demo/agent.yaml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_cassette_is_in_the_form_that_the_recorder_writes() {
        let cassette = cassettes::format::read(CASSETTE, &|_| Ok(None)).unwrap();
        let mut text = cassettes::format::header(cassette.redaction.as_ref(), cassette.policy.as_ref());
        for exchange in &cassette.exchanges {
            text += &cassettes::format::item(exchange, usize::MAX, &mut Vec::new());
        }
        text += cassettes::format::FOOTER;
        assert_eq!(text, CASSETTE);
    }
}
