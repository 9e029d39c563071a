//! Events out: live subscriptions, each owed its events exactly once, while a publisher writes.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use crate::cast::{Batch, Cast, channel};
use crate::connection::{self, Socket};
use crate::deliveries::Deliveries;
use crate::ingest::{self, DRAIN, Outcome, Plan, Run};
use crate::process::resident;
use crate::relays::Relay;
use crate::schedule::Schedule;
use crate::times::Times;
use crate::wire::{self, Said};

/// Connections that are opened at the same time.
const AT_ONCE: usize = 50;

/// A subscription: its filter, and the events that it is owed.
pub(crate) struct Subscription {
    filter: Value,
    events: Rc<[u32]>,
}

/// What a run came to.
pub(crate) struct Fanout {
    pub publishing: Outcome,
    /// From when an event was due to its delivery.
    pub latency: Times,
    pub delivered: usize,
    /// Deliveries per second, from the first event due to the last delivery.
    pub rate: f64,
    /// What was not exactly once, or a connection that the relay ended.
    pub fault: Option<String>,
    /// Connecting and subscribing, until every subscription had what was stored.
    pub subscribing: Duration,
    pub memory: Memory,
}

/// Resident memory of the relay in MiB.
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    pub before: Option<f64>,
    pub subscribed: Option<f64>,
    pub after: Option<f64>,
}

/// Every subscriber asks for the same channel.
pub(crate) fn one_channel(cast: &Cast, batch: &Batch, count: usize) -> Vec<Subscription> {
    let events: Rc<[u32]> = numbers(batch).filter(|event| cast.channel_of(*event as usize) == 0).collect();
    let filter = json!({"kinds": [9], "#h": [channel(0)]});
    (0..count).map(|_| Subscription { filter: filter.clone(), events: events.clone() }).collect()
}

/// One subscription in ten asks for a channel, the others each for what names one of the people.
pub(crate) fn mixed(cast: &Cast, batch: &Batch, count: usize) -> Vec<Subscription> {
    let (channels, people) = (cast.shape.channels, cast.shape.people);
    let mut in_channel = vec![Vec::new(); channels];
    let mut naming = vec![Vec::new(); people];
    for event in numbers(batch) {
        in_channel[cast.channel_of(event as usize)].push(event);
        for person in cast.mentioned(event as usize) {
            naming[person].push(event);
        }
    }
    let (in_channel, naming) = (shared(in_channel), shared(naming));
    let subscription = |number: usize| match number % 10 {
        0 => Subscription {
            filter: json!({"kinds": [9], "#h": [channel(number / 10 % channels)]}),
            events: in_channel[number / 10 % channels].clone(),
        },
        _ => Subscription {
            filter: json!({"kinds": [9], "#p": [cast.person(number % people)]}),
            events: naming[number % people].clone(),
        },
    };
    (0..count).map(subscription).collect()
}

fn numbers(batch: &Batch) -> impl Iterator<Item = u32> {
    (0_u32..).take(batch.frames.len())
}

fn shared(lists: Vec<Vec<u32>>) -> Vec<Rc<[u32]>> {
    lists.into_iter().map(Rc::from).collect()
}

/// What the readers share.
struct Readers {
    run: Rc<Run>,
    deliveries: RefCell<Deliveries>,
    latency: RefCell<Times>,
    last: Cell<Duration>,
    lost: Cell<usize>,
    all: Notify,
}

