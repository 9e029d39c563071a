//! What all connections of a node share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::{Semaphore, watch};
use vocative::Key;
use vocative_store::{
    Entry, Event, EventId, Filter, Outcome, Position, Reader, Refusal, Store, StoreError, Timestamp,
};

use super::access::Access;
use super::admission::{self, Admitted, ChannelChange};
use super::groups;
use super::identity::Identity;
use super::limits::Limiter;
use super::live::Live;
use super::protocol::{Accepted, Reason, Refused};
use super::stored;
use super::subscriptions::{Handle, Subscriptions};
use crate::bus::Bus;
use crate::sending::Names;
use crate::settings::Settings;

/// The state of a node.
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) identity: Identity,
    pub(crate) access: Access,
    pub(crate) names: Names,
    pub(crate) limiter: Limiter,
    subscriptions: Mutex<Subscriptions<Arc<Live>>>,
    /// The last position that this node has delivered.
    delivered: watch::Sender<u64>,
    /// The last position that this node knows to be taken.
    known: AtomicU64,
    /// Whoever reads a piece of an answer holds one.
    pub(crate) pieces: Semaphore,
    stopping: watch::Sender<bool>,
}

impl State {
    /// The state of a node that delivers what is committed from now on.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn new(
        settings: Settings,
        store: Arc<dyn Store>,
        bus: Arc<dyn Bus>,
    ) -> Result<Self, StoreError> {
        let identity = Identity::of(&*store).await?;
        let head = store.head().await?.get();
        Ok(Self {
            access: Access::new(Arc::clone(&store), bus.is_shared()),
            names: Names::default(),
            limiter: Limiter::new(&settings.limits),
            subscriptions: Mutex::default(),
            delivered: watch::Sender::new(head),
            known: AtomicU64::new(head),
            pieces: Semaphore::new(stored::PIECES),
            stopping: watch::Sender::new(false),
            settings,
            store,
            bus,
            identity,
        })
    }

    /// Whether a key is the community's owner.
    pub(crate) fn is_owner(&self, key: Key) -> bool {
        self.settings.owner == Some(key)
    }

    /// Seconds since 1970, by this machine's clock.
    pub(crate) fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_secs(since.as_secs())
    }

    /// The open subscriptions.
    pub(crate) fn subscriptions(&self) -> MutexGuard<'_, Subscriptions<Arc<Live>>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a subscription in.
    pub(crate) fn subscribe(&self, filters: &[Filter], live: Arc<Live>) -> Handle {
        let mut subscriptions = self.subscriptions();
        let handle = subscriptions.add(filters, live);
        metrics::gauge!("vocative_subscriptions").set(subscriptions.len() as f64);
        handle
    }

    /// Takes one out.
    pub(crate) fn unsubscribe(&self, handle: Handle) {
        let mut subscriptions = self.subscriptions();
        subscriptions.remove(handle);
        metrics::gauge!("vocative_subscriptions").set(subscriptions.len() as f64);
    }

    /// The last position that this node has delivered.
    pub(crate) fn delivered(&self) -> Position {
        Position::new(*self.delivered.borrow())
    }

    /// Tells of every position that this node delivers from here on.
    pub(crate) fn watch_delivered(&self) -> watch::Receiver<u64> {
        self.delivered.subscribe()
    }

    pub(crate) fn has_delivered(&self, position: Position) {
        self.delivered.send_if_modified(|delivered| {
            let is_later = *delivered < position.get();
            *delivered = position.get().max(*delivered);
            is_later
        });
        self.known.fetch_max(position.get(), Ordering::AcqRel);
    }

    /// The last position that this node knows to be taken.
    pub(crate) fn known(&self) -> Position {
        Position::new(self.known.load(Ordering::Acquire))
    }

    /// Decides about an event. One that is stored already is a duplicate, whatever would be said of it
    /// now.
    pub(crate) async fn admit(&self, event: Event, keys: &[Key]) -> Result<Decision, Refused> {
        let id = event.id;
        let changes = (9000..=9022).contains(&event.kind).then(|| admission::named_channel(&event));
        match admission::admit(self, event, keys, self.now()).await {
            Ok(admitted) => Ok(Decision::Admitted(admitted)),
            Err(_) if self.is_stored(id).await? => {
                if let Some(Ok(Some(channel))) = changes {
                    self.follow(&ChannelChange { channel, takes_rights: true }).await;
                }
                Ok(Decision::Stored)
            }
            Err(refused) => Err(refused),
        }
    }

    async fn is_stored(&self, id: EventId) -> Result<bool, StoreError> {
        Ok(self.store.event(&Reader::Server, id).await?.is_some())
    }

    /// Stores what was admitted for these keys, and sees to what follows from it. Ends when it is durable,
    /// and when no node acts any more on a right that it took away. What was admitted on something that has
    /// changed meanwhile is decided about again.
    pub(crate) async fn commit(&self, mut admitted: Admitted, keys: &[Key]) -> Result<Accepted, Refused> {
        const ATTEMPTS: usize = 8;
        for _ in 0..ATTEMPTS {
            let conditional = admitted.entries.first().filter(|entry| !entry.conditions.is_empty());
            let Some(event) = conditional.map(|entry| entry.event.clone()) else { break };
            if let Some(accepted) = self.try_commit(admitted).await? {
                return Ok(accepted);
            }
            for channel in event.values("h").filter_map(|id| id.parse().ok()) {
                self.access.has_changed(&channel);
            }
            admitted = match self.admit(event, keys).await? {
                Decision::Admitted(again) => again,
                Decision::Stored => return Ok(Accepted::Duplicate),
            };
        }
        let accepted = self.try_commit(admitted).await?;
        accepted.ok_or_else(|| Refused::new(Reason::Error, "the channel changes too fast; try again"))
    }

    /// Stores what was admitted, unless what it rests on has changed.
    async fn try_commit(&self, admitted: Admitted) -> Result<Option<Accepted>, Refused> {
        let Admitted { entries, changes } = admitted;
        let outcomes = self.append(entries).await?;
        let outcome = outcomes
            .into_iter()
            .next()
            .ok_or_else(|| Refused::new(Reason::Error, "the store did not say what became of the event"))?;
        let accepted = match outcome {
            Outcome::Stored(_) => Accepted::Stored,
            Outcome::Duplicate => Accepted::Duplicate,
            Outcome::Refused(Refusal::Outdated) => return Ok(None),
            Outcome::Refused(refusal) => return Err(refused(&refusal)),
        };
        if let Some(change) = changes {
            self.follow(&change).await;
        }
        Ok(Some(accepted))
    }

    /// Sees to what follows from a change of a channel. For one that was stored before too: who stored it
    /// may be in the midst of this, or have ended before it came to it.
    async fn follow(&self, change: &ChannelChange) {
        self.access.has_changed(&change.channel);
        let (described, ()) = tokio::join!(groups::describe(self, &change.channel), async {
            if change.takes_rights {
                self.access.fence().await;
            }
        });
        if let Err(failure) = described {
            // The event is stored; its answer must say so. The next change describes this one too.
            tracing::error!(channel = ?change.channel, %failure, "a channel's description is behind");
        }
    }

    /// Stores entries and wakes whoever delivers.
    pub(crate) async fn append(&self, entries: Vec<Entry>) -> Result<Vec<Outcome>, StoreError> {
        let named: Vec<Key> = entries.iter().filter_map(|entry| Names::of_whom(&entry.event)).collect();
        let outcomes = self.store.append(entries).await?;
        named.into_iter().for_each(|key| self.names.have_changed(key));
        let positions = outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Stored(position) => Some(position.get()),
            _ => None,
        });
        if let Some(last) = positions.max() {
            self.known.fetch_max(last, Ordering::AcqRel);
            self.bus.wake();
        }
        Ok(outcomes)
    }

    /// Nothing new is begun any more.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Ends when the node stops.
    pub(crate) async fn stopped(&self) {
        // The sender lives as long as this does.
        let _ = self.stopping.subscribe().wait_for(|is_stopping| *is_stopping).await;
    }

    /// Whether the node stops.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }
}

/// What is to be done with an event that is not refused.
pub(crate) enum Decision {
    /// It may be stored.
    Admitted(Admitted),
    /// It was stored before.
    Stored,
}

fn refused(refusal: &Refusal) -> Refused {
    let reason = match refusal {
        Refusal::Deleted | Refusal::Superseded { .. } | Refusal::Ephemeral => Reason::Blocked,
        Refusal::NulCharacter | Refusal::BadTime | Refusal::TooLarge | Refusal::BadChannel => Reason::Invalid,
        Refusal::Outdated => Reason::Error,
        Refusal::Database(said) => {
            tracing::error!(%said, "the store refused an event");
            return Refused::new(Reason::Error, "the store refused the event");
        }
    };
    Refused::new(reason, refusal.to_string())
}
