//! New events on their way to whoever has subscribed (section 1, Delivery).
//!
//! One task of each node reads the store in the order of commits and hands every event to those who want
//! it and may see it. A wake-up only says when to look, so nothing depends on one arriving.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vocative_store::{Placed, StoreError};

use super::live::Delivery;
use super::state::State;
use crate::sending::Names;

/// Events that are read at once.
const PAGE: usize = 512;
/// How often a node looks by itself when others may write.
const POLL: Duration = Duration::from_secs(1);

/// Delivers until the node stops.
pub(crate) async fn run(state: Arc<State>) {
    let mut is_failing = false;
    loop {
        let began = Instant::now();
        match pass(&state).await {
            Ok(()) => {
                is_failing = false;
                state.access.is_fresh_as_of(began);
                metrics::gauge!("vocative_delivery_failing").set(0.0);
            }
            Err(error) => {
                if !is_failing {
                    tracing::error!(code = error.code(), %error, "new events cannot be read; trying again");
                }
                is_failing = true;
                state.access.is_failing(error);
                metrics::gauge!("vocative_delivery_failing").set(1.0);
            }
        }
        let polls = is_failing || state.bus.is_shared();
        tokio::select! {
            () = state.bus.woken(), if !is_failing => {}
            () = state.access.wanted(), if !is_failing => {}
            () = tokio::time::sleep(POLL), if polls => {}
            () = state.stopped() => return,
        }
    }
}

/// Delivers everything that was committed when it began.
async fn pass(state: &State) -> Result<(), StoreError> {
    loop {
        let placed = state.store.events_after(state.delivered(), PAGE).await?;
        let is_last = placed.len() < PAGE;
        for event in placed {
            deliver(state, event).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

async fn deliver(state: &State, placed: Placed) -> Result<(), StoreError> {
    let Placed { position, event, audience } = placed;
    if (9000..=9022).contains(&event.kind) {
        // Whatever it changed is asked again, for this event too.
        for channel in event.values("h").filter_map(|id| id.parse().ok()) {
            state.access.has_changed(&channel);
        }
    }
    if let Some(key) = Names::of_whom(&event) {
        state.names.have_changed(key);
    }
    let is_wanted = state.subscriptions().is_wanted(&event);
    if is_wanted {
        let mut guards = Vec::with_capacity(audience.channels.len());
        for channel in audience.channels {
            let entry = state.access.as_known(&channel).await?;
            guards.push((channel, entry));
        }
        let delivery = Delivery::new(position, event, guards, audience.has_unknown_target);
        let mut count = 0;
        state
            .subscriptions()
            .each_wanting(&delivery.event, |live| count += u64::from(live.deliver(&delivery)));
        metrics::counter!("vocative_deliveries_total").increment(count);
    }
    state.has_delivered(position);
    Ok(())
}
