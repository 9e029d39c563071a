//! Making the mention index again from what it is an index of, while the store is in use (section 5).
//!
//! The index is looked at in parts, a few records at a time: what events say is computed and compared
//! with the rows that are stored, and what differs is made again as if its events had just come. So
//! readers get the right answers all the while, and where the index is right nothing is written. After
//! all parts it holds what it would hold had it been dropped and filled again.
//!
//! References to sessions are no index: they are what was published. Of them only the marks of dispute
//! follow from others, and are made again.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use vocative::Key;

use crate::document::{Document, Expected, Write, Written};
use crate::error::StoreError;
use crate::event::Event;
use crate::facts;
use crate::session::{AccountId, AccountName, EntryId, SessionId};
use crate::store::Store;
use crate::value::{BadValue, EventId, Position, Timestamp};

/// Where a mention row stands in the order of the index: by recipient, then newest first, then by item.
pub type RowPlace = (Key, Timestamp, EventId);

/// A part of the index, or what is left of one. It is written as a text, to be kept or sent to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// What the events after a position up to another make of the index.
    Events {
        /// After this.
        after: Position,
        /// Up to this.
        until: Position,
    },
    /// Rows of recipients up to a key, of which some may be made by no event.
    Rows {
        /// After this row; from the first if absent.
        after: Option<RowPlace>,
        /// Up to this key.
        until: Key,
    },
    /// References to sessions after one of them.
    References {
        /// After this; from the first if absent.
        after: Option<(SessionId, EntryId, AccountName, AccountId)>,
    },
}

/// What was done on a part of the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// What is still to be done of the part.
    pub rest: Option<IndexPart>,
    /// So many rows were found right or made right.
    pub rows: u64,
    /// So many messages, events and references were not as they should be.
    pub repaired: u64,
}

impl IndexPart {
    /// All of the index in at least `parts` parts of about the same size, in any order of which they can be
    /// done, by several nodes at once. Events after `head` need no part: the index knows them.
    pub fn split(head: Position, parts: usize) -> Vec<Self> {
        let parts = parts.clamp(1, 1 << 16) as u64;
        let position =
            |n: u64| Position::new((u128::from(head.get()) * u128::from(n) / u128::from(parts)) as u64);
        let events = (0..parts).map(|n| Self::Events { after: position(n), until: position(n + 1) });
        let events = events.filter(|part| !matches!(part, Self::Events { after, until } if after == until));
        // Keys are as good as drawn by lot, so every stretch of them is as full as the others.
        let last_before = |n: u64| {
            let last = ((1_u128 << 64) * u128::from(n) / u128::from(parts)).checked_sub(1)?;
            let mut bytes = [0xff; 32];
            bytes[..8].copy_from_slice(&(last as u64).to_be_bytes());
            Some(Key::from_bytes(bytes))
        };
        let end_of = |key: Key| (key, Timestamp::default(), EventId::from_bytes([0xff; 32]));
        let rows = (0..parts).filter_map(|n| {
            Some(Self::Rows { after: last_before(n).map(end_of), until: last_before(n + 1)? })
        });
        events.chain(rows).chain([Self::References { after: None }]).collect()
    }
}

/// `events,AFTER,UNTIL`, `rows,KEY,TIME,ID,UNTIL` or `references,["SESSION","ENTRY","RECIPIENT","PUBLISHER"]`;
/// what is absent is empty.
impl fmt::Display for IndexPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events { after, until } => write!(f, "events,{},{}", after.get(), until.get()),
            Self::Rows { after: None, until } => write!(f, "rows,,,,{until}"),
            Self::Rows { after: Some((key, at, item)), until } => {
                write!(f, "rows,{key},{},{item},{until}", at.as_secs())
            }
            Self::References { after: None } => f.write_str("references,"),
            Self::References { after: Some((session, entry, recipient, publisher)) } => {
                let names = [session.as_str(), entry.as_str(), recipient.as_str(), publisher.as_str()];
                write!(f, "references,{}", serde_json::to_string(&names).map_err(|_| fmt::Error)?)
            }
        }
    }
}

