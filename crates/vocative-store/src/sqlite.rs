//! The backend that needs no other service: one SQLite file, one process that writes it.
//!
//! A thread owns the only connection that writes and commits in groups; readers have connections of
//! their own and see what is committed. The file is in WAL mode with `synchronous = FULL`, so a commit
//! that returned survives the loss of power; another thread copies the log into the file.

use std::fs::File;
use std::path::{Path, PathBuf};

use vocative::Key;

use crate::channel::{Channel, Member, Reader, Roles};
use crate::document::{Document, Write, Written};
use crate::error::{Outcome, StoreError};
use crate::event::Event;
use crate::filter::Filter;
use crate::inbox::{InboxPage, InboxQuery};
use crate::index::{IndexPart, Rebuilt};
use crate::session::{AccountId, Added, EntryId, SessionId, SessionReference, Verdict};
use crate::setting::Setting;
use crate::sql::{self, Dialect};
use crate::store::{Answer, Entry, ExportCursor, ExportPage, Found, Placed, Record, Store};
use crate::value::{ChannelId, EventId, Position, Timestamp};

mod apply;
mod backup;
mod changes;
mod documents;
mod export;
mod inbox;
mod index;
mod log;
mod pool;
mod read;
mod row;
mod schema;
mod sessions;
mod settings;
mod writer;

pub use backup::{backup, backup_of, restore};

use pool::Pool;
use writer::Writer;

/// A store in one SQLite file.
pub struct Sqlite {
    // Fields are dropped in this order: the writer ends before the lock is given up.
    writer: Option<Writer>,
    readers: Pool,
    _lock: Option<Lock>,
}

impl Sqlite {
    /// Opens the store in this file, or makes it, and brings it to the schema of this release.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while another process has it open, [`StoreError::NewerSchema`] when a
    /// newer release wrote it, [`StoreError::Damaged`] when the file is no store.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let lock = lock(&path)?;
        let mut connection = pool::connect(&path)?;
        schema::migrate(&mut connection)?;
        let writer = Writer::start(connection, &path)?;
        Ok(Self { writer: Some(writer), readers: Pool::new(path), _lock: Some(lock) })
    }

    /// What the store in this file holds now, to be read only; beside a process that goes on writing,
    /// and nothing of the file is changed. For exports and checks: it keeps the log of the file from
    /// being shortened while it is open.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::OlderSchema`] and [`StoreError::NewerSchema`], since
    /// nothing is brought up, [`StoreError::Damaged`] when the file is no store. Whatever writes
    /// answers [`StoreError::ReadOnly`].
    pub fn snapshot(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        if !path.exists() {
            return Err(StoreError::Missing);
        }
        Ok(Self { writer: None, readers: Pool::snapshot(path)?, _lock: None })
    }

    async fn write<T, F>(&self, write: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut rusqlite::Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.writer.as_ref().ok_or(StoreError::ReadOnly)?.run(write).await
    }
}

/// Held while the store is open for writing; the system gives it up when the process ends in any way.
struct Lock(File);

impl Drop for Lock {
    /// Gives it up by name. A child that this process is just starting shares the file until it runs
    /// its own program, so closing the file would not be enough.
    fn drop(&mut self) {
        // There is nobody to tell; at worst the lock is held until the process ends.
        drop(self.0.unlock());
    }
}

fn lock(path: &Path) -> Result<Lock, StoreError> {
    let beside = path.with_extension("lock");
    let file = File::options().create(true).truncate(false).write(true).open(beside);
    let file = file.map_err(|error| pool::of_io(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::InUse),
        Err(std::fs::TryLockError::Error(error)) => Err(pool::of_io(&error)),
    }
}

