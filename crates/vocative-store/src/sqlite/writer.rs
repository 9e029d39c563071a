//! The one thread that writes, and the groups in which it commits (section 1: one writer per node; a
//! batch closes at 2 ms or 512 events; one bad event fails alone).

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{Semaphore, oneshot};

use super::apply::{self, Touched};
use super::pool::{failed, of_io};
use crate::error::{Outcome, Refusal, StoreError};
use crate::store::Entry;

/// When a group is committed: this long after its first event came, or with this many events.
const GROUP_TIME: Duration = Duration::from_millis(2);
const GROUP_EVENTS: usize = 512;

/// Events that wait for the writer; whoever brings more waits for room.
const WAITING: u32 = 8192;

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

enum Job {
    Append(Submission),
    Other(Work),
}

/// Events that were given together, and who waits for what became of them.
struct Submission {
    batch: Vec<Entry>,
    reply: oneshot::Sender<Result<Vec<Outcome>, StoreError>>,
}

/// The way to the thread.
pub(super) struct Writer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    room: Semaphore,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (jobs, received) = channel();
        let thread = std::thread::Builder::new().name("store-writer".to_owned());
        let thread = thread.spawn(move || work(connection, &received)).map_err(|e| of_io(&e))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), room: Semaphore::new(WAITING as usize) })
    }

    pub(super) async fn append(&self, batch: Vec<Entry>) -> Result<Vec<Outcome>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let needed = u32::try_from(batch.len()).unwrap_or(WAITING).min(WAITING);
        let _room = self.room.acquire_many(needed).await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        self.send(Job::Append(Submission { batch, reply }))?;
        answer.await.map_err(|_| closed())?
    }

    /// Runs something else that writes, between two groups.
    pub(super) async fn run<T, F>(&self, run: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        // Whoever asked may have gone; the work is done all the same.
        let work = Box::new(move |db: &mut Connection| drop(reply.send(run(db))));
        self.send(Job::Other(work))?;
        answer.await.map_err(|_| closed())?
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or_else(closed)?;
        jobs.send(job).map_err(|_| closed())
    }
}

impl Drop for Writer {
    /// What was given to the writer is committed before it ends.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

fn work(mut db: Connection, jobs: &Receiver<Job>) {
    let mut next = jobs.recv().ok();
    while let Some(job) = next.take() {
        match job {
            Job::Append(first) => {
                let (group, left_over) = gather(first, jobs);
                commit(&mut db, group);
                next = left_over;
            }
            Job::Other(work) => work(&mut db),
        }
        next = next.or_else(|| jobs.recv().ok());
    }
}

/// The submissions of one group, and a job of another sort that ended it.
fn gather(first: Submission, jobs: &Receiver<Job>) -> (Vec<Submission>, Option<Job>) {
    let closes = Instant::now() + GROUP_TIME;
    let mut events = first.batch.len();
    let mut group = vec![first];
    while events < GROUP_EVENTS {
        match jobs.recv_timeout(closes.saturating_duration_since(Instant::now())) {
            Ok(Job::Append(more)) => {
                events += more.batch.len();
                group.push(more);
            }
            Ok(other) => return (group, Some(other)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    (group, None)
}

/// Commits a group and answers; nobody is answered before the commit returned.
fn commit(db: &mut Connection, group: Vec<Submission>) {
    let all: Vec<&Entry> = group.iter().flat_map(|submission| &submission.batch).collect();
    match transact(db, &all) {
        Ok(outcomes) => {
            let mut outcomes = outcomes.into_iter();
            for submission in group {
                let of_this = outcomes.by_ref().take(submission.batch.len()).collect();
                drop(submission.reply.send(Ok(of_this)));
            }
        }
        Err(error) => {
            for submission in group {
                let answer = salvage(db, &submission.batch, &error);
                drop(submission.reply.send(answer));
            }
        }
    }
}

/// Event by event, after a group has failed: what is wrong with one does not stop the others.
fn salvage(
    db: &mut Connection,
    batch: &[Entry],
    error: &rusqlite::Error,
) -> Result<Vec<Outcome>, StoreError> {
    if let Some(of_store) = of_whole_store(error) {
        return Err(of_store);
    }
    let one = |entry: &Entry| match transact(db, &[entry]) {
        Ok(mut outcomes) => Ok(outcomes.remove(0)),
        Err(error) => match of_whole_store(&error) {
            Some(of_store) => Err(of_store),
            None => Ok(Outcome::Refused(Refusal::Database(error.to_string()))),
        },
    };
    batch.iter().map(one).collect()
}

/// An error that no event is the cause of.
fn of_whole_store(error: &rusqlite::Error) -> Option<StoreError> {
    use rusqlite::ErrorCode::{ConstraintViolation, TooBig, TypeMismatch};
    let of_event = [ConstraintViolation, TooBig, TypeMismatch];
    match error.sqlite_error_code() {
        Some(code) if of_event.contains(&code) => None,
        _ => Some(failed_again(error)),
    }
}

fn failed_again(error: &rusqlite::Error) -> StoreError {
    match error {
        rusqlite::Error::SqliteFailure(code, said) => {
            failed(rusqlite::Error::SqliteFailure(*code, said.clone()))
        }
        other => StoreError::Database(other.to_string()),
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
    if head != before {
        apply::set_head(&tx, head)?;
    }
    tx.commit()?;
    Ok(outcomes)
}
