//! Sessions that their owners share, and who may read which part of them (section 4).
//!
//! A session is kept in two places: its bytes are an object, and a document of the store says which of
//! them count. The object is written first and is always a continuation of what the document says, so
//! whoever reads in between, or after a crash in between, reads what was shared before.

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use vocative::Login;
use vocative_pi::tree::EntryIndex;
use vocative_pi::{Content, EntryId, Evidence, FetchedEntry, Opened, Options, SessionId, fetch};
use vocative_store::{Expected, Store, StoreError, Timestamp, Write, Written};

use super::objects::{Objects, Unreachable};
use crate::people::Holding;

/// The most bytes of a session.
pub(crate) const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The most entries of a page before or after an entry.
pub(crate) const MOST_ENTRIES: usize = 50;
/// How long a session is closed to others while it is replaced, in seconds; writing its object must end
/// earlier.
const REPLACING: u64 = 2 * super::objects::PATIENCE.as_secs();
/// How many sessions are read at once; each may take as much memory as its bytes, and its index.
const READING: usize = 4;
/// The most bytes of sessions that stay open for the next request.
const KEPT_BYTES: usize = 128 * 1024 * 1024;

/// What is known of a shared session beside its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Shared {
    /// How many bytes of the object count.
    pub(crate) bytes: u64,
    /// Their digest, in hex.
    pub(crate) sha256: String,
    /// The repository whose readers may read it, as the sharer named it.
    pub(crate) repository: Option<String>,
    /// When it was shared last, in seconds since 1970.
    pub(crate) at: u64,
    /// Until when whoever began to replace it may end that.
    replacing: Option<u64>,
}

/// Why a session was not shared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotShared {
    /// It is no valid session.
    #[error("line {}: {}", .0.line, .0.detail)]
    Invalid(Box<vocative_pi::Problem>),
    /// Its header names another session.
    #[error("the header names session {0}")]
    OtherSession(SessionId),
    /// It is a reduced artifact, which holds nothing to read.
    #[error("this is a reduced artifact; push it as references")]
    Artifact,
    /// It does not go on where the shared one ends.
    #[error("the session was shared before, and this one does not begin with those bytes")]
    NoContinuation,
    /// It is being shared by another request.
    #[error("the session is being shared by another request; try again")]
    Busy,
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object store.
    #[error(transparent)]
    Objects(#[from] Unreachable),
}

/// Why a session was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRead {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object store.
    #[error(transparent)]
    Objects(#[from] Unreachable),
    /// The object is not what the document says.
    #[error("the object of the session is damaged")]
    Damaged,
}

/// The shared sessions of a community.
pub(crate) struct Sessions {
    store: Arc<dyn Store>,
    objects: Objects,
    reading: Semaphore,
    /// The sessions that were read last, the latest at the end.
    open: Mutex<Vec<Arc<Kept>>>,
}

/// A session that stays open.
struct Kept {
    sha256: String,
    bytes: usize,
    session: Opened,
}

/// The parts of a session that someone may read.
pub(crate) enum Grant {
    /// All of it.
    All,
    /// Around these messages: each with its ancestors and its descendants.
    Around(Vec<EntryIndex>),
}

impl Grant {
    /// What the evidence inside a session grants to whoever holds these names: to whoever held them when
    /// the message was written.
    pub(crate) fn of(session: &Opened, names: &[Holding]) -> Self {
        let is_named = |item: &&Evidence| {
            let at = seconds(item.at);
            let is = |login: &Login| names.iter().any(|name| name.login == *login && name.covers(at));
            item.marker.recipients.iter().any(|recipient| is(&recipient.login))
        };
        let mut targets: Vec<_> =
            session.all_evidence().iter().filter(is_named).map(|item| item.target).collect();
        targets.sort_unstable();
        targets.dedup();
        Self::Around(targets)
    }

    /// Whether an entry may be seen.
    pub(crate) fn shows(&self, session: &Opened, entry: EntryIndex) -> bool {
        let tree = session.tree();
        match self {
            Self::All => true,
            Self::Around(targets) => targets.iter().any(|target| {
                tree.is_ancestor_or_self(entry, *target) || tree.is_ancestor_or_self(*target, entry)
            }),
        }
    }
}

