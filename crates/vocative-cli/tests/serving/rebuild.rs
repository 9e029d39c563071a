//! `vocative index rebuild`: over a node that serves, and on a store that no node serves.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tokio::task::block_in_place;
use vocative_store::sqlite::Sqlite;
use vocative_store::{InboxQuery, InboxRow, Store};

use crate::node::Setup;
use crate::sending::{Ran, User};
use crate::support::Person;

fn file(folder: &Path) -> PathBuf {
    folder.join("vocative.db")
}

/// What someone's inbox holds, read from a store that nobody serves.
async fn inbox(folder: &Path, of: &Person) -> Vec<InboxRow> {
    let store = Sqlite::open(file(folder)).expect("it opens");
    let key: vocative::Key = of.hex().parse().expect("a key");
    store.inbox(&InboxQuery::newest(key, 100)).await.expect("an inbox").rows
}

/// Takes the index away.
fn spoil(folder: &Path) {
    let database = rusqlite::Connection::open(file(folder)).expect("it opens");
    database.execute("DELETE FROM mentions", []).expect("it deletes");
}

fn rebuild(user: &User, server: &str, more: &[&str]) -> Ran {
    let mut command: Command = user.command(server);
    block_in_place(|| command.args(["index", "rebuild"]).args(more).output().expect("it runs").into())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_is_made_again_by_its_node_and_without_one() {
    let folder = TempDir::new().expect("a folder");
    let (owner, bob) = (User::new(), User::new());
    let setup = Setup::new(&owner.person).data(folder.path());
    let node = setup.start();
    let mut client = node.connect().await;
    let bob_key = bob.person.hex();
    client.store(&owner.person.event(9007, &[&["h", "open"], &["p", &bob_key]], "")).await;
    for n in 0..20 {
        let tags: [&[&str]; 2] = [&["h", "open"], &["p", &bob_key]];
        client.store(&owner.person.event(9, &tags, &format!("{n}"))).await;
    }
    let data = folder.path().to_str().expect("a name in UTF-8");
    let taken = rebuild(&owner, &node.url(), &["--data", data]);
    assert!(taken.code == 1 && taken.err.contains("--server"), "{taken:?}");
    drop(client);
    let mut node = node;
    node.signal("TERM");
    assert_eq!(node.ended(), 0);
    let before = inbox(folder.path(), &bob.person).await;
    assert_eq!(before.len(), 20);

    spoil(folder.path());
    assert_eq!(inbox(folder.path(), &bob.person).await.len(), 0);
    let mut node = setup.start();
    let refused = rebuild(&bob, &node.url(), &[]);
    assert!(refused.code == 1 && refused.err.contains("not_owner"), "{refused:?}");
    let done = rebuild(&owner, &node.url(), &["--json"]);
    assert_eq!((done.code, done.out.trim()), (0, r#"{"left":0}"#), "{done:?}");
    node.signal("TERM");
    assert_eq!(node.ended(), 0);
    assert_eq!(inbox(folder.path(), &bob.person).await, before);

    spoil(folder.path());
    let done = rebuild(&owner, "", &["--data", data]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(inbox(folder.path(), &bob.person).await, before);
}
