//! Foreign recordings through the public door: what comes out, what is put right, what is refused and where.

mod detection;
mod har;
mod hostile;
mod law;
mod nock;
mod others;
mod repairs;
mod stubs;
mod vcr;
mod vcrpy;

use std::io;

use bytes::Bytes;
use exchange::{Exchange, Response};
use wiretape_cassettes::import::{self, Imported, Options, Refusal, Source};

fn nothing_beside(_: &str) -> io::Result<Option<Bytes>> {
    Ok(None)
}

fn import_as(name: &str, text: &str, options: &Options) -> Result<Imported, Refusal> {
    let source = Source { name, bytes: text.as_bytes(), beside: &nothing_beside };
    import::import(source, None, options)
}

fn import(text: &str) -> Imported {
    import_as("recording.yaml", text, &Options::default()).unwrap_or_else(|refusal| panic!("{refusal}"))
}

/// The one exchange of a recording.
fn only(text: &str) -> Exchange {
    let mut imported = import(text);
    assert_eq!(imported.skipped, []);
    assert_eq!(imported.cassette.exchanges.len(), 1);
    imported.cassette.exchanges.remove(0).into_inner()
}

fn refusal(text: &str) -> String {
    match import_as("recording.yaml", text, &Options::default()) {
        Ok(imported) => panic!("was taken: {imported:?}"),
        Err(refusal) => refusal.to_string(),
    }
}

fn response(exchange: &Exchange) -> &Response {
    exchange.reply.response().expect("imports have responses")
}

fn body(exchange: &Exchange) -> &[u8] {
    response(exchange).body.bytes().expect("imports keep their bodies")
}

fn asked(exchange: &Exchange) -> &[u8] {
    exchange.request.body.bytes().expect("imports keep their bodies")
}

fn pairs(headers: &exchange::Headers) -> Vec<(&str, &str)> {
    headers.iter().map(|h| (h.name(), h.text().expect("text"))).collect()
}
