//! What becomes of an event (section 1, Answers; NIP-01; NIP-09).

use vocative_store::{
    Change, Channel, ChannelKind, Condition, Entry, Event, Filter, Member, Outcome, Reader, Refusal,
    Timestamp,
};

use super::Backend;
use super::events::{append, append_stored, channel_id, e, event, export, h, key, p, query, stored};

fn code(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Stored(_) => "stored",
        Outcome::Duplicate => "duplicate",
        Outcome::Refused(refusal) => refusal.code(),
    }
}

pub async fn events_are_stored_once<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let tags = [h("c"), p(2), "p".to_owned(), "x é\u{1}\"'\\ third".to_owned()];
    let note = event(1, 9, 5, &tags, "text with \u{7f} and 🦀\n\t\\");
    assert_eq!(code(&append(&*store, &note).await), "stored");
    assert_eq!(code(&append(&*store, &note).await), "duplicate");
    let twice = store.append(vec![event(1, 9, 6, &[], "").into(), event(1, 9, 6, &[], "").into()]).await;
    assert_eq!(twice.expect("works").iter().map(code).collect::<Vec<_>>(), ["stored", "duplicate"]);
    let found = store.event(&Reader::Server, note.id).await.expect("works");
    assert_eq!(found, Some(note), "an event comes back as it was given");
    assert_eq!(store.count(&Reader::Server, &[Filter::default()]).await, Ok(2));
    assert_eq!(store.append(Vec::new()).await, Ok(Vec::new()));
}

pub async fn a_bad_event_fails_alone<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let good = event(1, 9, 5, &[], "good");
    let nul = event(1, 9, 5, &[], "a\0b");
    let in_tag = event(1, 9, 5, &["t a\0b".to_owned()], "");
    let brief = event(1, 20_001, 5, &[], "");
    let two = event(1, 9, 5, &[h("a"), h("b")], "");
    let late = Event { created_at: Timestamp::from_secs(u64::MAX), ..event(1, 9, 5, &[], "late") };
    let long = event(1, 9, 5, &[], &"x".repeat(64 * 1024 + 1));
    let last = event(1, 9, 6, &["t ".to_owned() + &"y".repeat(60_000)], "last");
    let batch: Vec<Entry> =
        [&good, &nul, &in_tag, &brief, &two, &late, &long, &last].map(|event| event.clone().into()).to_vec();
    let outcomes = store.append(batch).await.expect("works");
    let expected = [
        "stored",
        "nul_character",
        "nul_character",
        "ephemeral",
        "bad_channel",
        "bad_time",
        "too_large",
        "stored",
    ];
    assert_eq!(outcomes.iter().map(code).collect::<Vec<_>>(), expected);
    assert_eq!(query(&*store, &Reader::Server, &Filter::default()).await, [last.id, good.id]);
    let long_value = Filter::default().tag('t', ["y".repeat(60_000)]);
    assert_eq!(query(&*store, &Reader::Server, &long_value).await, [last.id], "a long value is indexed");
}

pub async fn a_failing_event_fails_alone<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    place.sabotage().await;
    let batch = [9, 7777, 9].iter().zip(1..).map(|(kind, at)| event(1, *kind, at, &[], "").into()).collect();
    let outcomes = store.append(batch).await.expect("works");
    assert_eq!(outcomes.iter().map(code).collect::<Vec<_>>(), ["stored", "database", "stored"]);
    assert_eq!(store.count(&Reader::Server, &[Filter::default()]).await, Ok(2));
}

pub async fn the_latest_version_is_kept<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let (first, second) = (event(1, 0, 10, &[], "first"), event(1, 0, 11, &[], "second"));
    append_stored(&*store, &first).await;
    append_stored(&*store, &second).await;
    let refused = append(&*store, &first).await;
    assert_eq!(refused, Outcome::Refused(Refusal::Superseded { by: second.id }));
    let search = Filter { search: Some("first".to_owned()), ..Filter::default() };
    assert_eq!(store.count(&Reader::Server, &[search]).await, Ok(0), "the old text is not found");
    // At equal times the lower id stands, in either order, and also within one batch.
    let (a, b) =
        (event(2, 30_175, 5, &["d x".to_owned()], "a"), event(2, 30_175, 5, &["d x".to_owned()], "b"));
    let (low, high) = if a.id < b.id { (a, b) } else { (b, a) };
    let outcomes =
        store.append(vec![high.clone().into(), low.clone().into(), high.into()]).await.expect("works");
    assert_eq!(outcomes.iter().map(code).collect::<Vec<_>>(), ["stored", "stored", "superseded"]);
    let other = event(2, 30_175, 1, &["d y".to_owned()], "");
    append_stored(&*store, &other).await;
    let all = query(&*store, &Reader::Server, &Filter::default()).await;
    assert_eq!(all, [second.id, low.id, other.id]);
    // Of the relay's own descriptions the first stands: the time of the next is later.
    let (a, b) =
        (event(3, 39_000, 5, &["d x".to_owned()], "a"), event(3, 39_000, 5, &["d x".to_owned()], "b"));
    let (first_said, then) = if a.id < b.id { (b, a) } else { (a, b) };
    append_stored(&*store, &first_said).await;
    assert_eq!(code(&append(&*store, &then).await), "superseded");
}

