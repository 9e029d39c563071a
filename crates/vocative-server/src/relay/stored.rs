//! The stored events of a subscription.

use std::collections::HashMap;
use std::sync::Arc;

use vocative_store::{ChannelId, Event, EventId, Filter, Reader, kinds};

use super::access::{Entry, Guard, Guards};
use super::live::Live;
use super::protocol::Refused;
use super::state::State;

/// Writes what is stored, newest first, each event once; then what came meanwhile.
pub(super) async fn show_stored(
    state: &State,
    reader: &Reader,
    filters: &[Filter],
    live: &Live,
) -> Result<(), Refused> {
    let mut events: Vec<Event> = Vec::new();
    for filter in filters {
        events.extend(state.store.query(reader, filter).await?);
    }
    if filters.len() > 1 {
        events.sort_unstable_by_key(|event| (std::cmp::Reverse(event.created_at), event.id));
        events.dedup_by_key(|event| event.id);
    }
    let until = state.store.head().await?;
    let mut rights = Rights { state, reader, channels: HashMap::new() };
    for event in &events {
        let Some(guards) = rights.on(event).await? else { continue };
        if !live.write_stored(event, guards).await {
            return Ok(());
        }
    }
    live.open(events.iter().map(|event| event.id).collect(), until, state.delivered());
    Ok(())
}

/// On which rights a reader is shown what the store has found: they may go while the answer is written.
struct Rights<'s> {
    state: &'s State,
    reader: &'s Reader,
    channels: HashMap<ChannelId, Arc<Entry>>,
}

impl Rights<'_> {
    /// What the reader must still be able to read when this is written; nothing if it may not see it.
    async fn on(&mut self, event: &Event) -> Result<Option<Guards>, Refused> {
        let Reader::Keys(keys) = self.reader else { return Ok(Some(Arc::from([]))) };
        let mut named = channels_of(event);
        if event.kind == kinds::DELETION {
            // Its author sees it whatever became of the channel (section 1, Privacy).
            if keys.contains(&event.key) {
                return Ok(Some(Arc::from([])));
            }
            let ids: Vec<EventId> = event.values("e").filter_map(|id| id.parse().ok()).collect();
            let limit = Some(Filter::MAX_LIMIT);
            let targets = Filter { ids: Some(ids), limit, ..Filter::default() };
            let targets = self.state.store.query(&Reader::Server, &targets).await?;
            named.extend(targets.iter().flat_map(channels_of));
        }
        let mut guards: Vec<Guard> = Vec::with_capacity(named.len());
        for id in named {
            let entry = match self.channels.get(&id) {
                Some(entry) if !entry.is_outdated() => Arc::clone(entry),
                _ => {
                    let entry = self.state.access.channel(&id).await?;
                    self.channels.insert(id.clone(), Arc::clone(&entry));
                    entry
                }
            };
            if !entry.may_read(keys) {
                return Ok(None);
            }
            guards.push((id, entry));
        }
        Ok(Some(guards.into()))
    }
}

/// The channel of an event: where it was said, or what it describes.
fn channels_of(event: &Event) -> Vec<ChannelId> {
    let name = if kinds::CHANNEL_METADATA.contains(&event.kind) { "d" } else { "h" };
    event.values(name).filter_map(|id| id.parse().ok()).collect()
}
