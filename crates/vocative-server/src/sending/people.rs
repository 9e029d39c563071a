//! Who bears which name where a text is sent or read.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use nostr::nips::nip19::ToBech32;
use serde::Serialize;
use utoipa::ToSchema;
use vocative::{Id, Key, Member, Profiles, Roster, Standing};
use vocative_store::StoreError;

use super::names::{self, Person};
use crate::relay::{ChannelEntry, State};

/// Someone, as a person would tell them from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Named {
    /// The public key, 64 hex digits.
    #[schema(value_type = String)]
    pub(crate) key: Key,
    /// The same as people write it.
    pub(crate) npub: String,
    /// The current name, untrusted text; absent for one who has not said it.
    pub(crate) name: Option<String>,
    /// Whether it is an agent.
    pub(crate) is_agent: bool,
    /// The owner of the agent.
    #[schema(value_type = Option<String>)]
    pub(crate) owner: Option<Key>,
    /// Whether it is a member of the channel.
    pub(crate) is_member: bool,
}

impl Named {
    /// Someone of whom nothing but the key is known.
    pub(super) fn unknown(key: Key) -> Self {
        Self { key, npub: npub(key), name: None, is_agent: false, owner: None, is_member: false }
    }
}

/// The members of a channel and whoever else is known beside it, with their names.
#[derive(Debug, Default)]
pub(super) struct People {
    persons: HashMap<Key, Arc<Person>>,
    members: BTreeSet<Key>,
    outsiders: BTreeSet<Key>,
}

impl People {
    /// Those whose names compete in a channel for someone with these keys (E-1): its members, and as outsiders
    /// (E-4) the members of the other channels that the keys are in, and of `others`. What the keys may not
    /// see lends no name, so that it cannot be found out by what a name does.
    pub(super) async fn of(
        state: &State,
        keys: &[Key],
        channel: &ChannelEntry,
        others: &[Arc<ChannelEntry>],
        needed: impl IntoIterator<Item = Key>,
    ) -> Result<Self, StoreError> {
        let members: BTreeSet<Key> = channel.members().collect();
        let mut known: HashSet<Key> = others.iter().flat_map(|other| other.members()).collect();
        for key in keys {
            for other in state.store.channels_of(*key).await? {
                known.extend(state.access.channel(&other.id).await?.members());
            }
        }
        let outsiders: BTreeSet<Key> = known.into_iter().filter(|key| !members.contains(key)).collect();
        let known = members.iter().chain(&outsiders).copied().collect();
        let mut persons = state.names.of(&*state.store, &known).await?;
        // Whoever is in no channel comes from a stranger's request, and is not kept.
        let others = needed.into_iter().filter(|key| !known.contains(key)).collect();
        persons.extend(names::read(&*state.store, &others).await?);
        Ok(Self { persons, members, outsiders })
    }

    /// Those alone who are needed; for a text in which no name can stand.
    pub(super) async fn only(
        state: &State,
        channel: &ChannelEntry,
        needed: impl IntoIterator<Item = Key>,
    ) -> Result<Self, StoreError> {
        let persons = names::read(&*state.store, &needed.into_iter().collect()).await?;
        Ok(Self { persons, members: channel.members().collect(), outsiders: BTreeSet::new() })
    }

    /// The names that compete, members first (E-1). Each alias that a reader knows someone by (H-2) is a name
    /// to the sender too, so that both see the same.
    pub(super) fn roster(&self) -> Roster {
        let mut roster = Roster::new();
        let members = self.members.iter().map(|key| (key, Standing::Member));
        let outsiders = self.outsiders.iter().map(|key| (key, Standing::Outsider));
        for (key, standing) in members.chain(outsiders) {
            for name in self.persons.get(key).into_iter().flat_map(|person| person.profile.aliases()) {
                // One that is too long can never match (G-9).
                let _ = roster.add(Member { name: name.to_owned(), id: Id::Nostr(*key), standing });
            }
        }
        roster
    }

    /// The names by which a published text is read (H-2, H-4).
    pub(super) fn profiles(&self) -> Profiles {
        self.persons.iter().map(|(key, person)| (*key, person.profile.clone())).collect()
    }

    /// The current name of someone.
    pub(super) fn name(&self, key: Key) -> Option<&str> {
        self.persons.get(&key)?.profile.aliases().next()
    }

    pub(super) fn is_member(&self, key: Key) -> bool {
        self.members.contains(&key)
    }

    pub(super) fn is_agent(&self, key: Key) -> bool {
        self.owner(key).is_some()
    }

    fn owner(&self, key: Key) -> Option<Key> {
        self.persons.get(&key)?.owner
    }

    /// Someone, as a person would tell them from others.
    pub(super) fn named(&self, key: Key) -> Named {
        Named {
            key,
            npub: npub(key),
            name: self.name(key).map(str::to_owned),
            is_agent: self.is_agent(key),
            owner: self.owner(key),
            is_member: self.is_member(key),
        }
    }
}

/// A key as people write it.
fn npub(key: Key) -> String {
    let key = nostr::key::PublicKey::from_byte_array(*key.as_bytes());
    // The encoding has room for every key.
    key.to_bech32().unwrap_or_default()
}
