//! Nodes that do the same at once, and whose clocks differ.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use nostr::key::{Keys, SecretKey};
use serde_json::{Value, json};
use vocative_store::postgres::Postgres;
use vocative_store::{Outcome, Reader, Store};

use crate::cluster::Cluster;
use crate::load::{Load, Subscriber};
use crate::support::{Client, Person, now, of_channel};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_event_sent_to_two_nodes_at_once_is_one() {
    let cluster = Cluster::start().await;
    let mut subscribers = Vec::new();
    for node in &cluster.nodes {
        let client = node.connect_as(&cluster.community.members[1]).await;
        subscribers.push(Subscriber::start(client, of_channel("secret"), "the end").await);
    }
    let (mut one, mut two) = (cluster.nodes[0].connect().await, cluster.nodes[1].connect().await);
    let mut speak = cluster.community.talk(0, "secret");
    let mut ids = HashSet::new();
    for n in 0..200 {
        let event = speak(n);
        let (first, second) = tokio::join!(one.publish(&event), two.publish(&event));
        let duplicates = [&first, &second].iter().filter(|said| said.1.starts_with("duplicate:")).count();
        assert!(first.0 && second.0 && duplicates == 1, "{first:?} {second:?}");
        ids.insert(event.id.to_hex());
    }
    one.store(&cluster.community.members[0].event(9, &[&["h", "secret"]], "the end")).await;
    for subscriber in subscribers {
        assert_eq!(subscriber.end().await, ids);
    }
    let mut reader = cluster.nodes[2].connect_as(&cluster.community.members[1]).await;
    assert_eq!(reader.count(&[json!({ "ids": ids })]).await, Ok(200));
}

/// The descriptions that a subscription has brought, as they are in the end; each is later than the one before.
struct Descriptions(HashMap<u64, Value>);

impl Descriptions {
    /// Reads what has come so far.
    async fn read(client: &mut Client, channel: &str) -> Self {
        let filter = json!({ "kinds": [39000, 39001, 39002, 39003], "#d": [channel] });
        let mut latest: HashMap<u64, Value> = HashMap::new();
        client.send(&json!(["REQ", "now", filter])).await;
        client.wait(|message| message[0] == "EOSE" && message[1] == "now").await;
        client.send(&json!(["CLOSE", ""])).await;
        loop {
            let message = client.next().await.expect("it stays open");
            match (message[0].as_str(), message[1].as_str()) {
                (Some("NOTICE"), _) => return Self(latest),
                (Some("EVENT"), Some("descriptions")) => {
                    let event = &message[2];
                    let kind = event["kind"].as_u64().expect("a kind");
                    let at = |event: &Value| event["created_at"].as_u64().expect("a time");
                    if let Some(before) = latest.get(&kind) {
                        assert!(at(before) < at(event), "not later: {before} {event}");
                    }
                    latest.insert(kind, event.clone());
                }
                _ => {}
            }
        }
    }
}

fn tagged(event: &Value, name: &str) -> BTreeSet<String> {
    let tags = event["tags"].as_array().expect("tags").iter();
    tags.filter(|tag| tag[0] == name).map(|tag| tag[1].as_str().expect("text").to_owned()).collect()
}

