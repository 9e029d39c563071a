//! The mention index compared with the events, and what differs made again under the lock of whoever appends.

use tokio_postgres::{Client, IsolationLevel, Row};

use super::failure::failed;
use super::read::{int, run};
use super::row;
use crate::error::StoreError;
use crate::event::kinds;
use crate::facts::Facts;
use crate::index::{IndexPart, Rebuilt, Seen};
use crate::session::{AccountId, AccountName, EntryId, SessionId};
use crate::sql::{self, Arg, ROW};
use crate::value::{EventId, Position};

pub(super) async fn rebuild(
    client: &mut Client,
    part: &IndexPart,
    limit: usize,
) -> Result<Rebuilt, StoreError> {
    match part {
        IndexPart::Events { after, until } => events(client, *after, *until, limit).await,
        IndexPart::Rows { after, until } => rows(client, *after, *until, limit).await,
        IndexPart::References { after } => references(client, after.as_ref(), limit).await,
    }
}

async fn events(
    client: &mut Client,
    after: Position,
    until: Position,
    limit: usize,
) -> Result<Rebuilt, StoreError> {
    let (seen, end) = see(client, after, until, limit).await?;
    let rows = seen.wanted.len() as u64;
    let events: Vec<_> = seen.events.clone();
    let repairs = seen.repairs();
    let repaired = repairs.len();
    if repaired > 0 {
        let positions: Vec<i64> = repairs.names.iter().map(|at| at.get().cast_signed()).collect();
        let mut items: Vec<Vec<u8>> = repairs.items.iter().map(|id| id.as_bytes().to_vec()).collect();
        let (mut of, mut hows, mut keys, mut agents) = (vec![], vec![], vec![], vec![]);
        for (position, event) in events.iter().filter(|(at, _)| repairs.names.contains(at)) {
            let facts = Facts::of(event).unwrap_or_default();
            for (how, key) in facts.names {
                of.push(position.get().cast_signed());
                hows.push(how.number());
                keys.push(key.as_bytes().to_vec());
            }
            if kinds::MESSAGES.contains(&event.kind) {
                items.push(event.id.as_bytes().to_vec());
            } else if event.kind == kinds::AGENT_PROFILE {
                agents.push(event.key.as_bytes().to_vec());
            }
            items.extend(facts.target.map(|id| id.as_bytes().to_vec()));
        }
        let sql = "SELECT vocative_repair($1, $2, $3, $4, $5, $6)";
        let run = client.execute(sql, &[&positions, &of, &hows, &keys, &agents, &items]).await;
        run.map_err(|error| failed(&error))?;
    }
    let rest = (end < until).then_some(IndexPart::Events { after: end, until });
    Ok(Rebuilt { rest, rows, repaired })
}

/// What stands in a stretch of positions, and where the stretch ends.
async fn see(
    client: &mut Client,
    after: Position,
    until: Position,
    limit: usize,
) -> Result<(Seen, Position), StoreError> {
    let transaction = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let transaction = transaction.read_only(true).start().await.map_err(|error| failed(&error))?;
    let client = transaction.client();
    let sql = "SELECT e.position, e.id, e.key, e.created_at, e.kind, e.tags, '', \
         decode(repeat('00', 64), 'hex'), e.deleted FROM events e WHERE e.position > $1 AND e.position <= $2 \
         AND e.kind IN (9, 40002, 45001, 45003, 40003, 10100) ORDER BY e.position LIMIT $3";
    let found = run(client, sql, &[int(after.get()), int(until.get()), int(limit as u64)]).await?;
    let event = |found: &Row| row::event(found).map(|(position, event, _)| (position, event));
    let events: Vec<_> = found.iter().map(event).collect::<Result<_, _>>()?;
    let last = events.last().map(|(position, _)| *position);
    let end = last.filter(|_| events.len() >= limit).unwrap_or(until);
    let stretch = [int(after.get()), int(end.get())];
    let names = "SELECT event, how, key FROM names WHERE event > $1 AND event <= $2 ORDER BY event, how, key";
    let found = run(client, names, &stretch).await?;
    let name = |found: &Row| Ok((row::position(found, 0)?, row::number(found, 1)?, row::key(found, 2)?));
    let names = found.iter().map(name).collect::<Result<_, StoreError>>()?;
    let wanted = run(client, &format!("SELECT {ROW} FROM vocative_wanted($1, $2) r"), &stretch).await?;
    let wanted = wanted.iter().map(row::mention).collect::<Result<_, _>>()?;
    let stored = run(client, &format!("SELECT {ROW} FROM vocative_stored($1, $2) r"), &stretch).await?;
    let stored = stored.iter().map(row::mention).collect::<Result<_, _>>()?;
    transaction.commit().await.map_err(|error| failed(&error))?;
    Ok((Seen { events, names, wanted, stored }, end))
}

