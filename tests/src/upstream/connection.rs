//! One accepted connection under hyper, with a handle by which an answer can break it on purpose or put
//! bytes on it that hyper has no words for.

use std::{
    io,
    net::TcpStream as StdTcpStream,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// The handle that answers hold, one per connection.
#[derive(Debug, Clone)]
pub(super) struct Control {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// A second descriptor of the socket, to set options below TLS.
    socket: Option<StdTcpStream>,
    fate: Fate,
    /// Bytes to go out before whatever hyper writes next.
    ahead: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Broken,
}

impl Control {
    /// Takes hold of a socket that is about to be served.
    pub(super) fn of(stream: TcpStream) -> io::Result<(Self, TcpStream)> {
        let stream = stream.into_std()?;
        let socket = Some(stream.try_clone()?);
        let state = State { socket, fate: Fate::Open, ahead: Vec::new() };
        Ok((Self { state: Arc::new(Mutex::new(state)) }, TcpStream::from_std(stream)?))
    }

    /// The peer gets a RST: nothing more is read or written, and closing sends no FIN.
    pub(super) fn reset(&self) {
        let mut state = self.state.lock().unwrap();
        state.fate = Fate::Broken;
        // Dropped here, so that hyper's own descriptor is the last and its closing resets.
        if let Some(socket) = state.socket.take() {
            SockRef::from(&socket).set_linger(Some(Duration::ZERO)).expect("linger can be set");
        }
    }

    /// The peer gets a FIN, whatever was promised before.
    pub(super) fn close(&self) {
        self.state.lock().unwrap().fate = Fate::Broken;
    }

    /// Puts `bytes` before the next thing hyper writes, such as a 103 that it cannot send.
    pub(super) fn send_ahead(&self, bytes: &[u8]) {
        self.state.lock().unwrap().ahead.extend_from_slice(bytes);
    }

    fn check(&self) -> io::Result<()> {
        match self.state.lock().unwrap().fate {
            Fate::Open => Ok(()),
            Fate::Broken => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }
}

/// The stream (TLS or plain) that hyper serves, under the control of the answers given on it.
#[derive(Debug)]
pub(super) struct Controlled<S> {
    stream: S,
    control: Control,
}

impl<S> Controlled<S> {
    pub(super) fn new(stream: S, control: Control) -> Self {
        Self { stream, control }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Controlled<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.control.check()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Controlled<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.control.check()?;
        loop {
            let ahead = self.control.state.lock().unwrap().ahead.clone();
            if ahead.is_empty() {
                return Pin::new(&mut self.stream).poll_write(cx, buf);
            }
            match Pin::new(&mut self.stream).poll_write(cx, &ahead)? {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(written) => drop(self.control.state.lock().unwrap().ahead.drain(..written)),
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.control.check()?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.control.check()?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
