//! A request's body on its way out, copied as it goes.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use exchange::Headers;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::Notify;

use crate::{
    capture::{Capture, Extent},
    convert::{self, Upgrade},
};

/// Yields what was read ahead, then the rest.
#[derive(Debug)]
pub(crate) struct Upload {
    ahead: VecDeque<Frame<Bytes>>,
    rest: Option<Incoming>,
    shared: Arc<Shared>,
    limit: usize,
    start: Instant,
}

/// What has been seen of the body so far.
#[derive(Debug)]
struct Copy {
    capture: Capture,
    trailers: Headers,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    /// Whoever sends it on is still reading.
    Going,
    /// Given up before its end: an upstream that fails or answers early does not read what is left.
    GivenUp(Incoming),
    Ended,
}

#[derive(Debug)]
struct Shared {
    copy: Mutex<Copy>,
    changed: Notify,
}

impl Upload {
    pub(crate) fn new(request: http::Request<Incoming>, limit: usize, start: Instant) -> Self {
        let body = request.into_body();
        let rest = (!body.is_end_stream()).then_some(body);
        let progress = if rest.is_some() { Progress::Going } else { Progress::Ended };
        let copy = Copy { capture: Capture::new(limit, start), trailers: Headers::new(), progress };
        let shared = Arc::new(Shared { copy: Mutex::new(copy), changed: Notify::new() });
        Self { ahead: VecDeque::new(), rest, shared, limit, start }
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
                    self.shared.note(&frame);
                    self.ahead.push_back(frame);
                }
                None => {
                    self.rest = None;
                    self.shared.set(Progress::Ended);
                }
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
        let trailers = self.shared.lock().trailers.clone();
        Some((capture, trailers))
    }

    /// A handle on the copy that outlives the upload.
    pub(crate) fn handle(&self) -> CopyHandle {
        CopyHandle { shared: Arc::clone(&self.shared), limit: self.limit, start: self.start }
    }

    fn taken(&self) -> (Capture, Headers) {
        self.handle().take()
    }
}

/// Gives the copy once the exchange is over.
#[derive(Debug)]
pub(crate) struct CopyHandle {
    shared: Arc<Shared>,
    limit: usize,
    start: Instant,
}

impl CopyHandle {
    pub(crate) fn take(&self) -> (Capture, Headers) {
        let mut copy = self.shared.lock();
        let capture = std::mem::replace(&mut copy.capture, Capture::new(self.limit, self.start));
        (capture, std::mem::take(&mut copy.trailers))
    }

    /// Reads what is left of the body, for the recording's sake and for a while only. Tells whether it is whole.
    pub(crate) async fn read_rest(&self, limit: Duration) -> Extent {
        match tokio::time::timeout(limit, self.shared.read_rest()).await {
            Ok(Ok(())) => Extent::Whole,
            Ok(Err(_)) | Err(_) => Extent::Part,
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Copy> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, frame: &Frame<Bytes>) {
        let mut copy = self.lock();
        if let Some(data) = frame.data_ref() {
            copy.capture.push(data, Instant::now());
        }
        if let Some(trailers) = frame.trailers_ref() {
            copy.trailers = convert::end_to_end(trailers, Upgrade::Drop);
        }
    }

    fn set(&self, progress: Progress) {
        self.lock().progress = progress;
        self.changed.notify_one();
    }

    async fn read_rest(&self) -> Result<(), hyper::Error> {
        loop {
            let progress = std::mem::replace(&mut self.lock().progress, Progress::Going);
            match progress {
                Progress::Ended => {
                    self.lock().progress = Progress::Ended;
                    return Ok(());
                }
                Progress::GivenUp(mut body) => {
                    while let Some(frame) = body.frame().await {
                        self.note(&frame?);
                    }
                    self.lock().progress = Progress::Ended;
                    return Ok(());
                }
                Progress::Going => self.changed.notified().await,
            }
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(rest) = self.rest.take() {
            self.shared.set(Progress::GivenUp(rest));
        }
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
        match ready!(Pin::new(&mut *rest).poll_frame(cx)) {
            Some(Ok(frame)) => {
                this.shared.note(&frame);
                if rest.is_end_stream() {
                    this.rest = None;
                    this.shared.set(Progress::Ended);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
            None => {
                this.rest = None;
                this.shared.set(Progress::Ended);
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
