//! The inbox of a person: who named them where, and why (section 5). Rows carry no text.
//!
//! Its rows are of two sources: mention rows of messages, which the store makes from events, and
//! references to sessions. A person is several keys and several account names; what names more than
//! one of them is one row.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use vocative::Key;

use crate::channel::Reader;
use crate::session::{AccountName, EntryId, Millis, SessionId};
use crate::value::{BadValue, ChannelId, EventId, Timestamp};

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

/// That a message names a key: there is at most one row for each of both.
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

/// That an entry of a session is said to name an account. Publishers who say the same make one row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionRow {
    /// Who was named.
    pub recipient: AccountName,
    /// The session.
    pub session: SessionId,
    /// The entry.
    pub entry: EntryId,
    /// Who wrote it.
    pub actor: AccountName,
    /// When.
    pub at: Millis,
    /// Publishers say different things and no verdict agrees with this, or a verdict contradicts it.
    pub disputed: bool,
}

/// A row of an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxRow {
    /// A message. Where several keys of the person have a row of it, this is one that the message itself
    /// made or, without, the one of the first edit; it counts as retracted or deleted only if no other key
    /// is still named.
    Message(MentionRow),
    /// An entry of a session.
    Session(SessionRow),
}

impl InboxRow {
    /// The place of the row: a page that goes on after it begins with the next.
    pub fn place(&self) -> InboxCursor {
        match self {
            Self::Message(row) => InboxCursor::Message { at: row.at, item: row.item },
            Self::Session(SessionRow { at, session, entry, actor, .. }) => InboxCursor::Session {
                at: *at,
                session: session.clone(),
                entry: entry.clone(),
                actor: actor.clone(),
            },
        }
    }

    /// The mention row, if it is one.
    pub fn message(&self) -> Option<&MentionRow> {
        match self {
            Self::Message(row) => Some(row),
            Self::Session(_) => None,
        }
    }

    /// The row of a session, if it is one.
    pub fn session(&self) -> Option<&SessionRow> {
        match self {
            Self::Message(_) => None,
            Self::Session(row) => Some(row),
        }
    }
}

/// A place in the order of an inbox, which is that of this type: newest first, messages before sessions
/// of the same instant, then by what they are. It is written as a text without spaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InboxCursor {
    /// That of a message.
    Message {
        /// The time of the row.
        at: Timestamp,
        /// The message.
        item: EventId,
    },
    /// That of an entry of a session.
    Session {
        /// The time of the row.
        at: Millis,
        /// The session.
        session: SessionId,
        /// The entry.
        entry: EntryId,
        /// Who wrote it.
        actor: AccountName,
    },
}

impl InboxCursor {
    /// In milliseconds; times of messages go further than 64 bits hold.
    fn millis(&self) -> i128 {
        match self {
            Self::Message { at, .. } => i128::from(at.as_secs()) * 1000,
            Self::Session { at, .. } => i128::from(at.get()),
        }
    }
}

impl Ord for InboxCursor {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_time = other.millis().cmp(&self.millis());
        by_time.then_with(|| match (self, other) {
            (Self::Message { item: a, .. }, Self::Message { item: b, .. }) => a.cmp(b),
            (Self::Message { .. }, Self::Session { .. }) => Ordering::Less,
            (Self::Session { .. }, Self::Message { .. }) => Ordering::Greater,
            (
                Self::Session { session: s1, entry: e1, actor: a1, .. },
                Self::Session { session: s2, entry: e2, actor: a2, .. },
            ) => (s1, e1, a1).cmp(&(s2, e2, a2)),
        })
    }
}

impl PartialOrd for InboxCursor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `m,TIME,ID` or `s,TIME,["SESSION","ENTRY","ACTOR"]`.
impl fmt::Display for InboxCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message { at, item } => write!(f, "m,{},{item}", at.as_secs()),
            Self::Session { at, session, entry, actor } => {
                let names = [session.as_str(), entry.as_str(), actor.as_str()];
                let names = serde_json::to_string(&names).map_err(|_| fmt::Error)?;
                write!(f, "s,{},{names}", at.get())
            }
        }
    }
}

impl FromStr for InboxCursor {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = BadValue::Cursor;
        let mut parts = text.splitn(3, ',');
        let (Some(source), Some(at), Some(of)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(bad);
        };
        if source == "m" {
            let at = at.parse().map(Timestamp::from_secs).map_err(|_| bad)?;
            return Ok(Self::Message { at, item: of.parse()? });
        }
        let [session, entry, actor]: [String; 3] = serde_json::from_str(of).map_err(|_| bad)?;
        let at = at.parse().map(Millis::new).map_err(|_| bad)?;
        let is_session = source == "s";
        is_session
            .then_some(Self::Session {
                at,
                session: session.parse()?,
                entry: entry.parse()?,
                actor: actor.parse()?,
            })
            .ok_or(bad)
    }
}

/// Under what someone is named: keys in messages, account names in sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Their keys.
    pub keys: Vec<Key>,
    /// Their account's names, old ones too.
    pub names: Vec<AccountName>,
}

