//! `wiretape show`: a cassette as a table, or one exchange whole.

use std::{collections::BTreeMap, path::Path};

use cassettes::{Cassette, format};
use exchange::{Content, End, Exchange, Reply, StreamKind};
use matchers::Compare;

use crate::{
    cassette_file::{self, Today},
    config::Config,
    exit::{Exit, Failure},
    size::human,
    style::{self, Paint, To, shown, tame},
    summary::{count, seconds},
};

pub(crate) fn show(path: &Path, exchange: Option<u32>, config: &Config) -> Result<Exit, Failure> {
    let cassette = cassette_file::look(path, &Today::of(config))?;
    match exchange {
        Some(id) => show_one(&cassette, id)?,
        None => show_all(path, &cassette),
    }
    Ok(Exit::Fine)
}

fn show_one(cassette: &Cassette, id: u32) -> Result<(), Failure> {
    let found = cassette.exchanges.iter().find(|e| e.id == id);
    let exchange = found.ok_or_else(|| {
        Failure::input(format!(
            "there is no exchange {id}; the cassette has {}",
            count(cassette.exchanges.len(), "exchange")
        ))
    })?;
    print!("{}", tame(&format::item(exchange, usize::MAX, &mut format::Blobs::new())));
    Ok(())
}

fn show_all(path: &Path, cassette: &Cassette) {
    let rows: Vec<Row> = cassette.exchanges.iter().map(|e| Row::of(e)).collect();
    let wide = |cell: fn(&Row) -> &str, least: usize| {
        rows.iter().map(|r| cell(r).chars().count()).max().unwrap_or(0).max(least)
    };
    let (number, at) = (wide(|r| &r.id, 1), wide(|r| &r.at, 4));
    let (what, status) = (wide(|r| &r.what, 7).min(WIDEST), wide(|r| &r.status, 6));
    let (size, took) = (wide(|r| &r.size, 4), wide(|r| &r.took, 4));
    let header = format!(
        "{:>number$}  {:>at$}  {:<what$}  {:<status$}  {:>size$}  {:>took$}  events",
        "#", "time", "request", "status", "size", "took"
    );
    println!("{}", To::Stdout.paint(Paint::Bold, header));
    for row in &rows {
        let shown = shortened(&row.what, what);
        let status_text = format!("{:<status$}", row.status);
        let line = format!(
            "{:>number$}  {:>at$}  {shown:<what$}  {}  {:>size$}  {:>took$}  {}",
            row.id,
            row.at,
            To::Stdout.paint(row.paint, status_text),
            row.size,
            row.took,
            row.events
        );
        println!("{}", line.trim_end());
    }
    println!("{}", To::Stdout.paint(Paint::Dim, totals(path, cassette)));
    if cassette.policy.as_ref().is_some_and(|p| p.compare == Compare::Uri) {
        eprintln!(
            "{}this cassette says `match: uri`: bodies are not compared, so a request that says something else still matches",
            style::warning()
        );
    }
}

fn totals(path: &Path, cassette: &Cassette) -> String {
    let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
    for exchange in &cassette.exchanges {
        *hosts.entry(&exchange.request.url.host).or_default() += 1;
    }
    let hosts: Vec<String> = hosts.iter().map(|(host, calls)| format!("{host} {calls}")).collect();
    format!("{}: {} ({})", shown(path), count(cassette.exchanges.len(), "exchange"), hosts.join(", "))
}

struct Row {
    id: String,
    at: String,
    what: String,
    status: String,
    paint: Paint,
    size: String,
    took: String,
    events: String,
}

impl Row {
    fn of(exchange: &Exchange) -> Self {
        let request = &exchange.request;
        let url = &request.url;
        let (status, paint) = status(&exchange.reply);
        let response = exchange.reply.response();
        let size = response.map_or(0, |r| r.body.len());
        Self {
            id: exchange.id.to_string(),
            at: seconds(exchange.at),
            what: tame(&format!("{} {}{}", request.method, url.authority(), url.target())),
            status,
            paint,
            size: human(size).to_string(),
            took: seconds(exchange.took()),
            events: response.map(events).unwrap_or_default(),
        }
    }
}

fn status(reply: &Reply) -> (String, Paint) {
    match reply {
        Reply::Fault { fault, .. } => (fault.to_string(), Paint::Red),
        Reply::Response(response) => {
            let paint = match response.status {
                0..300 => Paint::Green,
                300..400 => Paint::Cyan,
                400..500 => Paint::Yellow,
                _ => Paint::Red,
            };
            match response.end {
                End::Whole => (response.status.to_string(), paint),
                End::Cut(fault) => (format!("{} then {fault}", response.status), Paint::Red),
                End::ClientLeft => (format!("{} client left", response.status), Paint::Yellow),
            }
        }
    }
}

fn events(response: &exchange::Response) -> String {
    if !response.messages.is_empty() {
        return count(response.messages.len(), "message");
    }
    let text = match &response.body.content {
        Content::Bytes(bytes) => std::str::from_utf8(bytes).unwrap_or(""),
        Content::Omitted { .. } => return "not kept".to_owned(),
    };
    match StreamKind::of(&response.headers) {
        Some(StreamKind::Events) => {
            let (pieces, _) = exchange::split_events(text);
            pieces.iter().filter(|p| !p.is_empty()).count().to_string()
        }
        Some(StreamKind::Lines) => {
            exchange::split_lines(text).iter().filter(|l| !l.is_empty()).count().to_string()
        }
        Some(StreamKind::Frames) => response.body.frames.len().to_string(),
        None => String::new(),
    }
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

const WIDEST: usize = 80;
