//! Documents, and transactions on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use vocative_store::{Document, Expected, Store, StoreError, Then, Timestamp, Write, Written};

use super::Backend;
use super::events::export;
use super::random::{Random, runs};

async fn value(store: &dyn Store, name: &str) -> Option<(Vec<u8>, u64)> {
    store.document(name).await.expect("works").map(|document| (document.value, document.version))
}

async fn done(store: &dyn Store, writes: Vec<Write>) -> u64 {
    match store.write(writes).await.expect("works") {
        Written::Done(version) => version,
        Written::Changed(name) => panic!("{name} is not as expected"),
    }
}

async fn names(store: &dyn Store, prefix: &str, after: Option<&str>, limit: usize) -> Vec<String> {
    let found = store.documents(prefix, after, limit).await.expect("works");
    found.into_iter().map(|document| document.name).collect()
}

pub async fn what_is_not_as_expected_stops_all<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let first = done(&*store, vec![Write::set("a", Expected::Absent, "1")]).await;
    assert_eq!(value(&*store, "a").await, Some((b"1".to_vec(), first)));
    let table = [
        (Write::check("a", Expected::Absent), false),
        (Write::check("a", Expected::Version(first)), true),
        (Write::check("a", Expected::Version(first + 1)), false),
        (Write::check("a", Expected::Version(0)), false),
        (Write::check("a", Expected::Version(u64::MAX)), false),
        (Write::check("a", Expected::Anything), true),
        (Write::check("none", Expected::Absent), true),
        (Write::check("none", Expected::Version(first)), false),
        (Write::check("none", Expected::Version(0)), false),
        (Write::check("none", Expected::Anything), true),
    ];
    for (n, (condition, holds)) in table.into_iter().enumerate() {
        // The condition stands last, and what comes before it is not done either.
        let (other, name) = (format!("other/{n}"), condition.name.clone());
        let written =
            store.write(vec![Write::set(&*other, Expected::Absent, "x"), condition]).await.expect("works");
        let expected = if holds { None } else { Some(Written::Changed(name)) };
        assert_eq!(Some(&written).filter(|_| !holds), expected.as_ref(), "{n}");
        assert_eq!(value(&*store, &other).await.is_some(), holds, "{n}");
        assert_eq!(value(&*store, "a").await, Some((b"1".to_vec(), first)), "a condition changes nothing");
    }
    let second = done(&*store, vec![Write::delete("a", Expected::Version(first))]).await;
    assert_eq!(value(&*store, "a").await, None);
    let third = done(&*store, vec![Write::set("a", Expected::Absent, "3")]).await;
    assert!(first < second && second < third, "a version does not come again");
    done(&*store, vec![Write::delete("none", Expected::Anything)]).await;
    let long = "n".repeat(Write::LONGEST_NAME);
    done(&*store, vec![Write::set(&*long, Expected::Absent, b"\0\xff")]).await;
    assert_eq!(value(&*store, &long).await.map(|(value, _)| value), Some(b"\0\xff".to_vec()));
    for bad in [String::new(), "a\0".to_owned(), long + "n"] {
        let written = store.write(vec![Write::set(&*bad, Expected::Anything, "")]).await;
        assert_eq!(written, Err(StoreError::BadName), "{bad:?}");
        assert_eq!(store.document(&bad).await, Ok(None));
    }
    assert_eq!(store.check().await, Ok(Vec::new()));
}

pub async fn documents_are_those_of_a_map<B: Backend>() {
    const NAMES: [&str; 10] =
        ["a", "a/", "a/1", "a/\u{10ffff}", "a/\u{10ffff}z", "a0", "é", "B", "ab", "\u{10ffff}"];
    let mut random = Random::seeded();
    for run in 0..runs(4) {
        let place = B::fresh().await;
        let mut store = place.open().await;
        let mut map: BTreeMap<String, Document> = BTreeMap::new();
        let mut given = BTreeSet::new();
        for step in 0..60 {
            let writes: Vec<Write> =
                (0..random.below(4)).map(|_| any_write(&mut random, &map, &NAMES)).collect();
            let stranger = writes.iter().find(|write| {
                let found = map.get(&write.name);
                match write.expected {
                    Expected::Anything => false,
                    Expected::Absent => found.is_some(),
                    Expected::Version(version) => found.is_none_or(|found| found.version != version),
                }
            });
            let written = store.write(writes.clone()).await.expect("works");
            match (stranger, written) {
                (Some(stranger), written) => {
                    assert_eq!(written, Written::Changed(stranger.name.clone()), "run {run}, step {step}");
                }
                (None, Written::Done(version)) => {
                    assert!(given.insert(version) && given.last() == Some(&version), "it is the greatest");
                    apply(&mut map, writes, version);
                }
                (None, changed) => panic!("run {run}, step {step}: {changed:?}"),
            }
            if random.one_in(5) {
                forget(&*store, &mut random, &mut map).await;
            }
            if random.one_in(30) {
                drop(store);
                store = place.open().await;
            }
            let prefix = *random.pick(&["", "a", "a/", "a/\u{10ffff}", "\u{10ffff}", "é", "c"]);
            let after = random.one_in(2).then(|| *random.pick(&NAMES));
            let limit = 1 + random.below(6);
            let expected = map.values().filter(|document| {
                document.name.starts_with(prefix) && after.is_none_or(|after| &*document.name > after)
            });
            let expected: Vec<Document> = expected.take(limit).cloned().collect();
            let found = store.documents(prefix, after, limit).await.expect("works");
            assert_eq!(found, expected, "run {run}, step {step}: {prefix:?} after {after:?}");
            let one = *random.pick(&NAMES);
            assert_eq!(store.document(one).await, Ok(map.get(one).cloned()), "run {run}, step {step}");
        }
        assert_eq!(store.check().await, Ok(Vec::new()));
    }
}

