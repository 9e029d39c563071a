//! Asking a reduction where a person was named (section 4.4). No text is read.

use std::sync::Arc;

use vocative::Login;

use crate::reduction::{Reduction, Reference, ReferenceKey};
use crate::time::Timestamp;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Query {
    /// Who was named.
    pub recipient: Login,
    /// Who wrote the message, if that matters.
    pub actor: Option<Login>,
    /// The first instant that counts.
    pub since: Option<Timestamp>,
    /// The first instant that no longer counts.
    pub until: Option<Timestamp>,
    /// How many at most, the newest.
    pub limit: Option<usize>,
}

impl Query {
    /// Whether the reference is asked for. The time range is half-open.
    pub fn wants(&self, key: &ReferenceKey, reference: &Reference) -> bool {
        *key.recipient == self.recipient
            && self.actor.as_ref().is_none_or(|actor| *actor == *reference.actor)
            && self.since.is_none_or(|since| since <= reference.at)
            && self.until.is_none_or(|until| reference.at < until)
    }

    /// The references asked for, the newest first; those of one instant in the reverse order of
    /// their keys. A reference in conflict is left out, since either side of it may be the truth.
    pub fn run<'a>(&self, reduction: &'a Reduction) -> Vec<(&'a ReferenceKey, &'a Reference)> {
        let in_doubt = |key: &ReferenceKey| {
            reduction.conflicts().binary_search_by(|conflict| conflict.key.cmp(key)).is_ok()
        };
        let mut found: Vec<_> = reduction
            .references()
            .filter(|(key, reference)| self.wants(key, reference) && !in_doubt(key))
            .collect();
        found.sort_by(|(key, reference), (other_key, other)| (other.at, other_key).cmp(&(reference.at, key)));
        found.truncate(self.limit.unwrap_or(usize::MAX));
        found
    }

    /// The same of references to the recipient alone, given from the oldest to the newest.
    pub(crate) fn choose<'a>(
        &self,
        list: &'a [(ReferenceKey, Reference)],
    ) -> Vec<(&'a ReferenceKey, &'a Reference)> {
        let place = |at: Timestamp| list.partition_point(|(_, reference)| reference.at < at);
        let start = self.since.map_or(0, place);
        let end = self.until.map_or(list.len(), place).max(start);
        let newest_first = list[start..end].iter().rev().map(|(key, reference)| (key, reference));
        newest_first
            .filter(|(key, reference)| self.wants(key, reference))
            .take(self.limit.unwrap_or(usize::MAX))
            .collect()
    }
}

/// References of many people, ready to be asked about one: the rebuildable index, in memory.
/// [`mod@crate::index`] keeps it on disk.
#[derive(Debug, Default)]
pub struct Index {
    /// For each recipient, from the oldest reference to the newest.
    by_recipient: std::collections::HashMap<Arc<Login>, Vec<(ReferenceKey, Reference)>>,
}

impl Index {
    /// The index of a reduction, without its references in conflict.
    pub fn of(reduction: &Reduction) -> Self {
        let mut index = Self::default();
        let conflicts = reduction.conflicts();
        for (key, reference) in reduction.references() {
            if conflicts.binary_search_by(|conflict| conflict.key.cmp(key)).is_err() {
                let list = index.by_recipient.entry(key.recipient.clone()).or_default();
                list.push((key.clone(), reference.clone()));
            }
        }
        for list in index.by_recipient.values_mut() {
            list.sort_by(|(key, reference), (other_key, other)| {
                (reference.at, key).cmp(&(other.at, other_key))
            });
        }
        index
    }

    /// What [`Query::run`] answers, in time that grows with the answer and not with the index.
    pub fn run(&self, query: &Query) -> Vec<(&ReferenceKey, &Reference)> {
        self.by_recipient.get(&query.recipient).map_or_else(Vec::new, |list| query.choose(list))
    }

    /// Everybody who is named, and the references to them from the oldest to the newest.
    pub(crate) fn people(&self) -> impl Iterator<Item = (&Login, &[(ReferenceKey, Reference)])> {
        self.by_recipient.iter().map(|(recipient, list)| (&**recipient, list.as_slice()))
    }
}