fn document(account: &str, session: &SessionId) -> String {
    format!("session/{account}/{session}")
}

/// The name of a session's object. The digest keeps names apart that differ in case only, on a disk that
/// does not, and lets no id be a path.
fn object(account: &str, session: &SessionId) -> String {
    let digest = Sha256::new_with_prefix(account).chain_update([0]).chain_update(session.as_str()).finalize();
    format!("{}.jsonl", HEXLOWER.encode(&digest))
}

/// The second in which something was written, for who held which name then.
pub(super) fn seconds(at: vocative_pi::Timestamp) -> Timestamp {
    Timestamp::from_secs(u64::try_from(at.millis().div_euclid(1000)).unwrap_or(0))
}

fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// A read session does not know who owns what in it: the check is the strict one.
fn open(bytes: &Bytes) -> Result<Opened, Box<vocative_pi::Problem>> {
    fetch::open(Content::Memory(bytes.as_ref().into()), Options::default()).map_err(Box::new)
}

impl Sessions {
    pub(crate) fn new(store: Arc<dyn Store>, objects: Objects) -> Self {
        Self { store, objects, reading: Semaphore::new(READING), open: Mutex::default() }
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Runs what keeps a processor busy where it keeps nobody waiting.
    pub(super) async fn reading<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // It is never closed.
        let _turn = self.reading.acquire().await;
        match tokio::task::spawn_blocking(work).await {
            Ok(done) => done,
            Err(failure) => std::panic::resume_unwind(failure.into_panic()),
        }
    }

    /// What is known of a session that an account shares.
    async fn known(&self, name: &str) -> Result<Option<(Shared, u64)>, StoreError> {
        let Some(document) = self.store.document(name).await? else { return Ok(None) };
        let shared = serde_json::from_slice(&document.value)
            .map_err(|error| StoreError::Damaged(format!("{name}: {error}")))?;
        Ok(Some((shared, document.version)))
    }

    async fn set(&self, name: &str, expected: Expected, shared: &Shared) -> Result<Option<u64>, StoreError> {
        let value = serde_json::to_vec(shared).map_err(|error| StoreError::Database(error.to_string()))?;
        match self.store.write(vec![Write::set(name, expected, value)]).await? {
            Written::Done(version) => Ok(Some(version)),
            Written::Changed(_) => Ok(None),
        }
    }

    /// Shares a session, or what it has grown to. The bytes are durable afterwards. Answers the session,
    /// whose markers decide what publishers dispute, and whether anything changed.
    ///
    /// # Errors
    /// Why it is not shared. What was shared before is as it was.
    pub(crate) async fn share(
        &self,
        account: &str,
        id: &SessionId,
        bytes: Bytes,
        repository: Option<String>,
        now: Timestamp,
    ) -> Result<(Opened, bool), NotShared> {
        let read = bytes.clone();
        let session = self.reading(move || open(&read)).await.map_err(NotShared::Invalid)?;
        if session.header.id != *id {
            return Err(NotShared::OtherSession(session.header.id.clone()));
        }
        if session.checked().is_artifact {
            return Err(NotShared::Artifact);
        }
        let name = document(account, id);
        let known = self.known(&name).await?;
        let expected = known.as_ref().map_or(Expected::Absent, |(_, version)| Expected::Version(*version));
        let before = known.map_or_else(
            || Shared { bytes: 0, sha256: digest(b""), repository: None, at: 0, replacing: None },
            |(shared, _)| shared,
        );
        let old = usize::try_from(before.bytes).ok().and_then(|length| bytes.get(..length));
        if old.is_none_or(|old| digest(old) != before.sha256) {
            return Err(NotShared::NoContinuation);
        }
        let is_known = before.bytes == bytes.len() as u64;
        if is_known && before.repository == repository {
            return Ok((session, false));
        }
        let now = now.as_secs();
        if before.replacing.is_some_and(|until| now < until) {
            return Err(NotShared::Busy);
        }
        let after = Shared {
            bytes: bytes.len() as u64,
            sha256: digest(&bytes),
            repository,
            at: now,
            replacing: None,
        };
        let mut expected = expected;
        if !is_known {
            let begun = Shared { replacing: Some(now + REPLACING), ..before };
            let version = self.set(&name, expected, &begun).await?.ok_or(NotShared::Busy)?;
            expected = Expected::Version(version);
            self.objects.put(&object(account, id), bytes).await?;
        }
        self.set(&name, expected, &after).await?.ok_or(NotShared::Busy)?;
        Ok((session, true))
    }

