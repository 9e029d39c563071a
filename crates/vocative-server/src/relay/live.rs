//! One subscription while it is open: what is stored first, then what comes, each event once.
//!
//! It is among the subscriptions of its node before the store is asked, so nothing falls between. What
//! comes meanwhile is kept until the stored events are written; what was among them is passed over.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use vocative::Key;
use vocative_store::{ChannelId, Event, EventId, Position, kinds};

use super::access::{Entry, Guard, Guards, Right};
use super::outbox::{Item, Outbox};
use super::protocol;

/// An event on its way to all who want it.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) position: Position,
    pub(crate) event: Event,
    /// The channels whose readers may see it.
    pub(crate) guards: Guards,
    /// Only its author may see it.
    pub(crate) is_for_author: bool,
    json: OnceLock<String>,
}

impl Delivery {
    pub(crate) fn new(
        position: Position,
        event: Event,
        guards: Vec<(ChannelId, Arc<Entry>)>,
        is_for_author: bool,
    ) -> Self {
        let read = |(channel, entry)| Guard { channel, entry, right: Right::Read };
        let guards = guards.into_iter().map(read).collect();
        Self { position, event, guards, is_for_author, json: OnceLock::new() }
    }

    /// The event as JSON, made when first wanted.
    fn json(&self) -> &str {
        self.json.get_or_init(|| protocol::event_json(&self.event))
    }

    /// What a reader must still be able to read when this is written; nothing if it may not see it.
    fn guards_for(&self, outbox: &Outbox) -> Option<Guards> {
        let keys = outbox.keys();
        // Whoever deleted something sees that, whatever became of the channel (section 1, Privacy).
        if self.event.kind == kinds::DELETION && keys.contains(&self.event.key) {
            return Some(Arc::from([]));
        }
        let right = right(&self.event, &keys);
        let has_all = self.guards.iter().all(|guard| guard.entry.grants(right, &keys));
        if !has_all || self.is_for_author {
            return None;
        }
        Some(match right {
            Right::Read => Arc::clone(&self.guards),
            Right::Manage => self.guards.iter().map(|guard| Guard { right, ..guard.clone() }).collect(),
        })
    }
}

/// What someone with these keys must be able to do in the channel of an event to see it.
pub(crate) fn right(event: &Event, keys: &[Key]) -> Right {
    let is_for_managers = kinds::WITH_CODE.contains(&event.kind) && !keys.contains(&event.key);
    if is_for_managers { Right::Manage } else { Right::Read }
}

/// An open subscription.
#[derive(Debug)]
pub(crate) struct Live {
    id: String,
    outbox: Arc<Outbox>,
    /// What was committed up to here is for the store to show.
    after: Position,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// The stored events are not written yet; this came meanwhile.
    Waiting(Vec<(Position, EventId, Item)>),
    /// New events are written as they come, except these, which stood up to this position and are
    /// written already.
    Open { written: HashSet<EventId>, until: Position },
    /// Nothing is written any more.
    Closed,
}

impl Live {
    /// A subscription whose stored events are about to be asked for.
    pub(crate) fn new(id: String, outbox: Arc<Outbox>, after: Position) -> Self {
        Self { id, outbox, after, state: Mutex::new(State::Waiting(Vec::new())) }
    }

    /// Gives it a new event that it wants, if its reader may see it.
    pub(crate) fn deliver(&self, delivery: &Delivery) -> bool {
        if delivery.position <= self.after {
            return false;
        }
        let Some(guards) = delivery.guards_for(&self.outbox) else { return false };
        let mut state = self.lock();
        if let State::Open { written, until } = &mut *state {
            if delivery.position > *until {
                *written = HashSet::new();
            } else if written.contains(&delivery.event.id) {
                return false;
            }
        }
        let item = || Item { text: protocol::event_message(&self.id, delivery.json()), guards };
        match &mut *state {
            State::Waiting(kept) => {
                let item = item();
                if self.outbox.reserve(item.text.len()) {
                    kept.push((delivery.position, delivery.event.id, item));
                }
                true
            }
            State::Open { .. } => {
                self.outbox.push_guarded(item());
                true
            }
            State::Closed => false,
        }
    }

    /// What was committed up to here is for the store to show.
    pub(crate) fn after(&self) -> Position {
        self.after
    }

