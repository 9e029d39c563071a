//! Group commit: the one writer of a node, and the groups in which it stores (section 1: one writer per
//! node; a batch closes at 2 ms or 512 events; one bad event fails alone).

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::error::{Outcome, Refusal, StoreError};
use crate::store::Entry;

/// When a group closes that still has company to expect. The timer counts in milliseconds and rounds
/// up, so this ends before the second one does.
const GROUP_TIME: Duration = Duration::from_millis(1);

/// When a group closes whoever else comes.
const GROUP_EVENTS: usize = 512;

/// Events that wait for the writer; whoever brings more waits for room.
const WAITING: u32 = 8192;

/// How a backend stores a group.
pub(crate) trait Apply: Send + 'static {
    /// Stores the events in one transaction, or none of them, and answers for each once it is durable.
    fn apply(&mut self, entries: &[&Entry]) -> impl Future<Output = Result<Vec<Outcome>, Fault>> + Send;
}

/// Why a group was not stored.
pub(crate) enum Fault {
    /// The database refused one of its events; what it said.
    OfEvent(String),
    /// No event is the cause.
    OfStore(StoreError),
}

/// Events that were given together, and who waits for what became of them.
struct Submission {
    batch: Vec<Entry>,
    reply: oneshot::Sender<Result<Vec<Outcome>, StoreError>>,
    _room: OwnedSemaphorePermit,
    _waiting: Waiting,
}

type Work<A> = Box<dyn FnOnce(&mut A) + Send>;

enum Job<A> {
    Append(Submission),
    Other(Work<A>),
}

/// Counts a caller that has not been answered yet.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn one_more(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The way to the writer, which ends when this is dropped and what was given is stored.
pub(crate) struct Writer<A> {
    jobs: mpsc::UnboundedSender<Job<A>>,
    room: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl<A: Apply> Writer<A> {
    /// A way to a writer, and the work of that writer, which has to be run somewhere.
    pub(crate) fn new(apply: A) -> (Self, impl Future<Output = ()> + Send) {
        let (jobs, received) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let desk = Desk { apply, jobs: received, waiting: Arc::clone(&waiting), company: 1 };
        (Self { jobs, room: Arc::new(Semaphore::new(WAITING as usize)), waiting }, desk.work())
    }

    /// Gives events to the writer and waits until they are durable.
    pub(crate) async fn append(&self, batch: Vec<Entry>) -> Result<Vec<Outcome>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let waiting = Waiting::one_more(&self.waiting);
        let needed = u32::try_from(batch.len()).unwrap_or(WAITING).min(WAITING);
        let room = Arc::clone(&self.room).acquire_many_owned(needed).await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        let submission = Submission { batch, reply, _room: room, _waiting: waiting };
        self.jobs.send(Job::Append(submission)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Runs something else that writes, between two groups.
    pub(crate) async fn run<T, F>(&self, run: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut A) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        // Whoever asked may have gone; the work is done all the same.
        let work = Box::new(move |apply: &mut A| drop(reply.send(run(apply))));
        self.jobs.send(Job::Other(work)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

/// Where the writer sits.
struct Desk<A> {
    apply: A,
    jobs: mpsc::UnboundedReceiver<Job<A>>,
    /// Callers that have not been answered, those of the open group among them.
    waiting: Arc<AtomicUsize>,
    /// How many callers shared the last group. They come again soon, if they come in turn.
    company: usize,
}

impl<A: Apply> Desk<A> {
    async fn work(mut self) {
        let mut next = self.jobs.recv().await;
        while let Some(job) = next.take() {
            match job {
                Job::Append(first) => {
                    let (group, left_over) = self.gather(first).await;
                    self.company = group.len();
                    self.store(group).await;
                    next = left_over;
                }
                Job::Other(work) => work(&mut self.apply),
            }
            if next.is_none() {
                next = self.jobs.recv().await;
            }
        }
    }

    /// The submissions of one group, and a job of another sort that ended it.
    ///
    /// A group closes at once when everybody who waits is in it and it is no smaller than the last one:
    /// so whoever is alone never waits for company, and callers that take turns are not split into two
    /// groups that each pay for a sync.
    async fn gather(&mut self, first: Submission) -> (Vec<Submission>, Option<Job<A>>) {
        let closes = Instant::now() + GROUP_TIME;
        let mut events = first.batch.len();
        let mut group = vec![first];
        while events < GROUP_EVENTS {
            let has_all = group.len() >= self.company && group.len() >= self.waiting.load(Ordering::Acquire);
            if has_all {
                break;
            }
            match timeout_at(closes, self.jobs.recv()).await {
                Ok(Some(Job::Append(more))) => {
                    events += more.batch.len();
                    group.push(more);
                }
                Ok(Some(other)) => return (group, Some(other)),
                Ok(None) | Err(_) => break,
            }
        }
        (group, None)
    }

    /// Stores a group and answers; nobody is answered before what is answered is durable.
    async fn store(&mut self, group: Vec<Submission>) {
        let all: Vec<&Entry> = group.iter().flat_map(|submission| &submission.batch).collect();
        let stored = self.apply.apply(&all).await;
        let mut outcomes = match stored {
            Ok(outcomes) => outcomes.into_iter(),
            Err(Fault::OfStore(error)) => {
                group.into_iter().for_each(|submission| submission.answer(Err(error.clone())));
                return;
            }
            Err(Fault::OfEvent(_)) => {
                for submission in group {
                    let answer = self.one_by_one(&submission.batch).await;
                    submission.answer(answer);
                }
                return;
            }
        };
        for submission in group {
            let of_this: Vec<Outcome> = outcomes.by_ref().take(submission.batch.len()).collect();
            submission.answer(Ok(of_this));
        }
    }

    /// Event by event, after a group was refused: what is wrong with one does not stop the others.
    async fn one_by_one(&mut self, batch: &[Entry]) -> Result<Vec<Outcome>, StoreError> {
        let mut outcomes = Vec::with_capacity(batch.len());
        for entry in batch {
            match self.apply.apply(&[entry]).await {
                Ok(alone) => outcomes.extend(alone),
                Err(Fault::OfEvent(said)) => outcomes.push(Outcome::Refused(Refusal::Database(said))),
                Err(Fault::OfStore(error)) => return Err(error),
            }
        }
        Ok(outcomes)
    }
}

impl Submission {
    /// Answers; the caller no longer waits. It may have gone, which changes nothing.
    fn answer(self, answer: Result<Vec<Outcome>, StoreError>) {
        let Self { reply, _waiting: waiting, .. } = self;
        drop(waiting);
        drop(reply.send(answer));
    }
}
