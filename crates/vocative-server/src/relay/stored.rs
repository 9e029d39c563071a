//! What is stored, in answer to a request: in pieces, so that no answer is cut and none fills the memory.
//!
//! What a request may ask for is large: 20 filters of 1,000 events of 128 KiB. First it is found which
//! events those are, a few dozen bytes each; then they are read in pieces of a bounded size, each when the
//! reader has taken most of what came before. A connection is answered one request at a time, and a node
//! reads a bounded number of pieces at once. So answers hold about 2 MB for each connection, whatever they
//! hold altogether.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vocative_store::{ChannelId, Event, EventId, Filter, Found, Reader, kinds};

use super::access::{Entry, Guard, Guards};
use super::live::{Live, right};
use super::protocol::Refused;
use super::state::State;

/// What a piece holds at most, in bytes, unless it is one event.
const PIECE: usize = 256 * 1024;
/// Events of a piece.
const PIECE_EVENTS: usize = 500;
/// Pieces that a node reads at once.
pub(crate) const PIECES: usize = 64;

/// Writes what is stored, newest first, each event once; then what came meanwhile.
pub(crate) async fn show(
    state: &State,
    reader: &Reader,
    filters: &[Filter],
    live: &Live,
) -> Result<(), Refused> {
    let mut found: Vec<Found> = Vec::new();
    for filter in filters {
        found.extend(state.store.find(reader, filter).await?);
    }
    found.sort_unstable_by_key(|event| (Reverse(event.created_at), event.id));
    found.dedup_by_key(|event| event.id);
    let until = state.store.head().await?;
    // What was committed since the request may come live too.
    let new: HashSet<EventId> =
        found.iter().filter(|event| event.position > live.after()).map(|event| event.id).collect();
    let mut rights = Rights { state, reader, channels: HashMap::new() };
    let mut written = HashSet::new();
    let mut rest = &found[..];
    while !rest.is_empty() {
        if !live.has_room().await {
            return Ok(());
        }
        let (piece, after) = rest.split_at(piece(rest));
        rest = after;
        let _permit = state.pieces.acquire().await;
        let ids: Vec<EventId> = piece.iter().map(|event| event.id).collect();
        let filter = Filter { limit: Some(ids.len()), ids: Some(ids), ..Filter::default() };
        for event in state.store.query(reader, &filter).await? {
            let Some(guards) = rights.on(&event).await? else { continue };
            if !live.write_stored(&event, guards) {
                return Ok(());
            }
            written.extend(new.get(&event.id));
        }
    }
    live.open(written, until, state.delivered());
    Ok(())
}

/// How many of these make the next piece.
fn piece(found: &[Found]) -> usize {
    let mut bytes = 0;
    let fits = |event: &&Found| {
        bytes += event.bytes;
        bytes <= PIECE
    };
    found.iter().take(PIECE_EVENTS).take_while(fits).count().max(1)
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
        let right = right(event, keys);
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
            if !entry.grants(right, keys) {
                return Ok(None);
            }
            guards.push(Guard { channel: id, entry, right });
        }
        Ok(Some(guards.into()))
    }
}

/// The channel of an event: where it was said, or what it describes.
fn channels_of(event: &Event) -> Vec<ChannelId> {
    let name = if kinds::CHANNEL_METADATA.contains(&event.kind) { "d" } else { "h" };
    event.values(name).filter_map(|id| id.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use vocative_store::{EventId, Found, Position, Timestamp};

    use super::{PIECE, PIECE_EVENTS, piece};

    #[test]
    fn a_piece_is_bounded_and_never_empty() {
        let found = |bytes| Found {
            position: Position::new(1),
            created_at: Timestamp::from_secs(1),
            id: EventId::from_bytes([0; 32]),
            bytes,
        };
        let table = [
            (vec![found(10); 20_000], PIECE_EVENTS),
            (vec![found(PIECE / 2); 3], 2),
            (vec![found(PIECE + 1); 3], 1),
            (vec![found(1)], 1),
        ];
        for (found, expected) in table {
            assert_eq!(piece(&found), expected, "{} of {}", found.len(), found[0].bytes);
        }
    }
}
