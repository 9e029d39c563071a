//! A batch of events as the lists that the function which appends takes.

use serde_json::json;
use tokio_postgres::types::ToSql;

use crate::channel::Change;
use crate::event::Event;
use crate::facts::Facts;
use crate::store::Condition;
use crate::value::Position;

/// One list for each column; those that end in `_of` say which event, counted from 1, the rest is of.
#[derive(Debug, Default)]
pub(super) struct Batch {
    ids: Vec<Vec<u8>>,
    keys: Vec<Vec<u8>>,
    times: Vec<i64>,
    kinds: Vec<i64>,
    tags: Vec<String>,
    contents: Vec<String>,
    sigs: Vec<Vec<u8>>,
    channels: Vec<Option<String>>,
    addresses: Vec<Option<String>>,
    targets: Vec<Option<Vec<u8>>>,
    snapshots: Vec<i64>,
    words: Vec<String>,
    tag_of: Vec<i64>,
    tag_names: Vec<String>,
    tag_values: Vec<String>,
    name_of: Vec<i64>,
    name_hows: Vec<i64>,
    name_keys: Vec<Vec<u8>>,
    dead_of: Vec<i64>,
    dead_ids: Vec<Vec<u8>>,
    dead_address_of: Vec<i64>,
    dead_addresses: Vec<String>,
    change_of: Vec<i64>,
    changes: Vec<String>,
    positions: Option<Vec<i64>>,
    deleted: Option<Vec<i64>>,
    head: i64,
}

impl Batch {
    /// A batch that brings positions, and takes those up to `head`.
    pub(super) fn import(head: Position) -> Self {
        let head = head.get().cast_signed();
        Self { positions: Some(Vec::new()), deleted: Some(Vec::new()), head, ..Self::default() }
    }

    pub(super) fn push(&mut self, event: &Event, facts: Facts) {
        self.ids.push(event.id.as_bytes().to_vec());
        self.keys.push(event.key.as_bytes().to_vec());
        self.times.push(event.created_at.as_secs().cast_signed());
        self.kinds.push(i64::from(event.kind));
        self.tags.push(serde_json::to_string(&event.tags).expect("strings are JSON"));
        self.contents.push(event.content.clone());
        self.sigs.push(event.sig.to_vec());
        self.channels.push(facts.channel.map(|id| id.as_str().to_owned()));
        self.addresses.push(facts.address);
        self.targets.push(facts.target.map(|id| id.as_bytes().to_vec()));
        self.snapshots.push(i64::from(facts.has_snapshot));
        self.words.push(facts.words.join(" "));
        let of = self.ids.len() as i64;
        for (name, value) in facts.tags {
            self.tag_of.push(of);
            self.tag_names.push(name);
            self.tag_values.push(value);
        }
        for (how, key) in facts.names {
            self.name_of.push(of);
            self.name_hows.push(how.number());
            self.name_keys.push(key.as_bytes().to_vec());
        }
        for id in facts.deletes.ids {
            self.dead_of.push(of);
            self.dead_ids.push(id.as_bytes().to_vec());
        }
        for address in facts.deletes.addresses {
            self.dead_address_of.push(of);
            self.dead_addresses.push(address);
        }
    }

    /// Says where the event that was pushed last stands; for an import.
    pub(super) fn place(&mut self, position: Position, deleted: bool) {
        self.positions.get_or_insert_default().push(position.get().cast_signed());
        self.deleted.get_or_insert_default().push(i64::from(deleted));
    }

    /// Adds a change that the event which was pushed last brings.
    pub(super) fn change(&mut self, change: &Change) {
        self.change_of.push(self.ids.len() as i64);
        self.changes.push(said(change));
    }

    /// Adds what must hold for the event which was pushed last. It goes the way of changes.
    pub(super) fn condition(&mut self, condition: &Condition) {
        self.change_of.push(self.ids.len() as i64);
        self.changes.push(asked(condition));
    }

    /// The arguments, in the order of the function.
    pub(super) fn args(&self) -> [&(dyn ToSql + Sync); 27] {
        [
            &self.ids,
            &self.keys,
            &self.times,
            &self.kinds,
            &self.tags,
            &self.contents,
            &self.sigs,
            &self.channels,
            &self.addresses,
            &self.targets,
            &self.snapshots,
            &self.words,
            &self.tag_of,
            &self.tag_names,
            &self.tag_values,
            &self.name_of,
            &self.name_hows,
            &self.name_keys,
            &self.dead_of,
            &self.dead_ids,
            &self.dead_address_of,
            &self.dead_addresses,
            &self.change_of,
            &self.changes,
            &self.positions,
            &self.deleted,
            &self.head,
        ]
    }
}

/// A condition as the database reads it.
fn asked(condition: &Condition) -> String {
    let asked = match condition {
        Condition::Channel(channel, seen) => {
            let columns = seen.as_ref().map(|seen| (seen.columns(), i64::from(seen.deleted)));
            let is = columns.map(|((kind, flags), deleted)| [kind, flags, deleted]);
            json!({ "if": "channel", "channel": channel.as_str(), "is": is })
        }
        Condition::Roles(channel, key, seen) => {
            let is = seen.as_ref().map(|roles| serde_json::to_string(roles).expect("strings are JSON"));
            json!({ "if": "roles", "channel": channel.as_str(), "key": key.to_string(), "is": is })
        }
        Condition::Stored(id) => json!({ "if": "stored", "id": id.to_string() }),
    };
    asked.to_string()
}

/// A change as the database reads it.
pub(super) fn said(change: &Change) -> String {
    let said = match change {
        Change::SetChannel(channel) => {
            let (kind, flags) = channel.columns();
            json!({
                "do": "channel",
                "channel": channel.id.as_str(),
                "kind": kind,
                "flags": flags,
                "for_members": i64::from(channel.is_for_members()),
                "deleted": i64::from(channel.deleted),
            })
        }
        Change::SetMember(channel, member) => json!({
            "do": "member",
            "channel": channel.as_str(),
            "key": member.key.to_string(),
            "roles": serde_json::to_string(&member.roles).expect("strings are JSON"),
        }),
        Change::RemoveMember(channel, key) => json!({
            "do": "no member",
            "channel": channel.as_str(),
            "key": key.to_string(),
        }),
    };
    said.to_string()
}