impl Store for Sqlite {
    fn append(&self, batch: Vec<Entry>) -> Answer<'_, Vec<Outcome>> {
        Box::pin(async { self.writer.as_ref().ok_or(StoreError::ReadOnly)?.append(batch).await })
    }

    fn event(&self, reader: &Reader, id: EventId) -> Answer<'_, Option<Event>> {
        let filter = Filter { ids: Some(vec![id]), ..Filter::default() };
        let query = self.query(reader, &filter);
        Box::pin(async { Ok(query.await?.pop()) })
    }

    fn query(&self, reader: &Reader, filter: &Filter) -> Answer<'_, Vec<Event>> {
        let query = sql::query(Dialect::Sqlite, reader, filter);
        Box::pin(async {
            match query {
                Some(sql) => self.readers.read(move |db| read::events(db, &sql)).await,
                None => Ok(Vec::new()),
            }
        })
    }

    fn find(&self, reader: &Reader, filter: &Filter) -> Answer<'_, Vec<Found>> {
        let query = sql::find(Dialect::Sqlite, reader, filter);
        Box::pin(async {
            match query {
                Some(sql) => self.readers.read(move |db| read::found(db, &sql)).await,
                None => Ok(Vec::new()),
            }
        })
    }

    fn count(&self, reader: &Reader, filters: &[Filter]) -> Answer<'_, u64> {
        let query = sql::count(Dialect::Sqlite, reader, filters);
        Box::pin(async {
            match query {
                Some(sql) => self.readers.read(move |db| read::count(db, &sql)).await,
                None => Ok(0),
            }
        })
    }

    fn events_after(&self, position: Position, limit: usize) -> Answer<'_, Vec<Placed>> {
        Box::pin(self.readers.read(move |db| read::events_after(db, position, limit)))
    }

    fn head(&self) -> Answer<'_, Position> {
        Box::pin(self.readers.read(read::head))
    }

    fn channel(&self, id: &ChannelId) -> Answer<'_, Option<Channel>> {
        let id = id.clone();
        Box::pin(self.readers.read(move |db| read::channel(db, &id)))
    }

    fn channels_of(&self, key: Key) -> Answer<'_, Vec<Channel>> {
        Box::pin(self.readers.read(move |db| read::channels_of(db, key)))
    }

    fn members(&self, channel: &ChannelId) -> Answer<'_, Vec<Member>> {
        let channel = channel.clone();
        Box::pin(self.readers.read(move |db| read::members(db, &channel)))
    }

    fn roles(&self, channel: &ChannelId, key: Key) -> Answer<'_, Option<Roles>> {
        let channel = channel.clone();
        Box::pin(self.readers.read(move |db| read::roles(db, &channel, key)))
    }

    fn may_read(&self, reader: &Reader, channel: &ChannelId) -> Answer<'_, bool> {
        let query = sql::may_read(Dialect::Sqlite, reader, channel);
        Box::pin(self.readers.read(move |db| Ok(read::count(db, &query)? > 0)))
    }

    fn add_references(&self, publisher: &AccountId, references: Vec<SessionReference>) -> Answer<'_, Added> {
        let publisher = publisher.clone();
        Box::pin(self.write(move |db| sessions::add(db, &publisher, references).map_err(pool::failed)))
    }

    fn withdraw_references(&self, publisher: &AccountId, session: &SessionId) -> Answer<'_, usize> {
        let (publisher, session) = (publisher.clone(), session.clone());
        Box::pin(self.write(move |db| sessions::withdraw(db, &publisher, &session).map_err(pool::failed)))
    }

    fn set_verdict(&self, session: &SessionId, entry: &EntryId, verdict: Option<Verdict>) -> Answer<'_, ()> {
        let (session, entry) = (session.clone(), entry.clone());
        Box::pin(self.write(move |db| {
            sessions::set_verdict(db, &session, &entry, verdict.as_ref()).map_err(pool::failed)
        }))
    }

    fn inbox(&self, query: &InboxQuery) -> Answer<'_, InboxPage> {
        let query = query.clone();
        Box::pin(self.readers.read(move |db| inbox::page(db, &query)))
    }

    fn setting(&self, name: &str) -> Answer<'_, Option<Vec<u8>>> {
        let name = name.to_owned();
        Box::pin(self.readers.read(move |db| settings::get(db, &name)))
    }

    fn set_once(&self, name: &str, value: &[u8]) -> Answer<'_, Vec<u8>> {
        let setting = Setting { name: name.to_owned(), value: value.to_vec() };
        Box::pin(self.write(move |db| settings::set_once(db, &setting).map_err(pool::failed)))
    }

    fn document(&self, name: &str) -> Answer<'_, Option<Document>> {
        let name = name.to_owned();
        Box::pin(self.readers.read(move |db| documents::get(db, &name)))
    }

    fn documents(&self, prefix: &str, after: Option<&str>, limit: usize) -> Answer<'_, Vec<Document>> {
        let sql = sql::documents(Dialect::Sqlite, prefix, after, limit);
        Box::pin(self.readers.read(move |db| documents::list(db, &sql)))
    }

    fn write(&self, writes: Vec<Write>) -> Answer<'_, Written> {
        Box::pin(async move {
            Write::check_names(&writes)?;
            self.write(move |db| documents::write(db, &writes).map_err(pool::failed)).await
        })
    }

    fn forget_expired(&self, before: Timestamp, limit: usize) -> Answer<'_, usize> {
        Box::pin(self.write(move |db| documents::forget_expired(db, before, limit).map_err(pool::failed)))
    }

    fn rebuild(&self, part: &IndexPart, limit: usize) -> Answer<'_, Rebuilt> {
        let part = part.clone();
        Box::pin(async move {
            let (rebuilt, found) = self.readers.read(move |db| index::look(db, &part, limit)).await?;
            if rebuilt.repaired > 0 {
                self.write(move |db| index::repair(db, &found).map_err(pool::failed)).await?;
            }
            Ok(rebuilt)
        })
    }

    fn export(&self, cursor: &ExportCursor, limit: usize) -> Answer<'_, ExportPage> {
        let cursor = cursor.clone();
        Box::pin(self.readers.read(move |db| export::page(db, &cursor, limit)))
    }

    fn import(&self, records: Vec<Record>, head: Position) -> Answer<'_, ()> {
        Box::pin(self.write(move |db| export::import(db, records, head)))
    }

    fn check(&self) -> Answer<'_, Vec<String>> {
        Box::pin(self.readers.read(backup::problems))
    }
}
