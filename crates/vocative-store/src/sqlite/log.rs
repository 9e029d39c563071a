//! The write-ahead log, and how it is kept short without stopping the writer.
//!
//! A checkpoint copies pages of the log into the file and syncs both, which takes long. So a thread of its
//! own does it on a connection of its own, pass by pass, beside the writer. The log can begin anew only
//! while it holds nothing that is not copied, and beside a busy writer that moment does not come by itself:
//! the writer copies the little that the last pass has left, between two groups.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, DEFAULT_NAME, hooks::Wal, wal::CheckpointMode};

use super::pool::{self, failed, of_io};
use crate::error::StoreError;

/// Pages that come to the log before they are copied: 32 MiB. A page that is written often meanwhile is
/// copied once.
const STEP: i32 = 8192;
/// Pages that are few enough for the writer to copy.
const REST: i32 = 256;
/// Passes after which the writer copies what is left however much that is.
const PASSES: usize = 8;
/// Pages of a log that is too long, 256 MiB: readers that keep it from beginning anew are waited for.
const MOST: i32 = 65_536;
/// How long the writer waits for them, each time that the log has grown by [`STEP`].
const PATIENCE: Duration = Duration::from_millis(100);

/// What the writer and the checkpointer tell each other.
#[derive(Debug, Default)]
struct Shared {
    /// Pages in the log after the last commit.
    length: AtomicI32,
    /// Whether the writer is to copy the rest.
    is_rest_wanted: AtomicBool,
}

/// The writer's side.
#[derive(Debug)]
pub(super) struct Log(Arc<Shared>);

/// The thread that copies. It ends when the connection that writes has closed.
#[derive(Debug)]
pub(super) struct Checkpointer(Option<JoinHandle<()>>);

/// Takes over from SQLite when what this connection writes is copied.
pub(super) fn keep_short(db: &mut Connection, path: &Path) -> Result<(Log, Checkpointer), StoreError> {
    let copies = pool::connect(path)?;
    let shared = Arc::new(Shared::default());
    let (wake, woken) = sync_channel(1);
    db.wal_hook(Some(watch(Arc::clone(&shared), wake))).map_err(failed)?;
    let log = Log(Arc::clone(&shared));
    let thread = std::thread::Builder::new().name("store-checkpoint".to_owned());
    let thread = thread.spawn(move || work(&copies, &woken, &shared)).map_err(|error| of_io(&error))?;
    Ok((log, Checkpointer(Some(thread))))
}

/// Called with the length of the log after each commit. It takes the place of SQLite's own hook, which
/// would copy on the writer's thread.
fn watch(
    shared: Arc<Shared>,
    wake: SyncSender<()>,
) -> impl FnMut(&mut Wal, i32) -> rusqlite::Result<()> + Send {
    let mut wakes_at = STEP;
    move |_, length| {
        let has_begun_anew = length < shared.length.swap(length, Ordering::AcqRel);
        if has_begun_anew {
            wakes_at = STEP;
        }
        if length >= wakes_at {
            wakes_at = length + STEP;
            // Full: it is woken already.
            let _ = wake.try_send(());
        }
        Ok(())
    }
}

fn work(copies: &Connection, woken: &Receiver<()>, shared: &Shared) {
    while woken.recv().is_ok() {
        for _ in 0..PASSES {
            // What fails here, for want of room for instance, is tried again when the log has grown, and
            // nothing is lost: the log holds it.
            let Ok((_, copied)) = copies.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE) else {
                break;
            };
            if shared.length.load(Ordering::Acquire) - copied <= REST {
                break;
            }
        }
        shared.is_rest_wanted.store(true, Ordering::Release);
    }
}

impl Log {
    /// Copies what the checkpointer has left, if it has come so far. The next commit begins the log anew
    /// unless somebody reads in it.
    pub(super) fn finish(&self, db: &Connection) -> rusqlite::Result<()> {
        if !self.0.is_rest_wanted.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        // Whether it succeeds or not, what is committed stands.
        if self.0.length.load(Ordering::Acquire) < MOST {
            drop(db.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE));
            return Ok(());
        }
        db.busy_timeout(PATIENCE)?;
        drop(db.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::TRUNCATE));
        db.busy_timeout(pool::PATIENCE)
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            drop(thread.join());
        }
    }
}
