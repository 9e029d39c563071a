//! Wake-ups over NATS JetStream, for communities of several nodes.
//!
//! A commit counts up, and whoever publishes compares: however many commits fall into one publish, they become
//! one more. What is published carries nothing. Whatever goes wrong has one remedy: a new connection, a new
//! consumer, and a wake-up for what may have been missed. A publish that was not acknowledged is repeated then.
//!
//! A node may publish and subscribe on `vocative.*.wake`, `$JS.API.>` and `_INBOX.>`. The stream
//! `vocative-COMMUNITY` is made where it is missing; one that is made beforehand, with replicas for instance,
//! is used as it is.

mod address;
mod backoff;
mod channel;
mod error;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::push::{Config, Messages};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::{self, Context};
use futures_util::StreamExt;
use futures_util::future::select;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use self::address::Address;
use self::backoff::Backoff;
use self::channel::Channel;
pub use self::error::BusError;
use super::Bus;
use crate::settings::Secret;

/// How long one answer of a server may take: a connection with its handshakes, or a request.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the server says that it is there; it is away after two that are missing. A server that is stopped,
/// a network that drops everything and a consumer that was deleted are all seen by this.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// A connection that has lasted this long was a good one: the next is tried at once.
const STEADY: Duration = Duration::from_secs(10);

/// Whether a text is the address of a bus.
pub(crate) fn parse(text: &str) -> Result<(), BusError> {
    Address::parse(text).map(drop)
}

/// The bus of a community with several nodes. Dropping it ends all that it started.
pub struct Nats {
    node: Arc<Node>,
    task: JoinHandle<()>,
}

/// How a node stands to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not tried to reach them yet.
    Joining,
    /// It can reach them.
    Connected,
    /// It cannot, and goes on trying.
    Away(BusError),
}

impl Nats {
    /// Joins a community on the bus at this address:
    /// `nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT][,HOST...][?creds=FILE&tlsca=FILE&tlscert=FILE&tlskey=FILE]`,
    /// or `tls://` for a server that must be encrypted. Special characters are percent-encoded. A community is
    /// any name of up to 60 bytes, the same on all of its nodes.
    ///
    /// Returns after the first attempt, whether or not a server was there: see [`Nats::states`].
    ///
    /// # Errors
    /// What time does not mend: an address that is none, files that cannot be read, credentials or a
    /// certificate that are refused, a server without JetStream, a stream that is taken. After the start the
    /// same only makes the node [`State::Away`].
    pub async fn connect(url: &Secret, community: &str) -> Result<Arc<Self>, BusError> {
        let node = Arc::new(Node {
            address: Address::parse(url.reveal())?,
            channel: Channel::of(community)?,
            commits: watch::Sender::new(0),
            woken: Notify::new(),
            state: watch::Sender::new(State::Joining),
        });
        let mut states = node.state.subscribe();
        let task = tokio::spawn(Arc::clone(&node).stay());
        let bus = Arc::new(Self { node, task });
        let state = states.wait_for(|state| *state != State::Joining).await.map(|state| state.clone());
        match state {
            Ok(State::Away(error)) if !error.is_passing() => Err(error),
            _ => Ok(bus),
        }
    }

    /// How this node stands to the others, now and at each change.
    pub fn states(&self) -> watch::Receiver<State> {
        self.node.state.subscribe()
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bus for Nats {
    fn wake(&self) {
        self.node.woken.notify_one();
        self.node.commits.send_modify(|commits| *commits += 1);
    }

    fn woken(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.node.woken.notified())
    }

    fn is_connected(&self) -> bool {
        *self.node.state.borrow() == State::Connected
    }

    fn is_shared(&self) -> bool {
        true
    }
}

/// What the bus and its task share.
struct Node {
    address: Address,
    channel: Channel,
    /// How many commits this node has told of.
    commits: watch::Sender<u64>,
    woken: Notify,
    state: watch::Sender<State>,
}

impl Node {
    /// Stays with the others for ever.
    async fn stay(self: Arc<Self>) {
        let mut backoff = Backoff::default();
        // Of the commits, how many the others know of.
        let mut published = 0;
        loop {
            let began = Instant::now();
            let error = self.session(&mut published).await;
            self.enter(State::Away(error));
            if began.elapsed() > STEADY {
                backoff = Backoff::default();
            }
            sleep(backoff.next()).await;
        }
    }

