//! What an event says that the store acts on: read once, from kind and tags, for every backend.

use vocative::wire::{Reference, has_snapshot, recipient};
use vocative::{Key, Tag};

use crate::error::Refusal;
use crate::event::{Event, Keeping, address, indexed, kinds};
use crate::value::{ChannelId, EventId, Timestamp};
use crate::words;

/// How an event names a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum How {
    /// `p` on a message or an edit, not of a reply (F-1).
    Notify,
    /// A two-element `mention`: of a message, or of an edit's list behind the marker (T-2, T-3).
    Reference,
    /// `["mention", key, "agent-address"]` of a message (W-8).
    Address,
    /// The owner in an agent's profile.
    Owner,
}

impl How {
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Notify => 1,
            Self::Reference => 2,
            Self::Address => 3,
            Self::Owner => 4,
        }
    }
}

/// What an event says beside its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The channel it belongs to.
    pub(crate) channel: Option<ChannelId>,
    /// Where it is kept, if only the latest is.
    pub(crate) address: Option<String>,
    /// The message an edit replaces the body of.
    pub(crate) target: Option<EventId>,
    /// Whether an edit has a list of references (T-3).
    pub(crate) has_snapshot: bool,
    /// Whom it names, each once.
    pub(crate) names: Vec<(How, Key)>,
    /// What it deletes.
    pub(crate) deletes: Deletes,
    /// Its tags with names of one letter, each once.
    pub(crate) tags: Vec<(String, String)>,
    /// The words of its text.
    pub(crate) words: Vec<String>,
}

/// What a deletion is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletes {
    /// Events.
    pub(crate) ids: Vec<EventId>,
    /// Addresses, whose versions up to the deletion's time go.
    pub(crate) addresses: Vec<String>,
}

/// Largest text and event (section 1, Mention tags), in bytes, and most tags.
const CONTENT: usize = vocative::limits::BODY;
const EVENT: usize = 128 * 1024;
const TAGS: usize = 2000;

impl Facts {
    /// Reads an event, or says why it cannot be stored.
    pub(crate) fn of(event: &Event) -> Result<Self, Refusal> {
        check(event)?;
        let channel = channel(event)?;
        let is_edit = event.kind == kinds::EDIT;
        let target = || event.values("e").next().and_then(|id| id.parse().ok());
        let words = if is_searched(event.kind) { words::indexed(&event.content) } else { Default::default() };
        Ok(Self {
            address: event.address(),
            target: if is_edit { target() } else { None },
            has_snapshot: is_edit && has_snapshot(&event.tags),
            names: names(event),
            deletes: deletes(event, channel.as_ref()),
            tags: tags(event),
            words: words.into_iter().collect(),
            channel,
        })
    }

    /// The facts that stay when the event is deleted: where it stood and whom it named.
    pub(crate) fn of_deleted(event: &Event) -> Result<Self, Refusal> {
        let facts = Self::of(event)?;
        let deletes = Deletes::default();
        Ok(Self { address: None, tags: Vec::new(), words: Vec::new(), deletes, ..facts })
    }
}

/// Whether search finds the text of events of this kind.
pub(crate) fn is_searched(kind: u32) -> bool {
    kinds::MESSAGES.contains(&kind) || kind == kinds::EDIT || kind == kinds::PROFILE
}

/// What is left of a deleted event: where it stood and whom it named, no text.
pub(crate) fn tags_of_deleted(tags: &[Tag]) -> Vec<Tag> {
    const STAY: [&str; 6] = ["h", "d", "e", "p", "mention", vocative::wire::SNAPSHOT];
    let stays = |tag: &&Tag| tag.first().is_some_and(|name| STAY.contains(&name.as_str()));
    tags.iter().filter(stays).cloned().collect()
}

