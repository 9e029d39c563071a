//! Events in: at a given rate (open loop), or as fast as answers come (closed loop).

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;

use crate::cast::Batch;
use crate::connection::{self, Socket};
use crate::ledger::{Ledger, Summary};
use crate::process::{Shares, Used};
use crate::schedule::Schedule;
use crate::wire::{self, Said};

/// How long answers may take after the last event.
pub(crate) const DRAIN: Duration = Duration::from_secs(15);

/// How events are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub connections: usize,
    /// Not counted: what is due before this has passed.
    pub warm_up: Duration,
    /// Counted.
    pub measured: Duration,
}

impl Plan {
    fn whole(self) -> Duration {
        self.warm_up + self.measured
    }

    /// How many events an open loop takes.
    pub(crate) fn events(self, schedule: Schedule) -> usize {
        schedule.within(self.whole())
    }
}

/// What a run came to.
pub(crate) struct Outcome {
    pub summary: Summary,
    pub shares: Shares,
    /// Connections that the relay ended.
    pub lost: usize,
    /// Whether a closed loop had no event left before its time was over.
    pub ran_dry: bool,
}

/// What the tasks of one run share; they run on one thread.
pub(crate) struct Run {
    pub batch: Rc<Batch>,
    pub ledger: RefCell<Ledger>,
    lost: Cell<usize>,
    answered: Notify,
}

impl Run {
    /// A run that starts now.
    pub(crate) fn new(batch: Rc<Batch>) -> Rc<Self> {
        let ledger = RefCell::new(Ledger::new(batch.frames.len()));
        Rc::new(Self { batch, ledger, lost: Cell::new(0), answered: Notify::new() })
    }

    fn hear(&self, message: &str) -> bool {
        let Said::Ok { id, accepted, reason } = wire::read(message) else { return false };
        let mut ledger = self.ledger.borrow_mut();
        match self.batch.number(id) {
            Some(number) => ledger.answered(number as usize, accepted, &reason),
            None => ledger.unknown(),
        }
        if ledger.open == 0 {
            self.answered.notify_one();
        }
        true
    }

    fn lose(&self) {
        self.lost.set(self.lost.get() + 1);
    }

    /// Waits until all that was sent is answered, and no longer than [`DRAIN`].
    async fn drain(&self) {
        let answered = async {
            while self.ledger.borrow().open > 0 {
                self.answered.notified().await;
            }
        };
        // What is missing then is counted as unanswered.
        drop(timeout(DRAIN, answered).await);
    }

    fn outcome(&self, window: std::ops::Range<Duration>, shares: Shares, ran_dry: bool) -> Outcome {
        let summary = self.ledger.borrow().summary(window.start, window.end);
        Outcome { summary, shares, lost: self.lost.get(), ran_dry }
    }
}

/// Opens the connections of a plan.
pub(crate) async fn connect(address: SocketAddr, plan: Plan) -> Result<Vec<Socket>, String> {
    let mut sockets = Vec::with_capacity(plan.connections);
    for _ in 0..plan.connections {
        sockets.push(connection::open(address).await?);
    }
    Ok(sockets)
}

/// Sends each event when it is due, whether or not the relay has answered those before it.
pub(crate) async fn open_loop(sockets: Vec<Socket>, run: Rc<Run>, schedule: Schedule, plan: Plan) -> Outcome {
    run.ledger.borrow_mut().start = std::time::Instant::now();
    let used = Used::now();
    let (connections, mut writers, mut readers) = (sockets.len(), JoinSet::new(), JoinSet::new());
    for (first, socket) in sockets.into_iter().enumerate() {
        let (sink, stream) = socket.split();
        writers.spawn_local(write(sink, run.clone(), schedule, first, connections));
        readers.spawn_local(hear_all(stream, run.clone()));
    }
    while writers.join_next().await.is_some() {}
    let shares = used.shares();
    run.drain().await;
    run.outcome(plan.warm_up..plan.whole(), shares, false)
}

/// Sends every `connections`-th event on one connection.
async fn write(
    mut sink: SplitSink<Socket, Message>,
    run: Rc<Run>,
    schedule: Schedule,
    first: usize,
    connections: usize,
) {
    let start = run.ledger.borrow().start;
    for number in (first..run.batch.frames.len()).step_by(connections) {
        let due = schedule.due(number);
        if start.elapsed() < due {
            // Events that are late already go out together.
            if sink.flush().await.is_err() {
                return;
            }
            sleep_until((start + due).into()).await;
        }
        run.ledger.borrow_mut().sent(number, due);
        if sink.feed(Message::Text(run.batch.frames[number].clone())).await.is_err() {
            return;
        }
    }
    // A failure shows as a lost connection where it is read.
    drop(sink.flush().await);
}

async fn hear_all(mut stream: SplitStream<Socket>, run: Rc<Run>) {
    while let Some(Ok(message)) = stream.next().await {
        if let Message::Text(text) = message {
            run.hear(&text);
        }
    }
    run.lose();
}

/// Keeps this many events in flight on each connection.
pub(crate) async fn closed_loop(sockets: Vec<Socket>, run: Rc<Run>, in_flight: usize, plan: Plan) -> Outcome {
    run.ledger.borrow_mut().start = std::time::Instant::now();
    let used = Used::now();
    let next = Rc::new(Cell::new(0));
    let mut tasks = JoinSet::new();
    for socket in sockets {
        tasks.spawn_local(keep(socket, run.clone(), next.clone(), in_flight, plan.whole()));
    }
    let mut last = Duration::ZERO;
    let everything = async {
        while let Some(ended) = tasks.join_next().await {
            last = last.max(ended.unwrap_or_default());
        }
    };
    drop(timeout(plan.whole() + DRAIN, everything).await);
    let shares = used.shares();
    let ran_dry = next.get() >= run.batch.frames.len() && last < plan.whole();
    let end = if ran_dry { last } else { plan.whole() };
    // A relay that is done before the warm-up is over is measured from the start.
    let begin = if plan.warm_up < end { plan.warm_up } else { Duration::ZERO };
    run.outcome(begin..end, shares, ran_dry)
}

/// Works on one connection; answers when it sent its last event.
async fn keep(
    socket: Socket,
    run: Rc<Run>,
    next: Rc<Cell<usize>>,
    in_flight: usize,
    whole: Duration,
) -> Duration {
    let (mut sink, mut stream) = socket.split();
    let take = || {
        let (number, now) = (next.get(), run.ledger.borrow().now());
        (number < run.batch.frames.len() && now < whole).then(|| {
            next.set(number + 1);
            run.ledger.borrow_mut().sent(number, now);
            Message::Text(run.batch.frames[number].clone())
        })
    };
    let (mut free, mut open, mut last) = (in_flight, 0, Duration::ZERO);
    loop {
        while free > 0
            && let Some(message) = take()
        {
            (free, open, last) = (free - 1, open + 1, run.ledger.borrow().now());
            if sink.feed(message).await.is_err() {
                run.lose();
                return last;
            }
        }
        if open == 0 {
            return last;
        }
        if sink.flush().await.is_err() {
            run.lose();
            return last;
        }
        // All answers that are there already are taken before anything is sent again.
        let mut message = stream.next().await;
        loop {
            match message {
                Some(Ok(Message::Text(text))) if run.hear(&text) => (free, open) = (free + 1, open - 1),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => {
                    run.lose();
                    return last;
                }
            }
            match stream.next().now_or_never() {
                Some(more) => message = more,
                None => break,
            }
        }
    }
}
