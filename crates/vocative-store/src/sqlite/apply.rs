//! What storing an event does, inside the writer's transaction.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::row::{self, signed};
use super::{changes, read};
use crate::error::{Outcome, Refusal};
use crate::event::{Event, kinds};
use crate::facts::{Facts, How, tags_of_deleted};
use crate::sql::{EVENT, GONE, GONE_FOR, mention_rows};
use crate::store::{Condition, Entry};
use crate::value::{ChannelId, EventId, Position};

/// Messages whose mention rows are made before the commit.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Came just now, so they have none yet.
    fresh: BTreeSet<EventId>,
    /// Were here before, and may have some.
    again: BTreeSet<EventId>,
}

impl Touched {
    /// Notes messages that were here before.
    pub(super) fn extend(&mut self, items: impl IntoIterator<Item = EventId>) {
        self.again.extend(items);
    }
}

/// Stores an event if nothing stands against it.
pub(super) fn entry(
    db: &Connection,
    entry: &Entry,
    head: &mut Position,
    touched: &mut Touched,
) -> rusqlite::Result<Outcome> {
    let event = &entry.event;
    let facts = match Facts::of(event) {
        Ok(facts) => facts,
        Err(refusal) => return Ok(Outcome::Refused(refusal)),
    };
    let mut same = db.prepare_cached("SELECT deleted FROM events WHERE id = ?1")?;
    match same.query_row([event.id.as_bytes()], |row| row.get(0)).optional()? {
        Some(false) => return Ok(Outcome::Duplicate),
        Some(true) => return Ok(Outcome::Refused(Refusal::Deleted)),
        None => {}
    }
    if is_buried(db, event, &facts)? {
        return Ok(Outcome::Refused(Refusal::Deleted));
    }
    for condition in &entry.conditions {
        if !holds(db, condition)? {
            return Ok(Outcome::Refused(Refusal::Outdated));
        }
    }
    if let Some(address) = &facts.address
        && let Some((position, old)) = at_address(db, address)?
    {
        if !event.replaces(old.created_at, old.id) {
            return Ok(Outcome::Refused(Refusal::Superseded { by: old.id }));
        }
        forget(db, position, &old)?;
        remember(db, position)?;
        db.prepare_cached("DELETE FROM names WHERE event = ?1")?.execute([signed(position.get())])?;
        db.prepare_cached("DELETE FROM events WHERE position = ?1")?.execute([signed(position.get())])?;
    }
    *head = Position::new(head.get() + 1);
    insert(db, *head, event, &facts, false)?;
    bury(db, event, &facts, touched)?;
    touch(db, event, &facts, true, touched)?;
    for change in &entry.changes {
        changes::apply(db, change)?;
    }
    Ok(Outcome::Stored(*head))
}

fn holds(db: &Connection, condition: &Condition) -> rusqlite::Result<bool> {
    Ok(match condition {
        Condition::Channel(id, seen) => read::channel(db, id)? == *seen,
        Condition::Roles(id, key, seen) => read::roles(db, id, *key)? == *seen,
        Condition::Stored(id) => db
            .prepare_cached("SELECT 1 FROM events WHERE id = ?1 AND deleted = 0")?
            .exists([id.as_bytes()])?,
    })
}

/// Whether a deletion that came first speaks of this event.
fn is_buried(db: &Connection, event: &Event, facts: &Facts) -> rusqlite::Result<bool> {
    if [kinds::DELETION, kinds::CHANNEL_DELETION].contains(&event.kind) {
        return Ok(false);
    }
    let mut by_id = db.prepare_cached(
        "SELECT 1 FROM buried b JOIN events d ON d.position = b.event WHERE b.target = ?1 \
         AND ((d.kind = 5 AND d.key = ?2) OR (d.kind = 9005 AND d.channel = ?3))",
    )?;
    let channel = facts.channel.as_ref().map(ChannelId::as_str);
    if by_id.exists(params![event.id.as_bytes(), event.key.as_bytes(), channel])? {
        return Ok(true);
    }
    let Some(address) = &facts.address else { return Ok(false) };
    db.prepare_cached("SELECT 1 FROM buried_addresses WHERE address = ?1 AND until >= ?2")?
        .exists(params![address, signed(event.created_at.as_secs())])
}

fn at_address(db: &Connection, address: &str) -> rusqlite::Result<Option<(Position, Event)>> {
    let mut at = db.prepare_cached(&format!("SELECT {EVENT} FROM events e WHERE e.address = ?1"))?;
    let found = at.query_row([address], row::event).optional()?;
    Ok(found.map(|(position, event, _)| (position, event)))
}

