//! What filters yield and in which order, and the order of commits (section 1).

use std::sync::Arc;

use vocative_store::{Entry, Event, Filter, Outcome, Position, Reader, Store, Timestamp};

use super::Backend;
use super::events::{append_stored, channel_id, e, event, h, key, make_channel, p, query};

pub async fn newest_first_then_by_id<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let mut events: Vec<Event> =
        (0..40).map(|n| event(1, 9, 10 + n % 5, &[h("c")], &n.to_string())).collect();
    let batch: Vec<Entry> = events.iter().cloned().map(Into::into).collect();
    store.append(batch).await.expect("works");
    events.sort_by_key(|event| (std::cmp::Reverse(event.created_at), event.id));
    let expected: Vec<_> = events.iter().map(|event| event.id).collect();
    let by_tag = Filter::default().tag('h', ["c", "d"]);
    let by_author =
        Filter { authors: Some(vec![key(1), key(2)]), kinds: Some(vec![9, 7]), ..Filter::default() };
    let by_kind = Filter { kinds: Some(vec![7, 9]), ..Filter::default() };
    let by_id = Filter { ids: Some(expected.clone()), ..Filter::default() };
    for filter in [Filter::default(), by_tag, by_author, by_kind, by_id] {
        for limit in [3, 17, 1000] {
            let limited = Filter { limit: Some(limit), ..filter.clone() };
            let found = query(&*store, &Reader::Server, &limited).await;
            assert_eq!(found, expected[..limit.min(40)], "{limited:?}");
        }
        assert_eq!(store.count(&Reader::Server, &[filter]).await, Ok(40));
    }
}

pub async fn limits_and_bounds<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let batch = (0..1100).map(|n| event(1, 9, n, &[], "").into()).collect();
    store.append(batch).await.expect("works");
    for (limit, expected) in [(None, 500), (Some(0), 0), (Some(7), 7), (Some(9999), 1000)] {
        let filter = Filter { limit, ..Filter::default() };
        assert_eq!(query(&*store, &Reader::Server, &filter).await.len(), expected);
    }
    let between = |since, until| Filter {
        since: Some(Timestamp::from_secs(since)),
        until: Some(Timestamp::from_secs(until)),
        ..Filter::default()
    };
    let table =
        [(between(5, 7), 3), (between(7, 5), 0), (between(1099, u64::MAX), 1), (Filter::default(), 1100)];
    for (filter, expected) in table {
        assert_eq!(store.count(&Reader::Server, &[filter]).await, Ok(expected), "bounds are inclusive");
    }
    let both = store.count(&Reader::Server, &[between(0, 9), between(5, 14)]).await;
    assert_eq!(both, Ok(15), "an event that two filters ask for counts once");
}

pub async fn every_condition_holds<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let root = event(1, 9, 10, &[h("c"), p(2), p(3)], "");
    let reply = event(2, 9, 11, &[h("c"), e(&root), p(1)], "");
    let other = event(2, 45_001, 12, &[h("d"), p(1)], "");
    for event in [&root, &reply, &other] {
        append_stored(&*store, event).await;
    }
    let none = Filter::default;
    let table: [(Filter, Vec<&Event>); 10] = [
        (none().tag('h', ["c"]), vec![&reply, &root]),
        (none().tag('h', ["c"]).tag('p', [key(1).to_string()]), vec![&reply]),
        (none().tag('p', [key(2).to_string(), key(3).to_string()]), vec![&root]),
        (none().tag('e', [root.id.to_string()]), vec![&reply]),
        (none().tag('h', Vec::<String>::new()), vec![]),
        (Filter { authors: Some(vec![key(2)]), ..none() }.tag('h', ["d"]), vec![&other]),
        (Filter { authors: Some(vec![key(2)]), kinds: Some(vec![9]), ..none() }, vec![&reply]),
        (Filter { ids: Some(vec![root.id]), kinds: Some(vec![7]), ..none() }, vec![]),
        (Filter { kinds: Some(vec![]), ..none() }, vec![]),
        (Filter { ids: Some(vec![]), ..none() }, vec![]),
    ];
    for (filter, expected) in table {
        let expected: Vec<_> = expected.into_iter().map(|event| event.id).collect();
        assert_eq!(query(&*store, &Reader::Server, &filter).await, expected, "{filter:?}");
        let count = store.count(&Reader::Server, std::slice::from_ref(&filter)).await;
        assert_eq!(count, Ok(expected.len() as u64), "{filter:?}");
    }
    // More values than a statement has branches for.
    let many: Vec<String> = (0..500).map(|n| format!("c{n}")).chain(["c".to_owned()]).collect();
    assert_eq!(query(&*store, &Reader::Server, &none().tag('h', many)).await, [reply.id, root.id]);
}

