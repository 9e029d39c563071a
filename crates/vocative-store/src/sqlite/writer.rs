//! The one connection that writes, on a thread of its own.

use std::path::Path;
use std::thread::JoinHandle;

use rusqlite::{Connection, TransactionBehavior};

use super::apply::{self, Touched};
use super::log::{self, Checkpointer, Log};
use super::pool::{failed, of_io};
use crate::error::{Outcome, StoreError};
use crate::group::{self, Apply, Fault};
use crate::store::Entry;

/// The way to the thread.
pub(super) struct Writer {
    /// Absent while it is being dropped.
    group: Option<group::Writer<Desk>>,
    thread: Option<JoinHandle<()>>,
    _checkpointer: Checkpointer,
}

/// What the thread works with.
struct Desk {
    db: Connection,
    log: Log,
}

impl Writer {
    /// A writer of the file at this path, through this connection to it.
    pub(super) fn start(mut db: Connection, path: &Path) -> Result<Self, StoreError> {
        let (log, checkpointer) = log::keep_short(&mut db, path)?;
        let (group, work) = group::Writer::new(Desk { db, log });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| of_io(&error))?;
        let thread = std::thread::Builder::new().name("store-writer".to_owned());
        let thread = thread.spawn(move || runtime.block_on(work)).map_err(|error| of_io(&error))?;
        Ok(Self { group: Some(group), thread: Some(thread), _checkpointer: checkpointer })
    }

    pub(super) async fn append(&self, batch: Vec<Entry>) -> Result<Vec<Outcome>, StoreError> {
        self.group().append(batch).await
    }

    /// Runs something else that writes, between two groups.
    pub(super) async fn run<T, F>(&self, run: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.group().run(|desk| run(&mut desk.db)).await
    }

    fn group(&self) -> &group::Writer<Desk> {
        self.group.as_ref().expect("it is there until this is dropped")
    }
}

impl Drop for Writer {
    /// What was given to the writer is committed before it ends.
    fn drop(&mut self) {
        self.group = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Apply for Desk {
    /// The connection blocks; the thread has nothing else to do.
    async fn apply(&mut self, entries: &[&Entry]) -> Result<Vec<Outcome>, Fault> {
        self.log.finish(&self.db).map_err(fault)?;
        transact(&mut self.db, entries).map_err(fault)
    }
}

fn fault(error: rusqlite::Error) -> Fault {
    use rusqlite::ErrorCode::{ConstraintViolation, TooBig, TypeMismatch};
    match error.sqlite_error_code() {
        Some(ConstraintViolation | TooBig | TypeMismatch) => Fault::OfEvent(error.to_string()),
        _ => Fault::OfStore(failed(error)),
    }
}

/// One transaction. It is rolled back when it is dropped before its commit.
fn transact(db: &mut Connection, entries: &[&Entry]) -> rusqlite::Result<Vec<Outcome>> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut touched = Touched::default();
    let mut head = apply::head(&tx)?;
    let before = head;
    let mut outcomes = Vec::with_capacity(entries.len());
    for entry in entries {
        outcomes.push(apply::entry(&tx, entry, &mut head, &mut touched)?);
    }
    apply::flush(&tx, &touched)?;
    apply::drop_gone(&tx)?;
    if head != before {
        apply::set_head(&tx, head)?;
    }
    tx.commit()?;
    Ok(outcomes)
}
