//! Wake-ups between the nodes of a community (section 1, Delivery).
//!
//! A bus says only that something was committed. Nodes then read the store from where they stand, so a
//! wake-up that is lost, late, repeated or forged costs time and never an event.

mod nats;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Notify;

pub(crate) use self::nats::parse;
pub use self::nats::{BusError, Nats, State};

/// Carries wake-ups.
pub trait Bus: Send + Sync + 'static {
    /// Says to every node, this one included, that something was committed. Returns at once, whether
    /// or not the others can be reached: they look by themselves each second.
    fn wake(&self);

    /// Ends when something was committed since it last ended, by any node, or when the bus has come back.
    ///
    /// One task of a node waits here. It may drop the future at any time: the wake-up stays for the next.
    /// It may end without a cause.
    fn woken(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Whether the other nodes can be reached now.
    fn is_connected(&self) -> bool;

    /// Whether there may be other nodes at all.
    fn is_shared(&self) -> bool;
}

/// The bus of a node that has no other: it wakes itself.
#[derive(Debug, Default)]
pub struct Local {
    notify: Notify,
    is_shared: bool,
}

impl Local {
    /// For the only node of a community.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// For a node on a store that others may write to, without a way to wake them: all look each second.
    pub fn beside_others() -> Arc<Self> {
        Arc::new(Self { is_shared: true, ..Self::default() })
    }
}

impl Bus for Local {
    fn wake(&self) {
        self.notify.notify_one();
    }

    fn woken(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.notify.notified())
    }

    fn is_connected(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }
}
