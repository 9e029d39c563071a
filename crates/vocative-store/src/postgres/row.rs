//! Values in and out of PostgreSQL.

use std::error::Error;
use std::str::FromStr;

use bytes::BytesMut;
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use vocative::Key;

use crate::channel::Channel;
use crate::document::Document;
use crate::error::StoreError;
use crate::event::Event;
use crate::inbox::{MentionRow, SessionRow, Why};
use crate::session::Millis;
use crate::sql::Arg;
use crate::store::Found;
use crate::value::{BadValue, ChannelId, EventId, Position, Timestamp};

impl Arg {
    /// The type under which it is sent; nothing is left to be guessed.
    pub(super) fn sql_type(&self) -> Type {
        match self {
            Self::Int(_) => Type::INT8,
            Self::Text(_) => Type::TEXT,
            Self::Bytes(_) => Type::BYTEA,
        }
    }
}

impl ToSql for Arg {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Int(number) => number.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Bytes(bytes) => bytes.to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::BYTEA].contains(ty)
    }

    to_sql_checked!();
}

/// A column that holds something else than what was written.
fn unreadable(what: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(what.to_string())
}

fn bytes<const N: usize>(row: &Row, at: usize) -> Result<[u8; N], StoreError> {
    let bytes: &[u8] = row.try_get(at).map_err(unreadable)?;
    bytes.try_into().map_err(unreadable)
}

/// Bytes of any number.
pub(super) fn blob(row: &Row, at: usize) -> Result<Vec<u8>, StoreError> {
    row.try_get(at).map_err(unreadable)
}

pub(super) fn key(row: &Row, at: usize) -> Result<Key, StoreError> {
    bytes(row, at).map(Key::from_bytes)
}

pub(super) fn id(row: &Row, at: usize) -> Result<EventId, StoreError> {
    bytes(row, at).map(EventId::from_bytes)
}

pub(super) fn number(row: &Row, at: usize) -> Result<i64, StoreError> {
    row.try_get(at).map_err(unreadable)
}

pub(super) fn position(row: &Row, at: usize) -> Result<Position, StoreError> {
    Ok(Position::new(number(row, at)?.cast_unsigned()))
}

fn time(row: &Row, at: usize) -> Result<Timestamp, StoreError> {
    Ok(Timestamp::from_secs(number(row, at)?.cast_unsigned()))
}

pub(super) fn text(row: &Row, at: usize) -> Result<&str, StoreError> {
    row.try_get(at).map_err(unreadable)
}

pub(super) fn channel_id(row: &Row, at: usize) -> Result<Option<ChannelId>, StoreError> {
    let text: Option<&str> = row.try_get(at).map_err(unreadable)?;
    text.map(|text| text.parse().map_err(unreadable)).transpose()
}

pub(super) fn json<T: serde::de::DeserializeOwned>(row: &Row, at: usize) -> Result<T, StoreError> {
    serde_json::from_str(text(row, at)?).map_err(unreadable)
}

/// The columns of [`crate::sql::FOUND`].
pub(super) fn found(row: &Row) -> Result<Found, StoreError> {
    let bytes = usize::try_from(number(row, 3)?).map_err(unreadable)?;
    Ok(Found { position: position(row, 0)?, created_at: time(row, 1)?, id: id(row, 2)?, bytes })
}

/// The columns of [`crate::sql::EVENT`].
pub(super) fn event(row: &Row) -> Result<(Position, Event, bool), StoreError> {
    let event = Event {
        id: id(row, 1)?,
        key: key(row, 2)?,
        created_at: time(row, 3)?,
        kind: u32::try_from(number(row, 4)?).map_err(unreadable)?,
        tags: json(row, 5)?,
        content: text(row, 6)?.to_owned(),
        sig: bytes(row, 7)?,
    };
    Ok((position(row, 0)?, event, number(row, 8)? != 0))
}

/// The columns of [`crate::sql::DOCUMENT`].
pub(super) fn document(row: &Row) -> Result<Document, StoreError> {
    let expires_at: Option<i64> = row.try_get(3).map_err(unreadable)?;
    Ok(Document {
        name: text(row, 0)?.to_owned(),
        value: blob(row, 1)?,
        version: number(row, 2)?.cast_unsigned(),
        expires_at: expires_at.map(|secs| Timestamp::from_secs(secs.cast_unsigned())),
    })
}

/// The columns of [`crate::sql::ROW`].
pub(super) fn mention(row: &Row) -> Result<MentionRow, StoreError> {
    Ok(MentionRow {
        recipient: key(row, 0)?,
        item: id(row, 1)?,
        by_event: id(row, 2)?,
        actor: key(row, 3)?,
        at: time(row, 4)?,
        channel: channel_id(row, 5)?,
        why: Why::from_number(number(row, 6)?),
        retracted: number(row, 7)? != 0,
        deleted: number(row, 8)? != 0,
    })
}

/// The columns of a row of a session in an inbox.
pub(super) fn session(row: &Row) -> Result<SessionRow, StoreError> {
    Ok(SessionRow {
        recipient: name(row, 0)?,
        session: name(row, 1)?,
        entry: name(row, 2)?,
        actor: name(row, 3)?,
        at: Millis::new(number(row, 4)?),
        disputed: number(row, 5)? != 0,
    })
}

/// A text that was written as this type says.
pub(super) fn name<T: FromStr<Err = BadValue>>(row: &Row, at: usize) -> Result<T, StoreError> {
    text(row, at)?.parse().map_err(unreadable)
}

/// The columns `id, kind, flags, deleted`.
pub(super) fn channel(row: &Row) -> Result<Channel, StoreError> {
    let id = text(row, 0)?.parse().map_err(unreadable)?;
    Ok(Channel::from_columns(id, number(row, 1)?, number(row, 2)?, number(row, 3)? != 0))
}
