//! The backend for many nodes: PostgreSQL 15 or newer, which every node reads and writes.
//!
//! A batch is one call of one function, so that locks are held by the server alone and never wait for
//! a node. Reads are single statements on a small pool of connections.

use deadpool_postgres::ClientWrapper;
use vocative::Key;

use crate::channel::{Channel, Member, Reader, Roles};
use crate::document::{Document, Write, Written};
use crate::error::{Outcome, StoreError};
use crate::event::Event;
use crate::filter::Filter;
use crate::group::Writer;
use crate::inbox::{InboxPage, InboxQuery};
use crate::index::{IndexPart, Rebuilt};
use crate::session::{AccountId, Added, EntryId, SessionId, SessionReference, Verdict};
use crate::setting::Setting;
use crate::sql::{self, Dialect};
use crate::store::{Answer, Entry, ExportCursor, ExportPage, Found, Placed, Record, Store};
use crate::value::{ChannelId, EventId, Position, Timestamp};

mod batch;
mod call;
mod connections;
mod documents;
mod export;
mod failure;
mod inbox;
mod index;
mod password;
mod read;
mod row;
mod schema;
mod sessions;
mod writer;

pub use password::{Passwords, names_password};

use connections::{ANSWER, Asked, Connections, UPKEEP};
use failure::failed;
use writer::Appender;

/// Connections of one node.
const CONNECTIONS: usize = 16;

/// A store in a PostgreSQL database.
pub struct Postgres {
    connections: Connections,
    writer: Writer<Appender>,
}

impl Postgres {
    /// Opens the store in the database of this URL, or makes it, and brings it to the schema of this
    /// release. Connections are not encrypted: the database is on this machine or on a network of its own.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the database does not answer, [`StoreError::NotDurable`] when
    /// it is set to acknowledge what a crash can lose, [`StoreError::NewerSchema`] when a newer release
    /// has written it.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with(url, &Passwords::default()).await
    }

    /// [`Postgres::open`], with passwords for an address that names none.
    ///
    /// # Errors
    /// Those of [`Postgres::open`].
    pub async fn open_with(url: &str, passwords: &Passwords) -> Result<Self, StoreError> {
        let connections = Connections::new(url, passwords, CONNECTIONS)?;
        // It may have to wait for another node that does the same.
        connections.ask(UPKEEP, |db| Box::pin(schema::migrate(db))).await?;
        Ok(Self::on(connections))
    }

    fn on(connections: Connections) -> Self {
        let (writer, work) = Writer::new(Appender(connections.clone()));
        tokio::spawn(work);
        Self { connections, writer }
    }

    /// What the store holds now, to be read only, while nodes go on writing. For exports and checks.
    ///
    /// # Errors
    /// Those of [`Postgres::open`]; whatever writes answers [`StoreError::ReadOnly`].
    pub async fn snapshot(url: &str, passwords: &Passwords) -> Result<Self, StoreError> {
        drop(Self::open_with(url, passwords).await?);
        // Every statement goes through one connection, and that stays in one transaction.
        let connections = Connections::new(url, passwords, 1)?;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT position FROM head";
        let begun = connections.ask(ANSWER, |db| {
            Box::pin(async move { db.batch_execute(begin).await.map_err(|error| failed(&error)) })
        });
        begun.await?;
        Ok(Self::on(connections))
    }

    /// Asks for something that somebody waits for.
    async fn ask<T>(
        &self,
        ask: impl for<'c> FnOnce(&'c mut ClientWrapper) -> Asked<'c, T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connections.ask(ANSWER, ask).await
    }

    /// Asks for something that may take long.
    async fn upkeep<T>(
        &self,
        ask: impl for<'c> FnOnce(&'c mut ClientWrapper) -> Asked<'c, T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connections.ask(UPKEEP, ask).await
    }
}

