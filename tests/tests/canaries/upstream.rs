//! An upstream that answers every call with what is written down for it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use super::wire::Reply;

/// Dropping it stops the accepting; connections end with their peers.
pub struct Upstream {
    pub addr: SocketAddr,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// An answer, and whether it breaks off and leaves its client waiting.
pub struct Answer {
    pub reply: Reply,
    pub breaks_off: bool,
}

impl Upstream {
    pub fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let addr = listener.local_addr().unwrap();
        let stopping = Arc::new(AtomicBool::new(false));
        let (stop, answers) = (Arc::clone(&stopping), Arc::new(answers));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (answers, stream) = (Arc::clone(&answers), stream.unwrap());
                // An error here is a client that left.
                thread::spawn(move || answer(stream, &answers));
            }
        });
        Self { addr, stopping, thread: Some(thread) }
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread, which then sees the flag.
        let _ = TcpStream::connect(self.addr);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(stream: TcpStream, answers: &[Answer]) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(number) = request(&mut reader)? {
        let Answer { reply, breaks_off } = &answers[number];
        let (wire, cut) = reply.wire();
        (&stream).write_all(if *breaks_off { &wire[..cut] } else { &wire })?;
        if *breaks_off || reply.is_conversation() {
            std::io::copy(&mut reader, &mut std::io::sink())?;
            return Ok(());
        }
    }
    Ok(())
}

/// Reads a request to its end, and gives the number that it has.
fn request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<usize>> {
    let (mut number, mut length, mut is_chunked) = (None, 0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            Some(("x-step", value)) => number = value.parse().ok(),
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(("transfer-encoding", _)) => is_chunked = true,
            _ => {}
        }
    }
    if !is_chunked {
        std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
        return Ok(number);
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim_end(), 16).unwrap();
        if size == 0 {
            break;
        }
        std::io::copy(&mut reader.take(size + 2), &mut std::io::sink())?;
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim_end().is_empty() {
            return Ok(number);
        }
    }
}
