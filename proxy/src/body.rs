//! Bodies on their way to the client.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use cassettes::Step;
use exchange::Fault;
use http_body::{Body, Frame, SizeHint};
use tokio::{sync::mpsc, time::Sleep};

use crate::{
    abort::{Abort, Aborted},
    convert,
    delivery::DeliveryGuard,
};

/// What hyper sends to the client. Nearly every one is the first kind, so its size is no waste.
#[expect(clippy::large_enum_variant)]
pub(crate) enum ReplyBody {
    /// Known whole. The guard learns that it went out.
    Full { data: Option<Bytes>, guard: Option<DeliveryGuard> },
    /// The rest of a plan.
    Steps(Box<Steps>),
    /// Comes from an upstream as we speak.
    Live(Live),
}

/// Performs the steps of a plan that follow its head.
pub(crate) struct Steps {
    steps: VecDeque<Step>,
    length: Option<u64>,
    waiting: Option<Pin<Box<Sleep>>>,
    /// Give hyper a chance to flush before the next step, so that pieces stay pieces.
    flush: bool,
    abort: Abort,
    guard: Option<DeliveryGuard>,
}

/// Frames that a pump sends as they come.
pub(crate) struct Live {
    pieces: mpsc::Receiver<LivePiece>,
    length: Option<u64>,
    waiting: Option<(Pin<Box<Sleep>>, Fault)>,
    is_whole: bool,
    abort: Abort,
}

pub(crate) enum LivePiece {
    Frame(Frame<Bytes>),
    /// All of it has come, and is safe.
    End,
    /// The upstream broke off like this.
    Abort(Fault),
}

impl ReplyBody {
    pub(crate) fn full(data: Bytes) -> Self {
        Self::Full { data: Some(data).filter(|d| !d.is_empty()), guard: None }
    }

    pub(crate) fn empty() -> Self {
        Self::Full { data: None, guard: None }
    }

    /// A body that is known whole, and whose delivery matters.
    pub(crate) fn tracked(data: Bytes, mut guard: DeliveryGuard) -> Self {
        if data.is_empty() {
            // hyper does not poll an empty body.
            guard.delivered();
            return Self::empty();
        }
        Self::Full { data: Some(data), guard: Some(guard) }
    }

    pub(crate) fn steps(
        steps: VecDeque<Step>,
        length: Option<u64>,
        abort: Abort,
        guard: DeliveryGuard,
    ) -> Self {
        let guard = Some(guard);
        Self::Steps(Box::new(Steps { steps, length, waiting: None, flush: false, abort, guard }))
    }

    pub(crate) fn live(pieces: mpsc::Receiver<LivePiece>, length: Option<u64>, abort: Abort) -> Self {
        Self::Live(Live { pieces, length, waiting: None, is_whole: false, abort })
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        match self.get_mut() {
            Self::Full { data, guard } => {
                let data = data.take();
                if let Some(mut guard) = guard.take() {
                    guard.delivered();
                }
                Poll::Ready(data.map(|data| Ok(Frame::data(data))))
            }
            Self::Steps(steps) => steps.poll_step(cx),
            Self::Live(live) => live.poll_piece(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full { data: None, .. })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full { data, .. } => SizeHint::with_exact(data.as_ref().map_or(0, |d| d.len() as u64)),
            Self::Steps(steps) => steps.length.map_or_else(SizeHint::default, SizeHint::with_exact),
            Self::Live(live) => live.length.map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}

impl Steps {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
            }
            if std::mem::take(&mut self.flush) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            match self.steps.pop_front() {
                Some(Step::Wait(duration)) => self.waiting = Some(Box::pin(tokio::time::sleep(duration))),
                Some(Step::Data(mut data)) if data.len() > PIECE => {
                    let rest = data.split_off(PIECE);
                    self.steps.push_front(Step::Data(rest));
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Step::Data(data)) => {
                    self.flush = true;
                    self.delivered_if_last();
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Step::Trailers(trailers)) => {
                    self.delivered_if_last();
                    return Poll::Ready(Some(Ok(Frame::trailers(convert::to_map(&trailers)))));
                }
                Some(Step::Abort(fault)) => {
                    self.delivered();
                    self.steps.push_front(Step::Abort(fault));
                    if self.abort.is_due() {
                        return Poll::Ready(Some(Err(self.abort.now(fault))));
                    }
                    // What was handed over must leave before the connection breaks.
                    self.waiting = Some(Box::pin(tokio::time::sleep(BEFORE_ABORT)));
                    self.abort.schedule();
                }
                Some(Step::Linger(Some(limit))) => {
                    self.delivered();
                    self.steps.push_front(Step::Abort(Fault::Closed));
                    self.waiting = Some(Box::pin(tokio::time::sleep(limit)));
                }
                Some(Step::Linger(None)) => {
                    self.delivered();
                    self.steps.push_front(Step::Linger(None));
                    return Poll::Pending;
                }
                Some(Step::Finish | Step::Head(_) | Step::Converse(_)) | None => {
                    self.delivered();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn delivered_if_last(&mut self) {
        // A body with a declared length is not polled again once it is all there.
        if matches!(self.steps.front(), Some(Step::Finish) | None) {
            self.delivered();
        }
    }

    fn delivered(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            guard.delivered();
        }
    }
}

impl Live {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        if let Some((waiting, fault)) = &mut self.waiting {
            ready!(waiting.as_mut().poll(cx));
            return Poll::Ready(Some(Err(self.abort.now(*fault))));
        }
        match ready!(self.pieces.poll_recv(cx)) {
            Some(LivePiece::Frame(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(LivePiece::Abort(fault)) => {
                self.waiting = Some((Box::pin(tokio::time::sleep(BEFORE_ABORT)), fault));
                self.poll_piece(cx)
            }
            Some(LivePiece::End) => {
                self.is_whole = true;
                Poll::Ready(None)
            }
            None if self.is_whole => Poll::Ready(None),
            // Whoever was to send the rest is gone: a body that stops here must not look whole.
            None => Poll::Ready(Some(Err(self.abort.now(Fault::Closed)))),
        }
    }
}

/// More than this is not handed to hyper at once: what it has taken counts as delivered.
pub(crate) const PIECE: usize = 64 << 10;
/// Long enough for hyper to flush and for loopback to carry it.
const BEFORE_ABORT: Duration = Duration::from_millis(10);
