//! Documents: a transaction is one call of one function.

use deadpool_postgres::ClientWrapper;
use tokio_postgres::Client;

use super::failure::failed;
use super::read::{int, run};
use super::row;
use crate::document::{Document, Then, Write, Written};
use crate::error::StoreError;
use crate::sql::{DOCUMENT, Sql};
use crate::value::Timestamp;

pub(super) async fn get(client: &Client, name: &str) -> Result<Option<Document>, StoreError> {
    // No document has a name with the character that PostgreSQL cannot take.
    if name.contains('\0') {
        return Ok(None);
    }
    let sql = format!("SELECT {DOCUMENT} FROM documents d WHERE d.name = $1");
    run(client, &sql, &[name.into()]).await?.first().map(row::document).transpose()
}

pub(super) async fn list(client: &Client, sql: &Sql) -> Result<Vec<Document>, StoreError> {
    run(client, &sql.text, &sql.args).await?.iter().map(row::document).collect()
}

pub(super) async fn write(client: &ClientWrapper, writes: &[Write]) -> Result<Written, StoreError> {
    let names: Vec<&str> = writes.iter().map(|write| &*write.name).collect();
    let expected: Vec<Option<i64>> = writes.iter().map(|write| write.expected.column()).collect();
    let (mut thens, mut values, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for write in writes {
        let (then, value, end) = match &write.then {
            Then::Keep => (0_i64, None, None),
            Then::Set(value, end) => (1, Some(&value[..]), end.map(seconds)),
            Then::Delete => (2, None, None),
        };
        thens.push(then);
        values.push(value);
        ends.push(end);
    }
    let sql = "SELECT o_version, o_changed FROM vocative_write($1, $2, $3, $4, $5)";
    let statement = client.prepare_cached(sql).await.map_err(|error| failed(&error))?;
    let answer = client.query_one(&statement, &[&names, &expected, &thens, &values, &ends]).await;
    let answer = answer.map_err(|error| failed(&error))?;
    let changed: Option<String> = answer.try_get(1).map_err(|error| failed(&error))?;
    match changed {
        Some(name) => Ok(Written::Changed(name)),
        None => Ok(Written::Done(row::number(&answer, 0)?.cast_unsigned())),
    }
}

/// Takes documents of an export with their versions, after which those of this store go on.
pub(super) async fn import(client: &Client, documents: &[Document]) -> Result<(), StoreError> {
    let names: Vec<&str> = documents.iter().map(|document| &*document.name).collect();
    let values: Vec<&[u8]> = documents.iter().map(|document| &document.value[..]).collect();
    let versions: Vec<i64> = documents.iter().map(|document| document.version.cast_signed()).collect();
    let ends: Vec<Option<i64>> = documents.iter().map(|document| document.expires_at.map(seconds)).collect();
    let sql = "WITH taken AS (
             INSERT INTO documents SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[], $4::bigint[])
             ON CONFLICT (name) DO UPDATE SET value = excluded.value, version = excluded.version,
                 expires_at = excluded.expires_at
             RETURNING version)
         SELECT setval('document_versions', GREATEST(MAX(version), nextval('document_versions'))) FROM taken";
    client.query(sql, &[&names, &values, &versions, &ends]).await.map_err(|error| failed(&error))?;
    Ok(())
}

pub(super) async fn forget_expired(
    client: &Client,
    before: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    // What a transaction holds is passed over, so that neither waits for the other.
    let sql = "WITH gone AS (
             DELETE FROM documents WHERE name IN (
                 SELECT name FROM documents WHERE expires_at < $1 ORDER BY expires_at LIMIT $2
                 FOR UPDATE SKIP LOCKED)
             RETURNING 1)
         SELECT COUNT(*) FROM gone";
    let found = run(client, sql, &[before.into(), int(limit.min(i64::MAX as usize) as u64)]).await?;
    let count = found.first().map_or(Ok(0), |found| row::number(found, 0))?;
    Ok(usize::try_from(count).unwrap_or(0))
}

fn seconds(at: Timestamp) -> i64 {
    at.min(Timestamp::MAX).as_secs().cast_signed()
}