async fn rows(
    client: &Client,
    after: Option<EventId>,
    until: EventId,
    limit: usize,
) -> Result<Rebuilt, StoreError> {
    let sql = "SELECT r.item, CASE WHEN e.id IS NULL THEN 1::bigint ELSE 0 END FROM mentions r \
         LEFT JOIN events e ON e.id = r.item AND e.kind IN (9, 40002, 45001, 45003) \
         WHERE r.item > $1 AND r.item <= $2 ORDER BY r.item LIMIT $3";
    let after = Arg::Bytes(after.map_or(Vec::new(), |id| id.as_bytes().to_vec()));
    let found = run(client, sql, &[after, until.into(), int(limit as u64)]).await?;
    let mut strays = Vec::new();
    for found in &found {
        if row::number(found, 1)? != 0 {
            strays.push(row::blob(found, 0)?);
        }
    }
    strays.dedup();
    let repaired = strays.len() as u64;
    if repaired > 0 {
        let sql = "DELETE FROM mentions WHERE item = ANY ($1) AND NOT EXISTS \
             (SELECT 1 FROM events e WHERE e.id = item AND e.kind IN (9, 40002, 45001, 45003))";
        client.execute(sql, &[&strays]).await.map_err(|error| failed(&error))?;
    }
    // All rows of an item are strays or none is, so those of the last one need not be complete.
    let last = found.last().filter(|_| found.len() >= limit).map(|last| row::id(last, 0)).transpose()?;
    let rest = last.map(|last| IndexPart::Rows { after: Some(last), until });
    Ok(Rebuilt { rest, rows: 0, repaired })
}

async fn references(
    client: &Client,
    after: Option<&(SessionId, EntryId, AccountName, AccountId)>,
    limit: usize,
) -> Result<Rebuilt, StoreError> {
    let after = after.map_or([""; 4], |(session, entry, recipient, publisher)| {
        [session.as_str(), entry.as_str(), recipient.as_str(), publisher.as_str()]
    });
    let mut bounds = after.map(Arg::from).to_vec();
    bounds.push(int(limit as u64));
    let found = run(client, &sql::marks("($1, $2, $3, $4)", "$5"), &bounds).await?;
    let (mut sessions, mut entries) = (Vec::new(), Vec::new());
    for found in &found {
        if row::number(found, 4)? != 0 {
            sessions.push(row::text(found, 0)?);
            entries.push(row::text(found, 1)?);
        }
    }
    if !sessions.is_empty() {
        let settle = client.execute("SELECT vocative_settle_again($1, $2)", &[&sessions, &entries]).await;
        settle.map_err(|error| failed(&error))?;
    }
    let place = |last: &Row| {
        Ok::<_, StoreError>((
            row::name(last, 0)?,
            row::name(last, 1)?,
            row::name(last, 2)?,
            row::name(last, 3)?,
        ))
    };
    let last = found.last().filter(|_| found.len() >= limit).map(place).transpose()?;
    let rest = last.map(|place| IndexPart::References { after: Some(place) });
    Ok(Rebuilt { rest, rows: found.len() as u64, repaired: sessions.len() as u64 })
}
