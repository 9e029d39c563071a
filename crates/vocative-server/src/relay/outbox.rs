//! What waits to be written to one client.
//!
//! Whoever delivers never waits for a reader. What a slow reader has not taken is counted in bytes, and
//! above the limit it is dropped: with a notice if it reads that, without if it does not (section 1).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::Notify;
use vocative::Key;

use super::access::Guards;
use super::protocol;

/// Something to be written.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The message.
    pub(crate) text: String,
    /// The channels that its reader must be able to read when it is written, as they were when it was
    /// put here.
    pub(crate) guards: Guards,
}

impl Item {
    fn cost(&self) -> usize {
        self.text.len() + size_of::<Self>()
    }
}

/// The queue of one connection, and the keys that have authenticated on it.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Mutex<VecDeque<Item>>,
    /// Bytes of everything that is held for the reader.
    pending: AtomicUsize,
    /// Bytes of what of it is to be written now.
    queued: AtomicUsize,
    limit: usize,
    is_over: AtomicBool,
    filled: Notify,
    emptied: Notify,
    keys: RwLock<Arc<[Key]>>,
}

impl Outbox {
    /// What may wait before whoever answers a request waits too.
    const ROOM: usize = 1024 * 1024;

    /// An empty one that holds so many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            queue: Mutex::default(),
            pending: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            limit,
            is_over: AtomicBool::new(false),
            filled: Notify::new(),
            emptied: Notify::new(),
            keys: RwLock::new(Arc::from([])),
        }
    }

    /// The keys that have authenticated.
    pub(crate) fn keys(&self) -> Arc<[Key]> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// One more key has authenticated.
    pub(crate) fn add_key(&self, key: Key) {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if !keys.contains(&key) {
            *keys = keys.iter().copied().chain([key]).collect();
        }
    }

    /// Puts a message that anyone may see.
    pub(crate) fn push(&self, text: String) {
        self.push_guarded(Item { text, guards: Arc::from([]) });
    }

    /// Puts a message. A reader for whom too much waits is dropped.
    pub(crate) fn push_guarded(&self, item: Item) {
        if self.is_over.load(Ordering::Acquire) || !self.reserve(item.cost()) {
            return;
        }
        self.queued.fetch_add(item.cost(), Ordering::AcqRel);
        self.lock().push_back(item);
        self.filled.notify_one();
    }

    /// Counts bytes that are kept for this reader; `false` when that is too much, and it is dropped.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let pending = self.pending.fetch_add(bytes, Ordering::AcqRel) + bytes;
        if pending > self.limit {
            self.drop_reader();
            return false;
        }
        true
    }

    /// Counts them no more.
    pub(crate) fn release(&self, bytes: usize) {
        self.pending.fetch_sub(bytes, Ordering::AcqRel);
    }

    fn drop_reader(&self) {
        if !self.is_over.swap(true, Ordering::AcqRel) {
            let says = format!("more than {} bytes wait for this connection; it is closed", self.limit);
            let last = Item { text: protocol::notice(&says), guards: Arc::from([]) };
            let mut queue = self.lock();
            queue.clear();
            queue.push_back(last);
            drop(queue);
            self.filled.notify_one();
            self.emptied.notify_waiters();
        }
    }

    /// Waits until the reader has taken most of what is there to be written, or has been dropped. What is kept
    /// until an answer is complete does not count: it waits for whoever waits here.
    pub(crate) async fn room(&self) {
        loop {
            let mut emptied = std::pin::pin!(self.emptied.notified());
            emptied.as_mut().enable();
            if self.is_over() || self.queued.load(Ordering::Acquire) < Self::ROOM {
                return;
            }
            emptied.await;
        }
    }

    /// Ends when the reader is to be dropped.
    pub(crate) async fn over(&self) {
        loop {
            let mut emptied = std::pin::pin!(self.emptied.notified());
            emptied.as_mut().enable();
            if self.is_over() {
                return;
            }
            emptied.await;
        }
    }

    /// Ends when everything has been written.
    pub(crate) async fn drained(&self) {
        loop {
            let mut emptied = std::pin::pin!(self.emptied.notified());
            emptied.as_mut().enable();
            if self.is_over() || self.queued.load(Ordering::Acquire) == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// Whether the reader is being dropped.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Takes everything that waits; waits for something.
    pub(crate) async fn take(&self) -> VecDeque<Item> {
        loop {
            let taken = std::mem::take(&mut *self.lock());
            if !taken.is_empty() {
                return taken;
            }
            self.filled.notified().await;
        }
    }

    /// A message has been written, or passed over.
    pub(crate) fn written(&self, item: &Item) {
        self.release(item.cost());
        let before = self.queued.fetch_sub(item.cost(), Ordering::AcqRel);
        if before - item.cost() < Self::ROOM {
            self.emptied.notify_waiters();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Item>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::Outbox;

    /// What comes while an answer is written is kept for its end, which would otherwise never come.
    #[test]
    fn what_is_kept_takes_no_room() {
        let outbox = Outbox::new(8 * Outbox::ROOM);
        assert!(outbox.reserve(2 * Outbox::ROOM));
        assert!(outbox.room().now_or_never().is_some());
        outbox.push("a".repeat(Outbox::ROOM));
        assert!(outbox.room().now_or_never().is_none());
        let taken = outbox.take().now_or_never().expect("something waits");
        taken.iter().for_each(|item| outbox.written(item));
        assert!(outbox.room().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_reader_for_whom_too_much_waits_gets_a_notice_and_no_more() {
        let outbox = Outbox::new(1000);
        outbox.push("a".repeat(500));
        outbox.push("b".repeat(500));
        outbox.push("c".to_owned());
        assert!(outbox.is_over());
        let left = outbox.take().await;
        assert_eq!(left.len(), 1);
        assert!(left[0].text.starts_with("[\"NOTICE\","), "{}", left[0].text);
        outbox.push("d".to_owned());
        assert!(outbox.lock().is_empty());
    }
}
