//! Making the mention index again while the community is in use (section 5).
//!
//! What is left to do stands in the store, part by part, and every node that serves takes parts of it: so
//! the work spreads over however many there are, with a bus or without, and goes on after any of them is
//! killed. Readers get the right answers all the while.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use vocative_store::{Store, StoreError, begin_rebuild, rebuild_index, rebuild_left};

/// How often a node looks whether another has begun.
const LOOK: Duration = Duration::from_secs(2);
/// Into how many parts the index is split: enough for thirty nodes to share it evenly.
const PARTS: usize = 256;

/// What a node does of it.
#[derive(Debug, Default)]
pub(crate) struct Rebuilding {
    begun: Notify,
}

impl Rebuilding {
    /// Begins, unless a rebuild is going on already. Answers how many parts there are to do.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) async fn begin(&self, store: &dyn Store) -> Result<usize, StoreError> {
        begin_rebuild(store, PARTS).await?;
        self.begun.notify_one();
        rebuild_left(store).await
    }

    /// Takes part in every rebuild, whoever has begun it.
    pub(crate) async fn run(&self, store: Arc<dyn Store>) {
        loop {
            if let Err(error) = self.take_part(&*store).await {
                tracing::warn!(code = error.code(), %error, "the index is not made again now; trying later");
            }
            tokio::select! {
                () = self.begun.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    async fn take_part(&self, store: &dyn Store) -> Result<(), StoreError> {
        if rebuild_left(store).await? == 0 {
            return Ok(());
        }
        tracing::info!("the mention index is being made again");
        let done = rebuild_index(store, PARTS, &mut |_| {}).await?;
        tracing::info!(
            rows = done.rows,
            repaired = done.repaired,
            "this node's part of the index is made again"
        );
        Ok(())
    }
}