impl Store for Postgres {
    fn append(&self, batch: Vec<Entry>) -> Answer<'_, Vec<Outcome>> {
        Box::pin(self.writer.append(batch))
    }

    fn event(&self, reader: &Reader, id: EventId) -> Answer<'_, Option<Event>> {
        let filter = Filter { ids: Some(vec![id]), ..Filter::default() };
        let query = self.query(reader, &filter);
        Box::pin(async { Ok(query.await?.pop()) })
    }

    fn query(&self, reader: &Reader, filter: &Filter) -> Answer<'_, Vec<Event>> {
        let query = sql::query(Dialect::Postgres, reader, filter);
        Box::pin(async move {
            match query {
                Some(sql) => self.ask(move |db| Box::pin(async move { read::events(db, &sql).await })).await,
                None => Ok(Vec::new()),
            }
        })
    }

    fn find(&self, reader: &Reader, filter: &Filter) -> Answer<'_, Vec<Found>> {
        let query = sql::find(Dialect::Postgres, reader, filter);
        Box::pin(async move {
            match query {
                Some(sql) => self.ask(move |db| Box::pin(async move { read::found(db, &sql).await })).await,
                None => Ok(Vec::new()),
            }
        })
    }

    fn count(&self, reader: &Reader, filters: &[Filter]) -> Answer<'_, u64> {
        let query = sql::count(Dialect::Postgres, reader, filters);
        Box::pin(async move {
            match query {
                Some(sql) => self.ask(move |db| Box::pin(async move { read::count(db, &sql).await })).await,
                None => Ok(0),
            }
        })
    }

    fn events_after(&self, position: Position, limit: usize) -> Answer<'_, Vec<Placed>> {
        Box::pin(self.ask(move |db| Box::pin(async move { read::events_after(db, position, limit).await })))
    }

    fn head(&self) -> Answer<'_, Position> {
        Box::pin(self.ask(|db| Box::pin(async move { read::head(db).await })))
    }

    fn channel(&self, id: &ChannelId) -> Answer<'_, Option<Channel>> {
        let id = id.clone();
        Box::pin(self.ask(move |db| Box::pin(async move { read::channel(db, &id).await })))
    }

    fn channels_of(&self, key: Key) -> Answer<'_, Vec<Channel>> {
        Box::pin(self.ask(move |db| Box::pin(async move { read::channels_of(db, key).await })))
    }

    fn members(&self, channel: &ChannelId) -> Answer<'_, Vec<Member>> {
        let channel = channel.clone();
        Box::pin(self.ask(move |db| Box::pin(async move { read::members(db, &channel).await })))
    }

    fn roles(&self, channel: &ChannelId, key: Key) -> Answer<'_, Option<Roles>> {
        let channel = channel.clone();
        Box::pin(self.ask(move |db| Box::pin(async move { read::roles(db, &channel, key).await })))
    }

    fn may_read(&self, reader: &Reader, channel: &ChannelId) -> Answer<'_, bool> {
        let query = sql::may_read(Dialect::Postgres, reader, channel);
        let count = self.ask(move |db| Box::pin(async move { read::count(db, &query).await }));
        Box::pin(async { Ok(count.await? > 0) })
    }

    fn add_references(&self, publisher: &AccountId, references: Vec<SessionReference>) -> Answer<'_, Added> {
        let publisher = publisher.clone();
        Box::pin(self.ask(move |db| Box::pin(async move { sessions::add(db, &publisher, references).await })))
    }

    fn withdraw_references(&self, publisher: &AccountId, session: &SessionId) -> Answer<'_, usize> {
        let (publisher, session) = (publisher.clone(), session.clone());
        Box::pin(
            self.ask(move |db| Box::pin(async move { sessions::withdraw(db, &publisher, &session).await })),
        )
    }

    fn set_verdict(&self, session: &SessionId, entry: &EntryId, verdict: Option<Verdict>) -> Answer<'_, ()> {
        let (session, entry) = (session.clone(), entry.clone());
        Box::pin(self.ask(move |db| {
            Box::pin(async move { sessions::set_verdict(db, &session, &entry, verdict.as_ref()).await })
        }))
    }

    fn inbox(&self, query: &InboxQuery) -> Answer<'_, InboxPage> {
        let query = query.clone();
        Box::pin(self.ask(move |db| Box::pin(async move { inbox::page(db, &query).await })))
    }

    fn setting(&self, name: &str) -> Answer<'_, Option<Vec<u8>>> {
        let name = name.to_owned();
        Box::pin(self.ask(move |db| Box::pin(async move { read::setting(db, &name).await })))
    }

    fn set_once(&self, name: &str, value: &[u8]) -> Answer<'_, Vec<u8>> {
        let setting = Setting { name: name.to_owned(), value: value.to_vec() };
        Box::pin(self.ask(move |db| Box::pin(async move { call::set_once(db, &setting).await })))
    }

    fn document(&self, name: &str) -> Answer<'_, Option<Document>> {
        let name = name.to_owned();
        Box::pin(self.ask(move |db| Box::pin(async move { documents::get(db, &name).await })))
    }

    fn documents(&self, prefix: &str, after: Option<&str>, limit: usize) -> Answer<'_, Vec<Document>> {
        let sql = sql::documents(Dialect::Postgres, prefix, after, limit);
        Box::pin(self.ask(move |db| Box::pin(async move { documents::list(db, &sql).await })))
    }

    fn write(&self, writes: Vec<Write>) -> Answer<'_, Written> {
        Box::pin(async move {
            Write::check_names(&writes)?;
            self.ask(move |db| Box::pin(async move { documents::write(db, &writes).await })).await
        })
    }

    fn forget_expired(&self, before: Timestamp, limit: usize) -> Answer<'_, usize> {
        Box::pin(
            self.ask(move |db| Box::pin(async move { documents::forget_expired(db, before, limit).await })),
        )
    }

    fn rebuild(&self, part: &IndexPart, limit: usize) -> Answer<'_, Rebuilt> {
        let part = part.clone();
        Box::pin(self.upkeep(move |db| Box::pin(async move { index::rebuild(db, &part, limit).await })))
    }

    fn export(&self, cursor: &ExportCursor, limit: usize) -> Answer<'_, ExportPage> {
        let cursor = cursor.clone();
        Box::pin(self.upkeep(move |db| Box::pin(async move { export::page(db, &cursor, limit).await })))
    }

    fn import(&self, records: Vec<Record>, head: Position) -> Answer<'_, ()> {
        Box::pin(self.upkeep(move |db| Box::pin(async move { call::import(db, records, head).await })))
    }

    fn check(&self) -> Answer<'_, Vec<String>> {
        Box::pin(self.upkeep(|db| Box::pin(async move { read::problems(db).await })))
    }
}
