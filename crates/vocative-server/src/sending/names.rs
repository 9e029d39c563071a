//! What people say about themselves, kept close by: a send reads the names of a whole channel.
//!
//! A name is forgotten as soon as this node sees a change of it. What other nodes change it has seen by the time that
//! it knows a channel for certain, and who is in the channel is asked first.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use vocative::label::trim;
use vocative::{Key, Profile, limits};
use vocative_store::{Event, Filter, Reader, Store, StoreError, kinds};

/// Profiles that are asked for at once: each key has at most two.
const AT_ONCE: usize = Filter::MAX_LIMIT / 2;

/// What someone says about themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) profile: Profile,
    /// The owner that an agent names; people have none.
    pub(super) owner: Option<Key>,
}

/// The names of those who are in channels.
#[derive(Default)]
pub(crate) struct Names {
    known: Mutex<HashMap<Key, Arc<Person>>>,
    /// Counts what was forgotten, so that what was read before is not kept after it.
    changes: AtomicU64,
}

impl Names {
    /// Whose names an event may change once it is committed.
    pub(crate) fn of_whom(event: &Event) -> Option<Key> {
        matches!(event.kind, kinds::PROFILE | kinds::AGENT_PROFILE | kinds::DELETION).then_some(event.key)
    }

    /// What was known of someone may be no longer so.
    pub(crate) fn have_changed(&self, key: Key) {
        let mut known = self.lock();
        self.changes.fetch_add(1, Ordering::Release);
        known.remove(&key);
    }

    /// What these keys say about themselves; of one that says nothing, nothing.
    pub(super) async fn of(
        &self,
        store: &dyn Store,
        keys: &BTreeSet<Key>,
    ) -> Result<HashMap<Key, Arc<Person>>, StoreError> {
        let before = self.changes.load(Ordering::Acquire);
        let mut found = HashMap::with_capacity(keys.len());
        let mut missing = BTreeSet::new();
        {
            let known = self.lock();
            for key in keys {
                match known.get(key) {
                    Some(person) => drop(found.insert(*key, Arc::clone(person))),
                    None => drop(missing.insert(*key)),
                }
            }
        }
        let read = read(store, &missing).await?;
        let mut known = self.lock();
        if self.changes.load(Ordering::Acquire) == before {
            known.extend(read.iter().map(|(key, person)| (*key, Arc::clone(person))));
        }
        found.extend(read);
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Arc<Person>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same, read from the store.
pub(super) async fn read(
    store: &dyn Store,
    keys: &BTreeSet<Key>,
) -> Result<HashMap<Key, Arc<Person>>, StoreError> {
    let keys: Vec<Key> = keys.iter().copied().collect();
    let mut persons: HashMap<Key, Person> = keys.iter().map(|key| (*key, Person::default())).collect();
    for some in keys.chunks(AT_ONCE) {
        let filter = Filter {
            authors: Some(some.to_vec()),
            kinds: Some(vec![kinds::PROFILE, kinds::AGENT_PROFILE]),
            limit: Some(Filter::MAX_LIMIT),
            ..Filter::default()
        };
        for event in store.query(&Reader::Server, &filter).await? {
            let person = persons.entry(event.key).or_default();
            match event.kind {
                kinds::PROFILE => person.profile = profile(&event),
                _ => person.owner = event.values("p").next().and_then(|owner| owner.parse().ok()),
            }
        }
    }
    Ok(persons.into_iter().map(|(key, person)| (key, Arc::new(person))).collect())
}

/// The names in a profile. What is no text there is none, and neither is what no label can be (N-17).
fn profile(event: &Event) -> Profile {
    let said: Value = serde_json::from_str(&event.content).unwrap_or_default();
    let text = |name: &str| {
        let name = trim(said.get(name)?.as_str()?);
        name.chars().nth(limits::LABEL).is_none().then(|| name.to_owned())
    };
    Profile { display_name: text("display_name"), name: text("name"), nip05: text("nip05") }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use vocative::{Key, limits};
    use vocative_store::sqlite::Sqlite;
    use vocative_store::{Event, EventId, Store, Timestamp};

    use super::{Names, profile};

    fn event(at: u64, content: &str) -> Event {
        Event {
            id: EventId::from_bytes([u8::try_from(at).expect("a small time"); 32]),
            key: Key::from_bytes([1; 32]),
            created_at: Timestamp::from_secs(at),
            kind: 0,
            tags: Vec::new(),
            content: content.to_owned(),
            sig: [0; 64],
        }
    }

    #[test]
    fn the_names_in_a_profile() {
        let (most, more) = ("n".repeat(limits::LABEL), "n".repeat(limits::LABEL + 1));
        let long = |name: &str| format!(r#"{{"name":"{name}","nip05":"x@example.com"}}"#);
        for (content, expected) in [
            (
                r#"{"display_name":"Ada King","name":"ada","nip05":"countess@example.com"}"#,
                "Ada King,ada,countess",
            ),
            (r#"{"display_name":7,"name":" ada ","nip05":null}"#, "ada"),
            (r#"{"display_name":"","name":"ADA","nip05":"ada@example.com"}"#, "ADA"),
            (r#"{"nip05":"_@example.com"}"#, ""),
            (r#"["name"]"#, ""),
            ("no JSON", ""),
            (&long(&most), &format!("{most},x")),
            (&long(&more), "x"),
        ] {
            let profile = profile(&event(1, content));
            assert_eq!(profile.aliases().collect::<Vec<_>>().join(","), expected, "{content}");
        }
    }

    #[tokio::test]
    async fn a_name_is_read_again_when_it_has_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Sqlite::open(folder.path().join("store.db")).expect("a store");
        let (names, keys) = (Names::default(), BTreeSet::from([Key::from_bytes([1; 32])]));
        let name = async || {
            let persons = names.of(&store, &keys).await.expect("names");
            persons.values().flat_map(|person| person.profile.name.clone()).next()
        };
        assert_eq!(name().await, None);
        for (at, said) in [(1, "Ada"), (2, "Countess")] {
            let event = event(at, &format!(r#"{{"name":"{said}"}}"#));
            let before = name().await;
            store.append(vec![event.clone().into()]).await.expect("it stores");
            assert_eq!(name().await, before, "it is kept");
            names.have_changed(Names::of_whom(&event).expect("a profile"));
            assert_eq!(name().await.as_deref(), Some(said));
        }
    }
}
