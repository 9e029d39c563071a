//! Who is in which channel, kept close by (section 1, Privacy).
//!
//! The store decides what stored reads show. What is written and what is delivered live is decided here,
//! from what the store said last: an entry is dropped as soon as this node sees a change of its channel,
//! and what it allowed is asked again. Where other nodes may make changes, an entry is trusted no longer
//! than [`Access::LEASE`] after this node last had everything that was committed; whoever removes a member
//! waits that long before it says that it is done.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use vocative::Key;
use vocative_store::{Channel, ChannelId, Condition, Roles, Store, StoreError};

/// The role of those who manage a channel.
pub(crate) const ADMIN: &str = "admin";

/// A channel and its members, as of some moment.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The channel; none if there is none of this name.
    pub(crate) channel: Option<Channel>,
    members: HashMap<Key, Roles>,
    is_outdated: AtomicBool,
}

impl Entry {
    /// The channel, if it can be used at all.
    pub(crate) fn living(&self) -> Option<&Channel> {
        self.channel.as_ref().filter(|channel| !channel.deleted)
    }

    /// The roles of a member; none for others.
    pub(crate) fn roles(&self, key: Key) -> Option<&Roles> {
        self.living().and(self.members.get(&key))
    }

    /// Its members, if it can be used at all, in no particular order.
    pub(crate) fn members(&self) -> impl Iterator<Item = Key> {
        self.living().into_iter().flat_map(|_| self.members.keys().copied())
    }

    /// Whether a key manages the channel.
    pub(crate) fn is_admin(&self, key: Key) -> bool {
        self.roles(key).is_some_and(|roles| roles.contains(ADMIN))
    }

    /// Whether someone with these keys reads the channel.
    pub(crate) fn may_read(&self, keys: &[Key]) -> bool {
        self.living().is_some_and(|channel| {
            !channel.is_for_members() || keys.iter().any(|key| self.members.contains_key(key))
        })
    }

    /// Whether someone with these keys has a right.
    pub(crate) fn grants(&self, right: Right, keys: &[Key]) -> bool {
        match right {
            Right::Read => self.may_read(keys),
            Right::Manage => keys.iter().any(|key| self.roles(*key).is_some_and(|roles| !roles.is_empty())),
        }
    }

    /// What an event that changes the channel rests on: the channel, and the standing of a key in it.
    pub(crate) fn conditions(&self, id: &ChannelId, key: Key) -> Vec<Condition> {
        let roles = self.members.get(&key).cloned();
        vec![Condition::Channel(id.clone(), self.channel.clone()), Condition::Roles(id.clone(), key, roles)]
    }

    /// Whether a change of the channel has been seen since.
    pub(crate) fn is_outdated(&self) -> bool {
        self.is_outdated.load(Ordering::Acquire)
    }
}

/// What a reader has to be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// Read the channel.
    Read,
    /// Have a role in it: invitations are for those who give them.
    Manage,
}

/// A right that a reader must have in a channel, as that was when it was last looked.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) channel: ChannelId,
    pub(crate) entry: Arc<Entry>,
    pub(crate) right: Right,
}

/// All of these must hold.
pub(crate) type Guards = Arc<[Guard]>;

/// What is known of the channels.
pub(crate) struct Access {
    store: Arc<dyn Store>,
    known: Mutex<HashMap<ChannelId, Arc<Entry>>>,
    /// Counts the changes seen, so that what was read before one is not kept after it.
    changes: AtomicU64,
    freshness: Option<Freshness>,
}

/// How recent this node's knowledge of what other nodes did is.
struct Freshness {
    seen: watch::Sender<Seen>,
    wanted: Notify,
}

/// How the store was last read.
struct Seen {
    /// Everything that was committed by then is known.
    as_of: Instant,
    /// Why it could not be read since.
    failure: Option<StoreError>,
}

impl Seen {
    fn is_recent(&self) -> bool {
        self.as_of.elapsed() < Access::LEASE
    }
}

impl Access {
    /// How long knowledge is trusted that other nodes may have made wrong.
    pub(crate) const LEASE: Duration = Duration::from_millis(400);
    /// How long whoever takes a right away waits for the other nodes: the lease, and slack for the way
    /// from a check to the socket.
    pub(crate) const FENCE: Duration = Duration::from_millis(500);

    /// Knows nothing yet. `is_shared`: whether other nodes write to the same store.
    pub(crate) fn new(store: Arc<dyn Store>, is_shared: bool) -> Self {
        let seen = Seen { as_of: Instant::now(), failure: None };
        let freshness =
            is_shared.then(|| Freshness { seen: watch::Sender::new(seen), wanted: Notify::new() });
        Self { store, known: Mutex::default(), changes: AtomicU64::new(0), freshness }
    }

    /// A channel as it is now.
    ///
    /// # Errors
    /// What the store says. While it fails nothing is known for certain, and nobody is kept waiting.
    pub(crate) async fn channel(&self, id: &ChannelId) -> Result<Arc<Entry>, StoreError> {
        if let Some(failure) = self.recent(|seen| seen.is_recent() || seen.failure.is_some()).await {
            return Err(failure);
        }
        self.as_known(id).await
    }

    /// Whether a reader with these keys may still see what was put for it on these rights. Waits until that
    /// is certain, however long the store fails.
    pub(crate) async fn still_allows(&self, guards: &[Guard], keys: impl Fn() -> Arc<[Key]>) -> bool {
        if guards.is_empty() {
            return true;
        }
        self.recent(Seen::is_recent).await;
        for Guard { channel, entry, right } in guards {
            if entry.is_outdated() {
                match self.channel(channel).await {
                    Ok(now) if now.grants(*right, &keys()) => {}
                    _ => return false,
                }
            }
        }
        true
    }

