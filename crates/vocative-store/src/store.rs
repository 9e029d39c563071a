//! The trait: what the product asks of its storage, in its own words.

use std::future::Future;
use std::pin::Pin;

use vocative::Key;

use crate::channel::{Change, Channel, Member, Reader, Roles};
use crate::document::{Document, Write, Written};
use crate::error::{Outcome, StoreError};
use crate::event::Event;
use crate::filter::Filter;
use crate::inbox::{InboxPage, InboxQuery, MentionRow};
use crate::index::{IndexPart, Rebuilt};
use crate::session::{
    AccountId, AccountName, Added, EntryId, Published, SessionId, SessionReference, Verdict,
};
use crate::setting::Setting;
use crate::value::{ChannelId, EventId, Position, Timestamp};

/// What a store promises to answer. A boxed future, so that a server can hold `dyn Store`.
pub type Answer<'s, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 's>>;

/// An event to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The event. Its id and signature have been verified, and its author's right to publish it.
    pub event: Event,
    /// What it changes about channels; done in the same transaction, and only if it is stored.
    pub changes: Vec<Change>,
    /// What must still be so in that transaction. Otherwise it is refused as outdated, so that nothing is
    /// done on a right, or over a state, that was lost meanwhile.
    pub conditions: Vec<Condition>,
}

/// Something that whoever appends has seen and decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The channel is this; nothing: there has never been one of the name.
    Channel(ChannelId, Option<Channel>),
    /// The key has these roles; nothing: it is no member.
    Roles(ChannelId, Key, Option<Roles>),
    /// The event is stored, and not deleted.
    Stored(EventId),
}

impl From<Event> for Entry {
    fn from(event: Event) -> Self {
        Self { event, changes: Vec::new(), conditions: Vec::new() }
    }
}

/// An event that a filter asks for, without what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its place in the order of commits.
    pub position: Position,
    /// When, as it says.
    pub created_at: Timestamp,
    /// Which.
    pub id: EventId,
    /// About how much memory it takes, in bytes.
    pub bytes: usize,
}

/// For whom an event may be delivered (section 1, Privacy): for those who read all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// Its channel, and those of the targets of a deletion.
    pub channels: Vec<ChannelId>,
    /// A deletion of something that is not stored: for its author alone.
    pub has_unknown_target: bool,
}

/// An event at its place in the order of commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where.
    pub position: Position,
    /// The event.
    pub event: Event,
    /// For whom.
    pub audience: Audience,
}

/// Where an export stands: in one of its sections, after what is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportCursor {
    /// Among the events.
    Events(Position),
    /// Among the channels.
    Channels(Option<ChannelId>),
    /// Among the members.
    Members(Option<(ChannelId, Key)>),
    /// Among the settings.
    Settings(Option<String>),
    /// Among the documents.
    Documents(Option<String>),
    /// Among the verdicts on entries of sessions.
    Verdicts(Option<(SessionId, EntryId, AccountName)>),
    /// Among the references to sessions.
    References(Option<(SessionId, EntryId, AccountName, AccountId)>),
    /// Among the mention rows, which an import does not take: it makes them from the events.
    Mentions(Option<(Key, Timestamp, EventId)>),
}

impl ExportCursor {
    /// Before everything.
    pub const START: Self = Self::Events(Position::START);
}

/// A piece of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An event at its position. Of a deleted one there is left where it stood and whom it named.
    Event {
        /// Where.
        position: Position,
        /// What is left of it.
        event: Event,
        /// Whether it was deleted.
        deleted: bool,
    },
    /// A channel.
    Channel(Channel),
    /// A member of a channel.
    Member(ChannelId, Member),
    /// A setting: a copy of a store is the same community, under the same key.
    Setting(Setting),
    /// A document, under the version that it has.
    Document(Document),
    /// What a verdict says of one recipient.
    Verdict(SessionReference),
    /// A reference to a session. Whether it is disputed an import finds out again.
    Reference(Published),
    /// A mention row.
    Mention(MentionRow),
}

