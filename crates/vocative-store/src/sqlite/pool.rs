//! Connections: how one is opened, and those that only read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::Semaphore;

use crate::error::StoreError;

/// Reads that run at once. More would only contend for the processor: nothing in them waits long.
const READERS: usize = 8;

/// How long a connection waits for another one.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Opens a connection that may write.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    create(path)?;
    let db = Connection::open(path).map_err(failed)?;
    prepare(&db).map_err(failed)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; \
         PRAGMA cache_size = -65536;",
    )
    .map_err(failed)?;
    Ok(db)
}

/// What connections of both kinds have in common.
fn prepare(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(PATIENCE)?;
    db.set_prepared_statement_cache_capacity(128);
    // A statement that is kept is planned once, not for each value that is bound to it.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Makes an empty file that nobody else may read, unless there is one: a store holds the relay's key.
/// SQLite gives the files that it makes beside it the same rights.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(of_io(&error)),
        _ => Ok(()),
    }
}

/// Connections for reading, opened when first needed and kept.
pub(super) struct Pool {
    idle: Arc<Idle>,
    permits: Arc<Semaphore>,
}

struct Idle {
    path: PathBuf,
    connections: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(super) fn new(path: PathBuf) -> Self {
        let idle = Idle { path, connections: Mutex::new(Vec::new()) };
        Self { idle: Arc::new(idle), permits: Arc::new(Semaphore::new(READERS)) }
    }

    /// A single connection, which sees what is committed now and nothing that comes later.
    pub(super) fn snapshot(path: PathBuf) -> Result<Self, StoreError> {
        let db = connect_reader(&path)?;
        super::schema::is_current(&db)?;
        // A transaction sees what stands when it first reads.
        db.execute_batch("BEGIN").map_err(failed)?;
        db.query_row("SELECT position FROM head", [], |_| Ok(())).map_err(failed)?;
        let idle = Idle { path, connections: Mutex::new(vec![db]) };
        Ok(Self { idle: Arc::new(idle), permits: Arc::new(Semaphore::new(1)) })
    }

    /// Runs a read on a thread that may block.
    pub(super) async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        let idle = Arc::clone(&self.idle);
        let task = tokio::task::spawn_blocking(move || {
            let db = idle.take()?;
            let answer = read(&db).map_err(failed);
            idle.connections.lock().unwrap_or_else(PoisonError::into_inner).push(db);
            drop(permit);
            answer
        });
        match task.await {
            Ok(answer) => answer,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(StoreError::Unavailable("the runtime is stopping".to_owned())),
        }
    }
}

impl Idle {
    fn take(&self) -> Result<Connection, StoreError> {
        let idle = self.connections.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| connect_reader(&self.path), Ok)
    }
}

/// Opens a connection that cannot write.
pub(super) fn connect_reader(path: &Path) -> Result<Connection, StoreError> {
    let db = if is_frozen(path) { open_frozen(path) } else { Connection::open(path) }.map_err(failed)?;
    prepare(&db).map_err(failed)?;
    let pragmas = "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384;";
    db.execute_batch(pragmas).map_err(failed)?;
    Ok(db)
}

/// Whether the file is complete and nobody can change it: on a read-only file system, with no log.
fn is_frozen(path: &Path) -> bool {
    let opened = std::fs::File::options().write(true).open(path);
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let has_log = std::fs::metadata(log).is_ok_and(|log| log.len() > 0);
    !has_log && opened.is_err_and(|error| error.kind() == io::ErrorKind::ReadOnlyFilesystem)
}

/// Opens a file that nobody can change without the files beside it that SQLite would have to make.
fn open_frozen(path: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    Connection::open_with_flags(uri, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// What an error of SQLite means for whoever asked.
pub(super) fn failed(error: rusqlite::Error) -> StoreError {
    let said = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(said),
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::DatabaseBusy) => {
            StoreError::Unavailable(said)
        }
        _ => StoreError::Database(said),
    }
}

/// What an error of the file system means for whoever asked.
pub(super) fn of_io(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull => StoreError::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly,
        io::ErrorKind::AlreadyExists => StoreError::Exists,
        _ => StoreError::Unavailable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::connect;

    #[test]
    fn a_commit_is_synced_before_it_returns() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let db = connect(&folder.path().join("store.db")).expect("a file");
        let mode: String = db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).expect("a mode");
        let synchronous: i64 = db.query_row("PRAGMA synchronous", [], |row| row.get(0)).expect("a mode");
        // 2 is FULL: the log is synced with every commit.
        assert_eq!((&*mode, synchronous), ("wal", 2));
    }
}