impl FromStr for IndexPart {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = BadValue::IndexPart;
        let (what, rest) = text.split_once(',').ok_or(bad)?;
        if what == "references" {
            if rest.is_empty() {
                return Ok(Self::References { after: None });
            }
            let [session, entry, recipient, publisher]: [String; 4] =
                serde_json::from_str(rest).map_err(|_| bad)?;
            let after = (session.parse()?, entry.parse()?, recipient.parse()?, publisher.parse()?);
            return Ok(Self::References { after: Some(after) });
        }
        let rest: Vec<&str> = rest.split(',').collect();
        let number = |text: &str| text.parse::<u64>().map_err(|_| bad);
        match (what, &rest[..]) {
            ("events", [after, until]) => Ok(Self::Events {
                after: Position::new(number(after)?),
                until: Position::new(number(until)?),
            }),
            ("rows", [key, at, item, until]) => {
                let after = if key.is_empty() {
                    None
                } else {
                    Some((key.parse().map_err(|_| bad)?, Timestamp::from_secs(number(at)?), item.parse()?))
                };
                Ok(Self::Rows { after, until: until.parse().map_err(|_| bad)? })
            }
            _ => Err(bad),
        }
    }
}

/// How far a rebuild is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildProgress {
    /// Parts that are not done.
    pub left: usize,
    /// Rows that this run has found right or made right.
    pub rows: u64,
    /// What of it this run had to make again.
    pub repaired: u64,
}

/// Under which what is left of a rebuild is kept: a document for each part.
const LEFT: &str = "rebuild/";

/// Records of one step.
const STEP: usize = 16_384;

/// Most parts that are listed at once.
const LISTED: usize = 1024;

/// Makes the whole index again in `parts` parts, or goes on with what an interrupted run has left. What is
/// left is kept in documents, so a run may be killed at any moment, and several nodes that run this at once
/// share the work.
///
/// # Errors
/// Those of the store.
pub async fn rebuild_index(
    store: &dyn Store,
    parts: usize,
    watch: &mut (dyn FnMut(RebuildProgress) + Send),
) -> Result<RebuildProgress, StoreError> {
    begin_rebuild(store, parts).await?;
    let mut progress = RebuildProgress::default();
    loop {
        let mut left = store.documents(LEFT, None, LISTED).await?;
        progress.left = left.len();
        watch(progress);
        if left.is_empty() {
            return Ok(progress);
        }
        // Each begins somewhere else, so that nodes do not meet before most is done.
        let begin = RandomState::new().build_hasher().finish() as usize % left.len();
        left.rotate_left(begin);
        let shared = Mutex::new((progress, &mut *watch));
        let tell = |done: &Rebuilt| {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let (progress, watch) = &mut *shared;
            progress.rows += done.rows;
            progress.repaired += done.repaired;
            progress.left -= usize::from(done.rest.is_none());
            watch(*progress);
        };
        let left = Mutex::new(left);
        // One computes and compares while the other reads.
        tokio::try_join!(hand(store, &left, &tell), hand(store, &left, &tell))?;
        progress = shared.into_inner().unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Takes part after part and works on it as long as nobody else does.
async fn hand(
    store: &dyn Store,
    left: &Mutex<Vec<Document>>,
    tell: &(dyn Fn(&Rebuilt) + Sync),
) -> Result<(), StoreError> {
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).pop();
    while let Some(Document { name, value, version, .. }) = next() {
        let text = String::from_utf8_lossy(&value);
        let mut part = text.parse::<IndexPart>().map_err(|error| StoreError::Damaged(error.to_string()))?;
        // Whoever sets it anew has it; the others pass over what they have listed under an older version.
        let mine = Write::set(&*name, Expected::Version(version), value.clone());
        let Written::Done(version) = store.write(vec![mine]).await? else { continue };
        let mut expected = Expected::Version(version);
        loop {
            let done = store.rebuild(&part, STEP).await?;
            let write = match &done.rest {
                Some(rest) => Write::set(&*name, expected, rest.to_string()),
                None => Write::delete(&*name, expected),
            };
            let written = store.write(vec![write]).await?;
            tell(&done);
            match (written, done.rest) {
                (Written::Done(version), Some(rest)) => {
                    (part, expected) = (rest, Expected::Version(version));
                }
                // It is done, or another node is on it.
                _ => break,
            }
        }
    }
    Ok(())
}

/// Keeps what is to be done for [`rebuild_index`], here or on another node, unless a run has left something.
///
/// # Errors
/// Those of the store.
pub async fn begin_rebuild(store: &dyn Store, parts: usize) -> Result<(), StoreError> {
    if rebuild_left(store).await? > 0 {
        return Ok(());
    }
    let parts = IndexPart::split(store.head().await?, parts.min(LISTED / 2 - 1));
    let writes = (0..).zip(parts).map(|(n, part)| {
        let name = format!("{LEFT}{n:04}");
        Write::set(name, Expected::Absent, part.to_string())
    });
    // Where it is not found as expected, another node has just begun.
    store.write(writes.collect()).await.map(drop)
}

/// How many parts of a rebuild are not done.
///
/// # Errors
/// Those of the store.
pub async fn rebuild_left(store: &dyn Store) -> Result<usize, StoreError> {
    Ok(store.documents(LEFT, None, LISTED).await?.len())
}

/// What was read of a stretch of positions, all of one state of the store.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Its messages, edits and agent profiles; without their texts.
    pub(crate) events: Vec<(Position, Event)>,
    /// Whom the store says that they name, in order.
    pub(crate) names: Vec<(Position, i64, Key)>,
    /// The messages that have to have rows, once for each, and whether the row is there and right.
    pub(crate) rows: Vec<(EventId, bool)>,
}

