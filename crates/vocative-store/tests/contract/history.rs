//! Random histories: the store answers as the naive one does, and its rows can be made again.

use vocative_store::{Entry, Event, Filter, Outcome, Reader};

use super::Backend;
use super::events::{e, event, h, key, mention_rows, p, query};
use super::naive::Naive;
use super::random::{Random, runs};

pub async fn rows_are_those_of_a_naive_reading<B: Backend>() {
    let mut random = Random::seeded();
    for run in 0..runs(8) {
        let place = B::fresh().await;
        let store = place.open().await;
        let mut naive = Naive::default();
        let mut events = if run % 2 == 0 { history(&mut random) } else { edits_of_few(&mut random) };
        // A quarter comes late or twice.
        for at in 0..events.len() / 4 {
            let other = random.below(events.len());
            if random.one_in(3) {
                events.push(events[other].clone());
            } else {
                events.swap(at, other);
            }
        }
        let mut rest = &events[..];
        while !rest.is_empty() {
            let (batch, after) = rest.split_at((1 + random.below(12)).min(rest.len()));
            rest = after;
            let entries: Vec<Entry> = batch.iter().cloned().map(Into::into).collect();
            let outcomes = store.append(entries).await.expect("works");
            for (event, outcome) in batch.iter().zip(&outcomes) {
                let code = match outcome {
                    Outcome::Stored(_) => "stored",
                    Outcome::Duplicate => "duplicate",
                    Outcome::Refused(refusal) => refusal.code(),
                };
                assert_eq!(code, naive.append(event), "run {run}: {event:?}");
            }
        }
        let all = Filter { limit: Some(1000), ..Filter::default() };
        assert_eq!(query(&*store, &Reader::Server, &all).await, naive.newest(), "run {run}");
        assert_eq!(mention_rows(&*store).await, naive.rows(), "run {run}");
        assert_eq!(store.check().await, Ok(Vec::new()), "run {run}");
    }
}

/// Few keys, few times and few channels, so that everything meets everything.
pub fn history(random: &mut Random) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for n in 0..120 {
        let author = 1 + random.below(5) as u8;
        let at = 100 + random.below(30) as u64;
        let mut tags = Vec::new();
        if !random.one_in(4) {
            tags.push(h(["a", "b"][random.below(2)]));
        }
        let earlier = (!events.is_empty()).then(|| random.pick(&events).clone());
        let kind = match (random.below(10), &earlier) {
            (0..=3, _) | (_, None) => *random.pick(&[9, 40_002, 45_001, 45_003]),
            (4..=6, Some(target)) => {
                tags.clear();
                tags.extend(target.values("h").next().map(h));
                tags.push(e(target));
                40_003
            }
            (7, Some(target)) => {
                tags.push(e(target));
                *random.pick(&[5, 5, 9005])
            }
            (8, Some(target)) => {
                tags.push("d x".to_owned());
                tags.push(format!("a {}:{}:", target.kind, target.key));
                *random.pick(&[0, 5, 30_175])
            }
            _ => 10_100,
        };
        for _ in 0..random.below(4) {
            let named = 1 + random.below(6) as u8;
            tags.push(match random.below(5) {
                0 => format!("mention {}", key(named)),
                1 => format!("mention {} agent-address", key(named)),
                2 => format!("p {}  reply", key(named)),
                _ => p(named),
            });
        }
        // The marker stands on edits alone (T-3).
        if kind == 40_003 && random.one_in(2) {
            tags.push("buzz:mention-snapshot".to_owned());
        }
        let author = earlier.filter(|_| random.one_in(2)).map_or(author, |e| e.key.as_bytes()[0]);
        events.push(event(author, kind, at, &tags, &n.to_string()));
    }
    events
}

/// Three messages and many edits of them, at two times: by the author, by whoever owns the author at the
/// time, by strangers; and deletions of some.
pub fn edits_of_few(random: &mut Random) -> Vec<Event> {
    let name = |random: &mut Random| {
        let named = 1 + random.below(5) as u8;
        match random.below(6) {
            0 => format!("mention {} agent-address", key(named)),
            1 | 2 => format!("mention {}", key(named)),
            _ => p(named),
        }
    };
    let mut events: Vec<Event> = Vec::new();
    for n in 0..3_u8 {
        let names: Vec<String> = (0..3).map(|_| name(random)).collect();
        events.push(event(1 + n % 2, 9, 10, &names, &n.to_string()));
    }
    for n in 0..60 {
        let at = 11 + random.below(2) as u64;
        let author = 1 + random.below(4) as u8;
        let target = events[random.below(3)].clone();
        let mut tags = vec![e(&target)];
        let kind = match random.below(12) {
            0 => {
                tags = vec![p(1 + random.below(4) as u8)];
                10_100
            }
            1 | 2 => {
                tags = vec![e(random.pick(&events))];
                5
            }
            _ => {
                tags.extend((0..random.below(4)).map(|_| name(random)));
                if !random.one_in(3) {
                    tags.push("buzz:mention-snapshot".to_owned());
                }
                40_003
            }
        };
        events.push(event(author, kind, at, &tags, &n.to_string()));
    }
    events
}
