//! What holds for every file, whatever is in it. The fuzz targets hold files to it too.

use std::io;

use bytes::Bytes;
use exchange::Url;
use wiretape_cassettes::{
    format,
    import::{self, Format, Options, Source},
};

/// A file is refused, or what it became is a cassette that is read as it was written. Returns how many exchanges it has.
pub fn holds(bytes: &[u8], format: Option<Format>) -> usize {
    let source = Source { name: "a.yaml", bytes, beside: &beside };
    let options = Options { origin: Url::parse("https://a.test/").ok(), ..Options::default() };
    let Ok(imported) = import::import(source, format, &options) else { return 0 };
    let (mut text, mut blobs) =
        (format::header(imported.cassette.redaction.as_ref(), imported.cassette.policy.as_ref()), Vec::new());
    for exchange in &imported.cassette.exchanges {
        text += &format::item(exchange, format::BLOB_THRESHOLD, &mut blobs);
    }
    text += format::FOOTER;
    let kept = |hash: &_| Ok(blobs.iter().find(|(known, _)| known == hash).map(|(_, bytes)| bytes.clone()));
    match format::read(&text, &kept) {
        Ok(again) => assert!(again == imported.cassette, "became another cassette:\n{text}"),
        // An empty list of exchanges has another form.
        Err(_) if imported.cassette.exchanges.is_empty() => {}
        Err(problem) => panic!("{}: {problem}\n{text}", problem.span.position(&text)),
    }
    imported.cassette.exchanges.len()
}

fn beside(name: &str) -> io::Result<Option<Bytes>> {
    Ok((name == "deep/body.txt").then(|| Bytes::from_static(b"from a file")))
}
