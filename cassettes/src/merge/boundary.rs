//! The boundary of a multipart request, which the client draws anew for every one.

use exchange::{Body, Exchange, Header, Request};

/// The boundary, if the request has one.
pub(super) fn boundary(request: &Request) -> Option<String> {
    let is_multipart = request.headers.media_type()?.starts_with("multipart/");
    request.headers.media_parameter("boundary").filter(|boundary| is_multipart && !boundary.is_empty())
}

/// The exchange with another boundary in its request, if it has one.
pub(super) fn with_boundary(mut exchange: Exchange, new: &str) -> Exchange {
    let request = &mut exchange.request;
    let Some(old) = boundary(request).filter(|old| old != new) else {
        return exchange;
    };
    let (Some(body), Some(media)) = (request.body.bytes(), request.headers.text("content-type")) else {
        return exchange;
    };
    let body = replaced(body, old.as_bytes(), new.as_bytes());
    if let Ok(media) = Header::new("content-type", media.replace(&old, new)) {
        request.headers.set(media);
    }
    if request.headers.has("content-length")
        && let Ok(length) = Header::new("content-length", body.len().to_string())
    {
        request.headers.set(length);
    }
    request.body = Body {
        content: Body::from_bytes(body).content,
        codings: request.body.codings.clone(),
        frames: Vec::new(),
    };
    exchange
}

fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memchr::memmem::find_iter(text, old) {
        out.extend_from_slice(&text[from..at]);
        out.extend_from_slice(new);
        from = at + old.len();
    }
    out.extend_from_slice(&text[from..]);
    out
}