async fn described(client: &mut Client, kind: u64) -> Value {
    client.send(&json!(["REQ", "one", { "kinds": [kind], "#d": ["open"] }])).await;
    let message = client.wait(|message| message[0] == "EVENT" && message[1] == "one").await;
    client.send(&json!(["CLOSE", "one"])).await;
    message[2].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_channel_changed_on_all_nodes_at_once_is_described_as_it_is() {
    let cluster = Cluster::start().await;
    let owner = Arc::new(Person { keys: cluster.community.owner.keys.clone() });
    let mut watching = cluster.nodes[2].connect().await;
    let filter = json!({ "kinds": [39000, 39001, 39002, 39003], "#d": ["open"] });
    assert!(watching.subscribe("descriptions", &[filter]).await.is_ok());
    let mut load = Load::default();
    let people: Vec<String> = (0..6).map(|_| Person::new().hex()).collect();
    for (n, node) in cluster.nodes.iter().chain(&cluster.nodes).enumerate() {
        let (owner, people) = (Arc::clone(&owner), people.clone());
        load.add(node.connect().await, 1, move |number| {
            let person = &people[(n + number) % people.len()];
            let (kind, text) = ([9000, 9000, 9002][number % 3], format!("{n} {number}"));
            match kind {
                9002 => owner.event(9002, &[&["h", "open"], &["name", &text]], &text),
                _ if n % 2 == 0 => owner.event(kind, &[&["h", "open"], &["p", person, "admin"]], &text),
                _ => owner.event(kind, &[&["h", "open"], &["p", person]], &text),
            }
        });
    }
    load.reaches(120, 0).await;
    let ledger = load.end().await;
    assert!(ledger.refused.is_empty(), "{:?}", ledger.refused);

    let store = Postgres::open(&cluster.database).await.expect("a store");
    let members = store.members(&"open".parse().expect("a name")).await.expect("it answers");
    let everyone: BTreeSet<String> = members.iter().map(|member| member.key.to_string()).collect();
    let admins: BTreeSet<String> = members
        .iter()
        .filter(|member| !member.roles.is_empty())
        .map(|member| member.key.to_string())
        .collect();
    for node in &cluster.nodes {
        let mut client = node.connect().await;
        assert_eq!(tagged(&described(&mut client, 39_002).await, "p"), everyone);
        assert_eq!(tagged(&described(&mut client, 39_001).await, "p"), admins);
    }
    let latest = Descriptions::read(&mut watching, "open").await.0;
    for (kind, seen) in latest {
        assert_eq!(seen, described(&mut watching, kind).await, "what came last is what is stored");
    }
}

/// A node whose clock is ahead has described the channel; one whose clock is right does so next.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn clocks_that_differ_order_nothing() {
    let cluster = Cluster::start().await;
    let store = Postgres::open(&cluster.database).await.expect("a store");
    let secret = store.setting("relay_secret_key").await.expect("it answers").expect("it is set");
    let secret = SecretKey::from_hex(std::str::from_utf8(&secret).expect("digits")).expect("a key");
    let relay = Person { keys: Keys::new(secret) };
    let ahead = now() + 600;
    let signed = relay.event_at(ahead, 39_000, &[&["d", "open"], &["name", "ahead"]], "");
    let event = vocative_store::Event {
        id: signed.id.to_hex().parse().expect("an id"),
        key: relay.key(),
        created_at: vocative_store::Timestamp::from_secs(ahead),
        kind: 39_000,
        tags: signed.tags.iter().map(|tag| tag.as_slice().to_vec()).collect(),
        content: String::new(),
        sig: [0; 64],
    };
    let outcomes = store.append(vec![event.clone().into()]).await.expect("it stores");
    assert!(matches!(outcomes[0], Outcome::Stored(_)));
    let mut client = cluster.nodes[0].connect().await;
    let owner = &cluster.community.owner;
    for name in ["one", "two"] {
        client.store(&owner.event(9002, &[&["h", "open"], &["name", name]], name)).await;
        let found = described(&mut client, 39_000).await;
        assert_eq!(tagged(&found, "name"), BTreeSet::from([name.to_owned()]));
        assert!(found["created_at"].as_u64().is_some_and(|at| at > ahead), "{found}");
    }
    assert_eq!(store.event(&Reader::Server, event.id).await, Ok(None), "it was replaced");
    // Whose own clock differs by less than is allowed is heard on every node, in the order of commits.
    let mut listening = cluster.nodes[1].connect().await;
    assert!(listening.subscribe("s", &[of_channel("open")]).await.is_ok());
    let member = &cluster.community.members[0];
    for at in [now() + 800, now() - 3500, now(), now() + 600] {
        let event = member.event_at(at, 9, &[&["h", "open"]], &at.to_string());
        client.store(&event).await;
        assert_eq!(listening.event("s").await, event.id.to_hex());
    }
}
