//! Documents, in the writer's transactions.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::row::{self, signed};
use crate::document::{Document, Then, Write, Written};
use crate::sql::{Arg, DOCUMENT, Sql};
use crate::value::Timestamp;

pub(super) fn get(db: &Connection, name: &str) -> rusqlite::Result<Option<Document>> {
    db.prepare_cached(&format!("SELECT {DOCUMENT} FROM documents d WHERE d.name = ?1"))?
        .query_row([name], row::document)
        .optional()
}

pub(super) fn list(db: &Connection, sql: &Sql) -> rusqlite::Result<Vec<Document>> {
    super::read::all(db, sql, row::document)
}

/// All writes in one transaction, or none. The writer is one, so nothing changes between them.
pub(super) fn write(db: &mut Connection, writes: &[Write]) -> rusqlite::Result<Written> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for write in writes {
        let mut found = tx.prepare_cached("SELECT version FROM documents WHERE name = ?1")?;
        let found: i64 = found.query_row([&write.name], |found| found.get(0)).optional()?.unwrap_or(0);
        if write.expected.column().is_some_and(|expected| expected != found) {
            return Ok(Written::Changed(write.name.clone()));
        }
    }
    let version: i64 = tx
        .prepare_cached("UPDATE document_versions SET last_value = last_value + 1 RETURNING last_value")?
        .query_row([], |found| found.get(0))?;
    for Write { name, then, .. } in writes {
        match then {
            Then::Keep => {}
            Then::Set(value, expires_at) => {
                let expires_at = *expires_at;
                put(&tx, name, value, version, expires_at)?;
            }
            Then::Delete => {
                tx.prepare_cached("DELETE FROM documents WHERE name = ?1")?.execute([name])?;
            }
        }
    }
    tx.commit()?;
    Ok(Written::Done(version.cast_unsigned()))
}

fn put(
    db: &Connection,
    name: &str,
    value: &[u8],
    version: i64,
    expires_at: Option<Timestamp>,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO documents VALUES (?1, ?2, ?3, ?4) ON CONFLICT (name) DO UPDATE \
         SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at",
    )?
    .execute(params![name, value, version, expires_at.map(Arg::from)])?;
    Ok(())
}

/// Takes a document of an export with its version, after which those of this store go on.
pub(super) fn import(db: &Connection, document: &Document) -> rusqlite::Result<()> {
    let version = signed(document.version);
    put(db, &document.name, &document.value, version, document.expires_at)?;
    db.prepare_cached("UPDATE document_versions SET last_value = MAX(last_value, ?1)")?.execute([version])?;
    Ok(())
}

pub(super) fn forget_expired(
    db: &mut Connection,
    before: Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(
        "DELETE FROM documents WHERE name IN \
         (SELECT name FROM documents WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)",
    )?
    .execute(params![Arg::from(before), signed(limit as u64)])
}
