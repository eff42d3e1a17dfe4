//! A request's body on its way out, copied as it goes.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::Bytes;
use exchange::Headers;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::{
    capture::Capture,
    convert::{self, Upgrade},
};

/// Yields what was read ahead, then the rest.
#[derive(Debug)]
pub(crate) struct Upload {
    ahead: VecDeque<Frame<Bytes>>,
    rest: Option<Incoming>,
    copy: Arc<Mutex<Copy>>,
    limit: usize,
    start: Instant,
}

/// What has been seen of the body so far.
#[derive(Debug)]
pub(crate) struct Copy {
    capture: Capture,
    trailers: Headers,
}

impl Upload {
    pub(crate) fn new(request: http::Request<Incoming>, limit: usize, start: Instant) -> Self {
        let copy = Copy { capture: Capture::new(limit, start), trailers: Headers::new() };
        let body = request.into_body();
        let rest = (!body.is_end_stream()).then_some(body);
        Self { ahead: VecDeque::new(), rest, copy: Arc::new(Mutex::new(copy)), limit, start }
    }

    /// Reads to the end and keeps only the copy.
    pub(crate) async fn read_all(mut self) -> Result<(Capture, Headers), hyper::Error> {
        while let Some(frame) = self.frame().await {
            frame?;
        }
        Ok(self.taken())
    }

    /// Reads ahead, as far as a copy can be kept.
    pub(crate) async fn buffer(&mut self) -> Result<(), hyper::Error> {
        let mut size = 0;
        while size <= self.limit {
            let Some(rest) = &mut self.rest else { return Ok(()) };
            match rest.frame().await.transpose()? {
                Some(frame) => {
                    size += frame.data_ref().map_or(0, Bytes::len);
                    note(&self.copy, &frame);
                    self.ahead.push_back(frame);
                }
                None => self.rest = None,
            }
        }
        Ok(())
    }

    /// The copy of a body that has been read ahead whole. `None` if there is more to come.
    pub(crate) fn copy(&self) -> Option<(Capture, Headers)> {
        if self.rest.is_some() {
            return None;
        }
        let mut capture = Capture::new(self.limit, self.start);
        for data in self.ahead.iter().filter_map(Frame::data_ref) {
            capture.push(data, self.start);
        }
        let trailers = self.copy.lock().unwrap_or_else(PoisonError::into_inner).trailers.clone();
        Some((capture, trailers))
    }

    /// A handle on the copy that outlives the upload.
    pub(crate) fn handle(&self) -> CopyHandle {
        CopyHandle { copy: Arc::clone(&self.copy), limit: self.limit, start: self.start }
    }

    fn taken(&self) -> (Capture, Headers) {
        self.handle().take()
    }
}

/// Gives the copy once the exchange is over.
#[derive(Debug)]
pub(crate) struct CopyHandle {
    copy: Arc<Mutex<Copy>>,
    limit: usize,
    start: Instant,
}

impl CopyHandle {
    pub(crate) fn take(&self) -> (Capture, Headers) {
        let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        let capture = std::mem::replace(&mut copy.capture, Capture::new(self.limit, self.start));
        (capture, std::mem::take(&mut copy.trailers))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        if let Some(frame) = this.ahead.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        let Some(rest) = &mut this.rest else {
            return Poll::Ready(None);
        };
        match ready!(Pin::new(rest).poll_frame(cx)) {
            Some(Ok(frame)) => {
                note(&this.copy, &frame);
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            None => {
                this.rest = None;
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_empty() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let ahead: u64 = self.ahead.iter().filter_map(Frame::data_ref).map(|d| d.len() as u64).sum();
        let rest = self.rest.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
        let mut hint = SizeHint::new();
        hint.set_lower(ahead + rest.lower());
        if let Some(upper) = rest.upper() {
            hint.set_upper(ahead + upper);
        }
        hint
    }
}

fn note(copy: &Mutex<Copy>, frame: &Frame<Bytes>) {
    let mut copy = copy.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(data) = frame.data_ref() {
        copy.capture.push(data, Instant::now());
    }
    if let Some(trailers) = frame.trailers_ref() {
        copy.trailers = convert::end_to_end(trailers, Upgrade::Drop);
    }
}
