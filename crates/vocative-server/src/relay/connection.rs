//! One client: its messages in, answers and events out.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket, close_code};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use governor::DefaultDirectRateLimiter;
use tokio::task::JoinSet;
use vocative_store::{EventId, Filter, Reader, kinds};

use super::auth::{self, PublicUrl};
use super::live::Live;
use super::outbox::Outbox;
use super::protocol::{self, Accepted, Reason, Refused, Request};
use super::state::{Decision, State};
use super::stored;
use super::subscriptions::Handle;
use super::writer::{LAST_WORDS, Pulse, Writer, close};
use super::{admission, limits};

/// The longest message: a request with many long filters.
pub(crate) const MESSAGE: usize = 1024 * 1024;
/// Events of one connection that may wait for the store at once; then its messages wait.
const IN_FLIGHT: usize = 1024;
/// Keys that may authenticate on one connection.
const KEYS: usize = 16;
/// Events with a wrong id or signature before a connection is closed.
const FORGERIES: u32 = 10;
/// Requests of one connection that may wait for their answers at once.
const WAITING: usize = 64;
/// What the open subscriptions of one connection may take, in bytes.
const WEIGHT: usize = 4 * 1024 * 1024;

/// What is said where a channel cannot be read, whether it exists or not.
const UNREADABLE: &str = "this key may not read the channel, or there is none of this name";

/// Serves a client until it goes, the node stops, or it must be dropped.
pub(crate) async fn serve(state: Arc<State>, url: PublicUrl, socket: WebSocket, address: IpAddr) {
    metrics::counter!("vocative_connections_total").increment(1);
    let gauge = metrics::gauge!("vocative_connections");
    let (mut sink, stream) = socket.split();
    let Some(slot) = state.limiter.connect(address) else {
        let says = Reason::RateLimited.says("this address has as many connections as it may");
        let _ = sink.send(Message::text(protocol::notice(&says))).await;
        let _ = sink.send(close(close_code::POLICY, "too many connections")).await;
        return;
    };
    gauge.increment(1.0);
    let outbox = Arc::new(Outbox::new(state.settings.limits.pending_bytes));
    let pulse = Arc::new(Pulse::default());
    let writer = Writer::new(Arc::clone(&state), Arc::clone(&outbox), Arc::clone(&pulse), sink);
    let mut connection = Connection::new(state, url, outbox, slot);
    tokio::select! {
        // Reading may write too, what the socket has taken already: the writer looks first whether it may.
        biased;
        () = writer.run() => {}
        () = connection.read(stream, &pulse) => {}
    }
    connection.end();
    gauge.decrement(1.0);
}

struct Connection {
    state: Arc<State>,
    url: PublicUrl,
    outbox: Arc<Outbox>,
    challenge: String,
    open: HashMap<String, Open>,
    answering: JoinSet<()>,
    /// Whoever is being answered holds it: one request after the other.
    turn: Arc<tokio::sync::Mutex<()>>,
    storing: FuturesUnordered<BoxFuture<'static, (EventId, Result<Accepted, Refused>)>>,
    requests: DefaultDirectRateLimiter,
    proofs: DefaultDirectRateLimiter,
    forgeries: u32,
    slot: limits::Slot,
}

/// A subscription of a connection.
struct Open {
    handle: Handle,
    live: Arc<Live>,
    weight: usize,
}

impl Connection {
    fn new(state: Arc<State>, url: PublicUrl, outbox: Arc<Outbox>, slot: limits::Slot) -> Self {
        let challenge = nostr::key::Keys::generate().public_key().to_hex();
        let (requests, proofs) = (state.limiter.connection(), state.limiter.connection());
        Self {
            state,
            url,
            outbox,
            challenge,
            open: HashMap::new(),
            answering: JoinSet::new(),
            turn: Arc::default(),
            storing: FuturesUnordered::new(),
            requests,
            proofs,
            forgeries: 0,
            slot,
        }
    }

