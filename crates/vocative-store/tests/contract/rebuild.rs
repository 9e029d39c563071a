//! The mention index is made again, whatever has become of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use vocative_store::{Entry, Event, IndexPart, MentionRow, RebuildProgress, Store, rebuild_index};

use super::Backend;
use super::events::{event, h, key, mention_rows, p};
use super::history::{edits_of_few, history};
use super::naive::Naive;
use super::random::{Random, runs};
use super::sessions::{Claims, published, tell};

/// What may happen to the index, as SQL for both backends.
const DAMAGE: [&str; 13] = [
    "DELETE FROM mentions",
    "DELETE FROM mentions WHERE at % 2 = 0",
    "UPDATE mentions SET retracted = 1 - retracted",
    "UPDATE mentions SET deleted = 1 - deleted WHERE at % 3 = 0",
    "UPDATE mentions SET at = at + 1, why = 2 - why",
    "UPDATE mentions SET actor = by_event, by_event = actor",
    "INSERT INTO mentions (recipient, item, by_event, actor, at, channel, why, retracted, deleted) \
     SELECT recipient, actor, item, actor, at, NULL, 0, 0, 0 FROM mentions WHERE at = (SELECT MAX(at) FROM mentions) \
     ON CONFLICT DO NOTHING",
    "DELETE FROM names",
    "DELETE FROM names WHERE event % 2 = 0",
    "UPDATE names SET how = how % 4 + 5 WHERE event % 3 = 0",
    "INSERT INTO names SELECT position, 1, key FROM events WHERE 1 = 1 ON CONFLICT DO NOTHING",
    "UPDATE session_mentions SET disputed = 1",
    "UPDATE session_mentions SET disputed = 1 - disputed",
];

/// A store with a history, beside what it has to hold.
async fn filled(store: &dyn Store, random: &mut Random, run: usize) -> (Naive, Claims) {
    let events = if run.is_multiple_of(2) { history(random) } else { edits_of_few(random) };
    let (mut naive, mut claims) = (Naive::default(), Claims::default());
    for event in &events {
        naive.append(event);
    }
    store.append(events.into_iter().map(Entry::from).collect()).await.expect("works");
    for _ in 0..20 {
        tell(store, &mut claims, random).await;
    }
    (naive, claims)
}

async fn is_right(store: &dyn Store, naive: &Naive, claims: &Claims, run: usize) {
    assert_eq!(mention_rows(store).await, naive.rows(), "run {run}");
    assert_eq!(published(store).await, claims.published(), "run {run}");
    assert_eq!(store.check().await, Ok(Vec::new()), "run {run}");
}

/// How much of the whole index was not right.
async fn repaired(store: &dyn Store) -> u64 {
    rebuild_index(store, 3, &mut |_| {}).await.expect("works").repaired
}

pub async fn parts_in_any_order_make_the_index_again<B: Backend>() {
    let mut random = Random::seeded();
    for run in 0..runs(6) {
        let place = B::fresh().await;
        let mut store = place.open().await;
        let (naive, claims) = filled(&*store, &mut random, run).await;
        assert_eq!(repaired(&*store).await, 0, "run {run}: what is right is left as it is");
        for _ in 0..1 + random.below(3) {
            place.run(random.pick::<&str>(&DAMAGE)).await;
        }
        let head = store.head().await.expect("works");
        // As a queue hands them out: some are given back half done, and to another node.
        let mut parts: Vec<String> =
            IndexPart::split(head, 1 + random.below(5)).iter().map(IndexPart::to_string).collect();
        while !parts.is_empty() {
            let part = parts.swap_remove(random.below(parts.len()));
            let part: IndexPart = part.parse().expect("a part");
            let done = store.rebuild(&part, 1 + random.below(40)).await.expect("works");
            if random.one_in(6) {
                parts.push(part.to_string());
            } else {
                parts.extend(done.rest.map(|rest| rest.to_string()));
            }
            if random.one_in(20) {
                drop(store);
                store = place.open().await;
            }
        }
        is_right(&*store, &naive, &claims, run).await;
        assert_eq!(repaired(&*store).await, 0, "run {run}");
    }
}

pub async fn a_rebuild_that_is_killed_goes_on<B: Backend>() {
    let mut random = Random::seeded();
    for run in 0..runs(3) {
        let place = B::fresh().await;
        let (naive, claims) = filled(&*place.open().await, &mut random, run).await;
        place.run("DELETE FROM mentions; DELETE FROM names WHERE event % 2 = 1").await;
        let mut left = Vec::new();
        let mut is_done = false;
        while !is_done {
            let store = place.open().await;
            let (killed, steps) = (Notify::new(), AtomicUsize::new(2 + random.below(6)));
            let mut begins_with = None;
            let mut watch = |progress: RebuildProgress| {
                begins_with.get_or_insert(progress.left);
                if steps.fetch_sub(1, Ordering::Relaxed) == 1 {
                    killed.notify_one();
                }
            };
            tokio::select! {
                biased;
                () = killed.notified() => {}
                done = rebuild_index(&*store, 5, &mut watch) => {
                    done.expect("works");
                    is_done = true;
                }
            }
            let kept = store.documents("rebuild/", None, 100).await.expect("works");
            // What was written when it was killed may be kept a little later.
            let begins_with = begins_with.expect("it says so first");
            assert!(
                left.last().is_none_or(|left| *left < 2 || begins_with <= *left),
                "{begins_with} after {left:?}"
            );
            left.push(kept.len());
        }
        assert!(left.len() > 1 && left.last() == Some(&0), "{left:?}: it goes on");
        is_right(&*place.open().await, &naive, &claims, run).await;
    }
}

pub async fn readers_and_writers_go_on_meanwhile<B: Backend>() {
    let place = B::fresh().await;
    let store: Arc<dyn Store> = place.open().await.into();
    let message = |n: u64| event(1, 9, n, &[h("c"), p(2), p(3)], &n.to_string());
    let mut naive = Naive::default();
    let events: Vec<Event> = (0..200).map(message).collect();
    for event in &events {
        naive.append(event);
    }
    store.append(events.into_iter().map(Entry::from).collect()).await.expect("works");
    let before: BTreeSet<MentionRow> = mention_rows(&*store).await.into_iter().collect();
    place.run("DELETE FROM mentions WHERE recipient = X'0303030303030303030303030303030303030303030303030303030303030303'").await;
    let more: Vec<Event> = (200..300).map(message).collect();
    let writing = {
        let (store, more) = (Arc::clone(&store), more.clone());
        tokio::spawn(async move {
            for event in more {
                store.append(vec![event.into()]).await.expect("works");
            }
        })
    };
    let node = place.open_again(&store).await;
    let nodes = [Arc::clone(&store), node].map(|store| {
        tokio::spawn(async move { rebuild_index(&*store, 6, &mut |_| {}).await.expect("works").repaired })
    });
    // What was there is there all the while.
    let is_kept = |row: &MentionRow| row.recipient == key(2);
    while !nodes.iter().all(tokio::task::JoinHandle::is_finished) {
        let rows: BTreeSet<MentionRow> = mention_rows(&*store).await.into_iter().collect();
        assert!(before.iter().filter(|row| is_kept(row)).all(|row| rows.contains(row)));
    }
    for node in nodes {
        node.await.expect("it ends");
    }
    writing.await.expect("it ends");
    more.iter().for_each(|event| {
        naive.append(event);
    });
    assert_eq!(mention_rows(&*store).await, naive.rows());
    assert_eq!(repaired(&*store).await, 0);
    assert_eq!(store.check().await, Ok(Vec::new()));
}
