//! Bodies: the kinds of content and the keys beside each.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use exchange::{Body, Content, Frame, Headers, JsonStyle, Sha256, StreamKind, codings_of};
use yaml::{Fields, Node, Out, Problem};

use super::{Reader, Writer, exchange::Entries, json, stream};

pub(super) fn read(
    node: Option<&Node<'_>>,
    headers: &Headers,
    reader: &mut Reader<'_>,
) -> Result<Body, Problem> {
    let Some(node) = node else {
        return Ok(Body::empty());
    };
    let mut fields = Fields::of(node, "the body")?;
    let (kind, value) = one_of(&mut fields, "the body", &KINDS)?;
    let (content, frames) = match kind {
        "json" => (Content::Bytes(read_json(value, fields.optional("json_style"))?), Vec::new()),
        "text" => (Content::Bytes(read_text(value)?), Vec::new()),
        "base64" => (Content::Bytes(read_base64(value)?), Vec::new()),
        "blob" => {
            let (sha256, size, frames) = read_reference(value, &mut fields)?;
            (Content::Bytes(reader.blob(value, sha256, size)?), frames)
        }
        "omitted" => {
            let (sha256, size, frames) = read_reference(value, &mut fields)?;
            (Content::Omitted { size, sha256 }, frames)
        }
        "events" => {
            let separator = match fields.optional("separator") {
                Some(separator) => separator.choice("the separator", &stream::SEPARATORS)?,
                None => stream::SEPARATORS[0].1,
            };
            let (content, frames) = stream::read_pieces(value, "the events", separator)?;
            (Content::Bytes(content), frames)
        }
        "lines" => {
            let (content, frames) = stream::read_pieces(value, "the lines", "\n")?;
            (Content::Bytes(content), frames)
        }
        _ => {
            let (content, frames) = stream::read_chunks(value)?;
            (Content::Bytes(content), frames)
        }
    };
    let as_sent = fields.optional("as_sent").map_or(Ok(false), |node| node.boolean("as_sent"))?;
    fields.finish()?;
    let codings = if as_sent { Vec::new() } else { codings_of(headers).unwrap_or_default() };
    Ok(Body { content, codings, frames })
}

/// Writes the body unless there is none.
pub(super) fn push<'a>(
    entries: &mut Entries<'a>,
    body: &'a Body,
    headers: &Headers,
    writer: &mut Writer<'_>,
) {
    if *body == Body::empty() {
        return;
    }
    let claimed = codings_of(headers).unwrap_or_default();
    debug_assert!(body.codings.is_empty() || body.codings == claimed, "codings are those the headers name");
    let mut keys = write_content(body, headers, writer);
    if body.codings != claimed {
        keys.push(("as_sent".into(), Out::from(true)));
    }
    entries.push(("body".into(), Out::Mapping(keys)));
}

/// The one key of `kinds` that is there, and its value.
pub(super) fn one_of<'n, 's>(
    fields: &mut Fields<'n, 's>,
    what: &str,
    kinds: &[&'static str],
) -> Result<(&'static str, &'n Node<'s>), Problem> {
    let mut found: Option<(&'static str, &Node<'_>, &Node<'_>)> = None;
    for &kind in kinds {
        match (fields.optional_entry(kind), found) {
            (Some((key, value)), None) => found = Some((kind, key, value)),
            (Some((key, _)), Some((other, first, _))) => {
                return Err(Problem::new(key.span, format!("{what} has both `{other}` and `{kind}`"))
                    .with_help("keep one of the two")
                    .with_related(first.span, "the other stands here"));
            }
            (None, _) => {}
        }
    }
    found.map(|(kind, _, value)| (kind, value)).ok_or_else(|| {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
        Problem::new(fields.span(), format!("{what} has no content"))
            .with_help(format!("write one of {}", kinds.join(", ")))
    })
}

pub(super) fn read_base64(node: &Node<'_>) -> Result<Bytes, Problem> {
    match STANDARD.decode(node.text("the base64 text")?) {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) => {
            Err(Problem::new(node.span, format!("not base64: {}", error.to_string().to_lowercase()))
                .with_help("write it in the standard alphabet, padded, on one line"))
        }
    }
}

pub(super) fn write_base64<'a>(bytes: &[u8]) -> (Cow<'a, str>, Out<'a>) {
    ("base64".into(), Out::text(STANDARD.encode(bytes)))
}

/// Text where the bytes are UTF-8, else base64.
pub(super) fn write_bytes(bytes: &[u8]) -> (Cow<'_, str>, Out<'_>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => ("text".into(), Out::text(text)),
        Err(_) => write_base64(bytes),
    }
}

