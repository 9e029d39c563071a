//! Rows of a recipient (section 5).

use vocative_store::{Event, InboxQuery, InboxRow, MentionRow, Millis, Person, Reader, Source, Store, Why};

use super::Backend;
use super::events::{append_stored, e, event, h, key, make_channel, p};

async fn rows(store: &dyn Store, recipient: u8) -> Vec<MentionRow> {
    messages(store, &InboxQuery::newest(key(recipient), 1000)).await
}

/// A page on which there are rows of messages only.
async fn messages(store: &dyn Store, query: &InboxQuery) -> Vec<MentionRow> {
    let page = store.inbox(query).await.expect("works");
    let rows = page.rows.into_iter().map(|row| match row {
        InboxRow::Message(row) => row,
        InboxRow::Session(row) => panic!("nobody published {row:?}"),
    });
    rows.collect()
}

pub async fn pages_show_each_row_once<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let message = |n: u64| event(1 + (n % 2) as u8, 9, 100 + n / 10, &[p(7)], &n.to_string());
    store.append((0..95).map(|n| message(n).into()).collect()).await.expect("works");
    let all = rows(&*store, 7).await;
    assert_eq!(all.len(), 95);
    assert!(all.is_sorted_by_key(|row| (std::cmp::Reverse(row.at), row.item)), "newest first");
    let mut walked = Vec::new();
    let mut query = InboxQuery::newest(key(7), 20);
    loop {
        let page = store.inbox(&query).await.expect("works");
        assert!(page.rows.len() <= 20);
        walked.extend(page.rows.iter().filter_map(|row| row.message()).cloned());
        // What comes in front of a walk does not disturb it.
        append_stored(&*store, &event(1, 9, 1000, &[p(7)], &walked.len().to_string())).await;
        let Some(next) = page.next else { break };
        query.after = Some(next);
    }
    assert_eq!(walked, all);
    let between = InboxQuery {
        since: Some(Millis::new(100_001)),
        until: Some(Millis::new(103_000)),
        ..InboxQuery::newest(key(7), 1000)
    };
    assert_eq!(messages(&*store, &between).await.len(), 20, "the end is exclusive");
    let none = InboxQuery { source: Source::Session, ..between.clone() };
    assert_eq!(messages(&*store, &none).await, []);
    let nobody = InboxQuery { from: Some(Person::default()), ..between.clone() };
    assert_eq!(messages(&*store, &nobody).await, []);
    let from = InboxQuery { from: Some(key(2).into()), ..between };
    let found = messages(&*store, &from).await;
    assert!(found.len() == 10 && found.iter().all(|row| row.actor == key(2)));
    assert_eq!(rows(&*store, 8).await, []);
}

pub async fn edits_add_and_retract<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    make_channel(&*store, "c", false, &[1]).await;
    let agent = format!("mention {} agent-address", key(4));
    let message = event(1, 9, 10, &[h("c"), p(2), p(4), agent], "");
    append_stored(&*store, &message).await;
    let edit = |author, at, tags: &[String]| {
        let marker = "buzz:mention-snapshot".to_owned();
        event(author, 40_003, at, &[&[h("c"), e(&message)], tags, &[marker]].concat(), "")
    };
    let refer = |n| format!("mention {}", key(n));
    let state = async |n| {
        let row = rows(&*store, n).await.pop();
        row.map(|row| (row.why, row.at.as_secs(), row.retracted, row.deleted))
    };
    assert_eq!(state(2).await, Some((Why::Mention, 10, false, false)));
    assert_eq!(state(4).await, Some((Why::AgentAddress, 10, false, false)));
    // An edit names 3 instead of 2; the automatic address stays.
    let first = edit(1, 20, &[p(3), refer(3)]);
    append_stored(&*store, &first).await;
    assert_eq!(state(2).await, Some((Why::Mention, 10, true, false)));
    assert_eq!(state(3).await, Some((Why::AddedByEdit, 20, false, false)));
    assert_eq!(state(4).await, Some((Why::AgentAddress, 10, false, false)));
    // The next takes 3 out and brings 2 back, by reference: 2 was notified before.
    let second = edit(1, 30, &[refer(2)]);
    append_stored(&*store, &second).await;
    assert_eq!(state(2).await, Some((Why::Mention, 10, false, false)));
    assert_eq!(state(3).await, Some((Why::AddedByEdit, 20, true, false)));
    // Someone else's edit, and one of another channel, count for nothing.
    append_stored(&*store, &edit(5, 40, &[p(6), refer(6)])).await;
    append_stored(&*store, &event(1, 40_003, 41, &[h("d"), e(&message), p(6)], "")).await;
    assert_eq!(state(6).await, None);
    // Until 5 is the owner of the agent that wrote the message.
    append_stored(&*store, &event(1, 10_100, 42, &[p(5)], "")).await;
    assert_eq!(state(6).await, Some((Why::AddedByEdit, 40, false, false)));
    assert_eq!(state(2).await, Some((Why::Mention, 10, true, false)));
    append_stored(&*store, &event(1, 10_100, 43, &[p(9)], "")).await;
    assert_eq!(state(6).await, None);
    // Deletions: of the edit that counts, of the edit that added, of the message.
    append_stored(&*store, &event(1, 5, 50, &[e(&second)], "")).await;
    assert_eq!(state(3).await, Some((Why::AddedByEdit, 20, false, false)));
    append_stored(&*store, &event(1, 5, 51, &[e(&first)], "")).await;
    assert_eq!(state(3).await, Some((Why::AddedByEdit, 20, false, true)));
    assert_eq!(state(2).await, Some((Why::Mention, 10, false, false)));
    append_stored(&*store, &event(1, 5, 52, &[e(&message)], "")).await;
    assert_eq!(state(2).await, Some((Why::Mention, 10, false, true)));
}

