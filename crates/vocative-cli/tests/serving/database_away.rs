//! PostgreSQL stops, fails and starts again under a node that runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::community::{Community, text};
use crate::load::{Load, Subscriber, assert_has_all};
use crate::node::Setup;
use crate::postgres;
use crate::support::of_channel;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_outlives_its_database() {
    let server = Arc::new(tokio::task::block_in_place(|| postgres::Server::start(&[])));
    let database = server.url(&server.database().await);
    let community = Community::of(4);
    let node = Setup::new(&community.owner).with("--database", &database).start();
    community.found(&node).await;
    let mut subscribers = Vec::new();
    for member in &community.members[2..] {
        let client = node.connect_as(member).await;
        subscribers.push(Subscriber::start(client, of_channel("secret"), "the end").await);
    }
    let mut load = Load::default();
    for n in 0..2 {
        load.add(node.connect().await, 8, community.talk(n, "secret"));
    }
    // In order; as a failure; and once more, because what is left of the first time may disturb.
    for signal in ["INT", "QUIT", "QUIT"] {
        let (stored, refused) = load.counts();
        load.reaches(stored + 100, refused).await;
        tokio::task::block_in_place(|| server.down(signal));
        load.reaches(0, refused + 40).await;
        // Long enough for all that a node still knows of its channels to be out of date.
        let down = Instant::now();
        let mut client = node.connect().await;
        while down.elapsed() < Duration::from_secs(1) {
            let event = community.members[0].event(9, &[&["h", "secret"]], &text("in vain"));
            client.refused(&event, "error:").await;
        }
        let (status, says) = node.get("/readyz").await;
        assert!(status == 503 && says.contains("unavailable"), "{status} {says}");
        tokio::task::block_in_place(|| server.up());
        let up = Instant::now();
        let stored = load.counts().0;
        load.reaches(stored + 1, 0).await;
        let written = up.elapsed();
        let marker = community.members[0].event(9, &[&["h", "secret"]], &text(signal));
        node.connect().await.store(&marker).await;
        for subscriber in &subscribers {
            subscriber.has(&marker.id.to_hex()).await;
        }
        println!("after {signal}: writing again in {written:.0?}, delivering in {:.0?}", up.elapsed());
        assert_eq!(node.get("/readyz").await, (200, "ready\n".to_owned()));
    }
    let ledger = load.end().await;
    let wrong: Vec<_> = ledger.refused.iter().filter(|says| !says.starts_with("error:")).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let mut client = node.connect_as(&community.members[0]).await;
    client.store(&community.members[0].event(9, &[&["h", "secret"]], "the end")).await;
    for subscriber in subscribers {
        assert_has_all(&subscriber.end().await, &ledger);
    }
    let ids: Vec<&String> = ledger.stored.keys().collect();
    let mut stored = 0;
    for ids in ids.chunks(500) {
        stored += client.count(&[json!({ "ids": ids })]).await.expect("it answers");
    }
    assert_eq!(stored, ids.len() as u64, "nothing acknowledged is lost");
}