    /// Waits until there is room for stored events. `false` when none are wanted any more.
    pub(crate) async fn has_room(&self) -> bool {
        self.outbox.room().await;
        self.wants_stored(&self.lock())
    }

    /// Whether it has been closed.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.lock(), State::Closed)
    }

    fn wants_stored(&self, state: &State) -> bool {
        matches!(state, State::Waiting(_)) && !self.outbox.is_over()
    }

    /// Writes a stored event. `false` when nothing is wanted any more.
    pub(crate) fn write_stored(&self, event: &Event, guards: Guards) -> bool {
        // The state is held while the message is put, so that none follows a `CLOSED`.
        let state = self.lock();
        let is_wanted = self.wants_stored(&state);
        if is_wanted {
            let text = protocol::event_message(&self.id, &protocol::event_json(event));
            self.outbox.push_guarded(Item { text, guards });
        }
        is_wanted
    }

    /// The stored events are written: of those that may come again these, none of which stands after `until`. What came meanwhile
    /// follows.
    pub(crate) fn open(&self, stored: HashSet<EventId>, until: Position, delivered: Position) {
        let mut state = self.lock();
        let State::Waiting(kept) = &mut *state else { return };
        self.outbox.push(protocol::end_of_stored(&self.id));
        for (_, id, item) in std::mem::take(kept) {
            self.outbox.release(item.text.len());
            if !stored.contains(&id) {
                self.outbox.push_guarded(item);
            }
        }
        // What this node has delivered already does not come again.
        let written = if delivered >= until { HashSet::new() } else { stored };
        *state = State::Open { written, until };
    }

    /// Ends it: nothing is written after this but `says`.
    pub(crate) fn close(&self, says: Option<&str>) {
        let mut state = self.lock();
        if let State::Waiting(kept) = &mut *state {
            for (_, _, item) in kept.drain(..) {
                self.outbox.release(item.text.len());
            }
        }
        let was_open = !matches!(*state, State::Closed);
        *state = State::Closed;
        if let (Some(why), true) = (says, was_open) {
            self.outbox.push(protocol::closed(&self.id, why));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use vocative::Key;
    use vocative_store::{Event, EventId, Position, Timestamp};

    use super::{Delivery, Live};
    use crate::relay::outbox::Outbox;

    fn event(n: u8) -> Event {
        let (id, key) = (EventId::from_bytes([n; 32]), Key::from_bytes([9; 32]));
        let created_at = Timestamp::from_secs(n.into());
        Event { id, key, created_at, kind: 1, tags: Vec::new(), content: String::new(), sig: [0; 64] }
    }

    fn delivery(n: u8) -> Delivery {
        Delivery::new(Position::new(n.into()), event(n), Vec::new(), false)
    }

    /// What was written, each event by its number and the end of the stored ones as 0.
    async fn written(outbox: &Outbox) -> Vec<u64> {
        outbox.push("end".to_owned());
        let mut numbers = Vec::new();
        for item in outbox.take().await {
            if item.text.starts_with("[\"EOSE\"") {
                numbers.push(0);
            } else if let Some((_, rest)) = item.text.split_once("\"created_at\":") {
                numbers.push(rest.split(',').next().expect("a number").parse().expect("a number"));
            }
        }
        numbers
    }

    /// Every way in which an event can come around the time of the request: it is written once.
    #[tokio::test]
    async fn each_event_is_written_once_across_the_end_of_the_stored() {
        let outbox = Arc::new(Outbox::new(1 << 20));
        let live = Live::new("s".to_owned(), Arc::clone(&outbox), Position::new(1));
        live.deliver(&delivery(1));
        live.deliver(&delivery(2));
        live.deliver(&delivery(3));
        for n in [4, 2, 1] {
            assert!(live.write_stored(&event(n), Arc::from([])));
        }
        let stored: HashSet<EventId> = [4, 2, 1].map(|n| event(n).id).into();
        live.open(stored, Position::new(4), Position::new(3));
        for n in [4, 5, 6] {
            live.deliver(&delivery(n));
        }
        live.close(Some("error: over"));
        live.deliver(&delivery(7));
        assert!(!live.write_stored(&event(8), Arc::from([])) && !live.has_room().await);
        assert_eq!(written(&outbox).await, [4, 2, 1, 0, 3, 5, 6]);
    }
}