/// A page of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPage {
    /// What stands there, all of one section.
    pub records: Vec<Record>,
    /// Where to go on; absent at the end.
    pub next: Option<ExportCursor>,
}

/// Storage of a community. Every answer is over what is committed; what was acknowledged is in it.
pub trait Store: Send + Sync + 'static {
    /// Stores events in their order and answers for each what became of it (section 1, Answers). The
    /// answer comes after the commit is durable. A batch is one transaction; a bad event fails alone.
    ///
    /// The latest of a replaceable or addressable kind is kept (NIP-01). A deletion (kind 5) takes
    /// away own events and blocks them; one by a manager (kind 9005) those of its channel. Mention
    /// rows are written in the same transaction (section 5).
    fn append(&self, batch: Vec<Entry>) -> Answer<'_, Vec<Outcome>>;

    /// The event with this id, if it is stored and the reader may read it.
    fn event(&self, reader: &Reader, id: EventId) -> Answer<'_, Option<Event>>;

    /// The events that a filter asks for, newest first (section 1, Time and order).
    fn query(&self, reader: &Reader, filter: &Filter) -> Answer<'_, Vec<Event>>;

    /// The same events without what they say, so that an answer of any size can be read in pieces.
    fn find(&self, reader: &Reader, filter: &Filter) -> Answer<'_, Vec<Found>>;

    /// How many events at least one of the filters asks for, exactly (NIP-45).
    fn count(&self, reader: &Reader, filters: &[Filter]) -> Answer<'_, u64>;

    /// The events committed after a position, in the order of commits (section 1, Delivery). Those that
    /// have been replaced or deleted meanwhile are there for a minute more, as they were: so whoever goes
    /// on from the last position within that time misses none.
    fn events_after(&self, position: Position, limit: usize) -> Answer<'_, Vec<Placed>>;

    /// The last position that is taken.
    fn head(&self) -> Answer<'_, Position>;

    /// A channel, deleted ones included.
    fn channel(&self, id: &ChannelId) -> Answer<'_, Option<Channel>>;

    /// The channels that a key is a member of, by name.
    fn channels_of(&self, key: Key) -> Answer<'_, Vec<Channel>>;

    /// The members of a channel, by key.
    fn members(&self, channel: &ChannelId) -> Answer<'_, Vec<Member>>;

    /// The roles of a key in a channel; none if it is no member.
    fn roles(&self, channel: &ChannelId, key: Key) -> Answer<'_, Option<Roles>>;

    /// Whether a reader may read a channel; no for one that is unknown (section 1, Privacy).
    fn may_read(&self, reader: &Reader, channel: &ChannelId) -> Answer<'_, bool>;

    /// Stores what a publisher says of sessions, all of it or nothing. What the publisher says again is
    /// not changed; what differs from what it said before is a conflict. What another publisher says stays
    /// beside it, and both are disputed where they differ.
    fn add_references(&self, publisher: &AccountId, references: Vec<SessionReference>) -> Answer<'_, Added>;

    /// Takes back what a publisher says of a session; answers how many references that were.
    fn withdraw_references(&self, publisher: &AccountId, session: &SessionId) -> Answer<'_, usize>;

    /// Says what the markers in a stored session make known of an entry; nothing: no longer anything. It
    /// decides which references to the entry are disputed, those that come later too. Whose stored
    /// session counts is for whoever calls to say.
    fn set_verdict(&self, session: &SessionId, entry: &EntryId, verdict: Option<Verdict>) -> Answer<'_, ()>;

    /// A page of a person's inbox (section 5). A row that is there throughout a walk through the pages is
    /// on exactly one of them.
    fn inbox(&self, query: &InboxQuery) -> Answer<'_, InboxPage>;

    /// What is kept under a name; nothing until it is set.
    fn setting(&self, name: &str) -> Answer<'_, Option<Vec<u8>>>;

    /// Keeps a value under a name unless one is kept already, and answers what is kept. Of nodes that
    /// set it at once, all get the value of one. It is durable when it is answered, and part of every
    /// copy and backup.
    fn set_once(&self, name: &str, value: &[u8]) -> Answer<'_, Vec<u8>>;

    /// The document of this name.
    fn document(&self, name: &str) -> Answer<'_, Option<Document>>;

    /// At most `limit` documents whose names begin with `prefix` and come after a name, in the order of
    /// the bytes of their names.
    fn documents(&self, prefix: &str, after: Option<&str>, limit: usize) -> Answer<'_, Vec<Document>>;

    /// Does all of it or, where a document is not found as expected, nothing, and says which. What is
    /// expected is looked at before anything is done; transactions on the same names take turns, on every
    /// node. What is done is durable when it is answered, and part of every copy and backup.
    fn write(&self, writes: Vec<Write>) -> Answer<'_, Written>;

    /// Forgets at most `limit` documents that expired before an instant; answers how many.
    fn forget_expired(&self, before: Timestamp, limit: usize) -> Answer<'_, usize>;

    /// Compares the first of a part of the index, at most `limit` records, with what it is made from, and
    /// makes again what differs. Answers what is left of the part. See [`crate::rebuild_index`], which does
    /// all of it.
    fn rebuild(&self, part: &IndexPart, limit: usize) -> Answer<'_, Rebuilt>;

    /// A page of everything that is stored, at most `limit` records.
    fn export(&self, cursor: &ExportCursor, limit: usize) -> Answer<'_, ExportPage>;

    /// Takes records of an export. Events keep their positions and come in their order; those that
    /// are stored already are passed over. Positions up to `head` are taken afterwards.
    fn import(&self, records: Vec<Record>, head: Position) -> Answer<'_, ()>;

    /// What is wrong with the stored data, in words; nothing if it is sound.
    fn check(&self) -> Answer<'_, Vec<String>>;
}

