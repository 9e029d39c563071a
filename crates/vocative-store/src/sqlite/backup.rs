//! Online backup, restore, and the check of a file (section 6).

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::Sqlite;
use super::pool::{connect_reader, create, failed, of_io};
use crate::copy::{Copied, Watch, copy_watched};
use crate::error::StoreError;
use crate::store::Store;

/// Copies the store in `from` to the new file `to`, while it is in use, by this process or another.
/// The copy is what was committed when it began. It is checked and synced before it gets its name.
///
/// # Errors
/// [`StoreError::Exists`] when `to` is there; what is wrong with the copy, or with either folder.
pub fn backup(from: &Path, to: &Path) -> Result<(), StoreError> {
    if to.exists() {
        return Err(StoreError::Exists);
    }
    if !from.exists() {
        return Err(StoreError::Missing);
    }
    let source = connect_reader(from)?;
    let partial = beside(to);
    let made = copy_pages(&source, &partial).and_then(|()| publish(&partial, to));
    if made.is_err() {
        // What is half done is of no use; the error that stopped it is what counts.
        drop(fs::remove_file(&partial));
    }
    made
}

/// Makes the new store `to` of a backup. The backup stays as it is.
///
/// # Errors
/// [`StoreError::Exists`] when `to` is there; [`StoreError::Damaged`] when the backup is.
pub fn restore(backup_file: &Path, to: &Path) -> Result<(), StoreError> {
    backup(backup_file, to)
}

/// Makes the new file `to` a backup of a store that is no file: a verified copy of what it holds. The
/// store is one that does not change meanwhile, such as [`crate::postgres::Postgres::snapshot`].
///
/// # Errors
/// [`StoreError::Exists`] when `to` is there, and what [`crate::copy()`] answers.
pub async fn backup_of(from: &dyn Store, to: &Path, watch: Watch<'_>) -> Result<Copied, StoreError> {
    if to.exists() {
        return Err(StoreError::Exists);
    }
    let partial = beside(to);
    drop(fs::remove_file(&partial));
    let made = async {
        let copy = Sqlite::open(&partial)?;
        let copied = copy_watched(from, &copy, watch).await?;
        drop(copy);
        let file = Connection::open(&partial).map_err(failed)?;
        file.execute_batch("PRAGMA journal_mode = DELETE").map_err(failed)?;
        drop(file);
        publish(&partial, to)?;
        Ok(copied)
    }
    .await;
    for made in ["", "-wal", "-shm"] {
        let mut name = partial.as_os_str().to_owned();
        name.push(made);
        drop(fs::remove_file(name));
    }
    drop(fs::remove_file(partial.with_extension("lock")));
    made
}

fn beside(to: &Path) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

fn copy_pages(source: &Connection, partial: &Path) -> Result<(), StoreError> {
    drop(fs::remove_file(partial));
    create(partial)?;
    let mut copy = Connection::open(partial).map_err(failed)?;
    // All pages in one step: a step reads from one snapshot, and does not stop the writer. Many steps
    // would begin again whenever something is committed between them.
    let all = Backup::new(source, &mut copy).map_err(failed)?;
    let step = all.step(-1).map_err(failed)?;
    drop(all);
    if step != StepResult::Done {
        return Err(StoreError::Unavailable("the store is locked".to_owned()));
    }
    let problems = problems(&copy).map_err(failed)?;
    // A file of its own, without a log beside it, can be moved by hand.
    copy.execute_batch("PRAGMA journal_mode = DELETE").map_err(failed)?;
    problems.into_iter().next().map_or(Ok(()), |problem| Err(StoreError::Damaged(problem)))
}

fn publish(partial: &Path, to: &Path) -> Result<(), StoreError> {
    let file = File::open(partial).map_err(|error| of_io(&error))?;
    file.sync_all().map_err(|error| of_io(&error))?;
    fs::rename(partial, to).map_err(|error| of_io(&error))?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new("."))).map_err(|error| of_io(&error))?;
    folder.sync_all().map_err(|error| of_io(&error))
}

/// What is wrong with a file: first what SQLite finds, then what must hold between tables.
pub(super) fn problems(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut check = db.prepare("PRAGMA integrity_check")?;
    let found: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut problems: Vec<String> = found.into_iter().filter(|line| line != "ok").collect();
    for (name, sql) in crate::sql::checks() {
        let count: i64 = db.query_row(&sql, [], |row| row.get(0))?;
        if count > 0 {
            problems.push(format!("{name}: {count}"));
        }
    }
    Ok(problems)
}