fn any_write(random: &mut Random, map: &BTreeMap<String, Document>, names: &[&str]) -> Write {
    let name = *random.pick(names);
    let right = map.get(name).map_or(Expected::Absent, |document| Expected::Version(document.version));
    let expected = match random.below(8) {
        0 => Expected::Absent,
        1 => Expected::Version(1 + random.below(40) as u64),
        2 | 3 => Expected::Anything,
        _ => right,
    };
    match random.below(5) {
        0 => Write::check(name, expected),
        1 => Write::delete(name, expected),
        2 => Write::set(name, expected, "ends").until(Timestamp::from_secs(random.below(20) as u64)),
        _ => Write::set(name, expected, random.next().to_be_bytes()),
    }
}

fn apply(map: &mut BTreeMap<String, Document>, writes: Vec<Write>, version: u64) {
    for Write { name, then, .. } in writes {
        match then {
            Then::Keep => {}
            Then::Set(value, expires_at) => {
                map.insert(name.clone(), Document { name, value, version, expires_at });
            }
            Then::Delete => {
                map.remove(&name);
            }
        }
    }
}

/// Forgets what has expired, a few at a time.
async fn forget(store: &dyn Store, random: &mut Random, map: &mut BTreeMap<String, Document>) {
    let before = Timestamp::from_secs(random.below(20) as u64);
    let is_over = |document: &Document| document.expires_at.is_some_and(|end| end < before);
    let over = map.values().filter(|document| is_over(document)).count();
    let mut forgotten = 0;
    loop {
        let some = store.forget_expired(before, 2).await.expect("works");
        assert!(some <= 2);
        forgotten += some;
        if some == 0 {
            break;
        }
    }
    map.retain(|_, document| !is_over(document));
    assert_eq!(forgotten, over);
}

pub async fn of_two_that_expect_the_same_one_wins<B: Backend>() {
    let place = B::fresh().await;
    let store: Arc<dyn Store> = place.open().await.into();
    let other = place.open_again(&store).await;
    for round in 0..20_u8 {
        let expected = match store.document("a").await.expect("works") {
            None => Expected::Absent,
            Some(document) => Expected::Version(document.version),
        };
        let racing = [&store, &other].map(|store| {
            let store = Arc::clone(store);
            let write = if round % 3 == 2 {
                Write::delete("a", expected)
            } else {
                Write::set("a", expected, [round])
            };
            tokio::spawn(async move { store.write(vec![write]).await.expect("works") })
        });
        let mut won = 0;
        for racer in racing {
            won += usize::from(matches!(racer.await.expect("it ends"), Written::Done(_)));
        }
        assert_eq!(won, 1, "round {round}");
    }
}

pub async fn transactions_take_turns<B: Backend>() {
    const TASKS: usize = 8;
    const STEPS: u64 = 12;
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let place = B::fresh().await;
    let store: Arc<dyn Store> = place.open().await.into();
    let other = place.open_again(&store).await;
    // Each task adds one to all counters together, and names them in an order of its own.
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = Arc::clone(if task % 2 == 0 { &store } else { &other });
            tokio::spawn(async move {
                let mut order = NAMES;
                order.rotate_left(task % 3);
                if task % 2 == 0 {
                    order.reverse();
                }
                for _ in 0..STEPS {
                    while !add_one(&*store, &order).await {}
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("nobody waits for another in a circle");
    }
    for name in NAMES {
        let (counted, _) = value(&*store, name).await.expect("it was counted");
        assert_eq!(counted, (TASKS as u64 * STEPS).to_be_bytes(), "{name}");
    }
}

/// Adds one to each counter, unless another did so meanwhile.
async fn add_one(store: &dyn Store, names: &[&str]) -> bool {
    let mut writes = Vec::new();
    for name in names {
        let (expected, counted) = match value(store, name).await {
            None => (Expected::Absent, 0),
            Some((value, version)) => {
                (Expected::Version(version), u64::from_be_bytes(value.try_into().expect("eight bytes")))
            }
        };
        writes.push(Write::set(*name, expected, (counted + 1).to_be_bytes()));
    }
    matches!(store.write(writes).await.expect("works"), Written::Done(_))
}

pub async fn values_are_not_shown<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    done(&*store, vec![Write::set("token", Expected::Absent, "hidden")]).await;
    let shown = format!("{:?} {:?}", store.document("token").await, export(&*store).await);
    assert!(shown.contains("token") && !shown.contains(&format!("{:?}", b"hidden")), "{shown}");
    assert_eq!(names(&*store, "tok", None, 10).await, ["token"]);
}