pub(super) fn read_text(node: &Node<'_>) -> Result<Bytes, Problem> {
    Ok(Bytes::copy_from_slice(node.text("the text")?.as_bytes()))
}

impl Reader<'_> {
    fn blob(&mut self, node: &Node<'_>, sha256: Sha256, size: u64) -> Result<Bytes, Problem> {
        let fail = |message: String| Err(Problem::new(node.span, message).with_help(BLOB_HELP));
        let bytes = match self.fetched.get(&sha256) {
            Some(bytes) => bytes.clone(),
            None => match (self.blobs)(&sha256) {
                Ok(Some(bytes)) if Sha256::of(&bytes) == sha256 => {
                    self.fetched.insert(sha256, bytes.clone());
                    bytes
                }
                Ok(Some(_)) => return fail("the blob was changed: its hash is not its name".to_owned()),
                Ok(None) => return fail("the blob is missing".to_owned()),
                Err(error) => return fail(format!("the blob cannot be read: {error}")),
            },
        };
        match bytes.len() as u64 {
            length if length == size => Ok(bytes),
            length => fail(format!("the blob has {length} bytes, and `size` says {size}")),
        }
    }
}

fn write_content<'a>(body: &'a Body, headers: &Headers, writer: &mut Writer<'_>) -> Entries<'a> {
    // Frames that do not cover the content would read as another content.
    let covered = body.frames.iter().try_fold(0u64, |sum, frame| sum.checked_add(frame.len as u64));
    let frames = if covered == Some(body.len()) { body.frames.as_slice() } else { &[] };
    match &body.content {
        Content::Omitted { size, sha256 } => write_reference("omitted", *sha256, *size, frames),
        Content::Bytes(bytes) if bytes.len() > writer.threshold => {
            let sha256 = Sha256::of(bytes);
            writer.blobs.push((sha256, bytes.clone()));
            write_reference("blob", sha256, bytes.len() as u64, frames)
        }
        Content::Bytes(bytes) => {
            let kind = StreamKind::of(headers);
            if let Some(keys) = stream::write_pieces(kind, bytes, frames) {
                return keys;
            }
            if !frames.is_empty() {
                return vec![stream::write_chunks(bytes, frames)];
            }
            match json::detect(bytes) {
                Some((value, style)) => {
                    let mut keys = vec![("json".into(), json::write(value))];
                    if style != JsonStyle::default() {
                        keys.push(("json_style".into(), Out::text(style.to_string())));
                    }
                    keys
                }
                None => vec![write_bytes(bytes)],
            }
        }
    }
}

fn read_json(node: &Node<'_>, style: Option<&Node<'_>>) -> Result<Bytes, Problem> {
    let style: JsonStyle = match style {
        Some(node) => node.text("the JSON style")?.parse().map_err(|()| {
            Problem::new(node.span, "unknown JSON style").with_help(
                "write `compact`, `spaced`, `indent2` or `tab`, then `ascii` or `html`, then `newline`, as needed",
            )
        })?,
        None => JsonStyle::default(),
    };
    Ok(style.render(&json::read(node)).into())
}

/// What stands in place of content that is kept elsewhere, or nowhere: hash, size, and the frames of a stream.
fn read_reference(
    value: &Node<'_>,
    fields: &mut Fields<'_, '_>,
) -> Result<(Sha256, u64, Vec<Frame>), Problem> {
    let sha256 = Sha256::parse(value.text("the hash")?).ok_or_else(|| {
        Problem::new(value.span, "not a SHA-256 hash").with_help("write 64 hexadecimal digits in lower case")
    })?;
    let size = fields.required("size")?.integer("the size", 0..=u64::MAX)?;
    let frames = match fields.optional("frames") {
        Some(node) => stream::read_frames(node, size)?,
        None => Vec::new(),
    };
    Ok((sha256, size, frames))
}

fn write_reference<'a>(key: &'static str, sha256: Sha256, size: u64, frames: &[Frame]) -> Entries<'a> {
    let mut keys = vec![(key.into(), Out::text(sha256.to_string())), ("size".into(), Out::from(size))];
    if !frames.is_empty() {
        keys.push(("frames".into(), stream::write_frames(frames)));
    }
    keys
}

const KINDS: [&str; 8] = ["json", "text", "base64", "events", "lines", "chunks", "blob", "omitted"];
const BLOB_HELP: &str =
    "restore the `.blobs` folder beside the cassette from where the cassette came from, or record again";
