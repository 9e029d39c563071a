//! Settings of the community: each is set once.

use rusqlite::{Connection, OptionalExtension, params};

use crate::setting::Setting;

pub(super) fn get(db: &Connection, name: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut kept = db.prepare_cached("SELECT value FROM settings WHERE name = ?1")?;
    kept.query_row([name], |row| row.get(0)).optional()
}

/// Keeps the value unless there is one, and answers what is kept.
pub(super) fn set_once(db: &Connection, setting: &Setting) -> rusqlite::Result<Vec<u8>> {
    let mut set = db.prepare_cached(
        "INSERT INTO settings VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value RETURNING value",
    )?;
    set.query_row(params![setting.name, setting.value], |row| row.get(0))
}
