//! Settings that are set once, and the stores that had none.

use std::sync::Arc;

use vocative_store::{Reader, Store};

use super::Backend;
use super::events::{append_stored, e, event, export, h, key, mention_rows, p};

pub async fn the_first_value_stays<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    assert_eq!(store.setting("key").await, Ok(None));
    assert_eq!(store.set_once("key", b"\0first\xff").await, Ok(b"\0first\xff".to_vec()));
    assert_eq!(store.set_once("key", b"second").await, Ok(b"\0first\xff".to_vec()));
    assert_eq!(store.set_once("other", b"").await, Ok(Vec::new()));
    drop(store);
    let store = place.open().await;
    assert_eq!(store.setting("key").await, Ok(Some(b"\0first\xff".to_vec())));
    assert_eq!(store.setting("other").await, Ok(Some(Vec::new())));
    assert!(!format!("{:?}", export(&*store).await).contains("first"), "a secret is not shown");
}

pub async fn nodes_agree_on_one_value<B: Backend>() {
    let place = B::fresh().await;
    let store: Arc<dyn Store> = place.open().await.into();
    let other: Arc<dyn Store> = place.open_again(&store).await;
    let setting: Vec<_> = (0..8_u8)
        .map(|n| {
            let store = Arc::clone(if n % 2 == 0 { &store } else { &other });
            tokio::spawn(async move { store.set_once("key", &[n]).await })
        })
        .collect();
    let kept = store.set_once("key", b"late").await.expect("works");
    for node in setting {
        assert_eq!(node.await.expect("it ends"), Ok(kept.clone()));
    }
    assert_eq!(other.setting("key").await, Ok(Some(kept)));
}

pub async fn a_store_of_version_1_gets_settings<B: Backend>() {
    let place = B::fresh().await;
    let message = event(1, 9, 10, &[h("c"), p(2), format!("mention {}", key(3))], "from before");
    let (id, sig) = (message.id, "07".repeat(64));
    let tags = format!(r#"[["h","c"],["p","{}"],["mention","{}"]]"#, key(2), key(3));
    place.run(B::VERSION_1).await;
    place
        .run(&format!(
            "CREATE TABLE schema_version (version bigint NOT NULL);
             INSERT INTO schema_version VALUES (1);
             INSERT INTO events VALUES (1, X'{id}', X'{one}', 10, 9, '{tags}', 'from before', X'{sig}', 'c',
                 NULL, NULL, 0, 0);
             INSERT INTO tags VALUES ('h', 'c', 10, X'{id}', 1), ('p', '{two}', 10, X'{id}', 1);
             INSERT INTO names VALUES (1, 1, X'{two}');
             INSERT INTO mentions (recipient, at, item, by_event, actor, channel, why, retracted, deleted)
                 VALUES (X'{two}', 10, X'{id}', X'{id}', X'{one}', 'c', 0, 0, 0);
             UPDATE head SET position = 1",
            one = key(1),
            two = key(2),
        ))
        .await;
    let store = place.open().await;
    assert_eq!(store.event(&Reader::Server, id).await, Ok(Some(message.clone())));
    assert_eq!(mention_rows(&*store).await.len(), 1);
    assert_eq!(store.set_once("key", b"value").await, Ok(b"value".to_vec()));
    append_stored(&*store, &event(1, 9, 11, &[h("c"), p(2)], "from now")).await;
    // Whom a message refers to counts where an edit without a list is laid over it (X-10, H-1).
    let edit = |at, tags: &[String]| event(1, 40_003, at, &[&[h("c"), e(&message)], tags].concat(), "");
    append_stored(&*store, &edit(12, &[p(3)])).await;
    append_stored(&*store, &edit(13, &[])).await;
    let rows = mention_rows(&*store).await;
    assert!(rows.iter().any(|row| row.recipient == key(3) && !row.retracted), "{rows:?}");
    assert_eq!(store.check().await, Ok(Vec::new()));
    let before = export(&*store).await;
    drop(store);
    assert_eq!(export(&*place.open().await).await, before, "it is brought up once");
}