impl From<Key> for Person {
    fn from(key: Key) -> Self {
        Self { keys: vec![key], names: Vec::new() }
    }
}

impl From<AccountName> for Person {
    fn from(name: AccountName) -> Self {
        Self { keys: Vec::new(), names: vec![name] }
    }
}

/// Of what the rows are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// Of messages and of sessions.
    #[default]
    All,
    /// Of messages.
    Message,
    /// Of sessions.
    Session,
}

/// Which rows are asked for, in the order of [`InboxCursor`]. What the person wrote themself is none.
#[derive(Clone, Debug)]
pub struct InboxQuery {
    /// Whose rows.
    pub recipient: Person,
    /// For whom: rows of channels that this reader may not read are left out.
    pub reader: Reader,
    /// Of what.
    pub source: Source,
    /// Not before, inclusive.
    pub since: Option<Millis>,
    /// Before, exclusive: HTTP ranges are half-open (section 1, Time and order).
    pub until: Option<Millis>,
    /// Only rows whose actor is this person.
    pub from: Option<Person>,
    /// Go on after this place.
    pub after: Option<InboxCursor>,
    /// At most so many rows, up to [`InboxQuery::MAX_LIMIT`].
    pub limit: usize,
}

impl InboxQuery {
    /// The most rows of one page.
    pub const MAX_LIMIT: usize = 1000;

    /// The newest rows of a person, as that person may see them.
    pub fn newest(recipient: impl Into<Person>, limit: usize) -> Self {
        let mut recipient: Person = recipient.into();
        recipient.keys.sort_unstable();
        recipient.keys.dedup();
        recipient.names.sort_unstable();
        recipient.names.dedup();
        let reader = Reader::Keys(recipient.keys.clone());
        let source = Source::All;
        Self { recipient, reader, source, since: None, until: None, from: None, after: None, limit }
    }

    pub(crate) fn effective_limit(&self) -> usize {
        self.limit.min(Self::MAX_LIMIT)
    }
}

/// A page of an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxPage {
    /// The rows.
    pub rows: Vec<InboxRow>,
    /// Where the next page begins; absent after the last.
    pub next: Option<InboxCursor>,
}

/// Gathers rows, which come in their order, until a page is full.
pub(crate) struct Gathering {
    rows: Vec<(InboxCursor, InboxRow)>,
    limit: usize,
}

impl Gathering {
    pub(crate) fn new(query: &InboxQuery) -> Self {
        Self { rows: Vec::new(), limit: query.effective_limit() }
    }

    /// Whether what may still come changes nothing: there is one row more than the page holds.
    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() > self.limit
    }

    /// Adds the next row. What stands at one place is one row, of the first of the keys or names; it is
    /// disputed if all of it is.
    pub(crate) fn push(&mut self, place: InboxCursor, row: InboxRow) {
        match (self.rows.last_mut(), row) {
            (Some((last, InboxRow::Session(kept))), InboxRow::Session(same)) if *last == place => {
                kept.disputed &= same.disputed;
                kept.recipient = same.recipient.min(kept.recipient.clone());
            }
            (Some((last, InboxRow::Message(kept))), InboxRow::Message(same)) if *last == place => {
                if same.recipient < kept.recipient {
                    *kept = same;
                }
            }
            (_, row) => self.rows.push((place, row)),
        }
    }

    pub(crate) fn page(mut self) -> InboxPage {
        let has_more = self.is_full();
        self.rows.truncate(self.limit);
        let next = self.rows.last().filter(|_| has_more).map(|(place, _)| place.clone());
        InboxPage { next, rows: self.rows.into_iter().map(|(_, row)| row).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{EventId, InboxCursor, Millis, Timestamp};

    fn message(at: u64, item: u8) -> InboxCursor {
        InboxCursor::Message { at: Timestamp::from_secs(at), item: EventId::from_bytes([item; 32]) }
    }

    fn session(at: i64, entry: &str, actor: &str) -> InboxCursor {
        let name = |text: &str| text.parse().expect("a name");
        let entry = entry.parse().expect("an id");
        InboxCursor::Session {
            at: Millis::new(at),
            session: "s".parse().expect("an id"),
            entry,
            actor: name(actor),
        }
    }

    #[test]
    fn the_order_is_one_over_both_sources() {
        let ordered = [
            message(i64::MAX as u64, 1),
            message(i64::MAX as u64 - 1, 0),
            session(2001, "a", "a"),
            message(2, 1),
            message(2, 2),
            session(2000, "a", "a"),
            session(2000, "a", "b"),
            session(2000, "b", "a"),
            session(1999, "a", "a"),
            message(1, 1),
            session(-1, "a", "a"),
        ];
        assert!(ordered.is_sorted(), "{ordered:?}");
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for cursor in [message(7, 3), session(-5, "e,\"1", "github:a b")] {
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for bad in
            ["", "m", "m,1", "m,1,x", "m,-1,", "s,1,[]", "s,1,[\"\",\"\",\"\"]", "x,1,[\"a\",\"b\",\"c\"]"]
        {
            assert!(bad.parse::<InboxCursor>().is_err(), "{bad}");
        }
    }
}