pub async fn a_deletion_blocks<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let (mine, theirs) = (event(1, 9, 10, &[p(3)], "secret"), event(2, 9, 10, &[], "theirs"));
    append_stored(&*store, &mine).await;
    append_stored(&*store, &theirs).await;
    let later = event(1, 9, 12, &[], "never");
    let deletion = event(1, 5, 11, &[e(&mine), e(&theirs), e(&later)], "");
    append_stored(&*store, &deletion).await;
    assert_eq!(code(&append(&*store, &mine).await), "deleted");
    assert_eq!(code(&append(&*store, &later).await), "deleted", "what was deleted before it came");
    let all = query(&*store, &Reader::Server, &Filter::default()).await;
    assert_eq!(all, [deletion.id, theirs.id], "the deletion of another's event does nothing");
    for search in ["secret", "theirs"] {
        let filter = Filter { search: Some(search.to_owned()), ..Filter::default() };
        assert_eq!(store.count(&Reader::Server, &[filter]).await, Ok(u64::from(search == "theirs")));
    }
    assert!(!format!("{:?}", export(&*store).await).contains("secret"), "no text of it is left");
    // A deletion cannot be deleted.
    append_stored(&*store, &event(1, 5, 13, &[e(&deletion)], "")).await;
    assert_eq!(code(&append(&*store, &mine).await), "deleted");
    // An address goes up to the time of the deletion; a later version comes back.
    let version = |at| event(1, 30_175, at, &["d x".to_owned()], "version");
    append_stored(&*store, &version(20)).await;
    append_stored(&*store, &event(1, 5, 25, &[format!("a 30175:{}:x", key(1))], "")).await;
    assert_eq!(code(&append(&*store, &version(25)).await), "deleted");
    assert_eq!(code(&append(&*store, &version(26)).await), "stored");
    append_stored(&*store, &event(2, 5, 99, &[format!("a 30175:{}:x", key(1))], "")).await;
    let kinds = Filter { kinds: Some(vec![30_175]), ..Filter::default() };
    assert_eq!(query(&*store, &Reader::Server, &kinds).await, [version(26).id]);
}

pub async fn a_manager_deletes_in_the_channel_only<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let (here, there) = (event(2, 9, 10, &[h("here")], "here"), event(2, 9, 10, &[h("there")], "there"));
    append_stored(&*store, &here).await;
    append_stored(&*store, &there).await;
    append_stored(&*store, &event(1, 9005, 11, &[h("here"), e(&here), e(&there)], "")).await;
    assert_eq!(code(&append(&*store, &here).await), "deleted");
    let messages = Filter { kinds: Some(vec![9]), ..Filter::default() };
    assert_eq!(query(&*store, &Reader::Server, &messages).await, [there.id]);
}

pub async fn channels_and_members_are_kept<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let id = channel_id("team");
    let channel = Channel::private(id.clone(), ChannelKind::Forum);
    let admin = Member { key: key(1), roles: ["admin".to_owned()].into() };
    let plain = Member { key: key(2), roles: Default::default() };
    let changes = vec![
        Change::SetChannel(channel.clone()),
        Change::SetMember(id.clone(), plain.clone()),
        Change::SetMember(id.clone(), admin.clone()),
    ];
    let made = Entry { changes, ..Entry::from(event(1, 9007, 1, &[h("team")], "")) };
    // A duplicate changes nothing, so what it carries is not done again.
    let again = Entry { changes: vec![Change::RemoveMember(id.clone(), key(1))], ..made.clone() };
    let outcomes = store.append(vec![made, again]).await.expect("works");
    assert_eq!(stored(&outcomes), [true, false]);
    assert_eq!(store.channel(&id).await, Ok(Some(channel.clone())));
    assert_eq!(store.members(&id).await, Ok(vec![admin.clone(), plain]));
    assert_eq!(store.roles(&id, key(1)).await, Ok(Some(admin.roles)));
    assert_eq!(store.roles(&id, key(9)).await, Ok(None));
    assert_eq!(store.channels_of(key(2)).await, Ok(vec![channel]));
    assert_eq!(store.may_read(&Reader::key(key(2)), &id).await, Ok(true));
    let left = vec![Change::RemoveMember(id.clone(), key(2))];
    let left = Entry { changes: left, ..event(1, 9001, 2, &[h("team"), p(2)], "").into() };
    store.append(vec![left]).await.expect("works");
    assert_eq!(store.may_read(&Reader::key(key(2)), &id).await, Ok(false));
    assert_eq!(store.channels_of(key(2)).await, Ok(Vec::new()));
    assert_eq!(store.channel(&channel_id("none")).await, Ok(None));
    assert_eq!(store.may_read(&Reader::Server, &channel_id("none")).await, Ok(false));
}

