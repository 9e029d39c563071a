//! The one task of a node that appends, and the groups in which it does (section 1: one writer per
//! node; a batch closes at 2 ms or 512 events; one bad event fails alone).

use std::time::Duration;

use deadpool_postgres::Pool;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::batch::Batch;
use super::call::{self, Failure};
use super::failure::{failed, is_of_event, no_connection};
use crate::error::{Outcome, Refusal, StoreError};
use crate::facts::Facts;
use crate::store::Entry;

/// When a group is sent: this long after its first event came, or with this many events.
const GROUP_TIME: Duration = Duration::from_millis(2);
const GROUP_EVENTS: usize = 512;

/// Submissions that wait for the writer; whoever brings more waits for room.
const WAITING: usize = 1024;

/// Events that were given together, and who waits for what became of them.
struct Submission {
    batch: Vec<Entry>,
    reply: oneshot::Sender<Result<Vec<Outcome>, StoreError>>,
}

/// The way to the task, which ends when this is dropped and what was given is stored.
pub(super) struct Writer {
    submissions: mpsc::Sender<Submission>,
}

impl Writer {
    pub(super) fn start(pool: Pool) -> Self {
        let (submissions, received) = mpsc::channel(WAITING);
        tokio::spawn(work(pool, received));
        Self { submissions }
    }

    pub(super) async fn append(&self, batch: Vec<Entry>) -> Result<Vec<Outcome>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, answer) = oneshot::channel();
        self.submissions.send(Submission { batch, reply }).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

async fn work(pool: Pool, mut received: mpsc::Receiver<Submission>) {
    while let Some(first) = received.recv().await {
        let closes = Instant::now() + GROUP_TIME;
        let mut events = first.batch.len();
        let mut group = vec![first];
        while events < GROUP_EVENTS {
            let Ok(Some(more)) = timeout_at(closes, received.recv()).await else { break };
            events += more.batch.len();
            group.push(more);
        }
        store(&pool, group).await;
    }
}

/// Stores a group and answers; nobody is answered before the database has committed.
async fn store(pool: &Pool, group: Vec<Submission>) {
    let entries: Vec<&Entry> = group.iter().flat_map(|submission| &submission.batch).collect();
    match append(pool, &entries).await {
        Ok(outcomes) => {
            let mut outcomes = outcomes.into_iter();
            for submission in group {
                let of_this = outcomes.by_ref().take(submission.batch.len()).collect();
                drop(submission.reply.send(Ok(of_this)));
            }
        }
        Err(error) => {
            for submission in group {
                drop(submission.reply.send(Err(error.clone())));
            }
        }
    }
}

/// What becomes of each event. Where one makes the whole call fail, each is sent alone.
async fn append(pool: &Pool, entries: &[&Entry]) -> Result<Vec<Outcome>, StoreError> {
    match try_append(pool, entries).await {
        Ok(outcomes) => Ok(outcomes),
        Err(Failure::Unreadable(error)) => Err(error),
        Err(Failure::Said(error)) if is_of_event(&error) => {
            let mut outcomes = Vec::with_capacity(entries.len());
            for entry in entries {
                outcomes.push(match try_append(pool, std::slice::from_ref(entry)).await {
                    Ok(mut alone) => alone.remove(0),
                    Err(Failure::Unreadable(error)) => return Err(error),
                    Err(Failure::Said(error)) if is_of_event(&error) => {
                        Outcome::Refused(Refusal::Database(error.to_string()))
                    }
                    Err(Failure::Said(error)) => return Err(failed(&error)),
                });
            }
            Ok(outcomes)
        }
        Err(Failure::Said(error)) => Err(failed(&error)),
    }
}

async fn try_append(pool: &Pool, entries: &[&Entry]) -> Result<Vec<Outcome>, Failure> {
    let mut batch = Batch::default();
    // What is refused here is not sent; the others keep their order.
    let mut refused: Vec<Option<Refusal>> = Vec::with_capacity(entries.len());
    for entry in entries {
        refused.push(match Facts::of(&entry.event) {
            Ok(facts) => {
                batch.push(&entry.event, facts);
                entry.conditions.iter().for_each(|condition| batch.condition(condition));
                entry.changes.iter().for_each(|change| batch.change(change));
                None
            }
            Err(refusal) => Some(refusal),
        });
    }
    let client = pool.get().await.map_err(|error| Failure::Unreadable(no_connection(&error)))?;
    let mut answers = call::append(&client, &batch).await?.into_iter();
    let outcomes =
        refused.into_iter().map(|refusal| refusal.map(Outcome::Refused).or_else(|| answers.next()));
    let missing = || Failure::Unreadable(StoreError::Database("an answer is missing".to_owned()));
    outcomes.map(|outcome| outcome.ok_or_else(missing)).collect()
}
