//! The content-free set that reduction yields, and its union (sections 4.2 and 4.3).
//!
//! A reduction is three sets: references by key, marker ids by session, and input session ids.
//! Union is key-wise, so it is commutative, associative and idempotent; two references that share
//! a key and differ are a conflict, which is kept and makes the whole unusable.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use vocative::Login;

use crate::evidence::Evidence;
use crate::ids::{EntryId, SessionId};
use crate::time::Timestamp;

/// What identifies a reference: the message and who was named in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReferenceKey {
    /// The session of the message.
    pub session: SessionId,
    /// The message.
    pub entry: EntryId,
    /// Who was named.
    pub recipient: Arc<Login>,
}

/// Where a reference was found: a file, by its place among the inputs, and a line of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The place of the file among the inputs.
    pub file: u32,
    /// The line, counted from 1; the last number there is stands for it and all after it.
    pub line: u32,
}

/// What is known of a reference beyond its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Who wrote the message.
    pub actor: Arc<Login>,
    /// The time of the message.
    pub at: Timestamp,
    /// The first place where it was found.
    pub origin: Origin,
}

/// Two references with one key that differ in actor or time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The key of both.
    pub key: ReferenceKey,
    /// The two, that with the earlier origin first.
    pub references: [Reference; 2],
}

/// The set.
#[derive(Clone, Debug, Default)]
pub struct Reduction {
    references: BTreeMap<ReferenceKey, Reference>,
    markers: BTreeMap<SessionId, BTreeSet<EntryId>>,
    inputs: BTreeSet<SessionId>,
    conflicts: Vec<Conflict>,
    /// One copy of each session id and login, which many references share.
    sessions: HashSet<SessionId>,
    logins: HashSet<Arc<Login>>,
}

/// Two reductions are equal if they hold the same set, wherever they found it.
impl PartialEq for Reduction {
    fn eq(&self, other: &Self) -> bool {
        let content = |set: &Self| -> Vec<_> {
            let pair = |(key, of): (&ReferenceKey, &Reference)| (key.clone(), of.actor.clone(), of.at);
            set.references.iter().map(pair).collect()
        };
        self.inputs == other.inputs
            && self.markers == other.markers
            && self.conflicts.is_empty() == other.conflicts.is_empty()
            && content(self) == content(other)
    }
}

impl Reduction {
    /// The references in the order of their keys.
    pub fn references(&self) -> impl Iterator<Item = (&ReferenceKey, &Reference)> {
        self.references.iter()
    }

    /// How many references there are.
    pub fn len(&self) -> usize {
        self.references.len()
    }

    /// Whether there is no reference.
    pub fn is_empty(&self) -> bool {
        self.references.is_empty()
    }

    /// The ids of the markers that point into each session.
    pub fn markers(&self) -> impl Iterator<Item = (&SessionId, &BTreeSet<EntryId>)> {
        self.markers.iter()
    }

    /// The ids of the sessions that were reduced.
    pub fn inputs(&self) -> &BTreeSet<SessionId> {
        &self.inputs
    }

    /// The conflicts, in the order of their keys. A reduction that has one must not be written.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }

    /// Adds the id of a session that was read.
    pub fn add_input(&mut self, session: SessionId) {
        let session = self.intern(session);
        self.inputs.insert(session);
    }

    /// Adds the id of a marker that points into `session`.
    pub fn add_marker(&mut self, session: SessionId, marker: EntryId) {
        let session = self.intern(session);
        self.markers.entry(session).or_default().insert(marker);
    }

    /// Adds all that a marker says, found in the file with this place among the inputs.
    pub fn add_evidence(&mut self, file: u32, evidence: Evidence) {
        let Evidence { line, id, at, marker, .. } = evidence;
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let actor = self.intern_login(marker.actor.login);
        for recipient in marker.recipients {
            let recipient = self.intern_login(recipient.login);
            let (session, entry) = (marker.session.clone(), marker.entry.clone());
            let origin = Origin { file, line };
            self.add(
                ReferenceKey { session, entry, recipient },
                Reference { actor: actor.clone(), at, origin },
            );
        }
        self.add_marker(marker.session, id);
    }

    /// Adds a reference.
    pub fn add(&mut self, mut key: ReferenceKey, mut reference: Reference) {
        key.session = self.intern(key.session);
        key.recipient = self.intern_arc(key.recipient);
        reference.actor = self.intern_arc(reference.actor);
        match self.references.entry(key) {
            Entry::Vacant(free) => {
                free.insert(reference);
            }
            Entry::Occupied(mut taken) => {
                let held = taken.get_mut();
                if (&held.actor, held.at) == (&reference.actor, reference.at) {
                    held.origin = held.origin.min(reference.origin);
                    return;
                }
                let mut references = [held.clone(), reference];
                references.sort_by_key(|reference| reference.origin);
                *held = references[0].clone();
                let conflict = Conflict { key: taken.key().clone(), references };
                self.note_conflict(conflict);
            }
        }
    }

    fn note_conflict(&mut self, conflict: Conflict) {
        match self.conflicts.binary_search_by(|other| other.key.cmp(&conflict.key)) {
            Ok(_) => {}
            Err(place) => self.conflicts.insert(place, conflict),
        }
    }

    /// Adds all of another reduction: the union.
    pub fn absorb(&mut self, other: Self) {
        for (key, reference) in other.references {
            self.add(key, reference);
        }
        for (session, markers) in other.markers {
            let session = self.intern(session);
            self.markers.entry(session).or_default().extend(markers);
        }
        for session in other.inputs {
            self.add_input(session);
        }
        for conflict in other.conflicts {
            self.note_conflict(conflict);
        }
    }

    /// The same set, as if all of it had been found there.
    pub(crate) fn with_origin(mut self, origin: Origin) -> Self {
        self.references.values_mut().for_each(|reference| reference.origin = origin);
        self
    }

    /// Whether the other's set is part of this one.
    pub fn contains(&self, other: &Self) -> bool {
        let has = |(key, theirs): (&ReferenceKey, &Reference)| {
            self.references.get(key).is_some_and(|ours| (&ours.actor, ours.at) == (&theirs.actor, theirs.at))
        };
        other.inputs.is_subset(&self.inputs)
            && other.references.iter().all(has)
            && other
                .markers
                .iter()
                .all(|(session, theirs)| self.markers.get(session).is_some_and(|ours| theirs.is_subset(ours)))
    }

    fn intern(&mut self, session: SessionId) -> SessionId {
        if let Some(known) = self.sessions.get(&session) {
            return known.clone();
        }
        self.sessions.insert(session.clone());
        session
    }

    fn intern_login(&mut self, login: Login) -> Arc<Login> {
        match self.logins.get(&login) {
            Some(known) => known.clone(),
            None => self.intern_arc(Arc::new(login)),
        }
    }

    fn intern_arc(&mut self, login: Arc<Login>) -> Arc<Login> {
        if let Some(known) = self.logins.get(&login) {
            return known.clone();
        }
        self.logins.insert(login.clone());
        login
    }
}