/// Subscribes over `connections` connections, then publishes and counts.
///
/// # Errors
/// A relay that refuses a connection or a subscription.
pub(crate) async fn measure(
    relay: &Relay,
    run: Rc<Run>,
    subscriptions: Vec<Subscription>,
    connections: usize,
    schedule: Schedule,
    plan: Plan,
) -> Result<Fanout, String> {
    let mut memory = Memory { before: resident(relay.process()), ..Memory::default() };
    let begin = Instant::now();
    let mut deliveries = Deliveries::default();
    let numbered: Vec<(usize, Subscription)> = subscriptions
        .into_iter()
        .map(|subscription| (deliveries.subscribe(subscription.events.clone()), subscription))
        .collect();
    let parts = numbered.chunks(numbered.len().div_ceil(connections).max(1));
    let opening = stream::iter(parts).map(|part| subscribe(relay.address, part)).buffer_unordered(AT_ONCE);
    let sockets: Vec<Socket> = opening.try_collect().await?;
    let subscribing = begin.elapsed();
    memory.subscribed = resident(relay.process());

    let readers = Rc::new(Readers {
        run: run.clone(),
        deliveries: RefCell::new(deliveries),
        latency: RefCell::default(),
        last: Cell::default(),
        lost: Cell::default(),
        all: Notify::new(),
    });
    let writers = ingest::connect(relay.address, plan).await?;
    let mut tasks = JoinSet::new();
    for socket in sockets {
        tasks.spawn_local(read(socket, readers.clone()));
    }
    let publishing = ingest::open_loop(writers, run, schedule, plan).await;
    readers.wait().await;
    memory.after = resident(relay.process());
    tasks.shutdown().await;

    let deliveries = readers.deliveries.borrow();
    let lost = readers.lost.get();
    let lost = (lost > 0).then(|| format!("{lost} subscribers lost their connection"));
    let fault: Vec<String> = deliveries.fault().into_iter().chain(lost).collect();
    Ok(Fanout {
        publishing,
        latency: readers.latency.take(),
        delivered: deliveries.delivered,
        rate: deliveries.delivered as f64 / readers.last.get().as_secs_f64().max(f64::EPSILON),
        fault: (!fault.is_empty()).then(|| fault.join(", ")),
        subscribing,
        memory,
    })
}

impl Readers {
    fn hear(&self, message: &str) {
        let Said::Event { subscription, id } = wire::read(message) else { return };
        let mut deliveries = self.deliveries.borrow_mut();
        let Some(event) = self.run.batch.number(id) else {
            deliveries.unknown();
            return;
        };
        if deliveries.deliver(subscription, event) {
            let ledger = self.run.ledger.borrow();
            let now = ledger.now();
            self.latency.borrow_mut().push(now.saturating_sub(ledger.due(event as usize)));
            self.last.set(now);
        }
        if deliveries.open == 0 {
            self.all.notify_one();
        }
    }

    /// Waits until everything is delivered, and a moment longer for what should not come.
    async fn wait(&self) {
        let all = async {
            while self.deliveries.borrow().open > 0 {
                self.all.notified().await;
            }
        };
        // What is missing then is a fault.
        drop(timeout(DRAIN, all).await);
        sleep(Duration::from_millis(500)).await;
    }
}

/// Opens a connection with these subscriptions, each called by its number.
async fn subscribe(address: SocketAddr, part: &[(usize, Subscription)]) -> Result<Socket, String> {
    let mut socket = connection::open(address).await?;
    for (number, subscription) in part {
        let request = json!(["REQ", number.to_string(), subscription.filter]).to_string();
        socket.feed(Message::text(request)).await.map_err(|error| error.to_string())?;
    }
    socket.flush().await.map_err(|error| error.to_string())?;
    let mut left = part.len();
    while left > 0 {
        let text = connection::receive(&mut socket).await?;
        match wire::read(&text) {
            Said::EndOfStored => left -= 1,
            Said::Closed { reason } => return Err(format!("a subscription was refused: {reason}")),
            Said::Notice { text } => return Err(format!("the relay gives notice: {text}")),
            _ => {}
        }
    }
    Ok(socket)
}

async fn read(mut socket: Socket, readers: Rc<Readers>) {
    while let Some(Ok(message)) = socket.next().await {
        if let Message::Text(text) = message {
            readers.hear(&text);
        }
    }
    readers.lost.set(readers.lost.get() + 1);
}
