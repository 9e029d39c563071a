//! SQLite passes the contract; and what only a file can do.

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use vocative_store::sqlite::{self, Sqlite};
use vocative_store::{Store, StoreError};

mod contract;

struct InFile {
    folder: TempDir,
}

impl InFile {
    fn path(&self) -> PathBuf {
        self.folder.path().join("store.db")
    }
}

impl contract::Backend for InFile {
    async fn fresh() -> Self {
        Self { folder: TempDir::new().expect("a folder") }
    }

    fn address(&self) -> String {
        self.path().to_str().expect("the folder has a plain name").to_owned()
    }

    async fn open_at(address: &str) -> Box<dyn Store> {
        Box::new(Sqlite::open(address).expect("a store"))
    }

    async fn open_again(&self, first: &Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::clone(first)
    }

    const VERSION_1: &'static str = include_str!("../src/sqlite/schema.sql");

    async fn run(&self, sql: &str) {
        let db = rusqlite::Connection::open(self.path()).expect("a store");
        db.execute_batch(sql).expect("it may");
    }

    async fn sabotage(&self) {
        let sql = "CREATE TRIGGER sabotage BEFORE INSERT ON events WHEN NEW.kind = 7777 \
             BEGIN SELECT RAISE(ABORT, 'sabotage'); END";
        self.run(sql).await;
    }
}

contract!(InFile);

mod file {
    use super::contract::Backend;
    use super::contract::events::{append_stored, event, export, h, p};
    use super::*;

    #[tokio::test]
    async fn one_process_writes() {
        let place = InFile::fresh().await;
        let store = place.open().await;
        assert_eq!(Sqlite::open(place.path()).err(), Some(StoreError::InUse));
        drop(store);
        assert_eq!(Sqlite::open(place.path()).err(), None, "it is free at once");
    }

    /// The log is copied into the file beside the writer, and begins anew, however much is written; after
    /// somebody has read in it for long, too.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_log_stays_short() {
        const MIB: u64 = 1 << 20;
        let place = InFile::fresh().await;
        let store = place.open().await;
        let log = place.path().with_extension("db-wal");
        let length = || std::fs::metadata(&log).expect("a log").len() / MIB;
        let text = " ".repeat(60_000);
        let write = async |from: u64, mebibytes: u64| {
            let mut batch = (from..from + mebibytes * 17).map(|n| event(1, 9, n, &[], &text).into());
            loop {
                let some: Vec<_> = batch.by_ref().take(64).collect();
                if some.is_empty() {
                    break;
                }
                store.append(some).await.expect("works");
            }
        };
        write(0, 250).await;
        assert!(length() < 200, "{} MiB after 250 MiB of events", length());
        let reading = Sqlite::snapshot(place.path()).expect("a store");
        write(10_000, 300).await;
        assert!(length() > 290, "a reader of what was keeps the log");
        drop(reading);
        write(20_000, 100).await;
        assert!(length() < 200, "{} MiB after the reader has gone", length());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_backup_is_made_online_and_restored() {
        let place = InFile::fresh().await;
        let store: Arc<dyn Store> = place.open().await.into();
        for n in 0..50 {
            append_stored(&*store, &event(1, 9, n, &[h("c"), p(2)], "text")).await;
        }
        let writer = Arc::clone(&store);
        let writing = tokio::spawn(async move {
            for n in 50..100 {
                append_stored(&*writer, &event(1, 9, n, &[h("c"), p(2)], "text")).await;
            }
        });
        let (saved, restored) =
            (place.folder.path().join("saved.db"), place.folder.path().join("restored.db"));
        sqlite::backup(&place.path(), &saved).expect("a backup");
        writing.await.expect("the writer goes on");
        assert_eq!(sqlite::backup(&place.path(), &saved), Err(StoreError::Exists));
        sqlite::restore(&saved, &restored).expect("a store");
        let again = Sqlite::open(&restored).expect("a store");
        let copied = export(&again).await;
        let count = copied.len() / 2;
        assert!(count >= 50, "what was committed before the backup began is in it");
        assert_eq!(copied[..count], export(&*store).await[..count], "and nothing out of order");
        assert_eq!(again.check().await, Ok(Vec::new()));
        append_stored(&again, &event(1, 9, 1000, &[], "")).await;
    }

    #[tokio::test]
    async fn damage_and_newer_schemas_are_told() {
        let place = InFile::fresh().await;
        std::fs::write(place.path(), "this is no database, and long enough to be read as one")
            .expect("a file");
        assert!(matches!(Sqlite::open(place.path()), Err(StoreError::Damaged(_))));
        let place = InFile::fresh().await;
        drop(place.open().await);
        let db = rusqlite::Connection::open(place.path()).expect("a store");
        db.execute("INSERT INTO schema_version VALUES (99)", []).expect("a version");
        let newer = StoreError::NewerSchema { found: 99, known: 4 };
        assert_eq!(Sqlite::open(place.path()).err(), Some(newer));
    }
}