/// What has to be made again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repairs {
    /// Where the store is wrong about who is named.
    pub(crate) names: BTreeSet<Position>,
    /// Messages whose rows are not what they have to be.
    pub(crate) items: BTreeSet<EventId>,
}

impl Seen {
    pub(crate) fn repairs(self) -> Repairs {
        let said = self.events.iter().flat_map(|(position, event)| {
            facts::names(event).into_iter().map(|(how, key)| (*position, how.number(), key))
        });
        let said: Vec<_> = said.collect();
        let mut names = BTreeSet::new();
        // It is seldom wrong, and comparing lists is less work than comparing sets.
        if said != self.names {
            let (said, kept) = (BTreeSet::from_iter(said), BTreeSet::from_iter(self.names));
            names.extend(said.symmetric_difference(&kept).map(|(position, ..)| *position));
        }
        let wrong = self.rows.into_iter().filter(|(_, is_right)| !is_right);
        Repairs { names, items: wrong.map(|(item, _)| item).collect() }
    }
}

impl Repairs {
    pub(crate) fn len(&self) -> u64 {
        (self.names.len() + self.items.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{EventId, IndexPart, Key, Position, Timestamp};

    #[test]
    fn parts_cover_everything_once() {
        for (head, parts) in [(0, 1), (1, 4), (10, 3), (1000, 7), (u64::MAX, 64)] {
            let split = IndexPart::split(Position::new(head), parts);
            let (mut at, mut key, mut references) = (Position::START, None, 0);
            let end = |key: Key| (key, Timestamp::default(), EventId::from_bytes([0xff; 32]));
            for part in &split {
                match part {
                    IndexPart::Events { after, until } => {
                        assert!(*after == at && after < until, "{split:?}");
                        at = *until;
                    }
                    IndexPart::Rows { after, until } => {
                        assert!(*after == key.map(end) && key < Some(*until), "{split:?}");
                        key = Some(*until);
                    }
                    IndexPart::References { after } => references += usize::from(after.is_none()),
                }
            }
            let last = Some(Key::from_bytes([0xff; 32]));
            assert_eq!((at.get(), key, references), (head, last, 1), "{split:?}");
        }
    }

    #[test]
    fn a_part_is_read_as_it_was_written() {
        let name = |text: &str| text.parse().expect("a name");
        let after = (
            "s,\"".parse().expect("an id"),
            "e".parse().expect("an id"),
            name("github:a"),
            "1".parse().expect("an id"),
        );
        let more = [IndexPart::References { after: Some(after) }];
        for part in IndexPart::split(Position::new(9), 3).into_iter().chain(more) {
            assert_eq!(part.to_string().parse(), Ok(part));
        }
        for bad in ["", "events", "events,1", "events,a,1", "rows,,,,", "references,[]", "x,1,2"] {
            assert!(bad.parse::<IndexPart>().is_err(), "{bad}");
        }
    }
}