    /// Reads messages and acts on them; ends when there are no more or none is wanted.
    async fn read(&mut self, stream: SplitStream<WebSocket>, pulse: &Pulse) {
        let mut stream = stream.inspect(|_| pulse.heard());
        self.outbox.push(protocol::challenge(&self.challenge));
        let state = Arc::clone(&self.state);
        let mut stopped = std::pin::pin!(state.stopped());
        loop {
            let has_room = self.storing.len() < IN_FLIGHT;
            tokio::select! {
                message = stream.next(), if has_room => match message {
                    Some(Ok(Message::Text(text))) => {
                        if !self.message(&text).await {
                            break;
                        }
                    }
                    Some(Ok(Message::Binary(_))) => {
                        self.outbox.push(protocol::notice("invalid: messages are text"));
                    }
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(_))) | None => break,
                    Some(Err(error)) => {
                        self.outbox.push(protocol::notice(&Reason::Invalid.says(error)));
                        break;
                    }
                },
                Some((id, outcome)) = self.storing.next() => self.answer(&id, &outcome),
                Some(_) = self.answering.join_next() => {}
                () = &mut stopped => break,
            }
        }
        self.settle().await;
        if self.state.is_stopping() {
            for open in self.open.values() {
                open.live.close(Some("error: the relay stops; connect again"));
            }
        }
        // What was answered is written before the connection goes, if its reader reads.
        let _ = tokio::time::timeout(LAST_WORDS, self.outbox.drained()).await;
    }

    /// Waits for what is being stored, and answers for it.
    async fn settle(&mut self) {
        while let Some((id, outcome)) = self.storing.next().await {
            self.answer(&id, &outcome);
        }
    }

    fn answer(&self, id: &EventId, outcome: &Result<Accepted, Refused>) {
        let word = match outcome {
            Ok(Accepted::Stored) => "stored",
            Ok(Accepted::Duplicate) => "duplicate",
            Err(refused) => refused.reason.as_str(),
        };
        metrics::counter!("vocative_events_total", "outcome" => word).increment(1);
        self.outbox.push(protocol::ok(id, outcome));
    }

    /// Acts on one message. `false` when the connection must end.
    async fn message(&mut self, text: &str) -> bool {
        match Request::parse(text, self.state.settings.limits.filters) {
            Ok(Request::Event(event)) => return self.event(*event).await,
            Ok(Request::Auth(proof)) => return self.auth(&proof),
            Ok(Request::Subscribe(id, filters)) => self.subscribe(id, filters).await,
            Ok(Request::Count(id, filters)) => self.count(id, filters).await,
            Ok(Request::Close(id)) => self.unsubscribe(&id, None),
            Err(misunderstood) => self.outbox.push(misunderstood.answer()),
        }
        true
    }

    async fn event(&mut self, event: nostr::event::Event) -> bool {
        let is_genuine = event.verify().is_ok();
        let event = protocol::stored_event(event);
        let id = event.id;
        if !is_genuine {
            let refused = Refused::invalid("the id or the signature is wrong");
            self.answer(&id, &Err(refused));
            return self.forged();
        }
        if !self.state.limiter.may_publish(event.key, &self.outbox.keys(), self.slot.address()) {
            let refused = Refused::new(Reason::RateLimited, "this key publishes too often; wait a second");
            self.answer(&id, &Err(refused));
            return true;
        }
        let depends = admission::depends_on_order(event.kind);
        if depends {
            self.settle().await;
        }
        let keys = self.outbox.keys();
        match self.state.admit(event, &keys).await {
            Ok(Decision::Stored) => self.answer(&id, &Ok(Accepted::Duplicate)),
            Err(refused) => self.answer(&id, &Err(refused)),
            Ok(Decision::Admitted(admitted)) => {
                let state = Arc::clone(&self.state);
                let storing = async move { state.commit(admitted, &keys).await };
                self.storing.push(if depends {
                    // What follows from a change happens whether or not the client stays.
                    let storing = tokio::spawn(storing);
                    let failed = |_| Err(Refused::new(Reason::Error, "the node could not finish this"));
                    async move { (id, storing.await.unwrap_or_else(failed)) }.boxed()
                } else {
                    async move { (id, storing.await) }.boxed()
                });
                if depends {
                    self.settle().await;
                }
            }
        }
        true
    }

    fn forged(&mut self) -> bool {
        self.forgeries += 1;
        if self.forgeries == FORGERIES {
            self.outbox.push(protocol::notice("invalid: too many forged events; the connection is closed"));
        }
        self.forgeries < FORGERIES
    }

    fn auth(&mut self, proof: &nostr::event::Event) -> bool {
        let id = EventId::from_bytes(proof.id.to_bytes());
        // A signature costs more to check than to send again.
        if self.proofs.check().is_err() {
            let refused = Refused::new(Reason::RateLimited, "too many proofs; wait a second");
            self.outbox.push(protocol::ok(&id, &Err(refused)));
            return true;
        }
        if proof.verify().is_err() {
            let refused = Refused::invalid("the id or the signature is wrong");
            self.outbox.push(protocol::ok(&id, &Err(refused)));
            return self.forged();
        }
        let keys = self.outbox.keys();
        let key = protocol::key(proof.pubkey);
        let checked = auth::check(proof, &self.url, &self.challenge, self.state.now()).and_then(|()| {
            if keys.len() >= KEYS && !keys.contains(&key) {
                return Err(Refused::restricted(format!("at most {KEYS} keys on one connection")));
            }
            Ok(Accepted::Stored)
        });
        if checked.is_ok() {
            self.outbox.add_key(key);
        }
        self.outbox.push(protocol::ok(&id, &checked));
        true
    }

    /// Whether a request with these filters may be made at all.
    async fn may_ask(&mut self, filters: &[Filter]) -> Result<(), Refused> {
        let keys = self.outbox.keys();
        if !self.state.limiter.may_request(&keys, &self.requests) {
            return Err(Refused::new(Reason::RateLimited, "too many requests; wait a second"));
        }
        while self.answering.try_join_next().is_some() {}
        if self.answering.len() >= WAITING {
            return Err(Refused::new(Reason::RateLimited, "too many requests wait for their answers"));
        }
        let named: HashSet<&str> = filters.iter().flat_map(named_channels).collect();
        let reader = Reader::Keys(keys.to_vec());
        for name in named {
            let may_read = match name.parse() {
                Ok(channel) => self.state.store.may_read(&reader, &channel).await?,
                Err(_) => false,
            };
            if !may_read {
                let reason = if keys.is_empty() { Reason::AuthRequired } else { Reason::Restricted };
                return Err(Refused::new(reason, UNREADABLE));
            }
        }
        Ok(())
    }

    async fn subscribe(&mut self, id: String, filters: Vec<Filter>) {
        self.unsubscribe(&id, None);
        let most = self.state.settings.limits.subscriptions;
        let may = self.may_ask(&filters).await;
        self.open.retain(|_, open| !open.live.is_closed());
        let weight = protocol::weight(&filters);
        let weights = self.open.values().map(|open| open.weight).sum::<usize>() + weight;
        let may = match may {
            Ok(()) if self.open.len() >= most => Err(Refused::new(
                Reason::RateLimited,
                format!("at most {most} subscriptions on one connection"),
            )),
            Ok(()) if weights > WEIGHT => {
                Err(Refused::new(Reason::RateLimited, "the open subscriptions name too much"))
            }
            may => may,
        };
        if let Err(refused) = may {
            return self.outbox.push(protocol::closed(&id, &refused.to_string()));
        }
        let after = self.state.known();
        let live = Arc::new(Live::new(id.clone(), Arc::clone(&self.outbox), after));
        let handle = self.state.subscribe(&filters, Arc::clone(&live));
        self.open.insert(id, Open { handle, live: Arc::clone(&live), weight });
        let reader = Reader::Keys(self.outbox.keys().to_vec());
        let (state, turn) = (Arc::clone(&self.state), Arc::clone(&self.turn));
        self.answering.spawn(async move {
            let _turn = turn.lock().await;
            if live.is_closed() {
                return;
            }
            if let Err(refused) = stored::show(&state, &reader, &filters, &live).await {
                live.close(Some(&refused.to_string()));
                state.unsubscribe(handle);
            }
        });
    }

    async fn count(&mut self, id: String, filters: Vec<Filter>) {
        if let Err(refused) = self.may_ask(&filters).await {
            return self.outbox.push(protocol::closed(&id, &refused.to_string()));
        }
        let reader = Reader::Keys(self.outbox.keys().to_vec());
        let (state, outbox) = (Arc::clone(&self.state), Arc::clone(&self.outbox));
        let turn = Arc::clone(&self.turn);
        self.answering.spawn(async move {
            let _turn = turn.lock().await;
            let answer = match state.store.count(&reader, &filters).await {
                Ok(count) => protocol::counted(&id, count),
                Err(error) => protocol::closed(&id, &Refused::from(error).to_string()),
            };
            outbox.push(answer);
        });
    }

    fn unsubscribe(&mut self, id: &str, says: Option<&str>) {
        if let Some(Open { handle, live, .. }) = self.open.remove(id) {
            self.state.unsubscribe(handle);
            live.close(says);
        }
    }

    /// The client is gone.
    fn end(&mut self) {
        let ids: Vec<String> = self.open.keys().cloned().collect();
        for id in ids {
            self.unsubscribe(&id, None);
        }
    }
}

/// The channels that a filter names: those of messages, and those that the relay describes.
fn named_channels(filter: &Filter) -> impl Iterator<Item = &str> {
    let describes = |kinds: &Vec<u32>| {
        !kinds.is_empty() && kinds.iter().all(|kind| kinds::CHANNEL_METADATA.contains(kind))
    };
    let by_d = filter.kinds.as_ref().is_some_and(describes).then(|| filter.tags.get(&'d')).flatten();
    filter.tags.get(&'h').into_iter().chain(by_d).flatten().map(String::as_str)
}
