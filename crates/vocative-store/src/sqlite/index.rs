//! The mention index compared with the events, on a connection that reads; and what differs made again, by
//! the writer.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use super::apply::{self, Touched};
use super::row::{self, signed};
use super::sessions;
use crate::event::Event;
use crate::facts::Facts;
use crate::index::{IndexPart, Rebuilt, Repairs, Seen};
use crate::session::{AccountId, AccountName, EntryId, SessionId};
use crate::sql::{self, EVENT, ROW};
use crate::value::{EventId, Position};

/// What a look at a part of the index has found.
pub(super) enum Found {
    /// Among events.
    Events(Repairs),
    /// Rows of items that are no message.
    Strays(BTreeSet<EventId>),
    /// References whose mark of dispute is wrong.
    References(sessions::Touched),
}

pub(super) fn look(db: &Connection, part: &IndexPart, limit: usize) -> rusqlite::Result<(Rebuilt, Found)> {
    db.prepare_cached("SAVEPOINT rebuild")?.execute([])?;
    let found = match part {
        IndexPart::Events { after, until } => events(db, *after, *until, limit),
        IndexPart::Rows { after, until } => rows(db, *after, *until, limit),
        IndexPart::References { after } => references(db, after.as_ref(), limit),
    };
    db.prepare_cached("RELEASE rebuild")?.execute([])?;
    found
}

/// Kinds of which the index is made.
const INDEXED: &str = "(9, 40002, 45001, 45003, 40003, 10100)";

fn events(
    db: &Connection,
    after: Position,
    until: Position,
    limit: usize,
) -> rusqlite::Result<(Rebuilt, Found)> {
    // The sign keeps the index on kinds out: the events stand in the order of their positions.
    let sql = format!(
        "SELECT e.position, e.id, e.key, e.created_at, e.kind, e.tags, '', zeroblob(64), e.deleted \
         FROM events e WHERE e.position > ?1 AND e.position <= ?2 AND +e.kind IN {INDEXED} \
         ORDER BY e.position LIMIT ?3"
    );
    let bounds = params![signed(after.get()), signed(until.get()), signed(limit as u64)];
    let read = |found: &Row<'_>| row::event(found).map(|(position, event, _)| (position, event));
    let events: Vec<(Position, Event)> =
        db.prepare_cached(&sql)?.query_map(bounds, read)?.collect::<Result<_, _>>()?;
    let last = events.last().map(|(position, _)| *position);
    let end = last.filter(|_| events.len() >= limit).unwrap_or(until);
    let stretch = [signed(after.get()), signed(end.get())];
    let names = "SELECT event, how, key FROM names WHERE event > ?1 AND event <= ?2 ORDER BY event, how, key";
    let read = |found: &Row<'_>| Ok((row::position(found, 0)?, found.get(1)?, row::key(found, 2)?));
    let names = db.prepare_cached(names)?.query_map(stretch, read)?.collect::<Result<_, _>>()?;
    let wanted = sql::wanted_rows("e.position > ?1 AND e.position <= ?2");
    let wanted =
        db.prepare_cached(&wanted)?.query_map(stretch, row::mention)?.collect::<Result<Vec<_>, _>>()?;
    let stored = format!(
        "SELECT {ROW} FROM mentions r WHERE r.item IN (SELECT id FROM events \
         WHERE position > ?1 AND position <= ?2 AND +kind IN (9, 40002, 45001, 45003))"
    );
    let stored = db.prepare_cached(&stored)?.query_map(stretch, row::mention)?.collect::<Result<_, _>>()?;
    let rows = wanted.len() as u64;
    let repairs = Seen { events, names, wanted, stored }.repairs();
    let rest = (end < until).then_some(IndexPart::Events { after: end, until });
    Ok((Rebuilt { rest, rows, repaired: repairs.len() }, Found::Events(repairs)))
}

