//! An event as it is stored, and what its kind means for keeping it (NIP-01, section 1).
//!
//! Signatures and ids are not checked here: whoever appends has verified them.

use sha2::{Digest, Sha256};
use vocative::{Key, Tag};

use crate::value::{EventId, Timestamp};

/// A signed event (NIP-01).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its id.
    pub id: EventId,
    /// Who signed it.
    pub key: Key,
    /// When, as it says.
    pub created_at: Timestamp,
    /// What it is.
    pub kind: u32,
    /// Its tags, in order.
    pub tags: Vec<Tag>,
    /// Its text.
    pub content: String,
    /// The signature.
    pub sig: [u8; 64],
}

/// The kinds whose meaning the store knows, beside those that carry mentions.
pub mod kinds {
    pub use vocative::wire::kinds::*;

    /// A deletion by the author (NIP-09).
    pub const DELETION: u32 = 5;
    /// A deletion by someone who manages the channel (NIP-29).
    pub const CHANNEL_DELETION: u32 = 9005;
    /// What holds a code with which a channel is joined: an invitation, and a request to join by it.
    pub const WITH_CODE: [u32; 2] = [9009, 9021];
    /// An agent's profile, which names its owner in `p`.
    pub const AGENT_PROFILE: u32 = 10_100;
    /// The relay's own metadata of a channel: 39000 to 39003, with the channel in `d`.
    pub const CHANNEL_METADATA: std::ops::RangeInclusive<u32> = 39_000..=39_003;
    /// What carries mentions by itself, and what an edit may replace the body of.
    pub const MESSAGES: [u32; 4] = [MESSAGE, STREAM_MESSAGE, FORUM_POST, FORUM_COMMENT];
}

/// How many events of a kind are kept (NIP-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// Every one. Kinds from 40000 on are regular.
    Regular,
    /// The latest of a key.
    Replaceable,
    /// The latest of a key and a `d` tag.
    Addressable,
    /// None.
    Ephemeral,
}

impl Keeping {
    /// How events of this kind are kept.
    pub fn of(kind: u32) -> Self {
        match kind {
            0 | 3 | 10_000..=19_999 => Self::Replaceable,
            20_000..=29_999 => Self::Ephemeral,
            30_000..=39_999 => Self::Addressable,
            _ => Self::Regular,
        }
    }
}

impl Event {
    /// The values of the tags with this name.
    pub fn values<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e str> {
        let named = self.tags.iter().filter(move |tag| tag.first().is_some_and(|n| n == name));
        named.filter_map(|tag| tag.get(1)).map(String::as_str)
    }

    /// Where the latest of its kind is kept, for kinds of which only the latest is.
    pub(crate) fn address(&self) -> Option<String> {
        let d = match Keeping::of(self.kind) {
            Keeping::Regular | Keeping::Ephemeral => return None,
            Keeping::Replaceable => "",
            Keeping::Addressable => self.values("d").next().unwrap_or_default(),
        };
        Some(address(self.kind, self.key, d))
    }

    /// Whether it takes the place of another event at the same address: the later one does, at equal
    /// times the one with the lower id (NIP-01). What the relay says of a channel must be later: of nodes
    /// that describe one at once the first is right, and the others look again.
    pub(crate) fn replaces(&self, created_at: Timestamp, id: EventId) -> bool {
        if kinds::CHANNEL_METADATA.contains(&self.kind) {
            return self.created_at > created_at;
        }
        (self.created_at, std::cmp::Reverse(self.id)) > (created_at, std::cmp::Reverse(id))
    }
}

/// An address as it is written in an `a` tag, kept short.
pub(crate) fn address(kind: u32, key: Key, d: &str) -> String {
    format!("{kind}:{key}:{}", indexed(d))
}

/// A value as it stands in an index. Long ones are replaced by a digest, because an index row of
/// PostgreSQL holds 2.7 kB; the digest begins with a character that no short value is changed to.
pub(crate) fn indexed(value: &str) -> String {
    const LONGEST: usize = 256;
    if value.len() <= LONGEST && !value.starts_with('\u{1}') {
        return value.to_owned();
    }
    let mut text = String::from("\u{1}");
    for byte in Sha256::digest(value.as_bytes()) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
