//! Many connections on one node, and more than it has file descriptors for.

use std::collections::HashSet;

use futures_util::StreamExt;
use serde_json::json;
use tokio::net::TcpStream;

use crate::community::Community;
use crate::node::Setup;
use crate::random::Random;
use crate::support::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_subscriptions_get_exactly_what_they_want() {
    const CONNECTIONS: usize = 1_000;
    const SUBSCRIPTIONS: usize = 10;
    // Each topic is wanted by four subscriptions; the tenth of each connection tells the end.
    const TOPICS: usize = CONNECTIONS * (SUBSCRIPTIONS - 1) / 4;
    allow_descriptors(CONNECTIONS as u64 * 2 + 500);
    let mut random = Random::seeded();
    let community = Community::of(1);
    let folder = tempfile::tempdir().expect("a folder");
    let node = Setup::new(&community.owner).data(folder.path()).start();
    community.found(&node).await;
    let before = node.memory("VmRSS");
    let topic =
        |connection: usize, subscription: usize| (connection * (SUBSCRIPTIONS - 1) + subscription) % TOPICS;
    let connecting = (0..CONNECTIONS).map(async |connection| {
        let mut client = node.connect().await;
        for subscription in 0..SUBSCRIPTIONS {
            let wanted = match subscription {
                0 => "end".to_owned(),
                n => topic(connection, n - 1).to_string(),
            };
            let filter = json!({ "#h": ["open"], "#t": [wanted] });
            client.send(&json!(["REQ", subscription.to_string(), filter])).await;
        }
        for _ in 0..SUBSCRIPTIONS {
            client.wait(|message| message[0] == "EOSE").await;
        }
        client
    });
    let mut clients: Vec<Client> = futures_util::stream::iter(connecting).buffered(16).collect().await;
    assert_eq!(node.metric("vocative_subscriptions").await, (CONNECTIONS * SUBSCRIPTIONS) as u64);
    println!("1,000 connections, 10,000 subscriptions: {} KiB more", node.memory("VmRSS") - before);
    let mut writer = node.connect().await;
    let speaker = &community.members[0];
    let said: Vec<usize> = (0..200).map(|_| random.below(TOPICS)).collect();
    for (n, topic) in said.iter().enumerate() {
        let event = speaker.event(9, &[&["h", "open"], &["t", &topic.to_string()]], &n.to_string());
        writer.store(&event).await;
    }
    writer.store(&speaker.event(9, &[&["h", "open"], &["t", "end"]], "")).await;
    for (connection, client) in clients.iter_mut().enumerate() {
        let mut expected: HashSet<(String, String)> = HashSet::new();
        for subscription in 1..SUBSCRIPTIONS {
            let wanted = topic(connection, subscription - 1);
            let of_topic = said.iter().enumerate().filter(|(_, said)| **said == wanted);
            expected.extend(of_topic.map(|(n, _)| (subscription.to_string(), n.to_string())));
        }
        loop {
            let message = client.next().await.expect("it stays open");
            assert_eq!(message[0], "EVENT", "{message}");
            let subscription = message[1].as_str().expect("an id").to_owned();
            if subscription == "0" {
                break;
            }
            let content = message[2]["content"].as_str().expect("text").to_owned();
            assert!(expected.remove(&(subscription, content)), "not wanted, or again: {message}");
        }
        assert!(expected.is_empty(), "missing: {expected:?}");
    }
}

/// Raises the limit of this process and of what it starts.
fn allow_descriptors(count: u64) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < count) {
        limit.current = limit.maximum.map_or(Some(count), |most| Some(most.min(count)));
        setrlimit(Resource::Nofile, limit).expect("it is within what is allowed");
    }
    let allowed = getrlimit(Resource::Nofile).current;
    assert!(
        allowed.is_none_or(|allowed| allowed >= count),
        "this test needs {count} file descriptors (ulimit -Hn)"
    );
}

/// Who is connected goes on; who comes waits; nobody turns in circles.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_without_descriptors_waits_for_some() {
    let community = Community::of(1);
    let folder = tempfile::tempdir().expect("a folder");
    let node = Setup::new(&community.owner).data(folder.path()).descriptors(64).start();
    community.found(&node).await;
    let mut client = node.connect().await;
    let filter = json!({ "#h": ["open"], "kinds": [9] });
    assert!(client.subscribe("s", &[filter]).await.is_ok());
    let mut speak = community.talk(0, "open");
    let mut others = Vec::new();
    for _ in 0..80 {
        others.push(TcpStream::connect(node.address).await.expect("the system takes it"));
    }
    let first = node.log().says("accept error", 0).await;
    let before = node.ticks();
    for n in 0..50 {
        let event = speak(n);
        client.store(&event).await;
        assert_eq!(client.event("s").await, event.id.to_hex());
    }
    let second = node.log().says("accept error", first).await;
    node.log().says("accept error", second).await;
    let ticks = node.ticks() - before;
    println!("{ticks} ticks of 10 ms while it had no descriptors");
    assert!(ticks < 100, "it turns in circles: {ticks} ticks");
    drop(others);
    node.connect().await.store(&speak(50)).await;
}
