//! Connections before they are WebSockets: bounded in number for each address, and in time.
//!
//! Whoever connects and says nothing, or says it very slowly, costs a socket and must not keep it.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;

use crate::relay::{PerAddress, Slot};

/// How long a connection may be anything but a WebSocket.
const PATIENCE: Duration = Duration::from_secs(10);
/// Sockets of one address beyond its WebSockets: for questions by HTTP, and to say that there are too many.
const SPARE: usize = 16;

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
            match self.sockets.take(address.ip()) {
                Some(slot) => return (Visit::new(stream, Some(slot), PATIENCE), address),
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
    ends: Pin<Box<Sleep>>,
    is_websocket: Arc<AtomicBool>,
    _slot: Option<Slot>,
}

impl<S> Visit<S> {
    fn new(stream: S, slot: Option<Slot>, patience: Duration) -> Self {
        let ends = Box::pin(tokio::time::sleep(patience));
        Self { stream, ends, is_websocket: Arc::default(), _slot: slot }
    }

    /// An error when the time is over.
    fn in_time(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let is_over =
            !self.is_websocket.load(Ordering::Acquire) && self.ends.as_mut().poll(context).is_ready();
        if is_over { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Visit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.in_time(context)?;
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Visit<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.in_time(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
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
    is_websocket: Arc<AtomicBool>,
}

impl Peer {
    /// The connection has become a WebSocket, which has no end.
    pub(crate) fn stays(&self) {
        self.is_websocket.store(true, Ordering::Release);
    }
}

impl Connected<IncomingStream<'_, Door>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        Self { address: *stream.remote_addr(), is_websocket: Arc::clone(&stream.io().is_websocket) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::{Ordering, Visit};

    #[tokio::test]
    async fn a_visit_ends_in_time_unless_it_becomes_a_websocket() {
        let (here, mut there) = tokio::io::duplex(1 << 20);
        there.write_all(b"GET").await.expect("there is room");
        let mut visit = Visit::new(here, None, Duration::ZERO);
        // It is over once the clock has moved on, whatever comes.
        let late = loop {
            if let Err(late) = visit.write_u8(0).await {
                break late;
            }
        };
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert_eq!(visit.read_u8().await.expect_err("it is late").kind(), ErrorKind::TimedOut);
        visit.is_websocket.store(true, Ordering::Release);
        assert_eq!(visit.read_u8().await.expect("a byte"), b'G');
    }
}
