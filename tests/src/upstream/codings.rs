//! Content codings, one function for each that a server may choose.

use std::io::Write;

use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};

pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).and_then(|()| encoder.finish()).expect("writing to memory")
}

/// The zlib form, which is what RFC 9110 means by `deflate`.
pub(super) fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).and_then(|()| encoder.finish()).expect("writing to memory")
}

pub(super) fn brotli(content: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    let params = brotli::enc::BrotliEncoderParams::default();
    brotli::BrotliCompress(&mut &content[..], &mut coded, &params).expect("writing to memory");
    coded
}

pub(super) fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 3).expect("writing to memory")
}
