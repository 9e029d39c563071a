//! Tags of events: how mentions are written and read (T-1 to T-5, H-1's shapes, T-9's shape).
//!
//! What a tag means for a text is decided in [`crate::history`]; this module knows shapes only. Keys
//! in tags that are malformed are ignored when reading and an error when writing.

use std::collections::HashSet;

use crate::id::Key;
use crate::limits;
use crate::offset::Span;

/// A tag of an event: its name and its values.
pub type Tag = Vec<String>;

/// T-1: the kinds of events that carry or explain mentions.
pub mod kinds {
    /// A profile.
    pub const PROFILE: u32 = 0;
    /// A message.
    pub const MESSAGE: u32 = 9;
    /// A request to add a user to a channel.
    pub const ADD_USER: u32 = 9000;
    /// The members of a channel.
    pub const MEMBERS: u32 = 39002;
    /// A message of an older client; read as [`MESSAGE`].
    pub const STREAM_MESSAGE: u32 = 40002;
    /// An edit; agents never wake on it.
    pub const EDIT: u32 = 40003;
    /// A forum post.
    pub const FORUM_POST: u32 = 45001;
    /// A comment on a forum post.
    pub const FORUM_COMMENT: u32 = 45003;
}

/// The tag that says: the `mention` tags beside it are the whole list of references (T-3).
pub const SNAPSHOT: &str = "buzz:mention-snapshot";
/// The third element of an automatic address (T-2, W-8).
pub const AGENT_ADDRESS: &str = "agent-address";
const MENTION: &str = "mention";
const RANGE: &str = "mention-range";

/// Why tags cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// More recipients than one event may have (T-5), duplicates counted.
    #[error("{count} recipients, at most {max} are allowed", max = limits::RECIPIENTS)]
    TooManyRecipients {
        /// How many were given.
        count: usize,
    },
    /// More references than one event may have (T-5), duplicates counted.
    #[error("{count} references, at most {max} are allowed", max = limits::REFERENCES)]
    TooManyReferences {
        /// How many were given.
        count: usize,
    },
    /// Not 64 hex digits.
    #[error("`{given}` is no key: a key is 64 hex digits")]
    BadKey {
        /// What was given.
        given: String,
    },
}

impl WireError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooManyRecipients { .. } => "too_many_recipients",
            Self::TooManyReferences { .. } => "too_many_references",
            Self::BadKey { .. } => "bad_key",
        }
    }
}

/// The keys that are to be written, in order.
///
/// # Errors
/// [`WireError::BadKey`] for the first that is none.
pub fn parse_keys<S: AsRef<str>>(keys: &[S]) -> Result<Vec<Key>, WireError> {
    let bad = |given: &str| WireError::BadKey { given: given.to_owned() };
    keys.iter().map(|key| key.as_ref().parse().map_err(|_| bad(key.as_ref()))).collect()
}

/// The name of a tag; empty where it has none.
pub(crate) fn name(tag: &[String]) -> &str {
    tag.first().map_or("", String::as_str)
}

/// Whether the snapshot marker is among the tags (T-3).
pub fn has_snapshot(tags: &[Tag]) -> bool {
    tags.iter().any(|tag| name(tag) == SNAPSHOT)
}

/// Whom a `p` tag notifies; a reply address is no mention (H-1, F-1).
pub fn recipient(tag: &[String]) -> Option<Key> {
    let is_reply = tag.get(3).is_some_and(|marker| marker == "reply");
    let key = tag.get(1).filter(|_| name(tag) == "p" && !is_reply)?;
    key.parse().ok()
}

/// A `mention` tag in one of its two shapes (T-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reference {
    /// `["mention", key]`: the body refers to the key.
    Named(Key),
    /// `["mention", key, "agent-address"]`: the key was addressed automatically (W-8).
    Addressed(Key),
}

impl Reference {
    /// Reads a tag; no other shape is accepted.
    pub fn of(tag: &[String]) -> Option<Self> {
        match tag {
            [name, key] if name == MENTION => Some(Self::Named(key.parse().ok()?)),
            [name, key, form] if name == MENTION && form == AGENT_ADDRESS => {
                Some(Self::Addressed(key.parse().ok()?))
            }
            _ => None,
        }
    }

    /// The key it refers to.
    pub fn key(self) -> Key {
        match self {
            Self::Named(key) | Self::Addressed(key) => key,
        }
    }

    /// The key of an authored reference, none for an automatic address.
    pub fn named(self) -> Option<Key> {
        match self {
            Self::Named(key) => Some(key),
            Self::Addressed(_) => None,
        }
    }

