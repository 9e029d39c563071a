//! What is written to one client, as long as it reads and may see it.
//!
//! What a key may read can change while an event waits, even when the socket has taken a part of it already.
//! Nothing is written on a right that is gone: an event that waits is passed over, and a connection that is
//! stuck in the midst of one ends.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::SinkExt;
use futures_util::stream::SplitSink;

use super::access::Guard;
use super::outbox::{Item, Outbox};
use super::state::State;

/// How often a silent client is asked whether it is there, and how long it has to answer.
const PING: Duration = Duration::from_secs(30);
/// How long a client that is being dropped has to read the last words.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long a client may take nothing of what is written to it.
const STALL: Duration = Duration::from_secs(60);
/// Messages after which what the client says has its turn.
const TURN: usize = 32;

pub(super) fn close(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame { code, reason: reason.into() }))
}

/// Nothing more can be written: the client is gone, or may no longer see what is half on its way.
struct Ended;

/// Writes what an outbox holds.
pub(super) struct Writer {
    state: Arc<State>,
    outbox: Arc<Outbox>,
    pulse: Arc<Pulse>,
    sink: SplitSink<WebSocket, Message>,
    /// On which rights the sink holds what it has not given to the system yet.
    held: Vec<Guard>,
}

impl Writer {
    pub(super) fn new(
        state: Arc<State>,
        outbox: Arc<Outbox>,
        pulse: Arc<Pulse>,
        sink: SplitSink<WebSocket, Message>,
    ) -> Self {
        Self { state, outbox, pulse, sink, held: Vec::new() }
    }

    /// Writes what waits, as long as the client reads.
    pub(super) async fn run(mut self) {
        let outbox = Arc::clone(&self.outbox);
        loop {
            let items = tokio::select! {
                items = outbox.take() => items,
                () = tokio::time::sleep(PING) => {
                    if !self.pulse.ask() {
                        return;
                    }
                    if self.sink.send(Message::Ping(Default::default())).await.is_err() {
                        return;
                    }
                    continue;
                }
            };
            // A reader that takes nothing while it is dropped is not waited for.
            let written = tokio::select! {
                written = self.write(&items) => written.is_ok(),
                () = outbox.over() => true,
            };
            if !written {
                return;
            }
            if outbox.is_over() {
                metrics::counter!("vocative_slow_readers_total").increment(1);
                let _ = tokio::time::timeout(LAST_WORDS, self.last_words()).await;
                return;
            }
        }
    }

    async fn write(&mut self, items: &VecDeque<Item>) -> Result<(), Ended> {
        for (count, item) in (1..).zip(items) {
            if self.outbox.is_over() && !is_last_word(item) {
                break;
            }
            if self.state.access.is_certain(&item.guards) || self.is_allowed(item).await? {
                self.feed(item).await?;
            }
            self.outbox.written(item);
            if count % TURN == 0 {
                self.flush().await?;
                tokio::task::yield_now().await;
            }
        }
        self.flush().await
    }

    /// Whether an item may be written. Asking can take a while, so what was written before goes first.
    async fn is_allowed(&mut self, item: &Item) -> Result<bool, Ended> {
        self.flush().await?;
        Ok(self.state.access.still_allows(&item.guards, || self.outbox.keys()).await)
    }

    async fn feed(&mut self, item: &Item) -> Result<(), Ended> {
        for guard in item.guards.iter() {
            let is_held = |held: &Guard| held.right == guard.right && Arc::ptr_eq(&held.entry, &guard.entry);
            if !self.held.iter().any(is_held) {
                self.held.push(guard.clone());
            }
        }
        let feeding = self.sink.feed(Message::text(item.text.clone()));
        carry(&self.state, &self.outbox, &self.held, feeding).await
    }

    async fn flush(&mut self) -> Result<(), Ended> {
        carry(&self.state, &self.outbox, &self.held, self.sink.flush()).await?;
        self.held.clear();
        Ok(())
    }

    /// Tells a reader that is dropped why. What is half on its way goes first, if it still may.
    async fn last_words(&mut self) -> Result<(), Ended> {
        for item in self.outbox.take().await {
            self.feed(&item).await?;
        }
        self.flush().await?;
        let closing = self.sink.send(close(close_code::POLICY, "the connection reads too slowly"));
        closing.await.map_err(|_| Ended)
    }
}

/// Goes on with a write. Each time that it had to wait, it first looks whether the reader may still see all
/// that is held.
async fn carry(
    state: &State,
    outbox: &Outbox,
    held: &[Guard],
    write: impl Future<Output = Result<(), axum::Error>>,
) -> Result<(), Ended> {
    let mut write = pin!(write);
    loop {
        let mut has_waited = false;
        let step = poll_fn(|context| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(None);
            }
            write.as_mut().poll(context).map(Some)
        });
        let Ok(step) = tokio::time::timeout(STALL, step).await else { return Err(Ended) };
        match step {
            Some(written) => return written.map_err(|_| Ended),
            None if !state.access.still_allows(held, || outbox.keys()).await => return Err(Ended),
            None => {}
        }
    }
}

fn is_last_word(item: &Item) -> bool {
    item.text.starts_with("[\"NOTICE\"")
}

/// Whether a client answers.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    is_awaited: AtomicBool,
}

impl Pulse {
    /// Something came.
    pub(super) fn heard(&self) {
        self.is_awaited.store(false, Ordering::Release);
    }

    /// It is asked. `false` when nothing came since it was asked before.
    fn ask(&self) -> bool {
        !self.is_awaited.swap(true, Ordering::AcqRel)
    }
}

#[cfg(test)]
mod tests {
    use super::Pulse;

    #[test]
    fn a_client_that_answers_nothing_is_gone() {
        let pulse = Pulse::default();
        assert!(pulse.ask(), "it has not been asked before");
        pulse.heard();
        assert!(pulse.ask() && !pulse.ask());
    }
}
