//! Channels, their members, and who may read what (section 1).
//!
//! Who may change a channel is decided by whoever appends; the store keeps what was decided, in the
//! transaction of the event that says it.

use std::collections::BTreeSet;

use vocative::Key;

use crate::value::ChannelId;

/// What a channel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Messages in a row.
    Stream,
    /// Posts and comments.
    Forum,
    /// Direct messages.
    Dm,
}

/// A channel and its flags (NIP-29).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name.
    pub id: ChannelId,
    /// What it is for.
    pub kind: ChannelKind,
    /// Only members read its messages.
    pub private: bool,
    /// Only members see that it exists. The store reads this as `private`.
    pub hidden: bool,
    /// Only members write.
    pub restricted: bool,
    /// Nobody joins without an invitation.
    pub closed: bool,
    /// It was deleted: nobody reads it any more.
    pub deleted: bool,
}

impl Channel {
    /// An open stream or forum: everyone reads, members write.
    pub fn open(id: ChannelId, kind: ChannelKind) -> Self {
        Self { id, kind, private: false, hidden: false, restricted: true, closed: false, deleted: false }
    }

    /// A private channel or direct messages: `private hidden restricted closed`.
    pub fn private(id: ChannelId, kind: ChannelKind) -> Self {
        Self { id, kind, private: true, hidden: true, restricted: true, closed: true, deleted: false }
    }

    /// Whether reading it takes membership.
    pub fn is_for_members(&self) -> bool {
        self.private || self.hidden
    }
}

/// The roles of a member, by name; an ordinary member has none.
pub type Roles = BTreeSet<String>;

/// A member of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub key: Key,
    /// As what.
    pub roles: Roles,
}

/// What an event changes about channels, decided by whoever appends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The channel is now so.
    SetChannel(Channel),
    /// The key is a member with these roles now.
    SetMember(ChannelId, Member),
    /// The key is no member any more.
    RemoveMember(ChannelId, Key),
}

/// For whom something is read. Every query, count and search takes one.
///
/// An event of a channel is readable when the channel is known, not deleted, and open or one of the
/// keys is a member. An event without a channel is readable by everyone. A deletion is readable by
/// those who read every one of its targets, and by its author (section 1, Privacy). What holds an
/// invitation's code is readable by its author and by members with a role: whoever reads it could use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reader {
    /// The server itself, for delivery, export and authorization: reads everything.
    Server,
    /// A connection that has authenticated with these keys; with none it reads what is open.
    Keys(Vec<Key>),
}

impl Reader {
    /// Someone without a key.
    pub const fn anonymous() -> Self {
        Self::Keys(Vec::new())
    }

    /// Someone with this key.
    pub fn key(key: Key) -> Self {
        Self::Keys(vec![key])
    }
}

impl ChannelKind {
    fn number(self) -> i64 {
        match self {
            Self::Stream => 0,
            Self::Forum => 1,
            Self::Dm => 2,
        }
    }
}

impl Channel {
    /// Kind and flags as both backends keep them.
    pub(crate) fn columns(&self) -> (i64, i64) {
        let flags = [self.private, self.hidden, self.restricted, self.closed];
        let bits = flags.iter().enumerate().map(|(bit, &is_set)| i64::from(is_set) << bit);
        (self.kind.number(), bits.sum())
    }

    pub(crate) fn from_columns(id: ChannelId, kind: i64, flags: i64, deleted: bool) -> Self {
        let is_set = |bit: i64| flags & (1 << bit) != 0;
        let kind = match kind {
            0 => ChannelKind::Stream,
            1 => ChannelKind::Forum,
            _ => ChannelKind::Dm,
        };
        let (private, hidden, restricted, closed) = (is_set(0), is_set(1), is_set(2), is_set(3));
        Self { id, kind, private, hidden, restricted, closed, deleted }
    }
}
