//! Connections to the database, and how long it may take to answer.
//!
//! A server that is stopped says so; one that hangs says nothing, and so does a network that is cut. So
//! every call has a time in which it must be answered, and a connection that did not answer is given up.

use std::pin::Pin;
use std::time::Duration;

use deadpool_postgres::{
    Client, ClientWrapper, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Config, NoTls};

use super::failure::no_connection;
use super::password::Passwords;
use crate::error::StoreError;

/// How long a call may take that somebody waits for, the time to connect included.
pub(super) const ANSWER: Duration = Duration::from_secs(10);
/// How long a call may take that reads or makes much at once: checks, exports, indexes.
pub(super) const UPKEEP: Duration = Duration::from_secs(3600);

/// What a call comes to.
pub(super) type Asked<'c, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'c>>;

/// The connections of a node, opened when first needed and kept.
#[derive(Clone)]
pub(super) struct Connections(Pool);

impl Connections {
    /// At most so many connections to the database of this address.
    pub(super) fn new(url: &str, passwords: &Passwords, most: usize) -> Result<Self, StoreError> {
        // What is wrong with an address may be its password, so nothing of it is repeated.
        let unreadable = |_| StoreError::Unavailable("the address of the database is malformed".to_owned());
        let mut config: Config = url.parse().map_err(unreadable)?;
        passwords.fill(&mut config);
        let manager_config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config, NoTls, manager_config);
        let pool = Pool::builder(manager).max_size(most).runtime(Runtime::Tokio1).build();
        pool.map(Self).map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    /// Asks on a connection of its own, and waits for the answer no longer than this.
    pub(super) async fn ask<T, E: From<StoreError>>(
        &self,
        patience: Duration,
        ask: impl for<'c> FnOnce(&'c mut ClientWrapper) -> Asked<'c, T, E>,
    ) -> Result<T, E> {
        let begun = Instant::now();
        let mut client = self.get(begun + ANSWER).await?;
        let until = begun + patience;
        match timeout_at(until, ask(&mut client)).await {
            Ok(answer) => answer,
            Err(_) => {
                // Whoever came after would wait behind the answer that is missing.
                drop(Object::take(client));
                Err(silent().into())
            }
        }
    }

    async fn get(&self, until: Instant) -> Result<Client, StoreError> {
        match timeout_at(until, self.0.get()).await {
            Ok(got) => got.map_err(|error| no_connection(&error)),
            Err(_) => Err(silent()),
        }
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable("the database does not answer".to_owned())
}