impl ExportCursor {
    /// Where to go on after a page of at most `limit` records; nothing at the end.
    pub(crate) fn next(&self, page: &[Record], limit: usize) -> Option<Self> {
        let last = page.last().filter(|_| page.len() >= limit);
        match (last, self) {
            (Some(Record::Event { position, .. }), _) => Some(Self::Events(*position)),
            (Some(Record::Channel(channel)), _) => Some(Self::Channels(Some(channel.id.clone()))),
            (Some(Record::Member(channel, member)), _) => {
                Some(Self::Members(Some((channel.clone(), member.key))))
            }
            (Some(Record::Setting(setting)), _) => Some(Self::Settings(Some(setting.name.clone()))),
            (Some(Record::Document(document)), _) => Some(Self::Documents(Some(document.name.clone()))),
            (Some(Record::Verdict(said)), _) => {
                let SessionReference { session, entry, recipient, .. } = said.clone();
                Some(Self::Verdicts(Some((session, entry, recipient))))
            }
            (Some(Record::Reference(Published { publisher, reference, .. })), _) => {
                let SessionReference { session, entry, recipient, .. } = reference.clone();
                Some(Self::References(Some((session, entry, recipient, publisher.clone()))))
            }
            (Some(Record::Mention(row)), _) => Some(Self::Mentions(Some((row.recipient, row.at, row.item)))),
            (None, Self::Events(_)) => Some(Self::Channels(None)),
            (None, Self::Channels(_)) => Some(Self::Members(None)),
            (None, Self::Members(_)) => Some(Self::Settings(None)),
            (None, Self::Settings(_)) => Some(Self::Documents(None)),
            (None, Self::Documents(_)) => Some(Self::Verdicts(None)),
            (None, Self::Verdicts(_)) => Some(Self::References(None)),
            (None, Self::References(_)) => Some(Self::Mentions(None)),
            (None, Self::Mentions(_)) => None,
        }
    }
}
