//! Values in and out of SQLite.

use std::str::FromStr;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Row, ToSql};
use vocative::Key;

use crate::channel::Channel;
use crate::document::Document;
use crate::event::Event;
use crate::inbox::{MentionRow, SessionRow, Why};
use crate::session::Millis;
use crate::sql::Arg;
use crate::store::Found;
use crate::value::{BadValue, EventId, Position, Timestamp};

impl ToSql for Arg {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Int(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}

pub(super) fn key(row: &Row<'_>, at: usize) -> rusqlite::Result<Key> {
    row.get(at).map(Key::from_bytes)
}

pub(super) fn id(row: &Row<'_>, at: usize) -> rusqlite::Result<EventId> {
    row.get(at).map(EventId::from_bytes)
}

pub(super) fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<Timestamp> {
    row.get(at).map(|secs: i64| Timestamp::from_secs(secs.cast_unsigned()))
}

pub(super) fn position(row: &Row<'_>, at: usize) -> rusqlite::Result<Position> {
    row.get(at).map(|number: i64| Position::new(number.cast_unsigned()))
}

/// A number for SQLite, which knows signed ones only. Positions and times fit.
pub(super) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// The columns of [`crate::sql::FOUND`].
pub(super) fn found(row: &Row<'_>) -> rusqlite::Result<Found> {
    Ok(Found {
        position: position(row, 0)?,
        created_at: time(row, 1)?,
        id: id(row, 2)?,
        bytes: row.get::<_, u32>(3)? as usize,
    })
}

/// The columns of [`crate::sql::EVENT`].
pub(super) fn event(row: &Row<'_>) -> rusqlite::Result<(Position, Event, bool)> {
    let event = Event {
        id: id(row, 1)?,
        key: key(row, 2)?,
        created_at: time(row, 3)?,
        kind: row.get(4)?,
        tags: json(row, 5)?,
        content: row.get(6)?,
        sig: row.get(7)?,
    };
    Ok((position(row, 0)?, event, row.get(8)?))
}

/// The columns of [`crate::sql::DOCUMENT`].
pub(super) fn document(row: &Row<'_>) -> rusqlite::Result<Document> {
    let version: i64 = row.get(2)?;
    let expires_at: Option<i64> = row.get(3)?;
    Ok(Document {
        name: row.get(0)?,
        value: row.get(1)?,
        version: version.cast_unsigned(),
        expires_at: expires_at.map(|secs| Timestamp::from_secs(secs.cast_unsigned())),
    })
}

/// The columns of [`crate::sql::ROW`].
pub(super) fn mention(row: &Row<'_>) -> rusqlite::Result<MentionRow> {
    // Read in place: there are fifty of these on a page.
    let channel = row.get_ref(5)?.as_str_or_null()?;
    Ok(MentionRow {
        recipient: key(row, 0)?,
        item: id(row, 1)?,
        by_event: id(row, 2)?,
        actor: key(row, 3)?,
        at: time(row, 4)?,
        channel: channel.map(|text| channel_id(text, 5)).transpose()?,
        why: Why::from_number(row.get(6)?),
        retracted: row.get(7)?,
        deleted: row.get(8)?,
    })
}

/// The columns of a row of a session in an inbox.
pub(super) fn session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        recipient: name(row, 0)?,
        session: name(row, 1)?,
        entry: name(row, 2)?,
        actor: name(row, 3)?,
        at: Millis::new(row.get(4)?),
        disputed: row.get(5)?,
    })
}

/// A text that was written as this type says.
pub(super) fn name<T: FromStr<Err = BadValue>>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    parsed(row.get_ref(at)?.as_str()?, at)
}

pub(super) fn parsed<T: FromStr<Err = BadValue>>(text: &str, at: usize) -> rusqlite::Result<T> {
    text.parse().map_err(|error| unreadable(at, error))
}

/// The columns `id, kind, flags, deleted`.
pub(super) fn channel(row: &Row<'_>) -> rusqlite::Result<Channel> {
    let id: String = row.get(0)?;
    Ok(Channel::from_columns(channel_id(&id, 0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

pub(super) fn channel_id(text: &str, at: usize) -> rusqlite::Result<crate::value::ChannelId> {
    text.parse().map_err(|error| unreadable(at, error))
}

pub(super) fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str()?;
    serde_json::from_str(text).map_err(|error| unreadable(at, error))
}

fn unreadable(at: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(error))
}
