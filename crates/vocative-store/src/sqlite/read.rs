//! Reads: each is one statement or one snapshot.

use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use vocative::Key;

use super::row::{self, signed};
use crate::channel::{Channel, Member, Roles};
use crate::event::{Event, kinds};
use crate::inbox::MentionRow;
use crate::sql::{EVENT, Sql, committed_after};
use crate::store::{Audience, Found, Placed};
use crate::value::{ChannelId, Position};

pub(super) fn events(db: &Connection, sql: &Sql) -> rusqlite::Result<Vec<Event>> {
    all(db, sql, |found| row::event(found).map(|(_, event, _)| event))
}

pub(super) fn found(db: &Connection, sql: &Sql) -> rusqlite::Result<Vec<Found>> {
    all(db, sql, row::found)
}

pub(super) fn count(db: &Connection, sql: &Sql) -> rusqlite::Result<u64> {
    let counts: Vec<i64> = all(db, sql, |row| row.get(0))?;
    Ok(counts.first().map_or(0, |count| count.cast_unsigned()))
}

pub(super) fn rows(db: &Connection, sql: &Sql) -> rusqlite::Result<Vec<MentionRow>> {
    all(db, sql, row::mention)
}

/// Every row of a statement. It is kept for the next time unless it is long: whoever asks with many values
/// hardly asks the same again, and a long one takes much memory.
pub(super) fn all<T>(
    db: &Connection,
    sql: &Sql,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    const LONGEST: usize = 8 * 1024;
    let args = params_from_iter(&sql.args);
    if sql.text.len() > LONGEST {
        return db.prepare(&sql.text)?.query_map(args, read)?.collect();
    }
    db.prepare_cached(&sql.text)?.query_map(args, read)?.collect()
}

pub(super) fn head(db: &Connection) -> rusqlite::Result<Position> {
    super::apply::head(db)
}

pub(super) fn events_after(db: &Connection, after: Position, limit: usize) -> rusqlite::Result<Vec<Placed>> {
    // Within a snapshot there is one already.
    let _transaction = db.is_autocommit().then(|| db.unchecked_transaction()).transpose()?;
    let committed = committed_after();
    let mut statement = db.prepare_cached(&format!(
        "SELECT {EVENT}, e.channel FROM ({committed}) e ORDER BY e.position LIMIT $2"
    ))?;
    let read = |found: &Row<'_>| {
        let (position, event, _) = row::event(found)?;
        let channel: Option<String> = found.get(9)?;
        let channel = channel.map(|text| row::channel_id(&text, 9)).transpose()?;
        let audience = Audience { channels: channel.into_iter().collect(), has_unknown_target: false };
        Ok(Placed { position, event, audience })
    };
    let bounds = params![signed(after.get()), signed(limit as u64)];
    let mut placed: Vec<Placed> = statement.query_map(bounds, read)?.collect::<Result<_, _>>()?;
    for deletion in placed.iter_mut().filter(|placed| placed.event.kind == kinds::DELETION) {
        add_targets(db, deletion)?;
    }
    Ok(placed)
}

/// A deletion is for those who read each of its targets.
fn add_targets(db: &Connection, deletion: &mut Placed) -> rusqlite::Result<()> {
    let mut targets = db.prepare_cached(
        "SELECT x.id IS NULL, x.channel FROM buried b LEFT JOIN events x ON x.id = b.target \
         WHERE b.event = ?1",
    )?;
    let read = |found: &Row<'_>| Ok((found.get(0)?, found.get(1)?));
    for target in targets.query_map([signed(deletion.position.get())], read)? {
        let (is_unknown, channel): (bool, Option<String>) = target?;
        let audience = &mut deletion.audience;
        audience.has_unknown_target |= is_unknown;
        audience.channels.extend(channel.map(|text| row::channel_id(&text, 1)).transpose()?);
    }
    deletion.audience.channels.sort_unstable();
    deletion.audience.channels.dedup();
    Ok(())
}

const CHANNEL: &str = "c.id, c.kind, c.flags, c.deleted";

pub(super) fn channel(db: &Connection, id: &ChannelId) -> rusqlite::Result<Option<Channel>> {
    db.prepare_cached(&format!("SELECT {CHANNEL} FROM channels c WHERE c.id = ?1"))?
        .query_row([id.as_str()], row::channel)
        .optional()
}

pub(super) fn channels_of(db: &Connection, key: Key) -> rusqlite::Result<Vec<Channel>> {
    db.prepare_cached(&format!(
        "SELECT {CHANNEL} FROM members m JOIN channels c ON c.id = m.channel WHERE m.key = ?1 ORDER BY c.id"
    ))?
    .query_map([key.as_bytes()], row::channel)?
    .collect()
}

pub(super) fn members(db: &Connection, channel: &ChannelId) -> rusqlite::Result<Vec<Member>> {
    let read = |found: &Row<'_>| Ok(Member { key: row::key(found, 0)?, roles: row::json(found, 1)? });
    db.prepare_cached("SELECT key, roles FROM members WHERE channel = ?1 ORDER BY key")?
        .query_map([channel.as_str()], read)?
        .collect()
}

pub(super) fn roles(db: &Connection, channel: &ChannelId, key: Key) -> rusqlite::Result<Option<Roles>> {
    db.prepare_cached("SELECT roles FROM members WHERE channel = ?1 AND key = ?2")?
        .query_row(params![channel.as_str(), key.as_bytes()], |found| row::json(found, 0))
        .optional()
}
