//! Which events are asked for (NIP-01 filters, NIP-50 search), in typed form.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use vocative::Key;

use crate::event::Event;
use crate::facts;
use crate::value::{EventId, Timestamp};
use crate::words;

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

    /// Whether it asks for this event; a query finds exactly those. Who may read it is another question.
    pub fn matches(&self, event: &Event) -> bool {
        fn among<V: PartialEq>(list: Option<&Vec<V>>, value: &V) -> bool {
            list.is_none_or(|list| list.contains(value))
        }
        let has_tag = |(name, values): (&char, &Vec<String>)| {
            let name = name.encode_utf8(&mut [0; 4]).to_owned();
            event.values(&name).any(|value| values.iter().any(|wanted| wanted == value))
        };
        among(self.kinds.as_ref(), &event.kind)
            && among(self.ids.as_ref(), &event.id)
            && among(self.authors.as_ref(), &event.key)
            && self.since.is_none_or(|since| event.created_at >= since)
            && self.until.is_none_or(|until| event.created_at <= until)
            && self.tags.iter().all(has_tag)
            && self.search.as_ref().is_none_or(|search| has_words(event, search))
    }

    pub(crate) fn effective_limit(&self) -> usize {
        self.limit.unwrap_or(Self::DEFAULT_LIMIT).min(Self::MAX_LIMIT)
    }
}

/// A filter made ready to be tried against many events, each in a time that does not grow with its lists.
#[derive(Debug)]
pub struct Matcher {
    ids: Option<HashSet<EventId>>,
    authors: Option<HashSet<Key>>,
    kinds: Option<HashSet<u32>>,
    tags: Vec<(String, HashSet<String>)>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    words: Option<BTreeSet<String>>,
}

impl Matcher {
    /// Makes a filter ready.
    pub fn new(filter: &Filter) -> Self {
        fn set<V: Clone + Eq + std::hash::Hash>(list: Option<&Vec<V>>) -> Option<HashSet<V>> {
            list.map(|list| list.iter().cloned().collect())
        }
        let tags = filter.tags.iter();
        Self {
            ids: set(filter.ids.as_ref()),
            authors: set(filter.authors.as_ref()),
            kinds: set(filter.kinds.as_ref()),
            tags: tags.map(|(name, values)| (name.to_string(), values.iter().cloned().collect())).collect(),
            since: filter.since,
            until: filter.until,
            words: filter.search.as_deref().map(words::wanted),
        }
    }

    /// Whether the filter asks for this event: what [`Filter::matches`] says.
    pub fn matches(&self, tried: &Tried<'_>) -> bool {
        let event = tried.event;
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&event.kind))
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&event.id))
            && self.authors.as_ref().is_none_or(|keys| keys.contains(&event.key))
            && self.since.is_none_or(|since| event.created_at >= since)
            && self.until.is_none_or(|until| event.created_at <= until)
            && self.tags.iter().all(|(name, values)| event.values(name).any(|value| values.contains(value)))
            && self.words.as_ref().is_none_or(|wanted| !wanted.is_empty() && wanted.is_subset(tried.words()))
    }
}

/// An event that many filters are tried against. Its words are made once, when the first filter asks.
#[derive(Debug)]
pub struct Tried<'e> {
    event: &'e Event,
    words: OnceCell<BTreeSet<String>>,
}

impl<'e> Tried<'e> {
    /// The event, not tried yet.
    pub fn new(event: &'e Event) -> Self {
        Self { event, words: OnceCell::new() }
    }

    fn words(&self) -> &BTreeSet<String> {
        let is_searched = facts::is_searched(self.event.kind);
        self.words
            .get_or_init(|| if is_searched { words::indexed(&self.event.content) } else { BTreeSet::new() })
    }
}

fn has_words(event: &Event, search: &str) -> bool {
    let wanted = words::wanted(search);
    !wanted.is_empty() && facts::is_searched(event.kind) && wanted.is_subset(&words::indexed(&event.content))
}
