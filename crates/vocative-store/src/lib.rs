//! Storage of a community: events, channels and who is in them, the index of mentions, references to
//! sessions, and what the product keeps as documents.
//!
//! One trait, [`Store`], in the product's own terms; two backends that pass one suite of tests:
//! [`sqlite`] for one process and no other service, [`postgres`] for many nodes. The crate knows
//! neither HTTP nor the framing of a protocol, verifies no signature, and decides nobody's right to
//! write. It does decide what a reader gets to see, so that no query, count or search can leak.
//! Section numbers in its documentation are those of the specification of the server, letters with
//! numbers those of the specification of mentions.

mod channel;
mod copy;
mod document;
mod error;
mod event;
mod facts;
mod filter;
mod group;
mod inbox;
mod index;
pub mod postgres;
mod session;
mod setting;
mod sql;
pub mod sqlite;
mod store;
mod value;
mod words;

pub use channel::{Change, Channel, ChannelKind, Member, Reader, Roles};
pub use copy::{Copied, Progress, Watch, copy, copy_watched};
pub use document::{Document, Expected, Then, Write, Written};
pub use error::{Outcome, Refusal, StoreError};
pub use event::{Event, Keeping, kinds};
pub use filter::{Filter, Matcher, Tried};
pub use inbox::{InboxCursor, InboxPage, InboxQuery, InboxRow, MentionRow, Person, SessionRow, Source, Why};
pub use index::{IndexPart, RebuildProgress, Rebuilt, RowPlace, begin_rebuild, rebuild_index, rebuild_left};
pub use session::{
    AccountId, AccountName, Added, EntryId, Millis, Published, SessionId, SessionReference, Verdict,
};
pub use setting::Setting;
pub use store::{Answer, Audience, Condition, Entry, ExportCursor, ExportPage, Found, Placed, Record, Store};
pub use value::{BadValue, ChannelId, EventId, Position, Timestamp};
