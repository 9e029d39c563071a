//! Three nodes under load, of which one is killed, and whose bus is killed, hangs, and is cut off from one.

use std::collections::HashSet;
use std::time::Instant;

use serde_json::json;

use crate::cluster::Cluster;
use crate::community::text;
use crate::load::{Load, Subscriber, assert_has_all};
use crate::proxy::Link;
use crate::support::{now, of_channel};

const AWAY: &str = "nodes poll the store until the bus is back";
const BACK: &str = "the bus is connected";

/// Every node has a subscriber, and every subscriber has what is said on every node.
async fn everyone_hears(cluster: &Cluster, subscribers: &[Subscriber], what: &str) {
    let began = Instant::now();
    let mut said = Vec::new();
    for (n, node) in cluster.nodes.iter().enumerate() {
        let text = text(what);
        let event = cluster.community.members[n].event(9, &[&["h", "secret"]], &text);
        node.connect().await.store(&event).await;
        said.push(event.id.to_hex());
    }
    for subscriber in subscribers {
        for id in &said {
            subscriber.has(id).await;
        }
    }
    println!("{what}: every node has heard the others within {:.0?}", began.elapsed());
}

/// How far the logs of the nodes are.
fn logged(cluster: &Cluster) -> Vec<usize> {
    cluster.nodes.iter().map(|node| node.log().len()).collect()
}

async fn all_say(cluster: &Cluster, text: &str, after: &[usize]) {
    for (node, after) in cluster.nodes.iter().zip(after) {
        node.log().says(text, *after).await;
    }
}

async fn all_are(cluster: &Cluster, expected: &str) {
    for node in &cluster.nodes {
        let (status, says) = node.get("/readyz").await;
        assert!(status == 200 && says.starts_with(expected), "{status} {says}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_go_on_without_a_bus_and_without_one_of_them() {
    let mut cluster = Cluster::start().await;
    let mut subscribers = Vec::new();
    for node in &cluster.nodes {
        let client = node.connect_as(&cluster.community.members[3]).await;
        subscribers.push(Subscriber::start(client, of_channel("secret"), "the end").await);
    }
    let mut load = Load::default();
    for (n, node) in cluster.nodes.iter().enumerate() {
        load.add(node.connect().await, 4, cluster.community.talk(n, "secret"));
    }
    load.reaches(100, 0).await;
    all_are(&cluster, "ready").await;
    everyone_hears(&cluster, &subscribers, "with the bus").await;

    for how in ["killed", "stopped", "paused"] {
        let before = logged(&cluster);
        match how {
            "killed" => cluster.bus.kill(),
            "stopped" => cluster.bus.stop(),
            _ => cluster.bus.pause(),
        }
        all_say(&cluster, AWAY, &before).await;
        all_are(&cluster, "degraded").await;
        let stored = load.counts().0;
        load.reaches(stored + 100, 0).await;
        everyone_hears(&cluster, &subscribers, &format!("with the bus {how}")).await;
        let before = logged(&cluster);
        match how {
            "paused" => cluster.bus.resume(),
            _ => cluster.bus.restart(),
        }
        let back = Instant::now();
        all_say(&cluster, BACK, &before).await;
        println!("the bus was {how}: all nodes are ready {:.0?} after it is back", back.elapsed());
        all_are(&cluster, "ready").await;
        everyone_hears(&cluster, &subscribers, "with the bus again").await;
    }

    for link in [Link::Cut, Link::Silent] {
        let before = cluster.nodes[1].log().len();
        cluster.links[1].set(link);
        cluster.nodes[1].log().says(AWAY, before).await;
        let says = cluster.nodes[1].get("/readyz").await.1;
        assert!(says.starts_with("degraded"), "{says}");
        assert_eq!(cluster.nodes[0].get("/readyz").await.1, "ready\n");
        everyone_hears(&cluster, &subscribers, &format!("one node's link {link:?}")).await;
        let before = cluster.nodes[1].log().len();
        cluster.links[1].set(Link::Joined);
        let back = Instant::now();
        cluster.nodes[1].log().says(BACK, before).await;
        println!("one node's link was {link:?}: ready {:.0?} after it is joined", back.elapsed());
        all_are(&cluster, "ready").await;
    }

    // The last node dies, and those who were connected to it turn to another.
    let stored = load.counts().0;
    load.reaches(stored + 100, 0).await;
    let killed = Instant::now();
    cluster.nodes.pop().expect("three").kill();
    let (before, is_whole) = subscribers.pop().expect("three").broken().await;
    assert!(!is_whole);
    let last_seen = now();
    let client = cluster.nodes[0].connect_as(&cluster.community.members[3]).await;
    let mut again = of_channel("secret");
    again["since"] = json!(last_seen - 3600);
    again["limit"] = json!(1000);
    let moved = page(client, again, &before).await;
    println!("a client of a killed node has everything from another after {:.0?}", killed.elapsed());
    everyone_hears(&cluster, &subscribers, "one node killed").await;

    let ledger = load.end().await;
    assert!(ledger.refused.is_empty(), "{:?}", ledger.refused);
    let end = cluster.community.members[0].event(9, &[&["h", "secret"]], "the end");
    cluster.nodes[0].connect().await.store(&end).await;
    let mut came = Vec::new();
    for subscriber in subscribers {
        came.push(subscriber.end().await);
    }
    let (live, stored) = moved;
    came.push(live.end().await.into_iter().chain(stored).collect());
    for came in &came {
        assert_has_all(came, &ledger);
    }
    println!("{} events were acknowledged", ledger.stored.len());
}

/// What a client does that comes back: it subscribes again, and pages back to what it has seen.
async fn page(
    mut client: crate::support::Client,
    filter: serde_json::Value,
    before: &HashSet<String>,
) -> (Subscriber, HashSet<String>) {
    let mut all = before.clone();
    let mut older = filter.clone();
    loop {
        client.send(&json!(["REQ", "older", older])).await;
        let mut oldest = u64::MAX;
        let mut is_new = false;
        loop {
            let message = client.next().await.expect("it answers");
            if message[0] == "EOSE" {
                break;
            }
            oldest = oldest.min(message[2]["created_at"].as_u64().expect("a time"));
            is_new |= all.insert(message[2]["id"].as_str().expect("an id").to_owned());
        }
        client.send(&json!(["CLOSE", "older"])).await;
        if !is_new {
            break;
        }
        older["until"] = json!(oldest);
    }
    (Subscriber::start(client, filter, "the end").await, all)
}
