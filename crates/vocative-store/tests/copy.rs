//! Copies between stores of either backend: whole, gone on with, and compared.

use std::path::Path;

use tempfile::TempDir;
use vocative_store::postgres::Postgres;
use vocative_store::sqlite::Sqlite;
use vocative_store::{
    Entry, Expected, ExportCursor, Millis, Position, Store, StoreError, Timestamp, Verdict, Write, Written,
    copy,
};

mod contract;
mod server;

use contract::events::{append_stored, event, export, h, make_channel, p};
use contract::history::history;
use contract::random::Random;
use contract::sessions::{name, reference};

fn open(folder: &TempDir, name: &str) -> Sqlite {
    Sqlite::open(folder.path().join(name)).expect("a store")
}

/// A store with everything in it: edits, deletions, replaced versions, channels and members.
async fn filled(folder: &TempDir) -> Sqlite {
    let store = open(folder, "from.db");
    let mut random = Random::seeded();
    store.set_once("key", b"secret").await.expect("works");
    for n in 0..60 {
        let set = Write::set(format!("a/{n}"), Expected::Absent, "text");
        let set = if n % 2 == 0 { set } else { set.until(Timestamp::from_secs(n)) };
        store.write(vec![set]).await.expect("works");
    }
    for (publisher, actor) in [("1", "ann"), ("2", "bob")] {
        let said: Vec<_> = (0..40).map(|n| reference("s", &n.to_string(), "cy", actor, n)).collect();
        store.add_references(&name(publisher), said).await.expect("works");
    }
    for n in 0..20 {
        let verdict =
            Verdict { actor: name("ann"), at: Millis::new(n), recipients: vec![name("cy"), name("di")] };
        store.set_verdict(&name("s"), &name(&n.to_string()), Some(verdict)).await.expect("works");
    }
    make_channel(&store, "a", true, &[1, 2]).await;
    for run in 0..8 {
        let entries: Vec<Entry> = history(&mut random).into_iter().map(Into::into).collect();
        store.append(entries).await.expect("works");
        append_stored(&store, &event(7, 9, run, &[h("a"), p(2)], "a message of its own")).await;
    }
    // The last position is one that nothing stands at any more.
    append_stored(&store, &event(8, 0, 1, &[], "old")).await;
    append_stored(&store, &event(8, 0, 2, &[], "new")).await;
    store
}

async fn copies(from: &dyn Store, to: &dyn Store) {
    // An earlier run was interrupted after its first pages.
    let mut cursor = ExportCursor::START;
    for _ in 0..3 {
        let page = from.export(&cursor, 50).await.expect("works");
        to.import(page.records, Position::START).await.expect("works");
        cursor = page.next.expect("there is more");
    }
    let copied = copy(from, to).await.expect("a copy");
    assert_eq!(copied.events, copied.brought + 150, "what was there is not brought again");
    assert!(copied.mentions > 0 && copied.channels == 1 && copied.members == 2, "{copied:?}");
    assert_eq!((copied.settings, to.setting("key").await), (1, Ok(Some(b"secret".to_vec()))));
    assert_eq!((copied.documents, copied.verdicts, copied.references), (60, 40, 80));
    assert_eq!(export(to).await, export(from).await);
    assert_eq!(to.head().await, from.head().await, "positions go on where the source's would");
    let again = copy(from, to).await.expect("a copy");
    assert_eq!((again.brought, again.events), (0, copied.events), "a second run finds nothing to do");
    assert_eq!(to.check().await, Ok(Vec::new()));
    // What is written to the copy does not get a version that the source has given.
    let last = from.document("a/59").await.expect("works").expect("it is there").version;
    let set = vec![Write::set("a/60", Expected::Absent, "text")];
    assert!(matches!(to.write(set).await, Ok(Written::Done(version)) if version > last));
    to.write(vec![Write::delete("a/60", Expected::Anything)]).await.expect("works");
    // What was deleted stays deleted in the copy.
    let at = from.head().await.expect("works").get();
    let deleted = event(9, 9, at, &[], "deleted");
    append_stored(from, &deleted).await;
    append_stored(from, &event(9, 5, at, &[format!("e {}", deleted.id)], "")).await;
    copy(from, to).await.expect("a copy");
    let outcome = contract::events::append(to, &deleted).await;
    assert!(matches!(outcome, vocative_store::Outcome::Refused(vocative_store::Refusal::Deleted)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_file_to_a_file() {
    let folder = TempDir::new().expect("a folder");
    copies(&filled(&folder).await, &open(&folder, "to.db")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_a_file_to_a_server_and_back() {
    let folder = TempDir::new().expect("a folder");
    let from = filled(&folder).await;
    let server = server::shared();
    let to = Postgres::open(&server.url(&server.database().await)).await.expect("a store");
    copies(&from, &to).await;
    copies(&to, &open(&folder, "back.db")).await;
}

#[tokio::test]
async fn another_destination_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let (from, to) = (open(&folder, "from.db"), open(&folder, "to.db"));
    for at in 1..4 {
        append_stored(&from, &event(1, 9, at, &[], "")).await;
    }
    append_stored(&to, &event(2, 9, 1, &[], "")).await;
    for (from, to) in [(&from, &to), (&to, &from)] {
        let before = export(to).await;
        assert_eq!(copy(from, to).await, Err(StoreError::NotContinuing));
        assert_eq!(export(to).await, before, "nothing was written");
    }
}

#[tokio::test]
async fn a_destination_with_a_key_of_its_own_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let (from, to) = (open(&folder, "from.db"), open(&folder, "to.db"));
    from.set_once("key", b"here").await.expect("works");
    append_stored(&from, &event(1, 9, 1, &[], "")).await;
    to.set_once("key", b"there").await.expect("works");
    assert_eq!(copy(&from, &to).await, Err(StoreError::NotContinuing));
    assert_eq!(to.head().await, Ok(Position::START), "nothing was written");
}

#[tokio::test]
async fn a_changed_copy_is_told() {
    let folder = TempDir::new().expect("a folder");
    let (from, to) = (open(&folder, "from.db"), open(&folder, "to.db"));
    for at in 1..4 {
        append_stored(&from, &event(1, 9, at, &[p(2)], "text")).await;
    }
    assert_eq!(copy(&from, &to).await.map(|copied| copied.mentions), Ok(3));
    tamper(&folder.path().join("to.db"), "UPDATE mentions SET retracted = 1");
    assert_eq!(copy(&from, &to).await, Err(StoreError::CopyDiffers("mention rows")));
    tamper(&folder.path().join("to.db"), "UPDATE events SET content = 'other' WHERE position = 2");
    assert_eq!(copy(&from, &to).await, Err(StoreError::CopyDiffers("events")));
}

fn tamper(file: &Path, sql: &str) {
    let db = rusqlite::Connection::open(file).expect("a store");
    db.execute_batch(sql).expect("it may");
}
