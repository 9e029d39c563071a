//! Migrations, under a lock of the database, and the settings without which nothing is durable.

use sha2::{Digest, Sha256};
use tokio_postgres::{Client, Transaction};

use super::failure::failed;
use crate::error::StoreError;
use crate::sql::{GONE, GONE_FOR, mention_rows, settle, wanted_of, wanted_rows};

/// The first makes version 1, and so on. One that was released is never changed.
const MIGRATIONS: [&str; 4] = [
    include_str!("schema.sql"),
    include_str!("version_2.sql"),
    include_str!("version_3.sql"),
    include_str!("version_4.sql"),
];

/// The functions, made again whenever their text is another than that which made them.
fn functions() -> String {
    const TEXTS: [&str; 4] = [
        include_str!("functions.sql"),
        include_str!("documents.sql"),
        include_str!("sessions.sql"),
        include_str!("index.sql"),
    ];
    TEXTS
        .concat()
        .replace("{mention_rows}", &mention_rows("INSERT", "SELECT DISTINCT unnest(a_touched)"))
        .replace("{settle}", &settle("SELECT * FROM unnest(a_sessions, a_entries)"))
        .replace("{wanted_of}", &wanted_of("SELECT DISTINCT unnest(a_items)"))
        .replace("{wanted_rows}", &wanted_rows("e.position > a_after AND e.position <= a_until"))
        .replace("{gone}", GONE)
        .replace("{gone_for}", &GONE_FOR.to_string())
}

/// An arbitrary number that only this program locks.
const LOCK: i64 = 0x766f_6361_7469_7665;

/// Brings the store to the latest version. Several nodes may start at once.
pub(super) async fn migrate(client: &mut Client) -> Result<(), StoreError> {
    let tx = client.transaction().await.map_err(|error| failed(&error))?;
    is_durable(&tx).await?;
    run(&tx).await?;
    tx.commit().await.map_err(|error| failed(&error))
}

async fn run(tx: &Transaction<'_>) -> Result<(), StoreError> {
    // The one lock that is held across round trips: nobody serves before the schema stands.
    tx.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await.map_err(|error| failed(&error))?;
    tx.batch_execute("CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)")
        .await
        .map_err(|error| failed(&error))?;
    let version = "SELECT COALESCE(MAX(version), 0) FROM schema_version";
    let found: i64 = tx.query_one(version, &[]).await.map_err(|error| failed(&error))?.get(0);
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    for (migration, version) in MIGRATIONS.iter().zip(1_i64..).filter(|(_, version)| *version > found) {
        tx.batch_execute(migration).await.map_err(|error| failed(&error))?;
        tx.execute("INSERT INTO schema_version VALUES ($1)", &[&version])
            .await
            .map_err(|error| failed(&error))?;
    }
    let functions = functions();
    let digest = Sha256::digest(functions.as_bytes()).to_vec();
    tx.batch_execute("CREATE TABLE IF NOT EXISTS schema_functions (digest bytea NOT NULL)")
        .await
        .map_err(|error| failed(&error))?;
    let kept =
        tx.query_opt("SELECT digest FROM schema_functions", &[]).await.map_err(|error| failed(&error))?;
    if kept.is_none_or(|kept| kept.get::<_, &[u8]>(0) != digest) {
        tx.batch_execute(&functions).await.map_err(|error| failed(&error))?;
        tx.execute("DELETE FROM schema_functions", &[]).await.map_err(|error| failed(&error))?;
        tx.execute("INSERT INTO schema_functions VALUES ($1)", &[&digest])
            .await
            .map_err(|error| failed(&error))?;
    }
    Ok(())
}

async fn is_durable(tx: &Transaction<'_>) -> Result<(), StoreError> {
    for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
        let shown = tx.query_one(&format!("SHOW {setting}"), &[]).await.map_err(|error| failed(&error))?;
        if shown.get::<_, &str>(0) == "off" {
            return Err(StoreError::NotDurable(format!("{setting} is off")));
        }
    }
    Ok(())
}
