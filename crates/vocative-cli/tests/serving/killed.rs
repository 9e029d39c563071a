//! A node is killed under load: the next start needs no repair, and everything acknowledged is there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nostr::event::Event;
use serde_json::{Value, json};
use vocative_store::postgres::Postgres;
use vocative_store::sqlite::Sqlite;
use vocative_store::{InboxQuery, Reader, Store};

use crate::community::{Community, text};
use crate::load::Load;
use crate::node::{Node, Setup};
use crate::postgres;
use crate::random::{Random, runs};
use crate::support::Person;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_sqlite() {
    let community = Community::of(4);
    let folder = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(&community.owner).data(folder.path());
    let open = async || {
        let store: Box<dyn Store> =
            Box::new(Sqlite::open(folder.path().join("vocative.db")).expect("a store"));
        store
    };
    survives(community, setup, open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_postgres() {
    let server = tokio::task::block_in_place(postgres::shared);
    let database = server.url(&server.database().await);
    let community = Community::of(4);
    let setup = Setup::new(&community.owner).with("--database", &database);
    let open = async || {
        let store: Box<dyn Store> = Box::new(Postgres::open(&database).await.expect("a store"));
        store
    };
    survives(community, setup, open).await;
}

async fn survives(community: Community, setup: Setup, open: impl AsyncFn() -> Box<dyn Store>) {
    let mut random = Random::seeded();
    community.found(&setup.start()).await;
    // The process above was killed too, and had nothing to lose.
    let mut acknowledged: HashMap<String, Event> = HashMap::new();
    let owner = Arc::new(community.owner);
    let talkers = Community { owner: Person::new(), members: community.members };
    let newcomers: Vec<String> = (0..20).map(|_| Person::new().hex()).collect();
    let rounds = runs(50);
    for round in 1..=rounds {
        let node = setup.start();
        let mut load = Load::default();
        for n in 0..4 {
            load.add(node.connect().await, 16, talkers.talk(n, if n % 2 == 0 { "open" } else { "secret" }));
        }
        let (adding, newcomers) = (Arc::clone(&owner), newcomers.clone());
        load.add(node.connect().await, 1, move |n| {
            let newcomer = &newcomers[(round + n) % newcomers.len()];
            adding.event(9000, &[&["h", "open"], &["p", newcomer]], &text("welcome"))
        });
        load.reaches(1 + random.below(150), 0).await;
        node.kill();
        let ledger = load.end().await;
        assert!(ledger.refused.is_empty(), "{:?}", ledger.refused);
        assert!(!ledger.stored.is_empty());
        let node = setup.start();
        let member = &talkers.members[0];
        are_there(&node, member, &ledger.stored).await;
        acknowledged.extend(ledger.stored);
        if round == rounds {
            are_there(&node, member, &acknowledged).await;
        }
        node.kill();
        if round % 10 == 0 || round == rounds {
            is_sound(&*open().await, &acknowledged).await;
        }
    }
    println!("{rounds} times killed, {} events acknowledged", acknowledged.len());
}

/// The events are there as they were sent; and who was added is a member in the description.
async fn are_there(node: &Node, member: &Person, sent: &HashMap<String, Event>) {
    let mut client = node.connect_as(member).await;
    let ids: Vec<&String> = sent.keys().collect();
    for ids in ids.chunks(500) {
        client.send(&json!(["REQ", "ids", { "ids": ids, "limit": 500 }])).await;
        let mut found = 0;
        loop {
            let message = client.next().await.expect("it answers");
            if message[0] == "EOSE" {
                break;
            }
            let id = message[2]["id"].as_str().expect("an id");
            assert_eq!(message[2], json!(sent[id]), "it is as it was sent");
            found += 1;
        }
        assert_eq!(found, ids.len(), "what was acknowledged is there");
    }
    client.send(&json!(["REQ", "described", { "kinds": [39002], "#d": ["open"] }])).await;
    let description = client.wait(|message| message[0] == "EVENT" && message[1] == "described").await;
    let described: HashSet<&Value> =
        description[2]["tags"].as_array().expect("tags").iter().map(|tag| &tag[1]).collect();
    for added in sent.values().filter(|event| event.kind == 9000.into()) {
        for key in named(added) {
            assert!(described.contains(&json!(key)), "{key} was added and is not described");
        }
    }
}

/// The store finds no fault in itself, and its mention rows and members are those of what was sent.
async fn is_sound(store: &dyn Store, sent: &HashMap<String, Event>) {
    assert_eq!(store.check().await, Ok(Vec::new()));
    let mut expected: HashSet<(String, String)> = HashSet::new();
    let members = store.members(&"open".parse().expect("a name")).await.expect("it answers");
    let members: HashSet<String> = members.into_iter().map(|member| member.key.to_string()).collect();
    for (id, event) in sent {
        if event.kind == 9.into() {
            // Nobody has a row for having named themselves.
            let others = named(event).filter(|key| *key != event.pubkey.to_hex());
            expected.extend(others.map(|key| (key.to_owned(), id.clone())));
        } else {
            assert!(named(event).all(|key| members.contains(key)), "{event:?}");
        }
    }
    let mut rows = HashSet::new();
    let recipients: HashSet<&String> = expected.iter().map(|(key, _)| key).collect();
    for recipient in recipients {
        let key: vocative::Key = recipient.parse().expect("a key");
        let mut query = InboxQuery::newest(key, InboxQuery::MAX_LIMIT);
        loop {
            let page = store.inbox(&query).await.expect("it answers");
            for row in page.rows.iter().filter_map(|row| row.message()) {
                assert!(rows.insert((recipient.clone(), row.item.to_string())), "one row for each message");
            }
            let Some(next) = page.next else { break };
            query.after = Some(next);
        }
    }
    assert!(expected.is_subset(&rows), "what was acknowledged has its rows");
    // What was stored and not acknowledged has its rows too, and no row is of anything else.
    for (recipient, item) in rows.difference(&expected) {
        let event = store.event(&Reader::Server, item.parse().expect("an id")).await.expect("it answers");
        let event = event.expect("a row is of something stored");
        assert!(event.values("p").any(|key| key == recipient), "{event:?}");
    }
}

/// The keys that an event names.
fn named(event: &Event) -> impl Iterator<Item = &str> {
    event.tags.iter().filter(|tag| tag.kind() == "p").filter_map(|tag| tag.content())
}
