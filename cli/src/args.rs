//! The command line, as a person types it.

use std::{net::SocketAddr, path::PathBuf};

use cassettes::scrub::rules::EnvGlob;
use clap::{Args, Parser, Subcommand, ValueEnum};
use proxy::ConnectTo;

/// Record what a program really said to its APIs, and replay it offline.
#[derive(Debug, Parser)]
#[command(name = "wiretape", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Read this file instead of looking for wiretape.yaml here and in the folders above
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a command and record its traffic
    Record(Record),
    /// Run a command offline, answered from a cassette
    Replay(Replay),
    /// Replay what the cassette knows, record what is new
    Auto(Auto),
    /// Run a proxy until it is told to stop
    Proxy(ProxyArgs),
    /// Open a shell whose traffic goes through wiretape
    Shell(Shell),
    /// Print the variables that send a program through a running `wiretape proxy`
    Env(Env),
    /// Ask a running `wiretape proxy` about its sessions, and tell them what to do
    Ctl(Ctl),
    /// Show what is on a cassette
    Show(Show),
    /// Show how two cassettes differ
    Diff(Diff),
    /// Find secrets in cassettes, logs and other files; exits with 1 if there are any
    Scan(ScanArgs),
    /// Turn recordings of other tools into cassettes
    Import(ImportArgs),
    /// Write a cassette in the format of another tool
    Export(ExportArgs),
    /// The certificate authority that programs are made to trust
    #[command(subcommand)]
    Ca(Ca),
    /// Check that this machine has what wiretape needs
    Doctor,
    /// See it work: a real program, replayed offline from a built-in cassette
    Demo,
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, Args)]
pub(crate) struct Record {
    #[command(flatten)]
    pub(crate) cassette: CassetteArg,
    /// Take the new timing too, even where the traffic did not change
    #[arg(long)]
    pub(crate) refresh: bool,
    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) child: ChildArg,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) cassette: CassetteArg,
    /// Fail when an exchange was left unplayed
    #[arg(long)]
    pub(crate) strict: bool,
    /// How fast recorded replies come
    #[arg(long, value_name = "PACE")]
    pub(crate) pace: Option<PaceArg>,
    /// Pass this environment variable on to the command, whatever it holds; NAME* for all that begin so
    #[arg(long, value_name = "NAME", value_parser = parse_variable)]
    pub(crate) keep_env: Vec<EnvGlob>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) child: ChildArg,
}

#[derive(Debug, Args)]
pub(crate) struct Auto {
    #[command(flatten)]
    pub(crate) cassette: CassetteArg,
    /// How fast recorded replies come
    #[arg(long, value_name = "PACE")]
    pub(crate) pace: Option<PaceArg>,
    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    #[command(flatten)]
    pub(crate) child: ChildArg,
}

