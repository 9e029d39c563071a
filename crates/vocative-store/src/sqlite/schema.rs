//! Migrations: each brings a store from one version to the next, all in one transaction.

use rusqlite::{Connection, TransactionBehavior};

use super::pool::failed;
use crate::error::StoreError;

/// The first makes version 1, and so on. One that was released is never changed.
const MIGRATIONS: [&str; 4] = [
    include_str!("schema.sql"),
    include_str!("version_2.sql"),
    include_str!("version_3.sql"),
    include_str!("version_4.sql"),
];

/// Whether the store has the version of this release, for whoever may not bring it up.
pub(super) fn is_current(db: &Connection) -> Result<(), StoreError> {
    let version = "SELECT COALESCE(MAX(version), 0) FROM schema_version";
    let found: i64 = db.query_row(version, [], |row| row.get(0)).map_err(failed)?;
    let known = MIGRATIONS.len() as i64;
    match found.cmp(&known) {
        std::cmp::Ordering::Less => Err(StoreError::OlderSchema { found, known }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(StoreError::NewerSchema { found, known }),
    }
}

/// Brings the store to the latest version.
pub(super) fn migrate(db: &mut Connection) -> Result<(), StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    tx.execute_batch("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL) STRICT")
        .map_err(failed)?;
    let version = "SELECT COALESCE(MAX(version), 0) FROM schema_version";
    let found: i64 = tx.query_row(version, [], |row| row.get(0)).map_err(failed)?;
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    for (migration, version) in MIGRATIONS.iter().zip(1..).filter(|(_, version)| *version > found) {
        tx.execute_batch(migration).map_err(failed)?;
        tx.execute("INSERT INTO schema_version VALUES (?1)", [version]).map_err(failed)?;
    }
    tx.commit().map_err(failed)
}