/// Many values, many filters, many keys, and a character that no stored event has.
pub async fn filters_of_any_size_are_answered<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let message = event(1, 9, 10, &[h("c"), "t v1".to_owned(), "t v2".to_owned()], "");
    let channel =
        vocative_store::Channel::open("c".parse().expect("a name"), vocative_store::ChannelKind::Stream);
    let changes = vec![vocative_store::Change::SetChannel(channel)];
    store.append(vec![Entry { changes, ..message.clone().into() }]).await.expect("works");
    let keys = Reader::Keys((0..16).map(key).collect());
    let values = |n: usize| (0..n).map(|n| format!("v{n}")).collect::<Vec<_>>();
    let hex = |n: usize| (0..n).map(|n| format!("{n:064x}").parse().expect("a key")).collect::<Vec<_>>();
    let all_keys = Some(hex(4900).into_iter().chain([key(1)]).collect());
    let table = [
        (vec![Filter::default().tag('t', values(64)); 20], 1),
        (vec![Filter::default().tag('t', values(5000))], 1),
        (vec![Filter { authors: all_keys, ..Filter::default() }.tag('t', values(60)).tag('h', ["c"])], 1),
        (vec![Filter { kinds: Some((0..5000).collect()), ..Filter::default() }], 1),
        (vec![Filter::default().tag('t', ["v1", "\0", "a\0b"])], 1),
        (
            vec![
                Filter::default().tag('t', ["\0"]),
                Filter { search: Some("\0".to_owned()), ..Filter::default() },
            ],
            0,
        ),
    ];
    for (number, (filters, expected)) in table.into_iter().enumerate() {
        assert_eq!(store.count(&keys, &filters).await, Ok(expected), "the count of filter {number}");
        for filter in filters {
            let found = query(&*store, &keys, &filter).await;
            assert_eq!(found, vec![message.id; expected as usize], "filter {number}");
            let only_found = store.find(&keys, &filter).await.expect("works");
            assert_eq!(only_found.iter().map(|found| found.id).collect::<Vec<_>>(), found, "filter {number}");
        }
    }
}

pub async fn search_finds_words<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let german = event(1, 9, 10, &[h("c")], "Die Straße ist lang, don't go");
    let japanese = event(1, 9, 11, &[h("d")], "明日は東京へ行く");
    append_stored(&*store, &german).await;
    append_stored(&*store, &japanese).await;
    let table: [(&str, Vec<_>); 9] = [
        ("strasse", vec![german.id]),
        ("LANG die", vec![german.id]),
        ("stra", vec![]),
        ("lang kurz", vec![]),
        ("東京", vec![japanese.id]),
        ("京東", vec![]),
        ("\" OR *", vec![]),
        ("'; DROP TABLE events; --", vec![]),
        ("", vec![]),
    ];
    for (text, expected) in table {
        let filter = Filter { search: Some(text.to_owned()), ..Filter::default() };
        assert_eq!(query(&*store, &Reader::Server, &filter).await, expected, "{text}");
    }
    let elsewhere = Filter { search: Some("lang".to_owned()), ..Filter::default() }.tag('h', ["d"]);
    assert_eq!(query(&*store, &Reader::Server, &elsewhere).await, []);
}

