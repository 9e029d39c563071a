//! Connections before they are WebSockets: bounded in number for each address, and in time.
//!
//! Whoever connects and says nothing, or says it very slowly, costs a socket and must not keep it. Whoever
//! is answered keeps it while something moves, and for some time afterwards, for the next request.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};

use crate::relay::{PerAddress, Slot};

/// How long a connection that is no WebSocket may last.
const TIMES: Times =
    Times { head: Duration::from_secs(10), kept: Duration::from_secs(30), stalled: Duration::from_secs(120) };
/// Sockets of one address beyond its WebSockets: for questions by HTTP, and to say that there are too many.
const SPARE: usize = 16;

/// The times of a connection that is no WebSocket.
#[derive(Clone, Copy)]
struct Times {
    /// Until the head of the first request is there.
    head: Duration,
    /// After something was written: for the next request, and for whoever reads slowly.
    kept: Duration,
    /// While a request is worked on, without a byte in either direction.
    stalled: Duration,
}

/// Listens, and lets in as many of each address as there may be.
pub(crate) struct Door {
    listener: TcpListener,
    sockets: PerAddress,
}

impl Door {
    /// A listener that lets one address have so many WebSockets.
    pub(crate) fn new(listener: TcpListener, websockets: usize) -> Self {
        Self { listener, sockets: PerAddress::new(websockets.saturating_add(SPARE)) }
    }
}

impl Listener for Door {
    type Io = Visit<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            // An answer waits for nothing: what is written is written whole.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection delays what is written");
            }
            match self.sockets.take(address.ip()) {
                Some(slot) => return (Visit::new(stream, Some(slot), TIMES), address),
                None => metrics::counter!("vocative_sockets_refused_total").increment(1),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection, which ends at its time unless it has become a WebSocket.
pub(crate) struct Visit<S> {
    stream: S,
    times: Times,
    opened: Instant,
    read: Option<Instant>,
    written: Option<Instant>,
    /// It is looked again whether it is over, not before it can be.
    looks: Pin<Box<Sleep>>,
    usage: Arc<Usage>,
    _slot: Option<Slot>,
}

/// What a connection is used for.
#[derive(Debug, Default)]
struct Usage {
    is_websocket: AtomicBool,
    /// Since when a request is worked on.
    works: Mutex<Option<Instant>>,
}

impl Usage {
    fn set_works(&self, since: Option<Instant>) {
        *self.works.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

impl<S> Visit<S> {
    fn new(stream: S, slot: Option<Slot>, times: Times) -> Self {
        let looks = Box::pin(tokio::time::sleep(times.head));
        let (opened, read, written) = (Instant::now(), None, None);
        Self { stream, times, opened, read, written, looks, usage: Arc::default(), _slot: slot }
    }

    /// When it is over, as things are.
    fn end(&self) -> Instant {
        let Times { head, kept, stalled } = self.times;
        let idle =
            self.written.map_or(self.opened + head, |written| (written + kept).max(self.opened + head));
        match *self.usage.works.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(since) => {
                let moved = [Some(since), self.read, self.written].into_iter().flatten().max();
                moved.map_or(idle, |moved| idle.max(moved + stalled))
            }
            None => idle,
        }
    }

    /// An error when the time is over.
    fn in_time(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while !self.usage.is_websocket.load(Ordering::Acquire) && self.looks.as_mut().poll(context).is_ready()
        {
            let end = self.end();
            if end <= Instant::now() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.looks.as_mut().reset(end);
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Visit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.in_time(context)?;
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        if into.filled().len() > before {
            self.read = Some(Instant::now());
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Visit<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.in_time(context)?;
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if matches!(polled, Poll::Ready(Ok(1..))) {
            self.written = Some(Instant::now());
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Who is at the other end of a request.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    usage: Arc<Usage>,
}

impl Peer {
    /// The connection has become a WebSocket, which has no end.
    pub(crate) fn stays(&self) {
        self.usage.is_websocket.store(true, Ordering::Release);
    }

    /// A request has come, which is worked on while what this answers is there.
    pub(crate) fn works(&self) -> Work {
        self.usage.set_works(Some(Instant::now()));
        Work(Arc::clone(&self.usage))
    }
}

/// That a request is worked on.
pub(crate) struct Work(Arc<Usage>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.set_works(None);
    }
}

impl Connected<IncomingStream<'_, Door>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        Self { address: *stream.remote_addr(), usage: Arc::clone(&stream.io().usage) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::{Instant, Ordering, Times, Visit};

    const NONE: Duration = Duration::ZERO;
    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_visit_ends_in_time_unless_it_becomes_a_websocket() {
        let (here, mut there) = tokio::io::duplex(1 << 20);
        there.write_all(b"GET").await.expect("there is room");
        let mut visit = Visit::new(here, None, Times { head: NONE, kept: NONE, stalled: NONE });
        // It is over once the clock has moved on, whatever comes.
        let late = loop {
            if let Err(late) = visit.write_u8(0).await {
                break late;
            }
        };
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert_eq!(visit.read_u8().await.expect_err("it is late").kind(), ErrorKind::TimedOut);
        visit.usage.is_websocket.store(true, Ordering::Release);
        assert_eq!(visit.read_u8().await.expect("a byte"), b'G');
    }

    #[tokio::test]
    async fn a_visit_lasts_while_it_is_answered_and_not_while_it_only_talks() {
        let ends = async |times: Times, works: bool, writes: bool| {
            let (here, mut there) = tokio::io::duplex(1 << 10);
            let mut visit = Visit::new(here, None, times);
            if works {
                visit.usage.set_works(Some(Instant::now()));
            }
            if writes {
                visit.write_all(b"HTTP").await.expect("it is not over yet");
            }
            there.write_all(b"GE").await.expect("there is room");
            // Before its time it is not known to be over.
            let _ = visit.read_u8().await;
            visit.end() <= Instant::now() + LONG / 2
        };
        let times = |kept, stalled| Times { head: LONG / 4, kept, stalled };
        assert!(ends(times(LONG, LONG), false, false).await, "what it says does not prolong it");
        assert!(!ends(times(NONE, LONG), true, false).await, "a request is worked on");
        assert!(!ends(times(LONG, NONE), false, true).await, "it was answered");
        assert!(ends(times(NONE, NONE), true, true).await, "nothing moves");
    }
}
