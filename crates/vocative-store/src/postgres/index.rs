//! The mention index compared with the events, and what differs made again under the lock of whoever appends.

use std::collections::BTreeSet;

use tokio_postgres::{Client, IsolationLevel, Row};
use vocative::Key;

use super::failure::failed;
use super::read::{self, int, run};
use super::row;
use crate::error::StoreError;
use crate::event::kinds;
use crate::facts::Facts;
use crate::inbox::MentionRow;
use crate::index::{IndexPart, Rebuilt, RowPlace, Seen};
use crate::session::{AccountId, AccountName, EntryId, SessionId};
use crate::sql::{self, Arg, Dialect, ROW};
use crate::value::Position;

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
    let rows = seen.rows.len() as u64;
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
    let found = run(client, "SELECT o_item, o_is_right FROM vocative_compared($1, $2)", &stretch).await?;
    let row = |found: &Row| Ok((row::id(found, 0)?, row::number(found, 1)? != 0));
    let rows = found.iter().map(row).collect::<Result<_, StoreError>>()?;
    transaction.commit().await.map_err(|error| failed(&error))?;
    Ok((Seen { events, names, rows }, end))
}

async fn rows(
    client: &Client,
    after: Option<RowPlace>,
    until: Key,
    limit: usize,
) -> Result<Rebuilt, StoreError> {
    let page = read::rows(client, &sql::mentions_after(Dialect::Postgres, after, limit)).await?;
    let is_last = page.len() < limit || page.last().is_some_and(|last| last.recipient > until);
    let place = |row: &MentionRow| (row.recipient, row.at, row.item);
    let rest = page.last().filter(|_| !is_last).map(place);
    let rest = rest.map(|after| IndexPart::Rows { after: Some(after), until });
    let page: Vec<RowPlace> = page.iter().take_while(|row| row.recipient <= until).map(place).collect();
    let recipients: Vec<&[u8]> = page.iter().map(|(key, _, _)| &key.as_bytes()[..]).collect();
    let ats: Vec<i64> = page.iter().map(|(_, at, _)| at.as_secs().cast_signed()).collect();
    let items: Vec<&[u8]> = page.iter().map(|(_, _, item)| &item.as_bytes()[..]).collect();
    // Most rows stand where a message names the recipient; only the others take the whole rule.
    let found = client.query("SELECT vocative_unnamed($1, $2, $3)", &[&recipients, &ats, &items]).await;
    let found = found.map_err(|error| failed(&error))?;
    let mut surplus = BTreeSet::new();
    for found in &found {
        let nth = usize::try_from(row::number(found, 0)? - 1).ok();
        surplus.extend(nth.and_then(|nth| page.get(nth)).copied());
    }
    if !surplus.is_empty() {
        let items: Vec<&[u8]> = surplus.iter().map(|(_, _, item)| &item.as_bytes()[..]).collect();
        let wanted = client.query(&format!("SELECT {ROW} FROM vocative_wanted_of($1) r"), &[&items]).await;
        for wanted in wanted.map_err(|error| failed(&error))? {
            surplus.remove(&place(&row::mention(&wanted)?));
        }
    }
    if !surplus.is_empty() {
        let items: Vec<&[u8]> = surplus.iter().map(|(_, _, item)| &item.as_bytes()[..]).collect();
        let sql = "SELECT vocative_repair('{}', '{}', '{}', '{}', '{}', $1)";
        client.execute(sql, &[&items]).await.map_err(|error| failed(&error))?;
    }
    Ok(Rebuilt { rest, rows: 0, repaired: surplus.len() as u64 })
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
