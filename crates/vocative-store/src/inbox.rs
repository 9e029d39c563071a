//! Mention rows: who was named where, and why (section 5). Rows carry no text.

use vocative::Key;

use crate::channel::Reader;
use crate::value::{ChannelId, EventId, Timestamp};

/// Why someone has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The message notifies the key.
    Mention,
    /// The message addressed the key automatically (W-8).
    AgentAddress,
    /// An edit of the message added the key.
    AddedByEdit,
}

impl Why {
    /// The word for it in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::AgentAddress => "agent-address",
            Self::AddedByEdit => "added-by-edit",
        }
    }

    pub(crate) fn from_number(number: i64) -> Self {
        match number {
            0 => Self::Mention,
            1 => Self::AgentAddress,
            _ => Self::AddedByEdit,
        }
    }
}

/// One row of a recipient: there is at most one for each message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MentionRow {
    /// Who was named.
    pub recipient: Key,
    /// The message.
    pub item: EventId,
    /// The event that named the recipient: the message, or an edit of it.
    pub by_event: EventId,
    /// Who signed that event.
    pub actor: Key,
    /// When that event says it was made.
    pub at: Timestamp,
    /// Where.
    pub channel: Option<ChannelId>,
    /// Why.
    pub why: Why,
    /// The edit that counts no longer names the recipient.
    pub retracted: bool,
    /// The message, or every edit that added the recipient, was deleted.
    pub deleted: bool,
}

/// Where a walk through an inbox stands: after this row, in the inbox's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxCursor {
    /// The time of the last row.
    pub at: Timestamp,
    /// Its message.
    pub item: EventId,
}

/// Which rows are asked for. Newest first: `at` descending, then item ascending.
#[derive(Clone, Debug)]
pub struct InboxQuery {
    /// Whose rows. Someone with several keys asks for each key and merges.
    pub recipient: Key,
    /// For whom: rows of channels that this reader may not read are left out.
    pub reader: Reader,
    /// Not before, inclusive.
    pub since: Option<Timestamp>,
    /// Before, exclusive: HTTP ranges are half-open (section 1, Time and order).
    pub until: Option<Timestamp>,
    /// Only rows whose actor is this key.
    pub from: Option<Key>,
    /// Go on after this row.
    pub after: Option<InboxCursor>,
    /// At most so many rows, up to [`InboxQuery::MAX_LIMIT`].
    pub limit: usize,
}

impl InboxQuery {
    /// The most rows of one page.
    pub const MAX_LIMIT: usize = 1000;

    /// The newest rows of a recipient, as that recipient may see them.
    pub fn newest(recipient: Key, limit: usize) -> Self {
        let reader = Reader::key(recipient);
        Self { recipient, reader, since: None, until: None, from: None, after: None, limit }
    }
}

/// A page of an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxPage {
    /// The rows.
    pub rows: Vec<MentionRow>,
    /// Where the next page begins; absent after the last.
    pub next: Option<InboxCursor>,
}

impl InboxPage {
    /// The page in an answer that holds one row more than was asked for where there are more.
    pub(crate) fn of(mut rows: Vec<MentionRow>, limit: usize) -> Self {
        let limit = limit.min(InboxQuery::MAX_LIMIT);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| has_more);
        Self { next: last.map(|row| InboxCursor { at: row.at, item: row.item }), rows }
    }
}