/// Nothing is done on what was seen before it changed.
pub async fn what_was_decided_on_must_still_be_so<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let id = channel_id("team");
    let (open, private) =
        (Channel::open(id.clone(), ChannelKind::Stream), Channel::private(id.clone(), ChannelKind::Stream));
    let admin = Member { key: key(1), roles: ["admin".to_owned()].into() };
    let made = event(1, 9007, 1, &[h("team")], "");
    let changes = vec![Change::SetChannel(open.clone()), Change::SetMember(id.clone(), admin.clone())];
    let conditions = vec![Condition::Channel(id.clone(), None), Condition::Roles(id.clone(), key(1), None)];
    let make = Entry { changes, conditions, ..made.clone().into() };
    let again = Entry { event: event(2, 9007, 1, &[h("team")], ""), ..make.clone() };
    let outcomes = store.append(vec![make, again]).await.expect("works");
    assert_eq!(outcomes.iter().map(code).collect::<Vec<_>>(), ["stored", "outdated"]);
    let roles = |key, roles| Condition::Roles(id.clone(), key, roles);
    let missing = event(9, 9, 9, &[], "");
    let table = [
        (Condition::Channel(id.clone(), Some(open.clone())), "stored"),
        (Condition::Channel(id.clone(), Some(private.clone())), "outdated"),
        (Condition::Channel(id.clone(), Some(Channel { deleted: true, ..open })), "outdated"),
        (Condition::Channel(id.clone(), None), "outdated"),
        (Condition::Channel(channel_id("other"), None), "stored"),
        (roles(key(1), Some(admin.roles)), "stored"),
        (roles(key(1), Some(Default::default())), "outdated"),
        (roles(key(1), None), "outdated"),
        (roles(key(2), None), "stored"),
        (Condition::Stored(made.id), "stored"),
        (Condition::Stored(missing.id), "outdated"),
    ];
    for (n, (condition, expected)) in (10..).zip(table) {
        let changes = vec![Change::SetMember(id.clone(), Member { key: key(n), roles: Default::default() })];
        let said = format!("{condition:?}");
        let entry = Entry {
            changes,
            conditions: vec![condition],
            ..event(1, 9000, n.into(), &[h("team")], "").into()
        };
        let outcomes = store.append(vec![entry]).await.expect("works");
        assert_eq!(code(&outcomes[0]), expected, "{said}");
        let is_member = store.roles(&id, key(n)).await.expect("works").is_some();
        assert_eq!(is_member, expected == "stored", "{said}");
    }
    // Of one batch the second sees what the first has done.
    let change = |channel: &Channel, at| {
        let seen = Condition::Channel(id.clone(), Some(Channel::open(id.clone(), ChannelKind::Stream)));
        let changes = vec![Change::SetChannel(channel.clone())];
        Entry { changes, conditions: vec![seen], ..event(1, 9002, at, &[h("team")], "").into() }
    };
    let outcomes = store.append(vec![change(&private, 50), change(&private, 51)]).await.expect("works");
    assert_eq!(outcomes.iter().map(code).collect::<Vec<_>>(), ["stored", "outdated"]);
    assert_eq!(store.channel(&id).await, Ok(Some(private)));
}

pub async fn reopening_gives_the_same_answers<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    super::events::make_channel(&*store, "c", true, &[1, 2]).await;
    let message = event(1, 9, 10, &[h("c"), p(2)], "hello");
    append_stored(&*store, &message).await;
    append_stored(&*store, &event(1, 40_003, 11, &[h("c"), e(&message), p(3)], "hello you")).await;
    let (before, head) = (export(&*store).await, store.head().await);
    drop(store);
    let store = place.open().await;
    assert_eq!(export(&*store).await, before);
    assert_eq!(store.head().await, head);
    assert_eq!(store.check().await, Ok(Vec::new()));
    assert_eq!(code(&append(&*store, &message).await), "duplicate");
}
