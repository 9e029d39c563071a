//! The documents in which people are kept, as values.
//!
//! | name | what |
//! |---|---|
//! | `account/<id>` | an account, public |
//! | `held/<login>` | who held a name, and since when |
//! | `logins/<id>` | an account's logins, and GitHub's token, sealed |
//! | `session/<digest>` | which login a session token belongs to |
//! | `device/<digest>`, `web/<digest>` | a login that has begun |
//! | `challenge/<digest>`, `signed/<event>`, `key/<key>` | linking keys |
//! | `revocation/<id>` | a token that GitHub is to revoke, sealed |
//! | `registry` | set with every public change, so that nodes notice |

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vocative_store::{Document, Expected, Store, StoreError, Timestamp, Write, Written};

use super::error::PeopleError;

/// How often a change is tried again that others came before.
pub(super) const ATTEMPTS: usize = 16;
/// How many expired documents are forgotten at once.
const FORGET: usize = 1000;

/// The name of the document that every public change sets.
pub(super) const REGISTRY: &str = "registry";

/// The documents of a store.
pub(super) struct Documents {
    store: Arc<dyn Store>,
}

/// A value as it was found.
#[derive(Clone, Debug)]
pub(super) struct Found<T> {
    pub(super) value: T,
    pub(super) version: u64,
}

impl Documents {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The value of this name.
    pub(super) async fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<Found<T>>, PeopleError> {
        let document = self.store.document(name).await?;
        document.map(|document| read(&document)).transpose()
    }

    /// The version of a document; 0 if there is none.
    pub(super) async fn version(&self, name: &str) -> Result<u64, PeopleError> {
        Ok(self.store.document(name).await?.map_or(0, |document| document.version))
    }

    /// A page of the values whose names begin with a prefix.
    pub(super) async fn page(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, PeopleError> {
        Ok(self.store.documents(prefix, after, limit).await?)
    }

    /// Does all or nothing; whether it was done.
    pub(super) async fn write(&self, writes: Vec<Write>) -> Result<bool, PeopleError> {
        Ok(self.write_versioned(writes).await?.is_some())
    }

    /// The same; the version of what was set, if it was done.
    pub(super) async fn write_versioned(&self, writes: Vec<Write>) -> Result<Option<u64>, PeopleError> {
        match self.store.write(writes).await? {
            Written::Done(version) => Ok(Some(version)),
            Written::Changed(_) => Ok(None),
        }
    }

    /// Forgets what has expired.
    pub(super) async fn forget(&self, now: Timestamp) -> Result<(), PeopleError> {
        self.store.forget_expired(now, FORGET).await?;
        Ok(())
    }
}

/// What a document holds.
pub(super) fn read<T: DeserializeOwned>(document: &Document) -> Result<Found<T>, PeopleError> {
    // What stands there is not said: it may be a secret.
    let damaged = |_| StoreError::Damaged(format!("the document {} cannot be read", document.name));
    let value = serde_json::from_slice(&document.value).map_err(damaged)?;
    Ok(Found { value, version: document.version })
}

/// Sets a document as it was expected.
pub(super) fn set(name: impl Into<String>, expected: Expected, value: &impl Serialize) -> Write {
    Write::set(name, expected, serde_json::to_vec(value).expect("values have string keys"))
}

/// How a document has to be found that was found like this.
pub(super) fn as_found<T>(found: Option<&Found<T>>) -> Expected {
    found.map_or(Expected::Absent, |found| Expected::Version(found.version))
}

/// Tells all nodes that something public has changed.
pub(super) fn public_change() -> Write {
    Write::set(REGISTRY, Expected::Anything, "")
}

/// A timestamp so many seconds later.
pub(super) fn after(now: Timestamp, seconds: u64) -> Timestamp {
    Timestamp::from_secs(now.as_secs().saturating_add(seconds).min(Timestamp::MAX.as_secs()))
}
