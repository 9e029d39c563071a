//! Load, and a record of what was answered.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nostr::event::Event;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::{Client, soon};

/// What became of what was published.
#[derive(Default)]
pub struct Ledger {
    /// The events that were acknowledged, by id.
    pub stored: HashMap<String, Event>,
    /// What was said of the others.
    pub refused: Vec<String>,
}

/// Writers that go on until they are told to end, or their connection ends.
#[derive(Default)]
pub struct Load {
    ledger: Arc<Mutex<Ledger>>,
    counts: Arc<watch::Sender<(usize, usize)>>,
    is_over: Arc<AtomicBool>,
    writers: Vec<JoinHandle<()>>,
}

impl Load {
    /// One more writer, of which so many events are under way at once.
    pub fn add(&mut self, client: Client, window: usize, next: impl FnMut(usize) -> Event + Send + 'static) {
        let ledger = Arc::clone(&self.ledger);
        let counts = Arc::clone(&self.counts);
        let is_over = Arc::clone(&self.is_over);
        self.writers.push(tokio::spawn(write(client, window, next, ledger, counts, is_over)));
    }

    /// Waits until so many events have been acknowledged, and so many refused.
    pub async fn reaches(&self, stored: usize, refused: usize) {
        let mut counts = self.counts.subscribe();
        let what = format!("{stored} acknowledged and {refused} refused events");
        let reached = counts.wait_for(|now| now.0 >= stored && now.1 >= refused);
        soon(&what, reached).await.expect("it is there");
    }

    /// How many events were acknowledged and refused so far.
    pub fn counts(&self) -> (usize, usize) {
        *self.counts.borrow()
    }

    /// Lets the writers hear the last answers; then what became of everything.
    pub async fn end(self) -> Ledger {
        self.is_over.store(true, Ordering::Relaxed);
        for writer in self.writers {
            soon("the end of a writer", writer).await.expect("it ends well");
        }
        std::mem::take(&mut *lock(&self.ledger))
    }
}

async fn write(
    mut client: Client,
    window: usize,
    mut next: impl FnMut(usize) -> Event + Send,
    ledger: Arc<Mutex<Ledger>>,
    counts: Arc<watch::Sender<(usize, usize)>>,
    is_over: Arc<AtomicBool>,
) {
    let mut under_way: HashMap<String, Event> = HashMap::new();
    let mut number = 0;
    loop {
        while under_way.len() < window && !is_over.load(Ordering::Relaxed) {
            let event = next(number);
            number += 1;
            if !client.try_send(&json!(["EVENT", event])).await {
                // What was answered before the end is still to be read.
                break;
            }
            under_way.insert(event.id.to_hex(), event);
        }
        if under_way.is_empty() {
            return;
        }
        let Some(message) = client.next().await else { return };
        if message[0] != "OK" {
            continue;
        }
        let id = message[1].as_str().expect("an id");
        let event = under_way.remove(id).expect("it was sent");
        let mut ledger = lock(&ledger);
        if message[2] == true {
            ledger.stored.insert(id.to_owned(), event);
        } else {
            ledger.refused.push(message[3].as_str().expect("a reason").to_owned());
        }
        counts.send_replace((ledger.stored.len(), ledger.refused.len()));
    }
}

/// A subscription that is read all the time.
pub struct Subscriber {
    came: Arc<Mutex<Vec<String>>>,
    count: watch::Receiver<usize>,
    reading: JoinHandle<Option<Client>>,
}

impl Subscriber {
    /// Subscribes; ends when what is stored is there. It reads until an event says `last`.
    pub async fn start(mut client: Client, filter: Value, last: &str) -> Self {
        let stored = client.subscribe("live", &[filter]).await.expect("it may");
        let came = Arc::new(Mutex::new(stored));
        let (counting, count) = watch::channel(0);
        let (record, last) = (Arc::clone(&came), last.to_owned());
        let reading = tokio::spawn(async move {
            while let Some(message) = client.next().await {
                match message[0].as_str() {
                    Some("EVENT") if message[2]["content"] == *last => return Some(client),
                    Some("EVENT") => {
                        let id = message[2]["id"].as_str().expect("an id").to_owned();
                        // Whoever waits looks at the record while it holds the count.
                        let count = {
                            let mut came = lock(&record);
                            came.push(id);
                            came.len()
                        };
                        counting.send_replace(count);
                    }
                    _ => return None,
                }
            }
            None
        });
        Self { came, count, reading }
    }

    /// Waits for an event.
    pub async fn has(&self, id: &str) {
        let mut count = self.count.clone();
        let has = count.wait_for(|_| lock(&self.came).iter().any(|came| came == id));
        soon("an event at a subscriber", has).await.expect("it reads on");
    }

    /// Waits for the last event; everything before it, in order.
    ///
    /// # Panics
    /// When the subscription or the connection ended before, or something came twice.
    pub async fn end(self) -> HashSet<String> {
        let (came, is_whole) = self.broken().await;
        assert!(is_whole, "the subscription ended");
        came
    }

    /// What came until the last event or the end of the connection; whether the last came.
    pub async fn broken(self) -> (HashSet<String>, bool) {
        let client = soon("the last event", self.reading).await.expect("it ends well");
        let came = std::mem::take(&mut *lock(&self.came));
        let count = came.len();
        let came: HashSet<String> = came.into_iter().collect();
        assert_eq!(came.len(), count, "something came twice");
        (came, client.is_some())
    }
}

/// Everything that was acknowledged has come.
pub fn assert_has_all(came: &HashSet<String>, ledger: &Ledger) {
    let missing: Vec<_> = ledger.stored.keys().filter(|id| !came.contains(*id)).collect();
    assert!(missing.is_empty(), "{} of {} are missing: {missing:?}", missing.len(), ledger.stored.len());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
