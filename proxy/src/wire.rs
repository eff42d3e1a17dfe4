//! The client's side of a connection, with a handle to break it.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A TCP stream that can give back bytes that were read too early, and that a [`Breaker`] can reset.
#[derive(Debug)]
pub(crate) struct Wire {
    prefix: Bytes,
    stream: TcpStream,
    breaker: Breaker,
}

/// Breaks a connection from afar: the peer sees a reset, not an orderly end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Breaker(Arc<AtomicBool>);

impl Breaker {
    /// From now on nothing is written, and closing the socket resets it.
    pub(crate) fn reset(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_reset(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { prefix: Bytes::new(), stream, breaker: Breaker::default() }
    }

    pub(crate) fn breaker(&self) -> Breaker {
        self.breaker.clone()
    }

    /// Puts bytes back in front of what comes next.
    pub(crate) fn unread(&mut self, bytes: Bytes) {
        self.prefix =
            if self.prefix.is_empty() { bytes } else { [bytes, self.prefix.split_off(0)].concat().into() };
    }

    /// The first byte that the peer sends, left in place. `None`: it closed without one.
    pub(crate) async fn peek(&mut self) -> io::Result<Option<u8>> {
        if let Some(&first) = self.prefix.first() {
            return Ok(Some(first));
        }
        let mut byte = [0];
        let count = self.stream.peek(&mut byte).await?;
        Ok((count == 1).then_some(byte[0]))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.breaker.is_reset() {
            // Without lingering the kernel answers with RST instead of FIN.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.prefix.is_empty() {
            let count = self.prefix.len().min(buf.remaining());
            buf.put_slice(&self.prefix[..count]);
            self.prefix.advance(count);
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.breaker.is_reset() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.breaker.is_reset() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.breaker.is_reset() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