    /// Whether these rights are known to be as they were, without asking.
    pub(crate) fn is_certain(&self, guards: &[Guard]) -> bool {
        let is_recent =
            || self.freshness.as_ref().is_none_or(|freshness| freshness.seen.borrow().is_recent());
        guards.is_empty() || (is_recent() && !guards.iter().any(|guard| guard.entry.is_outdated()))
    }

    /// A channel as far as this node has seen; for delivery itself, by which it sees.
    pub(crate) async fn as_known(&self, id: &ChannelId) -> Result<Arc<Entry>, StoreError> {
        loop {
            if let Some(entry) = self.lock().get(id) {
                return Ok(Arc::clone(entry));
            }
            let before = self.changes.load(Ordering::Acquire);
            let channel = self.store.channel(id).await?;
            let members = match &channel {
                Some(_) => self.store.members(id).await?,
                None => Vec::new(),
            };
            let is_known = channel.is_some();
            let members = members.into_iter().map(|member| (member.key, member.roles)).collect();
            let entry = Arc::new(Entry { channel, members, is_outdated: AtomicBool::new(false) });
            let mut known = self.lock();
            if self.changes.load(Ordering::Acquire) == before {
                // Names of channels that do not exist come from strangers, who must not fill the memory.
                // Of several that ask at once all get the same entry: only that is told of a change.
                return Ok(if is_known {
                    Arc::clone(known.entry(id.clone()).or_insert(entry))
                } else {
                    entry
                });
            }
        }
    }

    /// What was known of a channel is no longer so.
    pub(crate) fn has_changed(&self, id: &ChannelId) {
        let mut known = self.lock();
        self.changes.fetch_add(1, Ordering::Release);
        if let Some(entry) = known.remove(id) {
            entry.is_outdated.store(true, Ordering::Release);
        }
    }

    /// Waits until knowledge is good enough; what it lacks if it is not recent.
    async fn recent(&self, is_enough: impl Fn(&Seen) -> bool) -> Option<StoreError> {
        let freshness = self.freshness.as_ref()?;
        if freshness.seen.borrow().is_recent() {
            return None;
        }
        freshness.wanted.notify_one();
        let mut seen = freshness.seen.subscribe();
        // The sender lives as long as this does.
        let seen = seen.wait_for(is_enough).await.ok()?;
        seen.failure.clone().filter(|_| !seen.is_recent())
    }

    /// Everything that was committed by this moment has been seen.
    pub(crate) fn is_fresh_as_of(&self, moment: Instant) {
        if let Some(freshness) = &self.freshness {
            freshness.seen.send_replace(Seen { as_of: moment, failure: None });
        }
    }

    /// The store cannot be read.
    pub(crate) fn is_failing(&self, failure: StoreError) {
        if let Some(freshness) = &self.freshness {
            freshness.seen.send_modify(|seen| seen.failure = Some(failure));
        }
    }

    /// Ends when someone waits for newer knowledge.
    pub(crate) async fn wanted(&self) {
        match &self.freshness {
            Some(freshness) => freshness.wanted.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until no node acts on what was so before.
    pub(crate) async fn fence(&self) {
        if self.freshness.is_some() {
            tokio::time::sleep(Self::FENCE).await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ChannelId, Arc<Entry>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vocative::Key;
    use vocative_store::sqlite::Sqlite;
    use vocative_store::{
        Change, Channel, ChannelKind, Entry, Event, EventId, Member, Roles, Store, StoreError, Timestamp,
    };

    use super::Access;

    async fn store(folder: &std::path::Path) -> Arc<dyn Store> {
        let store = Sqlite::open(folder.join("store.db")).expect("a store");
        let id: vocative_store::ChannelId = "secret".parse().expect("a name");
        let member = Member { key: Key::from_bytes([2; 32]), roles: Roles::new() };
        let event = Event {
            id: EventId::from_bytes([1; 32]),
            key: Key::from_bytes([1; 32]),
            created_at: Timestamp::from_secs(1),
            kind: 9007,
            tags: vec![vec!["h".to_owned(), "secret".to_owned()]],
            content: String::new(),
            sig: [0; 64],
        };
        let channel = Channel::private(id.clone(), ChannelKind::Stream);
        let changes = vec![Change::SetChannel(channel), Change::SetMember(id, member)];
        store.append(vec![Entry { changes, ..event.into() }]).await.expect("it stores");
        Arc::new(store)
    }

    /// Whoever asks while another does would otherwise hold an entry that no change ever reaches.
    #[tokio::test]
    async fn all_who_ask_at_once_hear_of_a_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let access = Access::new(store(folder.path()).await, false);
        let id = "secret".parse().expect("a name");
        let (one, two) = tokio::join!(access.as_known(&id), access.as_known(&id));
        access.has_changed(&id);
        assert!(one.expect("an entry").is_outdated() && two.expect("an entry").is_outdated());
    }

    #[tokio::test]
    async fn nobody_waits_for_a_store_that_fails() {
        let folder = tempfile::tempdir().expect("a folder");
        let access = Access::new(store(folder.path()).await, true);
        let id = "secret".parse().expect("a name");
        let long_ago = std::time::Instant::now().checked_sub(Access::LEASE).expect("it was");
        access.is_fresh_as_of(long_ago);
        access.is_failing(StoreError::Full);
        assert_eq!(access.channel(&id).await.err(), Some(StoreError::Full));
        access.is_fresh_as_of(std::time::Instant::now());
        assert!(access.channel(&id).await.is_ok());
    }
}
