//! Which events are asked for (NIP-01 filters, NIP-50 search), in typed form.

use std::collections::BTreeMap;

use vocative::Key;

use crate::value::{EventId, Timestamp};

/// A filter. An absent list asks for everything, an empty list for nothing; what is given must all
/// hold. Answers come newest first: `created_at` descending, then id ascending; search likewise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// One of these ids.
    pub ids: Option<Vec<EventId>>,
    /// Signed by one of these keys.
    pub authors: Option<Vec<Key>>,
    /// Of one of these kinds.
    pub kinds: Option<Vec<u32>>,
    /// For each name a tag with one of these values. Names are single letters.
    pub tags: BTreeMap<char, Vec<String>>,
    /// Not before, inclusive.
    pub since: Option<Timestamp>,
    /// Not after, inclusive.
    pub until: Option<Timestamp>,
    /// Holds every word of this text. A text without a word finds nothing.
    pub search: Option<String>,
    /// At most so many, the newest. Absent: [`Filter::DEFAULT_LIMIT`]. A count ignores it.
    pub limit: Option<usize>,
}

impl Filter {
    /// The most events one filter yields.
    pub const MAX_LIMIT: usize = 1000;
    /// What it yields when it does not say.
    pub const DEFAULT_LIMIT: usize = 500;

    /// With a tag of this name and one of these values.
    #[must_use]
    pub fn tag(mut self, name: char, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.insert(name, values.into_iter().map(Into::into).collect());
        self
    }

    pub(crate) fn effective_limit(&self) -> usize {
        self.limit.unwrap_or(Self::DEFAULT_LIMIT).min(Self::MAX_LIMIT)
    }
}