pub async fn what_never_makes_a_row<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let quoted = format!("mention {}", key(2));
    let reply_to = format!("p {} wss://relay reply", key(2));
    let events: [Event; 6] = [
        event(1, 9, 10, &[quoted], "a reference or a quote"),
        event(1, 9, 11, &[reply_to], "a reply's own addressing"),
        event(2, 9, 12, &[p(2)], "the sender's own name"),
        event(1, 9000, 13, &[p(2)], "moderation"),
        event(1, 39_002, 14, &["d c".to_owned(), p(2)], "a list of members"),
        event(1, 1, 15, &[p(2)], "a kind that carries no mention"),
    ];
    for event in &events {
        append_stored(&*store, event).await;
    }
    let everything = InboxQuery { reader: Reader::Server, ..InboxQuery::newest(key(2), 50) };
    assert_eq!(messages(&*store, &everything).await, []);
    // An edit's own writer, and the message's, are not added by it.
    let message = event(3, 9, 20, &[], "");
    append_stored(&*store, &message).await;
    append_stored(&*store, &event(3, 10_100, 21, &[p(4)], "")).await;
    append_stored(&*store, &event(4, 40_003, 22, &[e(&message), p(3), p(4), p(5)], "")).await;
    let found = super::events::mention_rows(&*store).await;
    assert_eq!(found.iter().map(|row| row.recipient).collect::<Vec<_>>(), [key(5)]);
    let upper = event(3, 9, 30, &[format!("p {}", key(0xab).to_string().to_uppercase())], "");
    append_stored(&*store, &upper).await;
    assert_eq!(rows(&*store, 0xab).await.len(), 1, "a key is the same in either case");
}

pub async fn keys_of_one_person_share_a_row<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    make_channel(&*store, "c", false, &[1]).await;
    let both = event(1, 9, 10, &[h("c"), p(2), p(3)], "names both keys");
    let own = event(3, 9, 11, &[h("c"), p(2)], "one key of the person names the other");
    let later = event(1, 9, 12, &[h("c"), p(2)], "an edit puts one key in the place of the other");
    for message in [&both, &own, &later] {
        append_stored(&*store, message).await;
    }
    let marker = "buzz:mention-snapshot".to_owned();
    let refer = format!("mention {}", key(3));
    let edit = event(1, 40_003, 20, &[h("c"), e(&later), p(3), refer, marker], "");
    append_stored(&*store, &edit).await;
    let query = InboxQuery::newest(Person { keys: vec![key(3), key(2), key(3)], names: Vec::new() }, 10);
    let state = async |query: &InboxQuery| {
        let rows = messages(&*store, query).await;
        rows.iter().map(|row| (row.item, row.recipient, row.retracted, row.deleted)).collect::<Vec<_>>()
    };
    let expected = [(later.id, key(2), false, false), (both.id, key(2), false, false)];
    assert_eq!(state(&query).await, expected, "once each, and still named");
    let alone = InboxQuery::newest(key(2), 10);
    let retracted = state(&alone).await.iter().map(|row| (row.0, row.2)).collect::<Vec<_>>();
    assert_eq!(retracted, [(later.id, true), (own.id, false), (both.id, false)]);
    append_stored(&*store, &event(1, 5, 30, &[e(&later)], "")).await;
    assert!(state(&query).await[0].3, "what names nobody any more is deleted for all keys");
}
