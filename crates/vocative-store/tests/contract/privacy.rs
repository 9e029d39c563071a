//! What a reader may not read is in no answer (section 1, Privacy).

use vocative_store::{
    Change, Channel, ChannelKind, Entry, Filter, InboxQuery, Member, Position, Reader, Store,
};

use super::Backend;
use super::events::{append_stored, channel_id, e, event, h, key, make_channel, p, query};

pub async fn a_private_channel_never_leaks<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    make_channel(&*store, "open", false, &[1]).await;
    make_channel(&*store, "secret", true, &[1, 2]).await;
    let open = event(1, 9, 10, &[h("open"), p(3)], "word");
    let secret = event(1, 9, 11, &[h("secret"), p(3), p(2)], "word");
    let metadata = event(1, 39_000, 12, &["d secret".to_owned()], "");
    let nowhere = event(1, 9, 13, &[h("unknown")], "word");
    let free = event(1, 1, 14, &["t word".to_owned()], "");
    for event in [&open, &secret, &metadata, &nowhere, &free] {
        append_stored(&*store, event).await;
    }
    let search = Filter { search: Some("word".to_owned()), ..Filter::default() };
    let filters = [
        Filter::default(),
        Filter::default().tag('h', ["secret"]),
        Filter::default().tag('d', ["secret"]),
        Filter::default().tag('p', [key(3).to_string()]),
        Filter { ids: Some(vec![secret.id, metadata.id, nowhere.id]), ..Filter::default() },
        Filter { authors: Some(vec![key(1)]), ..Filter::default() },
        Filter { kinds: Some(vec![9, 39_000]), ..Filter::default() },
        search,
    ];
    for reader in [Reader::anonymous(), Reader::key(key(3)), Reader::Keys(vec![key(3), key(4)])] {
        for filter in &filters {
            let found = query(&*store, &reader, filter).await;
            let leaks = [secret.id, metadata.id, nowhere.id].iter().any(|id| found.contains(id));
            assert!(!leaks, "{filter:?} leaks to {reader:?}");
            let count = store.count(&reader, std::slice::from_ref(filter)).await;
            assert_eq!(count, Ok(found.len() as u64), "{filter:?} is counted for {reader:?}");
        }
        assert_eq!(store.event(&reader, secret.id).await, Ok(None));
        assert_eq!(store.may_read(&reader, &channel_id("secret")).await, Ok(false));
        assert_eq!(store.may_read(&reader, &channel_id("open")).await, Ok(true));
    }
    let member = Reader::Keys(vec![key(9), key(2)]);
    let found = query(&*store, &member, &filters[4]).await;
    assert_eq!(found, [metadata.id, secret.id], "one of the keys is a member");
    // The row of someone who may not read the channel is not shown, and comes with membership.
    assert_eq!(inbox(&*store, 3).await, [open.id]);
    assert_eq!(inbox(&*store, 2).await, [secret.id]);
    let deleted = Channel { deleted: true, ..Channel::open(channel_id("open"), ChannelKind::Stream) };
    let entry =
        Entry { changes: vec![Change::SetChannel(deleted)], ..event(1, 9008, 20, &[h("open")], "").into() };
    store.append(vec![entry]).await.expect("works");
    assert_eq!(inbox(&*store, 3).await, [], "nobody reads a deleted channel");
    assert_eq!(query(&*store, &Reader::key(key(1)), &Filter::default().tag('h', ["open"])).await, []);
}

async fn inbox(store: &dyn Store, recipient: u8) -> Vec<vocative_store::EventId> {
    let page = store.inbox(&InboxQuery::newest(key(recipient), 50)).await.expect("works");
    page.rows.iter().filter_map(|row| row.message()).map(|row| row.item).collect()
}

pub async fn a_deletion_is_for_readers_of_its_targets<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    make_channel(&*store, "open", false, &[1]).await;
    make_channel(&*store, "secret", true, &[1, 2]).await;
    let (open, secret) = (event(1, 9, 10, &[h("open")], ""), event(1, 9, 11, &[h("secret")], ""));
    append_stored(&*store, &open).await;
    append_stored(&*store, &secret).await;
    let of_open = event(1, 5, 20, &[e(&open)], "");
    let of_both = event(1, 5, 21, &[e(&open), e(&secret)], "");
    let of_unknown = event(1, 5, 22, &[e(&event(1, 9, 99, &[], ""))], "");
    for deletion in [&of_open, &of_both, &of_unknown] {
        append_stored(&*store, deletion).await;
    }
    let deletions = Filter { kinds: Some(vec![5]), ..Filter::default() };
    let table = [
        (Reader::anonymous(), vec![of_open.id]),
        (Reader::key(key(3)), vec![of_open.id]),
        (Reader::key(key(2)), vec![of_both.id, of_open.id]),
        (Reader::key(key(1)), vec![of_unknown.id, of_both.id, of_open.id]),
    ];
    for (reader, expected) in table {
        assert_eq!(query(&*store, &reader, &deletions).await, expected, "{reader:?}");
        let count = store.count(&reader, std::slice::from_ref(&deletions)).await;
        assert_eq!(count, Ok(expected.len() as u64));
    }
    // Delivery learns the same from the audience.
    let placed = store.events_after(Position::START, 100).await.expect("works");
    let audience = |id| &placed.iter().find(|placed| placed.event.id == id).expect("delivered").audience;
    assert_eq!(audience(of_both.id).channels, [channel_id("open"), channel_id("secret")]);
    assert!(!audience(of_both.id).has_unknown_target);
    assert!(audience(of_unknown.id).has_unknown_target);
}

/// Whoever reads a code can join by it.
pub async fn codes_are_for_those_who_invite<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    make_channel(&*store, "open", false, &[1, 2]).await;
    make_channel(&*store, "secret", true, &[1, 2]).await;
    let (admin, code) = (["admin".to_owned()], "code abcdefghijklmnop".to_owned());
    let mut ids = Vec::new();
    for channel in ["open", "secret"] {
        let member = Member { key: key(1), roles: admin.clone().into() };
        let changes = vec![Change::SetMember(channel_id(channel), member)];
        let invitation = event(4, 9009, 10, &[h(channel), code.clone()], "");
        let request = event(5, 9021, 9, &[h(channel), code.clone()], "");
        store.append(vec![Entry { changes, ..invitation.clone().into() }]).await.expect("works");
        append_stored(&*store, &request).await;
        ids.push([invitation.id, request.id]);
    }
    let [open, secret] = [ids[0], ids[1]];
    let table = [
        (Reader::Server, [&open[..], &secret[..]].concat()),
        (Reader::key(key(1)), [&open[..], &secret[..]].concat()),
        (Reader::key(key(2)), vec![]),
        (Reader::anonymous(), vec![]),
        (Reader::key(key(4)), vec![open[0]]),
        (Reader::Keys(vec![key(3), key(5)]), vec![open[1]]),
    ];
    let filter = Filter { kinds: Some(vec![9009, 9021]), ..Filter::default() };
    for (reader, mut expected) in table {
        let mut found = query(&*store, &reader, &filter).await;
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{reader:?}");
        let count = store.count(&reader, std::slice::from_ref(&filter)).await;
        assert_eq!(count, Ok(expected.len() as u64), "{reader:?}");
    }
}