    /// The tag, with the key in lower case.
    pub fn to_tag(self) -> Tag {
        let mut tag = vec![MENTION.to_owned(), self.key().to_string()];
        if matches!(self, Self::Addressed(_)) {
            tag.push(AGENT_ADDRESS.to_owned());
        }
        tag
    }
}

/// The mention tags of an event that is about to be published (T-2 to T-5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MentionTags {
    /// `p`, each key once.
    pub recipients: Vec<Tag>,
    /// `mention`, each key once; then the automatic addresses.
    pub references: Vec<Tag>,
    /// The marker, on an edit that has a list of references.
    pub snapshot: Option<Tag>,
}

/// What mention tags are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// A message, post or comment.
    Message,
    /// A replacement of a message's body.
    Edit,
}

impl MentionTags {
    /// The tags for these keys. `references` without a list differs from an empty list on an edit
    /// only: the marker says that the list is whole (T-3). Of the keys addressed automatically those
    /// get a tag that the event notifies (W-8).
    ///
    /// # Errors
    /// Too many of either, counted before duplicates are removed (T-5).
    pub fn new(
        publication: Publication,
        notify: &[Key],
        references: Option<&[Key]>,
        addressed: &[Key],
    ) -> Result<Self, WireError> {
        let named = references.unwrap_or_default();
        if notify.len() > limits::RECIPIENTS {
            let count = notify.len();
            return Err(WireError::TooManyRecipients { count });
        }
        if named.len() > limits::REFERENCES {
            let count = named.len();
            return Err(WireError::TooManyReferences { count });
        }
        let recipients = once(notify.iter().copied());
        let delivered = addressed.iter().copied();
        let delivered = once(delivered.filter(|key| recipients.contains(key)));
        let references_written = once(named.iter().copied())
            .into_iter()
            .map(Reference::Named)
            .chain(delivered.into_iter().map(Reference::Addressed));
        let has_list = publication == Publication::Edit && references.is_some();
        Ok(Self {
            references: references_written.map(Reference::to_tag).collect(),
            recipients: recipients.into_iter().map(|key| vec!["p".to_owned(), key.to_string()]).collect(),
            snapshot: has_list.then(|| vec![SNAPSHOT.to_owned()]),
        })
    }

    /// These tags alone, in the order of T-4.
    pub fn into_tags(self) -> Vec<Tag> {
        self.arrange(Vec::new(), Vec::new())
    }

    /// All tags of an event in the order of T-4: `before` is `h` and `e`…, `media` imeta and emoji.
    pub fn arrange(self, before: Vec<Tag>, media: Vec<Tag>) -> Vec<Tag> {
        let mut tags = before;
        tags.extend(self.recipients);
        tags.extend(media);
        tags.extend(self.references);
        tags.extend(self.snapshot);
        tags
    }
}

/// The keys in their order, each at its first place.
pub(crate) fn once(keys: impl IntoIterator<Item = Key>) -> Vec<Key> {
    let mut seen = HashSet::new();
    keys.into_iter().filter(|key| seen.insert(*key)).collect()
}

/// A hint where a key is named: `["mention-range", key, start, end]` (T-9). Never authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangeHint {
    /// The first byte of the occurrence, UTF-8.
    pub start: usize,
    /// Its end, exclusive.
    pub end: usize,
    /// Whom it names.
    pub key: Key,
}

impl RangeHint {
    /// The hint for an occurrence.
    pub fn new(key: Key, span: Span) -> Self {
        let (start, end) = (span.start.get(), span.end.get());
        Self { start, end, key }
    }

    /// Reads a tag; the numbers are plain decimals, without sign or leading zero.
    pub fn of(tag: &[String]) -> Option<Self> {
        let [name, key, start, end] = tag else {
            return None;
        };
        (name == RANGE).then_some(())?;
        Some(Self { start: decimal(start)?, end: decimal(end)?, key: key.parse().ok()? })
    }

    /// The tag.
    pub fn to_tag(self) -> Tag {
        let Self { start, end, key } = self;
        vec![RANGE.to_owned(), key.to_string(), start.to_string(), end.to_string()]
    }
}

fn decimal(digits: &str) -> Option<usize> {
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit());
    let is_short = digits == "0" || !digits.starts_with('0');
    (is_plain && is_short).then(|| digits.parse().ok()).flatten()
}

mod check;
#[cfg(test)]
mod tests;

pub use check::{BadTags, check};