/// Writes the rows of an event. What was deleted is found by its id alone.
pub(super) fn insert(
    db: &Connection,
    position: Position,
    event: &Event,
    facts: &Facts,
    deleted: bool,
) -> rusqlite::Result<()> {
    let position = signed(position.get());
    let created_at = signed(event.created_at.as_secs());
    let tags = serde_json::to_string(&event.tags).expect("strings are JSON");
    db.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")?
        .execute(params![
            position,
            event.id.as_bytes(),
            event.key.as_bytes(),
            created_at,
            event.kind,
            tags,
            event.content,
            event.sig,
            facts.channel.as_ref().map(ChannelId::as_str),
            facts.address,
            facts.target.as_ref().map(EventId::as_bytes),
            facts.has_snapshot,
            deleted,
        ])?;
    let mut tag = db.prepare_cached("INSERT INTO tags VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (name, value) in &facts.tags {
        tag.execute(params![name, value, created_at, event.id.as_bytes(), position])?;
    }
    let mut named = db.prepare_cached("INSERT INTO names VALUES (?1, ?2, ?3)")?;
    for (how, key) in &facts.names {
        named.execute(params![position, how.number(), key.as_bytes()])?;
    }
    let mut buried = db.prepare_cached("INSERT INTO buried VALUES (?1, ?2)")?;
    for target in &facts.deletes.ids {
        buried.execute(params![position, target.as_bytes()])?;
    }
    let mut until = db.prepare_cached(
        "INSERT INTO buried_addresses VALUES (?1, ?2) \
         ON CONFLICT (address) DO UPDATE SET until = MAX(until, excluded.until)",
    )?;
    for address in &facts.deletes.addresses {
        until.execute(params![address, created_at])?;
    }
    if !facts.words.is_empty() {
        let words = facts.words.join(" ");
        db.prepare_cached("INSERT INTO search (rowid, words) VALUES (?1, ?2)")?
            .execute(params![position, words])?;
    }
    Ok(())
}

/// Takes away what a deletion is about.
fn bury(db: &Connection, event: &Event, facts: &Facts, touched: &mut Touched) -> rusqlite::Result<()> {
    for id in &facts.deletes.ids {
        let sql = format!("SELECT {EVENT}, e.channel FROM events e WHERE e.id = ?1 AND e.deleted = 0");
        let with_channel = |row: &Row<'_>| Ok((row::event(row)?, row.get(9)?));
        let found = db.prepare_cached(&sql)?.query_row([id.as_bytes()], with_channel).optional()?;
        let Some(((position, target, _), channel)) = found else { continue };
        let channel: Option<String> = channel;
        let is_deletion = [kinds::DELETION, kinds::CHANNEL_DELETION].contains(&target.kind);
        let may = if event.kind == kinds::DELETION {
            target.key == event.key
        } else {
            channel.as_deref() == facts.channel.as_ref().map(ChannelId::as_str)
        };
        if may && !is_deletion {
            entomb(db, position, target, touched)?;
        }
    }
    for address in &facts.deletes.addresses {
        if let Some((position, target)) = at_address(db, address)?
            && target.created_at <= event.created_at
        {
            entomb(db, position, target, touched)?;
        }
    }
    Ok(())
}

/// Leaves of an event where it stood and whom it named, so that its mention rows can be made again.
fn entomb(
    db: &Connection,
    position: Position,
    mut target: Event,
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    forget(db, position, &target)?;
    remember(db, position)?;
    target.tags = tags_of_deleted(&target.tags);
    let tags = serde_json::to_string(&target.tags).expect("strings are JSON");
    db.prepare_cached(
        "UPDATE events SET deleted = 1, content = '', sig = zeroblob(64), address = NULL, tags = ?2 \
         WHERE position = ?1",
    )?
    .execute(params![signed(position.get()), tags])?;
    let facts = Facts::of(&target).unwrap_or_default();
    touch(db, &target, &facts, false, touched)
}

/// Keeps an event that goes for whoever has not delivered it yet.
fn remember(db: &Connection, position: Position) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT OR IGNORE INTO gone ({GONE}, since) SELECT {GONE}, unixepoch() FROM events WHERE position = ?1"
    );
    db.prepare_cached(&sql)?.execute([signed(position.get())])?;
    Ok(())
}

