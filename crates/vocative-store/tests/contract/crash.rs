//! Acknowledged means durable: a process is killed while it appends, and nothing it said is lost.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use vocative_store::{Outcome, Reader};

use super::Backend;
use super::events::{event, h, mention_rows, p};
use super::random::{Random, runs};

const ADDRESS: &str = "VOCATIVE_TEST_STORE";
const ROUND: &str = "VOCATIVE_TEST_ROUND";

pub async fn what_was_acknowledged_is_there<B: Backend>() {
    let mut random = Random::seeded();
    let place = B::fresh().await;
    // Made before the first round, so that no round is killed while it makes the tables.
    drop(place.open().await);
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..runs(50) {
        let first = acknowledged.len();
        let mut child = Command::new(std::env::current_exe().expect("a test has a file"))
            .args(["--exact", "crash::child", "--nocapture"])
            .env(ADDRESS, place.address())
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the test starts itself");
        let enough = 1 + random.below(100);
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut heard = 0;
        for line in lines {
            let line = line.expect("text");
            // The harness writes its own words before the first line of the child.
            if let Some((_, id)) = line.rsplit_once("ok ").filter(|(_, id)| id.len() == 64) {
                acknowledged.push(id.to_owned());
                heard += 1;
            }
            if heard == enough {
                // SIGKILL. What the child wrote before it is still read: it was said.
                child.kill().expect("the child runs");
            }
        }
        child.wait().expect("the child ends");
        assert!(heard >= enough, "round {round}: the child ended by itself after {heard} events");
        let store = place.open().await;
        for id in &acknowledged[first..] {
            let id = id.parse().expect("an id");
            let found = store.event(&Reader::Server, id).await.expect("works");
            assert!(found.is_some(), "round {round}: {id} was acknowledged");
        }
        // The check finds events without their tags and messages without their rows.
        assert_eq!(store.check().await, Ok(Vec::new()), "round {round}");
    }
    let store = place.open().await;
    let rows = mention_rows(&*store).await;
    let items: HashSet<String> = rows.iter().map(|row| row.item.to_string()).collect();
    assert!(acknowledged.iter().all(|id| items.contains(id)), "each has its row");
    assert_eq!(rows.len() as u64, store.count(&Reader::Server, &[Default::default()]).await.expect("works"));
}

/// Runs in the process that is killed; does nothing in an ordinary run.
pub async fn child<B: Backend>() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let round: u64 = std::env::var(ROUND).expect("set").parse().expect("a number");
    let store = B::open_at(&address).await;
    let mut out = std::io::stdout();
    for n in 0.. {
        let batch: Vec<_> =
            (0..10).map(|i| event(1, 9, round, &[h("c"), p(2)], &format!("{n} {i}"))).collect();
        let entries = batch.iter().cloned().map(Into::into).collect();
        let outcomes = store.append(entries).await.expect("works");
        for (event, outcome) in batch.iter().zip(outcomes) {
            assert!(matches!(outcome, Outcome::Stored(_)));
            writeln!(out, "ok {}", event.id).expect("the parent reads");
        }
        out.flush().expect("the parent reads");
    }
}
