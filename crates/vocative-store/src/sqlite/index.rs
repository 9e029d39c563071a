//! The mention index compared with the events, on a connection that reads; and what differs made again, by
//! the writer.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use vocative::Key;

use super::apply::{self, Touched};
use super::row::{self, signed};
use super::{read, sessions};
use crate::event::{Event, kinds};
use crate::facts::{Facts, How};
use crate::inbox::MentionRow;
use crate::index::{IndexPart, Rebuilt, Repairs, RowPlace, Seen};
use crate::session::{AccountId, AccountName, EntryId, SessionId};
use crate::sql::{self, Dialect, EVENT};
use crate::value::{EventId, Position, Timestamp};

/// What a look at a part of the index has found.
pub(super) enum Found {
    /// Among events.
    Events(Repairs),
    /// Rows that no event makes.
    Surplus(BTreeSet<RowPlace>),
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
    let compared = format!(
        "WITH w(recipient, item, by_event, actor, at, channel, why, retracted, deleted) AS ({}) \
         SELECT w.item, r.by_event = w.by_event AND r.actor = w.actor AND r.channel IS w.channel \
             AND r.why = w.why AND r.retracted = w.retracted AND r.deleted = w.deleted \
         FROM w LEFT JOIN mentions r ON r.recipient = w.recipient AND r.at = w.at AND r.item = w.item",
        sql::wanted_rows("e.position > ?1 AND e.position <= ?2")
    );
    let read = |found: &Row<'_>| Ok((row::id(found, 0)?, found.get::<_, Option<bool>>(1)?.unwrap_or(false)));
    let rows: Vec<_> = db.prepare_cached(&compared)?.query_map(stretch, read)?.collect::<Result<_, _>>()?;
    let count = rows.len() as u64;
    let repairs = Seen { events, names, rows }.repairs();
    let rest = (end < until).then_some(IndexPart::Events { after: end, until });
    Ok((Rebuilt { rest, rows: count, repaired: repairs.len() }, Found::Events(repairs)))
}

fn rows(
    db: &Connection,
    after: Option<RowPlace>,
    until: Key,
    limit: usize,
) -> rusqlite::Result<(Rebuilt, Found)> {
    let mut page = sql::mentions_after(Dialect::Sqlite, after, limit);
    page.text = format!("SELECT p.recipient, p.at, p.item FROM ({}) p", page.text);
    let read = |found: &Row<'_>| Ok((row::key(found, 0)?, row::time(found, 1)?, row::id(found, 2)?));
    let mut page: Vec<RowPlace> = read::all(db, &page, read)?;
    let is_last = page.len() < limit || page.last().is_some_and(|(recipient, ..)| *recipient > until);
    let rest = page.last().filter(|_| !is_last).copied();
    page.retain(|(recipient, ..)| *recipient <= until);
    // Neighbours in time are neighbours in the index on kinds, and among the events.
    page.sort_unstable_by_key(|(_, at, item)| (*at, *item));
    // Most rows stand where a message names the recipient; only the others take the whole rule.
    let mut named = db.prepare_cached(
        "SELECT 1 FROM events x INDEXED BY events_by_kind CROSS JOIN names n \
         WHERE x.kind IN (9, 40002, 45001, 45003) AND x.created_at = ?2 AND x.id = ?3 AND x.key <> ?1 \
             AND n.event = x.position AND n.how = 1 AND n.key = ?1",
    )?;
    let mut surplus = BTreeSet::new();
    for place in page {
        let (recipient, at, item) = &place;
        if !named.exists(params![recipient.as_bytes(), signed(at.as_secs()), item.as_bytes()])? {
            surplus.insert(place);
        }
    }
    if !surplus.is_empty() {
        let items: BTreeSet<String> = surplus.iter().map(|(_, _, item)| item.to_string()).collect();
        let items = serde_json::to_string(&items).expect("strings are JSON");
        let wanted = sql::wanted_of("SELECT unhex(value) FROM json_each(?1)");
        for wanted in db.prepare_cached(&wanted)?.query_map([items], row::mention)? {
            let MentionRow { recipient, at, item, .. } = wanted?;
            surplus.remove(&(recipient, at, item));
        }
    }
    let rest = rest.map(|after| IndexPart::Rows { after: Some(after), until });
    let repaired = surplus.len() as u64;
    Ok((Rebuilt { rest, rows: 0, repaired }, Found::Surplus(surplus)))
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
        Found::Surplus(rows) => {
            for (recipient, at, item) in rows {
                delete_row(&tx, *recipient, *at, *item)?;
            }
            let mut touched = Touched::default();
            touched.extend(rows.iter().map(|(_, _, item)| *item));
            apply::flush(&tx, &touched)?;
        }
        Found::References(touched) => sessions::settle(&tx, touched)?,
    }
    tx.commit()
}

fn delete_row(db: &Connection, recipient: Key, at: Timestamp, item: EventId) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM mentions WHERE recipient = ?1 AND at = ?2 AND item = ?3")?
        .execute(params![recipient.as_bytes(), signed(at.as_secs()), item.as_bytes()])?;
    Ok(())
}

/// Says again whom an event names.
fn names(db: &Connection, position: Position, touched: &mut Touched) -> rusqlite::Result<()> {
    let at = signed(position.get());
    let mut delete = db.prepare_cached("DELETE FROM names WHERE event = ?1 RETURNING how, key")?;
    let read = |found: &Row<'_>| Ok((found.get(0)?, row::key(found, 1)?));
    let wrong: Vec<(i64, Key)> = delete.query_map([at], read)?.collect::<Result<_, _>>()?;
    let event = format!("SELECT {EVENT} FROM events e WHERE e.position = ?1");
    let event = db.prepare_cached(&event)?.query_row([at], row::event).optional()?;
    let Some((_, event, _)) = event else { return Ok(()) };
    let facts = Facts::of(&event).unwrap_or_default();
    let item = if kinds::MESSAGES.contains(&event.kind) { Some(event.id) } else { facts.target };
    // Rows are found by whom their events name, those that this made by a wrong name too.
    for (how, key) in wrong {
        if let Some(item) = item.filter(|_| how == How::Notify.number()) {
            delete_row(db, key, event.created_at, item)?;
        }
    }
    let mut named = db.prepare_cached("INSERT INTO names VALUES (?1, ?2, ?3)")?;
    for (how, key) in &facts.names {
        named.execute(params![at, how.number(), key.as_bytes()])?;
    }
    touched.extend(item);
    apply::touch(db, &event, &facts, false, touched)
}