/// Drops what has been gone for so long that nobody asks for it any more.
pub(super) fn drop_gone(db: &Connection) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM gone WHERE since < unixepoch() - ?1")?.execute([GONE_FOR])?;
    Ok(())
}

/// Takes an event out of what filters and searches find.
fn forget(db: &Connection, position: Position, event: &Event) -> rusqlite::Result<()> {
    let facts = Facts::of(event).unwrap_or_default();
    let mut tag =
        db.prepare_cached("DELETE FROM tags WHERE name = ?1 AND value = ?2 AND created_at = ?3 AND id = ?4")?;
    for (name, value) in &facts.tags {
        let created_at = signed(event.created_at.as_secs());
        tag.execute(params![name, value, created_at, event.id.as_bytes()])?;
    }
    if !facts.words.is_empty() {
        db.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([signed(position.get())])?;
    }
    Ok(())
}

/// Notes which messages' rows depend on an event that came (`is_new`) or went.
pub(super) fn touch(
    db: &Connection,
    event: &Event,
    facts: &Facts,
    is_new: bool,
    touched: &mut Touched,
) -> rusqlite::Result<()> {
    if kinds::MESSAGES.contains(&event.kind) {
        // A message that names nobody has rows only through edits, which touch it themselves.
        let names = facts.names.iter().any(|(how, _)| *how == How::Notify);
        let mut edited = db.prepare_cached("SELECT 1 FROM events WHERE target = ?1")?;
        if names || edited.exists([event.id.as_bytes()])? {
            let messages = if is_new { &mut touched.fresh } else { &mut touched.again };
            messages.insert(event.id);
        }
    } else if event.kind == kinds::EDIT {
        touched.again.extend(facts.target);
    } else if event.kind == kinds::AGENT_PROFILE {
        // The owner of an agent may edit what it wrote.
        let mut edited = db.prepare_cached(
            "SELECT DISTINCT m.id FROM events m JOIN events e ON e.target = m.id \
             WHERE m.key = ?1 AND m.kind IN (9, 40002, 45001, 45003) AND e.key <> m.key",
        )?;
        for id in edited.query_map([event.key.as_bytes()], |found| row::id(found, 0))? {
            touched.again.insert(id?);
        }
    }
    Ok(())
}

/// Makes the mention rows of what was touched.
pub(super) fn flush(db: &Connection, touched: &Touched) -> rusqlite::Result<()> {
    let queried = "SELECT unhex(value) FROM json_each(?1)";
    let list = |ids: Vec<String>| serde_json::to_string(&ids).expect("strings are JSON");
    if !touched.again.is_empty() {
        let ids = list(touched.again.iter().map(EventId::to_string).collect());
        // Whoever has a row was named by the message or by an edit of it, at its time: so the rows are
        // found where they stand, and no index by message is kept for this.
        let mut found = db.prepare_cached(&format!(
            "WITH touched(id) AS ({queried}), source(item, position, at) AS ( \
             SELECT t.id, e.position, e.created_at FROM touched t JOIN events e ON e.id = t.id UNION ALL \
             SELECT t.id, e.position, e.created_at FROM touched t JOIN events e ON e.target = t.id) \
             SELECT n.key, s.at, s.item FROM source s JOIN names n ON n.event = s.position AND n.how = 1"
        ))?;
        let mut delete =
            db.prepare_cached("DELETE FROM mentions WHERE recipient = ?1 AND at = ?2 AND item = ?3")?;
        let read = |row: &Row<'_>| Ok((row::key(row, 0)?, row::time(row, 1)?, row::id(row, 2)?));
        for row in found.query_map([&ids], read)? {
            let (recipient, at, item) = row?;
            delete.execute(params![recipient.as_bytes(), signed(at.as_secs()), item.as_bytes()])?;
        }
    }
    let all = touched.again.union(&touched.fresh).map(EventId::to_string).collect::<Vec<_>>();
    if !all.is_empty() {
        // A failure ends the whole transaction, so nothing is kept to undo the statement alone.
        let insert = mention_rows("INSERT OR ROLLBACK", queried);
        db.prepare_cached(&insert)?.execute([list(all)])?;
    }
    Ok(())
}

pub(super) fn head(db: &Connection) -> rusqlite::Result<Position> {
    db.prepare_cached("SELECT position FROM head")?.query_row([], |found| row::position(found, 0))
}

pub(super) fn set_head(db: &Connection, head: Position) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE head SET position = ?1")?.execute([signed(head.get())])?;
    Ok(())
}