pub async fn positions_are_in_the_order_of_commits<B: Backend>() {
    let place = B::fresh().await;
    let store: Arc<dyn Store> = place.open().await.into();
    let other: Arc<dyn Store> = place.open_again(&store).await;
    let batches = 60;
    let writers: Vec<_> = (0..4_u8)
        .map(|writer| {
            let store = Arc::clone(if writer % 2 == 0 { &store } else { &other });
            tokio::spawn(async move {
                let mut last = Position::START;
                for n in 0..batches {
                    let batch = (0..3).map(|i| event(writer, 9, n, &[h("c")], &i.to_string()).into());
                    for outcome in store.append(batch.collect()).await.expect("works") {
                        let Outcome::Stored(position) = outcome else { panic!("{outcome:?}") };
                        assert!(position > last, "what one writer appends in turn is in that order");
                        last = position;
                    }
                }
            })
        })
        .collect();
    // A follower goes on from the last position it saw, while they write, and misses none.
    let total = 4 * 3 * batches as usize;
    let mut seen = Vec::new();
    let mut last = Position::START;
    while seen.len() < total {
        for placed in store.events_after(last, 10).await.expect("works") {
            assert!(placed.position > last);
            last = placed.position;
            seen.push(placed.event.id);
        }
    }
    for writer in writers {
        writer.await.expect("a writer ends well");
    }
    assert_eq!(store.events_after(last, 10).await, Ok(Vec::new()), "nothing comes late");
    assert_eq!(store.head().await, Ok(last));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), total, "each once");
}

pub async fn writers_at_once_lose_nothing<B: Backend>() {
    let place = B::fresh().await;
    let store: Arc<dyn Store> = place.open().await.into();
    let other: Arc<dyn Store> = place.open_again(&store).await;
    // All give the same events, in different order: each is stored exactly once.
    let events: Vec<Event> = (0..300).map(|n| event(1, 9, n, &[h("c"), p(2)], "")).collect();
    let writers: Vec<_> = (0..6_usize)
        .map(|writer| {
            let store = Arc::clone(if writer % 2 == 0 { &store } else { &other });
            let mut mine = events.clone();
            mine.rotate_left(writer * 50);
            if writer % 3 == 0 {
                mine.reverse();
            }
            tokio::spawn(async move {
                let mut stored = 0;
                for chunk in mine.chunks(25) {
                    let batch = chunk.iter().cloned().map(Into::into).collect();
                    let outcomes = store.append(batch).await.expect("works");
                    stored += outcomes.iter().filter(|o| matches!(o, Outcome::Stored(_))).count();
                }
                stored
            })
        })
        .collect();
    let mut stored = 0;
    for writer in writers {
        stored += writer.await.expect("a writer ends well");
    }
    assert_eq!(stored, 300);
    assert_eq!(store.count(&Reader::Server, &[Filter::default()]).await, Ok(300));
    assert_eq!(super::events::mention_rows(&*store).await.len(), 300);
}

/// Whoever follows the commits gets what was committed, whatever has become of it since.
pub async fn what_went_at_once_is_delivered<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    make_channel(&*store, "secret", true, &[1, 2]).await;
    let start = store.head().await.expect("works");
    let profile = |at, name| event(1, 0, at, &[], name);
    let (first, second) = (profile(10, "first"), profile(11, "second"));
    let said = event(1, 9, 20, &[h("secret"), p(2), "x y".to_owned()], "said in haste");
    let deletion = event(1, 5, 21, &[e(&said)], "");
    // In one batch and in several.
    let batch = vec![first.clone().into(), second.clone().into(), said.clone().into()];
    store.append(batch).await.expect("works");
    append_stored(&*store, &deletion).await;
    let third = profile(12, "third");
    append_stored(&*store, &third).await;
    let placed = store.events_after(start, 100).await.expect("works");
    let events: Vec<&Event> = placed.iter().map(|placed| &placed.event).collect();
    assert_eq!(events, [&first, &second, &said, &deletion, &third]);
    assert_eq!(placed[2].audience.channels, [channel_id("secret")]);
    // In pieces too.
    let mut after = start;
    for event in events {
        let piece = store.events_after(after, 1).await.expect("works");
        assert_eq!(&piece[0].event, event);
        after = piece[0].position;
    }
    // Nobody else sees them, and after a while nobody does.
    assert_eq!(
        query(&*store, &Reader::Server, &Filter { kinds: Some(vec![0]), ..Filter::default() }).await,
        [third.id]
    );
    assert_eq!(store.event(&Reader::Server, said.id).await, Ok(None));
    place.run("UPDATE gone SET since = since - 3600").await;
    let last = event(1, 9, 30, &[], "");
    append_stored(&*store, &last).await;
    let placed = store.events_after(start, 100).await.expect("works");
    let events: Vec<&Event> = placed.iter().map(|placed| &placed.event).collect();
    assert_eq!(events, [&deletion, &third, &last]);
}
