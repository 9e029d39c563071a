//! A node is told to stop under load.

use serde_json::json;

use crate::community::Community;
use crate::load::Load;
use crate::node::{Node, Setup};
use crate::postgres;
use crate::support::of_channel;

/// Stops it, and takes over what it had on another.
async fn hands_over(mut node: Node, community: &Community, other: impl FnOnce() -> Node) {
    let mut reader = node.connect_as(&community.members[0]).await;
    for id in ["one", "two"] {
        assert!(reader.subscribe(id, &[of_channel("secret")]).await.is_ok());
    }
    let mut load = Load::default();
    for n in 0..4 {
        load.add(node.connect().await, 32, community.talk(n, "secret"));
    }
    load.reaches(200, 0).await;
    node.signal("TERM");
    let mut closed = Vec::new();
    while let Some(message) = reader.next().await {
        if message[0] == "CLOSED" {
            assert!(message[2].as_str().is_some_and(|why| why.starts_with("error:")), "{message}");
            closed.push(message[1].as_str().expect("an id").to_owned());
        } else {
            assert!(
                message[0] == "EVENT" && !closed.contains(&message[1].as_str().expect("an id").to_owned())
            );
        }
    }
    closed.sort_unstable();
    assert_eq!(closed, ["one", "two"]);
    let ledger = load.end().await;
    assert_eq!(node.ended(), 0);
    let other = other();
    let mut client = other.connect_as(&community.members[0]).await;
    let ids: Vec<&String> = ledger.stored.keys().collect();
    for ids in ids.chunks(500) {
        assert_eq!(client.count(&[json!({ "ids": ids })]).await, Ok(ids.len() as u64));
    }
    let mut speak = community.talk(0, "secret");
    client.store(&speak(0)).await;
    println!("{} events were acknowledged, and are there", ids.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn another_takes_over_its_folder() {
    let community = Community::of(4);
    let folder = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(&community.owner).data(folder.path());
    let node = setup.start();
    community.found(&node).await;
    hands_over(node, &community, || setup.start()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn another_goes_on_beside_it() {
    let server = tokio::task::block_in_place(postgres::shared);
    let database = server.url(&server.database().await);
    let community = Community::of(5);
    let setup = Setup::new(&community.owner).with("--database", &database);
    let (node, other) = (setup.start(), setup.start());
    community.found(&node).await;
    let mut load = Load::default();
    load.add(other.connect().await, 8, community.talk(4, "secret"));
    hands_over(node, &community, || other).await;
    // The other has ended too by now, in the midst of its work, and had refused nothing.
    assert!(load.end().await.refused.is_empty());
}