    /// One connection, from its beginning to what ended it.
    async fn session(&self, published: &mut u64) -> BusError {
        let (ending, mut ended) = watch::channel(None);
        let heard = move |event| {
            if let Some(error) = BusError::from_event(&event) {
                // The first cause is the one that explains the others.
                ending.send_if_modified(|cause: &mut Option<BusError>| {
                    let is_first = cause.is_none();
                    cause.get_or_insert(error);
                    is_first
                });
            }
        };
        let client = match self.address.connect(PATIENCE, heard).await {
            Ok(client) => client,
            Err(error) => return error,
        };
        let ended = async {
            let cause = ended.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone());
            cause.unwrap_or_else(|| BusError::Away("the connection has ended".into()))
        };
        let work = async {
            match self.join(client).await {
                Ok((context, messages)) => {
                    self.enter(State::Connected);
                    // Whatever was committed before the consumer began was told to nobody here.
                    self.woken.notify_one();
                    select(pin!(self.listen(messages)), pin!(self.publish(&context, published)))
                        .await
                        .factor_first()
                        .0
                }
                Err(error) => error,
            }
        };
        select(pin!(ended), pin!(work)).await.factor_first().0
    }

    /// Makes the stream where it is missing, and a consumer of this node.
    async fn join(&self, client: Client) -> Result<(Context, Messages), BusError> {
        let away = |error: &dyn std::error::Error| BusError::Away(error.to_string());
        let has_jetstream = client.server_info().jetstream;
        let inbox = client.new_inbox();
        let mut context = jetstream::new(client);
        context.set_timeout(PATIENCE);
        // Nodes that do this at once ask for the same stream, which is no conflict.
        let stream = context
            .get_or_create_stream(self.channel.stream())
            .await
            .map_err(|error| BusError::from_stream(&error, &self.channel.stream, has_jetstream))?;
        let subjects = &stream.cached_info().config.subjects;
        if !subjects.contains(&self.channel.subject) {
            let why = format!("its subjects are {subjects:?}");
            return Err(BusError::Stream { stream: self.channel.stream.clone(), why });
        }
        let consumer = Config {
            deliver_subject: inbox,
            deliver_policy: DeliverPolicy::Last,
            ack_policy: AckPolicy::None,
            idle_heartbeat: HEARTBEAT,
            memory_storage: true,
            ..Config::default()
        };
        let consumer = stream.create_consumer(consumer).await.map_err(|error| away(&error))?;
        let messages = consumer.messages().await.map_err(|error| away(&error))?;
        Ok((context, messages))
    }

    /// Wakes this node for each wake-up until none can come any more.
    async fn listen(&self, mut messages: Messages) -> BusError {
        while let Some(message) = messages.next().await {
            match message {
                Ok(_) => self.woken.notify_one(),
                Err(error) => return BusError::Away(error.to_string()),
            }
        }
        BusError::Away("the subscription has ended".into())
    }

    /// Tells the others of commits, one publish at a time, until one fails.
    async fn publish(&self, context: &Context, published: &mut u64) -> BusError {
        let mut commits = self.commits.subscribe();
        loop {
            let known = *published;
            let Ok(count) = commits.wait_for(|count| *count != known).await.map(|count| *count) else {
                return BusError::Away("the node has ended".into());
            };
            let sent = async { context.publish(self.channel.subject.clone(), "".into()).await?.await };
            match sent.await {
                Ok(_) => *published = count,
                Err(error) => return BusError::Away(error.to_string()),
            }
        }
    }

    /// Enters a state, and says so in the log unless it is the same as before.
    fn enter(&self, state: State) {
        let is_new = self.state.send_if_modified(|current| {
            let is_new = *current != state;
            current.clone_from(&state);
            is_new
        });
        match state {
            State::Away(error) if is_new => {
                tracing::warn!(code = error.code(), %error, "nodes poll the store until the bus is back");
            }
            State::Connected if is_new => tracing::info!("the bus is connected"),
            _ => {}
        }
    }
}
