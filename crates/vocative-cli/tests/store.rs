//! `vocative store` on real stores.

#[path = "../../vocative-store/tests/contract/events.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the store")]
mod events;
#[path = "../../vocative-store/tests/server/mod.rs"]
mod server;
mod support;

use std::path::Path;

use events::{append_stored, event, h, make_channel, p};
use support::{Ran, json_lines, run, vocative};
use tempfile::TempDir;
use vocative_store::Store;
use vocative_store::sqlite::Sqlite;

/// A community in `data` of this folder.
async fn community(home: &Path) -> Sqlite {
    std::fs::create_dir(home.join("data")).unwrap();
    let store = Sqlite::open(home.join("data/vocative.db")).unwrap();
    store.set_once("relay_key", b"secret").await.unwrap();
    make_channel(&store, "c", false, &[1]).await;
    for n in 0..20 {
        append_stored(&store, &event(1, 9, n, &[h("c"), p(2)], "text")).await;
    }
    store
}

fn said(ran: &Ran, code: i32) -> &str {
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    if code == 0 { &ran.out } else { &ran.err }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_a_writer_is_restored() {
    let folder = TempDir::new().unwrap();
    let home = folder.path();
    let store = community(home).await;
    let at = |command: &str| run(home, &command.replace('~', home.to_str().unwrap()));
    // The store is open for writing all the while.
    assert!(said(&at("store check --data ~/data"), 0).contains("sound"));
    said(&at("store backup --data ~/data ~/saved.db --json"), 0);
    append_stored(&store, &event(1, 9, 99, &[], "")).await;
    assert!(said(&at("store backup --data ~/data ~/saved.db"), 1).contains("error[exists]"));
    // The default folder of a user.
    said(&at("store restore ~/saved.db"), 0);
    assert!(said(&at("store restore ~/saved.db"), 1).contains("error[exists]"));
    let restored = home.join(".local/share/vocative/vocative.db");
    let again = Sqlite::open(&restored).unwrap();
    assert_eq!(again.setting("relay_key").await, Ok(Some(b"secret".to_vec())));
    assert_eq!(again.head().await.unwrap().get(), 21);
    assert!(said(&at("store copy --from ~/data --to ~/.local/share/vocative"), 1).contains("error[in_use]"));
    drop(again);
    let copied = at("store copy --from ~/data --to ~/.local/share/vocative --json");
    assert_eq!(json_lines(said(&copied, 0))[0]["brought"], 1);
    assert!(said(&at("store check --data ~/none"), 4).contains("error[missing]"));
    #[cfg(unix)]
    for file in [home.join("saved.db"), restored] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} holds a key", file.display());
    }
}

#[tokio::test]
async fn damage_is_found() {
    let folder = TempDir::new().unwrap();
    let home = folder.path();
    drop(community(home).await);
    let db = rusqlite::Connection::open(home.join("data/vocative.db")).unwrap();
    db.execute_batch("DELETE FROM mentions WHERE at < 5; DELETE FROM tags WHERE created_at = 7").unwrap();
    drop(db);
    let ran = run(home, &format!("store check --json --data {}/data", home.display()));
    assert_eq!(ran.code, 1);
    let found = &json_lines(&ran.out)[0]["problems"];
    assert_eq!(found[0], "events of a channel without its tag: 1");
    assert_eq!(found[1], "messages without a mention row: 5");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_a_database_and_back() {
    let folder = TempDir::new().unwrap();
    let home = folder.path();
    drop(community(home).await);
    let server = server::shared();
    let url = server.url(&server.database().await);
    let at = |command: &str| run(home, &command.replace('~', home.to_str().unwrap()).replace("DB", &url));
    said(&at("store backup --data ~/data ~/saved.db"), 0);
    said(&at("store restore ~/saved.db --database DB --json"), 0);
    assert!(said(&at("store restore ~/saved.db --database DB"), 1).contains("error[exists]"));
    said(&at("store check --database DB"), 0);
    said(&at("store backup --database DB ~/back.db"), 0);
    said(&at("store restore ~/back.db --data ~/again"), 0);
    let copied = at("store copy --from ~/data --to ~/again --json");
    assert_eq!(json_lines(said(&copied, 0))[0]["brought"], 0, "the two are the same");
    // By the environment, and never with a password in the arguments.
    let check = vocative(home).args(["store", "check"]).env("VOCATIVE_DATABASE", &url).output().unwrap();
    assert_eq!(check.status.code(), Some(0));
    let refused = run(home, "store check --database postgres://me:hidden@127.0.0.1/db");
    assert!(said(&refused, 2).contains("error[password_in_arguments]"));
    assert!(!refused.err.contains("hidden"));
}