    /// A session that an account shares, if it does.
    ///
    /// # Errors
    /// Why it cannot be read now.
    pub(crate) async fn find(
        &self,
        account: &str,
        id: &SessionId,
    ) -> Result<Option<(Shared, Arc<impl AsRef<Opened> + use<>>)>, NotRead> {
        let known = self.known(&document(account, id)).await?;
        let Some((shared, _)) = known.filter(|(shared, _)| shared.bytes > 0) else { return Ok(None) };
        if let Some(kept) = self.kept(&shared.sha256) {
            return Ok(Some((shared, kept)));
        }
        let bytes = self.objects.get(&object(account, id)).await?.ok_or(NotRead::Damaged)?;
        let length = usize::try_from(shared.bytes).map_err(|_| NotRead::Damaged)?;
        if bytes.len() < length {
            return Err(NotRead::Damaged);
        }
        let (bytes, expected) = (bytes.slice(..length), shared.sha256.clone());
        let opened = self.reading(move || (digest(&bytes) == expected).then(|| open(&bytes).ok()).flatten());
        let session = opened.await.ok_or(NotRead::Damaged)?;
        let kept = Arc::new(Kept { sha256: shared.sha256.clone(), bytes: length, session });
        self.keep(Arc::clone(&kept));
        Ok(Some((shared, kept)))
    }

    fn kept(&self, sha256: &str) -> Option<Arc<Kept>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let place = open.iter().position(|kept| kept.sha256 == sha256)?;
        let kept = open.remove(place);
        open.push(Arc::clone(&kept));
        Some(kept)
    }

    fn keep(&self, kept: Arc<Kept>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push(kept);
        while open.iter().map(|kept| kept.bytes).sum::<usize>() > KEPT_BYTES {
            open.remove(0);
        }
    }
}

impl AsRef<Opened> for Kept {
    fn as_ref(&self) -> &Opened {
        &self.session
    }
}

/// An entry with what stands around it, as far as the reader may see.
pub(crate) struct View {
    pub(crate) entry: FetchedEntry,
    pub(crate) markers: Vec<Evidence>,
    pub(crate) before: vocative_pi::Page,
    pub(crate) after: vocative_pi::Page,
}

/// Which page around an entry is asked for.
pub(crate) struct Around<'a> {
    /// How many entries above, the nearest first.
    pub(crate) before: usize,
    /// How many entries that answer it.
    pub(crate) after: usize,
    /// Where the page above begins.
    pub(crate) before_from: Option<&'a str>,
    /// Where the page below begins.
    pub(crate) after_from: Option<&'a str>,
}

/// Reads an entry and its pages. Nothing where the entry is not there, is not for this reader, or a page
/// cannot begin where it is asked to: which of them, nobody is told.
pub(crate) fn view(
    session: &Opened,
    grant: &Grant,
    entry: &EntryId,
    around: &Around<'_>,
) -> std::io::Result<Option<View>> {
    let Some(index) = session.find(entry).filter(|index| grant.shows(session, *index)) else {
        return Ok(None);
    };
    let limit = |asked: usize| asked.min(MOST_ENTRIES);
    // Whoever sees an entry sees its ancestors.
    let before = session.parents(index, around.before_from, limit(around.before), false)?;
    let may_see = |child| grant.shows(session, child);
    let after = session.children_where(index, around.after_from, limit(around.after), false, may_see)?;
    let (Some(before), Some(after)) = (before, after) else { return Ok(None) };
    let markers = session.all_evidence().iter().filter(|item| item.target == index).cloned().collect();
    Ok(Some(View { entry: session.read(index)?, markers, before, after }))
}

#[cfg(test)]
mod tests;
