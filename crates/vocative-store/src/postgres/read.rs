//! Reads: each is one statement in one round trip, without a statement kept on the server, because
//! their texts are as many as there are shapes of filters.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};
use vocative::Key;

use super::failure::failed;
use super::row;
use crate::channel::{Channel, Member, Roles};
use crate::error::StoreError;
use crate::event::{Event, kinds};
use crate::inbox::MentionRow;
use crate::sql::{Arg, EVENT, Sql, checks, committed_after};
use crate::store::{Audience, Found, Placed};
use crate::value::{ChannelId, Position};

pub(super) async fn run(client: &Client, text: &str, args: &[Arg]) -> Result<Vec<Row>, StoreError> {
    let args: Vec<(&(dyn ToSql + Sync), Type)> =
        args.iter().map(|arg| (arg as &(dyn ToSql + Sync), arg.sql_type())).collect();
    client.query_typed(text, &args).await.map_err(|error| failed(&error))
}

pub(super) async fn events(client: &Client, sql: &Sql) -> Result<Vec<Event>, StoreError> {
    let rows = run(client, &sql.text, &sql.args).await?;
    rows.iter().map(|found| row::event(found).map(|(_, event, _)| event)).collect()
}

pub(super) async fn found(client: &Client, sql: &Sql) -> Result<Vec<Found>, StoreError> {
    run(client, &sql.text, &sql.args).await?.iter().map(row::found).collect()
}

pub(super) async fn count(client: &Client, sql: &Sql) -> Result<u64, StoreError> {
    let rows = run(client, &sql.text, &sql.args).await?;
    rows.first().map_or(Ok(0), |found| row::number(found, 0).map(i64::cast_unsigned))
}

pub(super) async fn rows(client: &Client, sql: &Sql) -> Result<Vec<MentionRow>, StoreError> {
    run(client, &sql.text, &sql.args).await?.iter().map(row::mention).collect()
}

pub(super) async fn head(client: &Client) -> Result<Position, StoreError> {
    let rows = run(client, "SELECT position FROM head", &[]).await?;
    rows.first().map_or(Ok(Position::START), |found| row::position(found, 0))
}

pub(super) fn int(number: u64) -> Arg {
    Arg::Int(number.cast_signed())
}

pub(super) async fn events_after(
    client: &Client,
    after: Position,
    limit: usize,
) -> Result<Vec<Placed>, StoreError> {
    // A deletion is for those who read each of its targets, so their channels come with it.
    let sql = format!(
        "SELECT {EVENT}, e.channel, t.channels, COALESCE(t.unknown, 0) FROM ({}) e LEFT JOIN LATERAL ( \
         SELECT array_agg(DISTINCT x.channel) FILTER (WHERE x.channel IS NOT NULL) AS channels, \
         COUNT(*) FILTER (WHERE x.id IS NULL) AS unknown \
         FROM buried b LEFT JOIN events x ON x.id = b.target WHERE b.event = e.position AND e.kind = {}) t \
         ON TRUE ORDER BY e.position LIMIT $2",
        committed_after(),
        kinds::DELETION
    );
    let found = run(client, &sql, &[int(after.get()), int(limit as u64)]).await?;
    found.iter().map(placed).collect()
}

fn placed(found: &Row) -> Result<Placed, StoreError> {
    let (position, event, _) = row::event(found)?;
    let mut channels: Vec<ChannelId> = row::channel_id(found, 9)?.into_iter().collect();
    let damaged = |error: tokio_postgres::Error| StoreError::Damaged(error.to_string());
    let of_targets: Option<Vec<String>> = found.try_get(10).map_err(damaged)?;
    for text in of_targets.unwrap_or_default() {
        channels.push(text.parse().map_err(|_| StoreError::Damaged(text))?);
    }
    channels.sort_unstable();
    channels.dedup();
    let audience = Audience { channels, has_unknown_target: row::number(found, 11)? > 0 };
    Ok(Placed { position, event, audience })
}

const CHANNEL: &str = "c.id, c.kind, c.flags, c.deleted";

pub(super) async fn channel(client: &Client, id: &ChannelId) -> Result<Option<Channel>, StoreError> {
    let sql = format!("SELECT {CHANNEL} FROM channels c WHERE c.id = $1");
    run(client, &sql, &[id.as_str().into()]).await?.first().map(row::channel).transpose()
}

pub(super) async fn channels_of(client: &Client, key: Key) -> Result<Vec<Channel>, StoreError> {
    let sql = format!(
        "SELECT {CHANNEL} FROM members m JOIN channels c ON c.id = m.channel WHERE m.key = $1 ORDER BY c.id"
    );
    run(client, &sql, &[key.into()]).await?.iter().map(row::channel).collect()
}

pub(super) async fn members(client: &Client, channel: &ChannelId) -> Result<Vec<Member>, StoreError> {
    let sql = "SELECT key, roles FROM members WHERE channel = $1 ORDER BY key";
    let found = run(client, sql, &[channel.as_str().into()]).await?;
    found.iter().map(|found| Ok(Member { key: row::key(found, 0)?, roles: row::json(found, 1)? })).collect()
}

pub(super) async fn roles(
    client: &Client,
    channel: &ChannelId,
    key: Key,
) -> Result<Option<Roles>, StoreError> {
    let sql = "SELECT roles FROM members WHERE channel = $1 AND key = $2";
    let found = run(client, sql, &[channel.as_str().into(), key.into()]).await?;
    found.first().map(|found| row::json(found, 0)).transpose()
}

pub(super) async fn setting(client: &Client, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let found = run(client, "SELECT value FROM settings WHERE name = $1", &[name.into()]).await?;
    found.first().map(|found| row::blob(found, 0)).transpose()
}

/// What does not hold between tables. The pages themselves are the server's to check.
pub(super) async fn problems(client: &Client) -> Result<Vec<String>, StoreError> {
    let mut problems = Vec::new();
    for (name, sql) in checks() {
        let found = run(client, &sql, &[]).await?;
        let count = found.first().map_or(Ok(0), |found| row::number(found, 0))?;
        if count > 0 {
            problems.push(format!("{name}: {count}"));
        }
    }
    Ok(problems)
}
