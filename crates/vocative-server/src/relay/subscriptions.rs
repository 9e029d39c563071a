//! Open subscriptions, found by what an event names (section 1, Delivery).
//!
//! Each filter stands under the one kind of thing that it names most narrowly: ids, tag values, authors
//! or kinds. An event is looked up under each thing that it names itself, so what is tried grows with
//! those who may want it, not with all who are connected. Only filters that name nothing are tried always.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use vocative::Key;
use vocative_store::{Event, EventId, Filter, Matcher, Tried};

/// A subscription among all of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Handle(u64);

/// Something that a filter or an event names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Named {
    Id(EventId),
    Tag(char, String),
    Author(Key),
    Kind(u32),
    /// By filters that name nothing.
    Anything,
}

/// The subscriptions, each with what belongs to it.
#[derive(Debug)]
pub(crate) struct Subscriptions<T> {
    next: u64,
    held: HashMap<Handle, Held<T>>,
    by_name: HashMap<Named, HashSet<Handle>>,
}

#[derive(Debug)]
struct Held<T> {
    filters: Vec<Matcher>,
    names: Vec<Named>,
    of: T,
}

impl<T> Default for Subscriptions<T> {
    fn default() -> Self {
        Self { next: 0, held: HashMap::new(), by_name: HashMap::new() }
    }
}

impl<T> Subscriptions<T> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Takes one in.
    pub(crate) fn add(&mut self, filters: &[Filter], of: T) -> Handle {
        self.next += 1;
        let handle = Handle(self.next);
        let names: Vec<Named> = filters.iter().flat_map(names_of_filter).collect();
        for name in &names {
            self.by_name.entry(name.clone()).or_default().insert(handle);
        }
        let filters = filters.iter().map(Matcher::new).collect();
        self.held.insert(handle, Held { filters, names, of });
        handle
    }

    /// Takes one out.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<T> {
        let held = self.held.remove(&handle)?;
        for name in held.names {
            if let std::collections::hash_map::Entry::Occupied(mut found) = self.by_name.entry(name) {
                found.get_mut().remove(&handle);
                if found.get().is_empty() {
                    found.remove();
                }
            }
        }
        Some(held.of)
    }

    /// Whether any subscription may want the event. A first look: some that are tried may not.
    pub(crate) fn is_wanted(&self, event: &Event) -> bool {
        names_of_event(event).any(|name| self.by_name.contains_key(&name))
    }

    /// Calls `found` for each subscription one of whose filters wants the event, once.
    pub(crate) fn each_wanting(&self, event: &Event, mut found: impl FnMut(&T)) {
        let event_tried = Tried::new(event);
        let mut tried = HashSet::new();
        for name in names_of_event(event) {
            for handle in self.by_name.get(&name).into_iter().flatten() {
                let held = &self.held[handle];
                if tried.insert(*handle) && held.filters.iter().any(|filter| filter.matches(&event_tried)) {
                    found(&held.of);
                }
            }
        }
    }
}

/// What a filter stands under: any event that it wants names at least one of these.
fn names_of_filter(filter: &Filter) -> Vec<Named> {
    fn each<V: Clone + Eq + Hash>(values: &[V], name: impl Fn(V) -> Named) -> Vec<Named> {
        values.iter().cloned().map(name).collect()
    }
    if let Some(ids) = &filter.ids {
        return each(ids, Named::Id);
    }
    // Of several tags the one with the fewest values is the narrowest.
    if let Some((name, values)) = filter.tags.iter().min_by_key(|(_, values)| values.len()) {
        return each(values, |value| Named::Tag(*name, value));
    }
    if let Some(authors) = &filter.authors {
        return each(authors, Named::Author);
    }
    if let Some(kinds) = &filter.kinds {
        return each(kinds, Named::Kind);
    }
    vec![Named::Anything]
}

fn names_of_event(event: &Event) -> impl Iterator<Item = Named> {
    let tags = event.tags.iter().filter_map(|tag| match &tag[..] {
        [name, value, ..] => letter(name).map(|name| Named::Tag(name, value.clone())),
        _ => None,
    });
    let others = [Named::Id(event.id), Named::Author(event.key), Named::Kind(event.kind), Named::Anything];
    tags.chain(others)
}

fn letter(name: &str) -> Option<char> {
    let mut chars = name.chars();
    chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
}

#[cfg(test)]
mod tests;