fn check(event: &Event) -> Result<(), Refusal> {
    let values = || event.tags.iter().flatten();
    if Keeping::of(event.kind) == Keeping::Ephemeral {
        return Err(Refusal::Ephemeral);
    }
    if event.created_at > Timestamp::MAX {
        return Err(Refusal::BadTime);
    }
    let in_tags: usize = values().map(|value| value.len() + 3).sum();
    let is_too_large = event.content.len() + in_tags > EVENT || event.tags.len() > TAGS;
    // What the relay itself says of a channel names all of its members, however many there are.
    let is_list = kinds::CHANNEL_METADATA.contains(&event.kind);
    if event.content.len() > CONTENT || (is_too_large && !is_list) {
        return Err(Refusal::TooLarge);
    }
    if event.content.contains('\0') || values().any(|value| value.contains('\0')) {
        return Err(Refusal::NulCharacter);
    }
    Ok(())
}

/// The channel; an event of two channels would be readable through the more open one.
fn channel(event: &Event) -> Result<Option<ChannelId>, Refusal> {
    let name = if kinds::CHANNEL_METADATA.contains(&event.kind) { "d" } else { "h" };
    let mut named = event.tags.iter().filter(|tag| tag.first().is_some_and(|n| n == name));
    let Some(tag) = named.next() else { return Ok(None) };
    if named.next().is_some() {
        return Err(Refusal::BadChannel);
    }
    let id = tag.get(1).map_or("", String::as_str);
    id.parse().map(Some).map_err(|_| Refusal::BadChannel)
}

/// Whom an event names, each once in each way, in order.
pub(crate) fn names(event: &Event) -> Vec<(How, Key)> {
    let notified = event.tags.iter().filter_map(|tag| recipient(tag));
    let references = event.tags.iter().filter_map(|tag| Reference::of(tag));
    let mut names: Vec<(How, Key)> = if kinds::MESSAGES.contains(&event.kind) {
        let how = |reference: &Reference| reference.named().map_or(How::Address, |_| How::Reference);
        let referred = references.map(|reference| (how(&reference), reference.key()));
        notified.map(|key| (How::Notify, key)).chain(referred).collect()
    } else if event.kind == kinds::EDIT {
        let listed = references.filter_map(Reference::named).map(|key| (How::Reference, key));
        notified.map(|key| (How::Notify, key)).chain(listed).collect()
    } else if event.kind == kinds::AGENT_PROFILE {
        notified.take(1).map(|key| (How::Owner, key)).collect()
    } else {
        Vec::new()
    };
    names.sort_unstable();
    names.dedup();
    names
}

fn deletes(event: &Event, channel: Option<&ChannelId>) -> Deletes {
    let mut deletes = Deletes::default();
    let is_of_channel = event.kind == kinds::CHANNEL_DELETION && channel.is_some();
    if event.kind != kinds::DELETION && !is_of_channel {
        return deletes;
    }
    deletes.ids = event.values("e").filter_map(|id| id.parse().ok()).collect();
    deletes.ids.sort_unstable();
    deletes.ids.dedup();
    if event.kind == kinds::DELETION {
        deletes.addresses = event.values("a").filter_map(|text| own_address(event.key, text)).collect();
        deletes.addresses.sort_unstable();
        deletes.addresses.dedup();
    }
    deletes
}

/// The address in an `a` tag, if it is one of this key.
fn own_address(key: Key, text: &str) -> Option<String> {
    let mut parts = text.splitn(3, ':');
    let kind: u32 = parts.next()?.parse().ok()?;
    let of: Key = parts.next()?.parse().ok()?;
    let is_kept = matches!(Keeping::of(kind), Keeping::Replaceable | Keeping::Addressable);
    let d = if Keeping::of(kind) == Keeping::Addressable { parts.next()? } else { "" };
    (of == key && is_kept).then(|| address(kind, key, d))
}

/// Filters name single letters only (NIP-01).
fn tags(event: &Event) -> Vec<(String, String)> {
    let is_indexed = |name: &str| name.len() == 1 && name.as_bytes()[0].is_ascii_alphabetic();
    let pairs = event.tags.iter().filter_map(|tag| match &tag[..] {
        [name, value, ..] if is_indexed(name) => Some((name.clone(), indexed(value))),
        _ => None,
    });
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}
