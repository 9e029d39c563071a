//! The relay (section 1): who may write, who may read, and what reaches whom.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::ws::WebSocket;
use nostr::types::RelayUrl;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use vocative_store::{Store, StoreError};

use crate::bus::Bus;
use crate::settings::Settings;

mod access;
mod admission;
mod auth;
mod connection;
mod delivery;
mod groups;
mod identity;
mod info;
mod limits;
mod live;
mod outbox;
pub(crate) mod protocol;
mod state;
mod stored;
mod subscriptions;
mod writer;

pub(crate) use access::Entry as ChannelEntry;
pub(crate) use admission::{NO_CHANNEL, NOT_YOURS, owner_of, writable};
pub(crate) use auth::PublicUrl;
pub(crate) use connection::MESSAGE;
pub(crate) use limits::{PerAddress, Slot};
pub(crate) use state::{Decision, State};

/// The name by which the nodes of the community that a store holds find each other on a bus. The first
/// that asks makes it.
///
/// # Errors
/// What the store says.
pub async fn community(store: &dyn Store) -> Result<String, StoreError> {
    Ok(identity::Identity::of(store).await?.community())
}

/// A node's relay.
pub(crate) struct Relay {
    state: Arc<State>,
    url: PublicUrl,
    delivery: JoinHandle<()>,
    connections: TaskTracker,
}

impl Relay {
    /// Starts a relay that listens on this port.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn start(
        settings: Settings,
        url: Option<RelayUrl>,
        port: u16,
        store: Arc<dyn Store>,
        bus: Arc<dyn Bus>,
    ) -> Result<Self, StoreError> {
        let state = Arc::new(State::new(settings, store, bus).await?);
        let delivery = tokio::spawn(delivery::run(Arc::clone(&state)));
        let url = url.map_or(PublicUrl::Loopback { port }, PublicUrl::Set);
        Ok(Self { state, url, delivery, connections: TaskTracker::new() })
    }

    /// What all connections share.
    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }

    /// The address that clients use.
    pub(crate) fn url(&self) -> PublicUrl {
        self.url.clone()
    }

    /// Serves one client.
    pub(crate) async fn serve(&self, socket: WebSocket, address: IpAddr) {
        let serving = connection::serve(Arc::clone(&self.state), self.url.clone(), socket, address);
        self.connections.track_future(serving).await;
    }

    /// How many connections one address may have.
    pub(crate) fn connections_per_address(&self) -> usize {
        self.state.settings.limits.connections_per_address
    }

    /// What the relay says about itself (NIP-11), as JSON.
    pub(crate) fn information(&self) -> String {
        info::information(&self.state)
    }

    /// Whether everything that the node needs answers, and the nodes reach each other.
    pub(crate) async fn readiness(&self) -> Readiness {
        match self.state.store.head().await {
            Err(error) => Readiness::Failing(error),
            Ok(_) if self.state.is_stopping() => Readiness::Stopping,
            Ok(_) if !self.state.bus.is_connected() => Readiness::Degraded,
            Ok(_) => Readiness::Ready,
        }
    }

    /// Forgets what it need not remember; called now and then.
    pub(crate) fn tidy(&self) {
        self.state.limiter.forget();
    }

    /// Begins nothing new; connections end when what they are doing is done.
    pub(crate) fn stop(&self) {
        self.state.stop();
    }

    /// Ends when every connection has, and nothing is delivered any more.
    pub(crate) async fn stopped(&self) {
        self.connections.close();
        self.connections.wait().await;
        self.delivery.abort();
    }
}

/// How a node is (section 6).
#[derive(Debug)]
pub(crate) enum Readiness {
    /// It does everything.
    Ready,
    /// It does everything, new events of other nodes with some delay.
    Degraded,
    /// It takes no new work.
    Stopping,
    /// Its store does not answer.
    Failing(StoreError),
}
