//! A store in few lines: a list that is read from front to back for every question.

use std::cmp::Reverse;

use vocative::history::identity_keys;
use vocative::wire::{Reference, recipient};
use vocative::{Key, edit};
use vocative_store::{Event, EventId, Keeping, MentionRow, Why};

#[derive(Default)]
pub struct Naive {
    pub kept: Vec<(Event, bool)>,
}

const DELETIONS: [u32; 2] = [5, 9005];
const MESSAGES: [u32; 4] = [9, 40_002, 45_001, 45_003];

fn channel(event: &Event) -> Option<&str> {
    event.values("h").next()
}

fn address(event: &Event) -> Option<String> {
    let d = match Keeping::of(event.kind) {
        Keeping::Replaceable => "",
        Keeping::Addressable => event.values("d").next().unwrap_or_default(),
        Keeping::Regular | Keeping::Ephemeral => return None,
    };
    Some(format!("{}:{}:{d}", event.kind, event.key))
}

/// Whether a deletion takes this event away.
fn deletes(deletion: &Event, event: &Event) -> bool {
    let by_id = deletion.values("e").any(|id| id == event.id.to_string());
    let by_address = address(event).is_some_and(|address| deletion.values("a").any(|a| a == address));
    let is_in_time = event.created_at <= deletion.created_at;
    let own = deletion.kind == 5 && deletion.key == event.key && (by_id || (by_address && is_in_time));
    let here = deletion.kind == 9005 && by_id && channel(deletion).is_some();
    !DELETIONS.contains(&event.kind) && (own || (here && channel(deletion) == channel(event)))
}

fn recipients(event: &Event) -> Vec<Key> {
    event.tags.iter().filter_map(|tag| recipient(tag)).collect()
}

/// The edit that counts, as the engine ranks them.
fn counting<'e>(message: &Event, owner: Option<Key>, edits: &[&'e Event]) -> Option<&'e Event> {
    let ids: Vec<String> = edits.iter().map(|edit| edit.id.to_string()).collect();
    let ranked = edits.iter().zip(&ids).map(|(edit, id)| edit::EditEvent {
        id,
        author: edit.key,
        created_at: edit.created_at.as_secs(),
    });
    edit::counting(message.key, owner, ranked).map(|at| edits[at])
}

impl Naive {
    /// The code of what becomes of the event.
    pub fn append(&mut self, event: &Event) -> &'static str {
        if let Some((_, deleted)) = self.kept.iter().find(|(kept, _)| kept.id == event.id) {
            return if *deleted { "deleted" } else { "duplicate" };
        }
        if self.kept.iter().any(|(kept, _)| deletes(kept, event)) {
            return "deleted";
        }
        let old = self.kept.iter().position(|(kept, deleted)| {
            !deleted && address(kept).is_some() && address(kept) == address(event)
        });
        if let Some(old) = old {
            let rank = |event: &Event| (event.created_at, Reverse(event.id));
            if rank(&self.kept[old].0) > rank(event) {
                return "superseded";
            }
            self.kept.remove(old);
        }
        for (kept, deleted) in &mut self.kept {
            *deleted |= deletes(event, kept);
        }
        self.kept.push((event.clone(), false));
        "stored"
    }

    /// What is not deleted, newest first.
    pub fn newest(&self) -> Vec<EventId> {
        let mut alive: Vec<&Event> =
            self.kept.iter().filter(|(_, deleted)| !deleted).map(|(event, _)| event).collect();
        alive.sort_by_key(|event| (Reverse(event.created_at), event.id));
        alive.into_iter().map(|event| event.id).collect()
    }

    fn owner(&self, agent: Key) -> Option<Key> {
        let profile = self.kept.iter().find(|(e, gone)| e.kind == 10_100 && e.key == agent && !gone);
        profile.and_then(|(event, _)| event.tags.iter().find_map(|tag| recipient(tag)))
    }

    /// The mention rows, by item and recipient.
    pub fn rows(&self) -> Vec<MentionRow> {
        let messages = self.kept.iter().filter(|(event, _)| MESSAGES.contains(&event.kind));
        let mut rows: Vec<MentionRow> =
            messages.flat_map(|(message, gone)| self.rows_of(message, *gone)).collect();
        rows.sort_by_key(|row| (row.item, row.recipient));
        rows
    }

    fn rows_of(&self, message: &Event, is_gone: bool) -> Vec<MentionRow> {
        let owner = self.owner(message.key);
        // Who may edit is the engine's to say: an edit that could not count alone is none.
        let is_edit = |edit: &&(Event, bool)| {
            edit.0.kind == 40_003
                && edit.0.values("e").next() == Some(&message.id.to_string())
                && channel(&edit.0) == channel(message)
                && counting(message, owner, &[&edit.0]).is_some()
        };
        let mut edits: Vec<&(Event, bool)> = self.kept.iter().filter(is_edit).collect();
        edits.sort_by_key(|(edit, _)| (edit.created_at, edit.id));
        let alive: Vec<&Event> = edits.iter().filter(|(_, gone)| !gone).map(|(edit, _)| edit).collect();
        let counting = counting(message, owner, &alive);
        // Whom the message names as it is shown now (X-10, H-1).
        let named = counting.map(|edit| identity_keys(&edit::overlay(&message.tags, &edit.tags)));

        let mut rows: Vec<MentionRow> = Vec::new();
        let sources = [(message, is_gone)].into_iter().chain(edits.iter().map(|(e, gone)| (e, *gone)));
        for (by, gone) in sources {
            let notified = recipients(by);
            // Whom an edit adds is the engine's to say too.
            let notified = if by.id == message.id {
                notified
            } else {
                edit::added_on_edit(&recipients(message), &notified, by.key)
            };
            for key in notified {
                let row = rows.iter_mut().find(|row| row.recipient == key);
                if let Some(row) = row {
                    // Added by several edits: gone only if all of them are.
                    row.deleted &= gone || row.why != Why::AddedByEdit;
                    continue;
                }
                if key == message.key || key == by.key {
                    continue;
                }
                let addressed =
                    by.tags.iter().any(|tag| Reference::of(tag) == Some(Reference::Addressed(key)));
                let why = match (by.id == message.id, addressed) {
                    (false, _) => Why::AddedByEdit,
                    (true, true) => Why::AgentAddress,
                    (true, false) => Why::Mention,
                };
                rows.push(MentionRow {
                    recipient: key,
                    item: message.id,
                    by_event: by.id,
                    actor: by.key,
                    at: by.created_at,
                    channel: channel(message).map(|name| name.parse().expect("a channel name")),
                    why,
                    retracted: false,
                    deleted: gone,
                });
            }
        }
        for row in &mut rows {
            let is_named = named.as_ref().is_none_or(|named| named.contains(&row.recipient));
            row.retracted = row.why != Why::AgentAddress && !is_named;
            row.deleted |= is_gone;
        }
        rows
    }
}