#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    #[arg(long)]
    pub(crate) mode: ModeArg,
    /// Print no line for each call
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDR:PORT")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) cassette: CassetteArg,
    /// Give every proxy user name a session of its own, with the cassette DIR/NAME.yaml
    #[arg(long, value_name = "DIR")]
    pub(crate) sessions: Option<PathBuf>,
    /// Open the control API on this loopback address too, with a token
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) control: Option<SocketAddr>,
    /// Take the new timing too, even where the traffic did not change
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Fail when an exchange was left unplayed
    #[arg(long)]
    pub(crate) strict: bool,
    /// How fast recorded replies come
    #[arg(long, value_name = "PACE")]
    pub(crate) pace: Option<PaceArg>,
    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Shell {
    #[arg(long, default_value = "auto")]
    pub(crate) mode: ModeArg,
    #[command(flatten)]
    pub(crate) cassette: CassetteArg,
    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Env {
    /// In which language to print them
    #[arg(long, default_value = "sh")]
    pub(crate) format: EnvFormat,
    /// The port of the proxy, where several run
    #[arg(long)]
    pub(crate) port: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct Ctl {
    /// The port of the proxy, where several run
    #[arg(long, global = true)]
    pub(crate) port: Option<u16>,
    /// Where the control API is: unix:PATH or http://ADDR:PORT [default: that of the running proxy]
    #[arg(long, global = true, value_name = "URL", env = "WIRETAPE_CONTROL")]
    pub(crate) control: Option<String>,
    #[command(subcommand)]
    pub(crate) command: CtlCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CtlCommand {
    /// List the sessions
    Sessions,
    /// Make a session
    Create {
        name: String,
        #[arg(short = 'c', long, value_name = "FILE")]
        cassette: Option<PathBuf>,
        /// Instead of the proxy's own
        #[arg(long)]
        mode: Option<ModeArg>,
        /// How fast recorded replies come
        #[arg(long, value_name = "PACE")]
        pace: Option<PaceArg>,
    },
    /// Show a session
    Show { name: String },
    /// Give a session that replays another cassette, played from its start
    Load { name: String, cassette: PathBuf },
    /// Print the calls of a session
    Calls {
        name: String,
        /// Only those after this call
        #[arg(long, value_name = "CALL")]
        since: Option<u32>,
    },
    /// Wait for a call to end; exits with 1 if none comes in time
    Wait {
        name: String,
        #[arg(long)]
        method: Option<String>,
        /// A part of the URL
        #[arg(long, value_name = "TEXT")]
        url: Option<String>,
        #[arg(long)]
        status: Option<u16>,
        /// Only those after this call
        #[arg(long, value_name = "CALL")]
        since: Option<u32>,
        /// Such as 500ms or 5s
        #[arg(long, default_value = "5s")]
        timeout: String,
    },
    /// Print what a session came to so far; exits with 1 if it missed
    Verdict {
        name: String,
        /// Fail when an exchange was left unplayed
        #[arg(long)]
        strict: bool,
    },
    /// End a session, write what it recorded, and print what it came to
    End { name: String },
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    pub(crate) cassette: PathBuf,
    /// Print this exchange whole
    #[arg(value_name = "ID")]
    pub(crate) exchange: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    pub(crate) a: PathBuf,
    pub(crate) b: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// Files, and folders with all that is in them
    #[arg(value_name = "PATH", required_unless_present = "staged")]
    pub(crate) paths: Vec<PathBuf>,
    /// Scan what is staged for a commit, under PATH or everywhere
    #[arg(long)]
    pub(crate) staged: bool,
    /// How to print what was found
    #[arg(long, default_value = "text")]
    pub(crate) format: ScanFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScanFormat {
    /// A line for each secret
    Text,
    /// An array of objects
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A recording, or a folder of them
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The cassette, or a folder for cassettes; a folder keeps its layout
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The format, where it cannot be told from the file
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(crate) from: Option<cassettes::import::Format>,
    /// Where requests went, for formats that keep only a path
    #[arg(long, value_name = "URL", value_parser = parse_origin)]
    pub(crate) origin: Option<exchange::Url>,
    /// Put VALUE in the place of TEXT in recorded URLs, such as '<AWS_REGION>=us-east-1'
    #[arg(long, value_name = "TEXT=VALUE", value_parser = parse_substitute)]
    pub(crate) substitute: Vec<Substitute>,
    /// How requests are to be compared, in place of how the recorder did
    #[arg(long = "match", value_name = "HOW")]
    pub(crate) compare: Option<CompareArg>,
    /// Give ids and times that servers made up stable names, as a recording does
    #[arg(long)]
    pub(crate) stabilize: bool,
    /// Name every exchange that was left out and every value that was redacted
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The cassette
    pub(crate) cassette: PathBuf,
    /// The format: har, vcrpy or curl
    #[arg(long, value_name = "FORMAT", value_parser = parse_target)]
    pub(crate) to: cassettes::export::Target,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
}

/// A text in recorded URLs, and what to put in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Substitute {
    pub(crate) from: String,
    pub(crate) to: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareArg {
    /// Method, URL and body
    Full,
    /// Method and URL only
    Uri,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Ca {
    /// Print where the kept CA certificate is
    Path,
    /// Make a CA that is kept, for a proxy that other programs are set up to trust
    Init {
        /// Replace the one that is there
        #[arg(long)]
        renew: bool,
    },
    /// Print variables that make a program trust the kept CA
    Env {
        #[arg(long, default_value = "sh")]
        format: EnvFormat,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CassetteArg {
    /// The cassette [default: cassettes/NAME.yaml, NAME being the command's]
    #[arg(short = 'c', long = "cassette", value_name = "FILE")]
    pub(crate) path: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ChildArg {
    /// The command to run
    #[arg(last = true, required = true, value_name = "CMD", help_heading = "Arguments")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// How real hosts are reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Upstream")]
pub(crate) struct UpstreamArgs {
    /// Connect to ADDR:PORT instead of HOST:PORT, as curl spells it
    #[arg(long, value_name = "HOST:PORT:ADDR:PORT")]
    pub(crate) connect_to: Vec<ConnectTo>,
    /// Trust the CA certificates in this PEM file too
    #[arg(long, value_name = "FILE")]
    pub(crate) upstream_ca: Vec<PathBuf>,
    /// Reach upstreams through another proxy [default: HTTPS_PROXY, except for NO_PROXY]
    #[arg(long, value_name = "URL")]
    pub(crate) upstream_proxy: Option<String>,
    /// Keep bodies up to this size; larger ones pass but are not recorded [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_body: Option<crate::size::Size>,
}

/// How programs reach us.
#[derive(Debug, Args)]
#[command(next_help_heading = "Clients")]
pub(crate) struct ClientArgs {
    /// Open a port that stands in for an origin, for clients that take a base URL but no proxy
    #[arg(long, value_name = "NAME=URL")]
    pub(crate) reverse: Vec<crate::reverse::Reverse>,
    /// Send traffic to this machine itself through the proxy too
    #[arg(long)]
    pub(crate) loopback: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    Record,
    Replay,
    Auto,
    Passthrough,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaceArg {
    /// As fast as the client reads
    Instant,
    /// With the recorded waits
    Recorded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EnvFormat {
    Sh,
    Fish,
    Json,
}

impl From<CompareArg> for matchers::Compare {
    fn from(compare: CompareArg) -> Self {
        match compare {
            CompareArg::Full => Self::Full,
            CompareArg::Uri => Self::Uri,
        }
    }
}

fn parse_format(word: &str) -> Result<cassettes::import::Format, String> {
    word.parse().map_err(|()| format!("the formats are {}", crate::import::words().join(", ")))
}

fn parse_target(word: &str) -> Result<cassettes::export::Target, String> {
    word.parse().map_err(|()| "the formats are har, vcrpy and curl".to_owned())
}

/// `wss` and `ws` are `https` and `http` on the wire.
fn parse_origin(text: &str) -> Result<exchange::Url, String> {
    let text = match text.strip_prefix("ws") {
        Some(rest) if rest.starts_with("s://") || rest.starts_with("://") => format!("http{rest}"),
        _ => text.to_owned(),
    };
    exchange::Url::parse(&text).map_err(|error| error.to_string())
}

fn parse_variable(text: &str) -> Result<EnvGlob, String> {
    text.parse().map_err(|_| "write it like ACME_REGION, or ACME_* for all that begin so".to_owned())
}

fn parse_substitute(text: &str) -> Result<Substitute, String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() => Ok(Substitute { from: from.into(), to: to.into() }),
        _ => Err("write it as TEXT=VALUE".to_owned()),
    }
}

impl From<ModeArg> for proxy::Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Record => Self::Record,
            ModeArg::Replay => Self::Replay,
            ModeArg::Auto => Self::Auto,
            ModeArg::Passthrough => Self::Passthrough,
        }
    }
}

impl From<PaceArg> for cassettes::Pace {
    fn from(pace: PaceArg) -> Self {
        match pace {
            PaceArg::Instant => Self::Instant,
            PaceArg::Recorded => Self::Recorded,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }
}