fn rows(
    db: &Connection,
    after: Option<EventId>,
    until: EventId,
    limit: usize,
) -> rusqlite::Result<(Rebuilt, Found)> {
    let sql = "SELECT r.item, e.id IS NULL FROM mentions r \
         LEFT JOIN events e ON e.id = r.item AND +e.kind IN (9, 40002, 45001, 45003) \
         WHERE r.item > ?1 AND r.item <= ?2 ORDER BY r.item, r.recipient LIMIT ?3";
    let after = after.as_ref().map_or(&[][..], |id| id.as_bytes());
    let read = |found: &Row<'_>| Ok((row::id(found, 0)?, found.get(1)?));
    let bounds = params![after, until.as_bytes(), signed(limit as u64)];
    let found: Vec<(EventId, bool)> =
        db.prepare_cached(sql)?.query_map(bounds, read)?.collect::<Result<_, _>>()?;
    let strays: BTreeSet<EventId> =
        found.iter().filter(|(_, is_stray)| *is_stray).map(|(id, _)| *id).collect();
    // All rows of an item are strays or none is, so those of the last one need not be complete.
    let rest = found.last().filter(|_| found.len() >= limit);
    let rest = rest.map(|(last, _)| IndexPart::Rows { after: Some(*last), until });
    let repaired = strays.len() as u64;
    Ok((Rebuilt { rest, rows: 0, repaired }, Found::Strays(strays)))
}

fn references(
    db: &Connection,
    after: Option<&(SessionId, EntryId, AccountName, AccountId)>,
    limit: usize,
) -> rusqlite::Result<(Rebuilt, Found)> {
    let after = after.map_or([""; 4], |(session, entry, recipient, publisher)| {
        [session.as_str(), entry.as_str(), recipient.as_str(), publisher.as_str()]
    });
    let sql = sql::marks("(?1, ?2, ?3, ?4)", "?5");
    let [session, entry, recipient, publisher] = after;
    let bounds = params![session, entry, recipient, publisher, signed(limit as u64)];
    let read = |found: &Row<'_>| {
        let place = (row::name(found, 0)?, row::name(found, 1)?, row::name(found, 2)?, row::name(found, 3)?);
        Ok((place, found.get(4)?))
    };
    let found: Vec<((SessionId, EntryId, AccountName, AccountId), bool)> =
        db.prepare_cached(&sql)?.query_map(bounds, read)?.collect::<Result<_, _>>()?;
    let mut touched = sessions::Touched::default();
    let mut repaired = 0;
    for ((session, entry, _, _), _) in found.iter().filter(|(_, is_wrong)| *is_wrong) {
        touched.add(session.clone(), entry.clone());
        repaired += 1;
    }
    let rows = found.len() as u64;
    let rest = found.into_iter().next_back().filter(|_| rows >= limit as u64);
    let rest = rest.map(|(place, _)| IndexPart::References { after: Some(place) });
    Ok((Rebuilt { rest, rows, repaired }, Found::References(touched)))
}

/// Makes again what was found, from what stands now: events may have come since.
pub(super) fn repair(db: &mut Connection, found: &Found) -> rusqlite::Result<()> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match found {
        Found::Events(repairs) => {
            let mut touched = Touched::default();
            for position in &repairs.names {
                names(&tx, *position, &mut touched)?;
            }
            touched.extend(repairs.items.iter().copied());
            apply::flush(&tx, &touched)?;
        }
        Found::Strays(items) => {
            let mut delete = tx.prepare_cached(
                "DELETE FROM mentions WHERE item = ?1 AND NOT EXISTS \
                 (SELECT 1 FROM events WHERE id = ?1 AND +kind IN (9, 40002, 45001, 45003))",
            )?;
            for item in items {
                delete.execute([item.as_bytes()])?;
            }
        }
        Found::References(touched) => sessions::settle(&tx, touched)?,
    }
    tx.commit()
}

/// Says again whom an event names.
fn names(db: &Connection, position: Position, touched: &mut Touched) -> rusqlite::Result<()> {
    let at = signed(position.get());
    db.prepare_cached("DELETE FROM names WHERE event = ?1")?.execute([at])?;
    let event = format!("SELECT {EVENT} FROM events e WHERE e.position = ?1");
    let event = db.prepare_cached(&event)?.query_row([at], row::event).optional()?;
    let Some((_, event, _)) = event else { return Ok(()) };
    let facts = Facts::of(&event).unwrap_or_default();
    let mut named = db.prepare_cached("INSERT INTO names VALUES (?1, ?2, ?3)")?;
    for (how, key) in &facts.names {
        named.execute(params![at, how.number(), key.as_bytes()])?;
    }
    drop(named);
    apply::touch(db, &event, &facts, touched)?;
    // It may have had rows for names that it does not say.
    touched.extend(repaired_with(&event, &facts));
    Ok(())
}

fn repaired_with(event: &Event, facts: &Facts) -> Option<EventId> {
    if crate::event::kinds::MESSAGES.contains(&event.kind) { Some(event.id) } else { facts.target }
}
