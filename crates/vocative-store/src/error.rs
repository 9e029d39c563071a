//! What a store answers when it cannot do what was asked. Every code is stable.

use crate::value::EventId;

/// Why a whole operation failed. Nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process writes to this store.
    #[error("another process has opened the store for writing")]
    InUse,
    /// A newer release has written it.
    #[error("the store has schema {found}, this release knows up to {known}")]
    NewerSchema {
        /// The version in the store.
        found: i64,
        /// The latest version known here.
        known: i64,
    },
    /// An older release has written it, and what only reads may not bring it up.
    #[error("the store has schema {found}, this release reads {known}: open it for writing once")]
    OlderSchema {
        /// The version in the store.
        found: i64,
        /// The version read here.
        known: i64,
    },
    /// There is no store at this place.
    #[error("there is no store")]
    Missing,
    /// The disk is full.
    #[error("no space is left for the store")]
    Full,
    /// The store or its folder may not be written.
    #[error("the store is read-only")]
    ReadOnly,
    /// The file is no store, or damaged.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// The place where a store was to be made is taken.
    #[error("the destination exists already")]
    Exists,
    /// The database does not answer, or the store is being closed.
    #[error("the store is not reachable: {0}")]
    Unavailable(String),
    /// The database would acknowledge what a crash can lose.
    #[error("the database is not durable: {0}")]
    NotDurable(String),
    /// An import that does not continue where the store stands.
    #[error("the import does not continue what is stored")]
    NotContinuing,
    /// Copied contents differ from their source.
    #[error("the copy differs from its source in {0}")]
    CopyDiffers(&'static str),
    /// A name that no document can have.
    #[error("the name of a document is 1 to 512 bytes without the character U+0000")]
    BadName,
    /// Anything else the database said.
    #[error("the database failed: {0}")]
    Database(String),
}

impl StoreError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InUse => "in_use",
            Self::NewerSchema { .. } => "newer_schema",
            Self::OlderSchema { .. } => "older_schema",
            Self::Missing => "missing",
            Self::Full => "full",
            Self::ReadOnly => "read_only",
            Self::Damaged(_) => "damaged",
            Self::Exists => "exists",
            Self::Unavailable(_) => "unavailable",
            Self::NotDurable(_) => "not_durable",
            Self::NotContinuing => "not_continuing",
            Self::CopyDiffers(_) => "copy_differs",
            Self::BadName => "bad_name",
            Self::Database(_) => "database",
        }
    }
}

/// What became of one event of a batch (section 1, Answers).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is committed and synced.
    Stored(crate::value::Position),
    /// It was stored already; there is one durable copy.
    Duplicate,
    /// It was not stored.
    Refused(Refusal),
}

/// Why one event was not stored. The others of its batch are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its author, or someone who manages its channel, has deleted it.
    #[error("it was deleted")]
    Deleted,
    /// A newer event stands at its address (NIP-01).
    #[error("a newer version, {by}, is stored")]
    Superseded {
        /// The one that is stored.
        by: EventId,
    },
    /// Its kind is never stored.
    #[error("events of its kind are not stored")]
    Ephemeral,
    /// The character U+0000 in its text or tags, which not every backend can hold.
    #[error("it contains the character U+0000")]
    NulCharacter,
    /// A time that no backend can hold.
    #[error("its time is out of range")]
    BadTime,
    /// Larger than section 1 allows.
    #[error("it is too large")]
    TooLarge,
    /// More than one channel, or a name that is none.
    #[error("it does not name exactly one well-formed channel")]
    BadChannel,
    /// What whoever appended it had decided on was no longer so.
    #[error("what it was decided on has changed meanwhile")]
    Outdated,
    /// The database refused this event alone.
    #[error("the database refused it: {0}")]
    Database(String),
}

impl Refusal {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Superseded { .. } => "superseded",
            Self::Ephemeral => "ephemeral",
            Self::NulCharacter => "nul_character",
            Self::BadTime => "bad_time",
            Self::TooLarge => "too_large",
            Self::BadChannel => "bad_channel",
            Self::Outdated => "outdated",
            Self::Database(_) => "database",
        }
    }
}
