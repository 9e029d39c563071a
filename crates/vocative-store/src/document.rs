//! Documents: small values under names, changed in transactions that notice what changed meanwhile.
//!
//! What the product keeps beside events (accounts, logins, sessions) is a document each. The store
//! reads no value and has no clock: an expired document is there until it is forgotten.

use std::fmt;

use crate::error::StoreError;
use crate::value::Timestamp;

/// A value under a name. Two values that a name has had never have one version, also when the document
/// was deleted between them.
#[derive(Clone, PartialEq, Eq)]
pub struct Document {
    /// Its name, such as `account/12`.
    pub name: String,
    /// What is kept, as bytes.
    pub value: Vec<u8>,
    /// That of the transaction which set it; later ones are greater.
    pub version: u64,
    /// When it may be forgotten; never if absent.
    pub expires_at: Option<Timestamp>,
}

/// What a transaction expects of one document, and what it makes of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Write {
    /// Whose name: 1 to [`Write::LONGEST_NAME`] bytes without U+0000.
    pub name: String,
    /// How it must be found.
    pub expected: Expected,
    /// What becomes of it.
    pub then: Then,
}

/// How a document must be found. Otherwise nothing of the transaction is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// In any way.
    Anything,
    /// There is none of the name.
    Absent,
    /// It has this version.
    Version(u64),
}

/// What becomes of a document.
#[derive(Clone, PartialEq, Eq)]
pub enum Then {
    /// It stays: the transaction depends on it and does not change it.
    Keep,
    /// It has this value and end.
    Set(Vec<u8>, Option<Timestamp>),
    /// It is deleted.
    Delete,
}

/// What became of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// All of it is done and durable; what it set has this version.
    Done(u64),
    /// Nothing of it is done: the document of this name was not found as expected.
    Changed(String),
}

impl Write {
    /// The longest name, in bytes.
    pub const LONGEST_NAME: usize = 512;

    /// Sets a document that does not expire.
    pub fn set(name: impl Into<String>, expected: Expected, value: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), expected, then: Then::Set(value.into(), None) }
    }

    /// Deletes a document.
    pub fn delete(name: impl Into<String>, expected: Expected) -> Self {
        Self { name: name.into(), expected, then: Then::Delete }
    }

    /// Depends on a document without changing it.
    pub fn check(name: impl Into<String>, expected: Expected) -> Self {
        Self { name: name.into(), expected, then: Then::Keep }
    }

    /// The same, and what is set may be forgotten after this instant.
    #[must_use]
    pub fn until(mut self, end: Timestamp) -> Self {
        if let Then::Set(_, expires_at) = &mut self.then {
            *expires_at = Some(end);
        }
        self
    }

    /// Whether every name is one.
    pub(crate) fn check_names(writes: &[Self]) -> Result<(), StoreError> {
        let is_name = |name: &str| (1..=Self::LONGEST_NAME).contains(&name.len()) && !name.contains('\0');
        if writes.iter().all(|write| is_name(&write.name)) { Ok(()) } else { Err(StoreError::BadName) }
    }
}

impl Expected {
    /// As both backends compare it with the version of a document, which is 0 where there is none.
    pub(crate) fn column(self) -> Option<i64> {
        match self {
            Self::Anything => None,
            Self::Absent => Some(0),
            // No document has the greatest version.
            Self::Version(version) => {
                Some(i64::try_from(version).ok().filter(|version| *version > 0).unwrap_or(i64::MAX))
            }
        }
    }
}

/// Says nothing of the value: it may be a secret, and what is written of it may reach a log.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value: _, version, expires_at } = self;
        let mut shown = f.debug_struct("Document");
        shown.field("name", name).field("version", version).field("expires_at", expires_at);
        shown.finish_non_exhaustive()
    }
}

/// Says nothing of the value either.
impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, expected, then } = self;
        let mut shown = f.debug_struct("Write");
        shown.field("name", name).field("expected", expected).field("then", then).finish()
    }
}

/// Says nothing of the value either.
impl fmt::Debug for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("Keep"),
            Self::Set(_, None) => f.write_str("Set(..)"),
            Self::Set(_, Some(end)) => write!(f, "Set(.., until {})", end.as_secs()),
            Self::Delete => f.write_str("Delete"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Document, Expected, Timestamp, Write};

    #[test]
    fn a_value_is_not_written_to_logs() {
        let end = Some(Timestamp::from_secs(9));
        let document =
            Document { name: "token/1".into(), value: b"hidden".to_vec(), version: 3, expires_at: end };
        let shown = format!("{document:?}");
        assert_eq!(shown, "Document { name: \"token/1\", version: 3, expires_at: Some(Timestamp(9)), .. }");
        let write = Write::set("token/1", Expected::Version(3), "hidden").until(Timestamp::from_secs(9));
        let shown = format!("{write:?}");
        assert_eq!(shown, "Write { name: \"token/1\", expected: Version(3), then: Set(.., until 9) }");
    }

    #[test]
    fn what_is_no_version_is_that_of_no_document() {
        for none in [0, u64::MAX, i64::MAX as u64] {
            assert_eq!(Expected::Version(none).column(), Some(i64::MAX));
        }
        assert_eq!((Expected::Version(1).column(), Expected::Absent.column()), (Some(1), Some(0)));
    }
}
