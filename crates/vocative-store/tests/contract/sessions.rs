//! References to sessions, and inboxes over both sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::str::FromStr;
use std::sync::Arc;

use vocative_store::{
    AccountId, AccountName, Added, Entry, EntryId, InboxCursor, InboxQuery, InboxRow, MentionRow, Millis,
    Person, Published, Reader, Record, SessionId, SessionReference, SessionRow, Source, Store, Verdict, Why,
};

use super::Backend;
use super::events::{event, export, key, p};
use super::history::history;
use super::naive::Naive;
use super::random::{Random, runs};

pub fn name<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect("a name")
}

pub fn reference(session: &str, entry: &str, recipient: &str, actor: &str, at: i64) -> SessionReference {
    let (session, entry, at) = (name(session), name(entry), Millis::new(at));
    SessionReference { session, entry, recipient: name(recipient), actor: name(actor), at }
}

async fn add(store: &dyn Store, publisher: &str, references: &[SessionReference]) -> Added {
    store.add_references(&name(publisher), references.to_vec()).await.expect("works")
}

const fn done(added: usize, unchanged: usize) -> Added {
    Added::Done { added, unchanged }
}

async fn rows(store: &dyn Store, recipient: &str) -> Vec<SessionRow> {
    let query = InboxQuery::newest(name::<AccountName>(recipient), 1000);
    let page = store.inbox(&query).await.expect("works");
    page.rows.iter().map(|row| row.session().expect("of a session").clone()).collect()
}

/// What is kept of references, by entry, recipient and publisher.
pub async fn published(store: &dyn Store) -> Vec<Published> {
    let records = export(store).await.into_iter();
    records.filter_map(|record| if let Record::Reference(one) = record { Some(one) } else { None }).collect()
}

pub async fn what_a_publisher_says_stands_once<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let (one, two) = (reference("s", "e1", "cy", "ann", 5), reference("s", "e2", "cy", "ann", 7));
    assert_eq!(add(&*store, "1", &[one.clone(), one.clone()]).await, done(1, 1));
    assert_eq!(add(&*store, "1", &[two.clone(), one.clone()]).await, done(1, 1));
    assert_eq!(add(&*store, "1", &[]).await, done(0, 0));
    let before = published(&*store).await;
    let new = reference("s", "e0", "cy", "ann", 5);
    // What differs from what is stored, in actor or time, and what differs within what is given.
    for other in [reference("s", "e2", "cy", "bob", 7), reference("s", "e2", "cy", "ann", 8)] {
        let conflict = Added::Conflict(Box::new([two.clone(), other.clone()]));
        assert_eq!(add(&*store, "1", &[new.clone(), other]).await, conflict);
        let given = reference("s", "e0", "cy", "ann", 6);
        let conflict = Added::Conflict(Box::new([new.clone(), given.clone()]));
        assert_eq!(add(&*store, "1", &[new.clone(), given]).await, conflict);
        assert_eq!(published(&*store).await, before, "nothing is stored");
    }
    // The same from another is one row, and stays when either goes.
    assert_eq!(add(&*store, "2", std::slice::from_ref(&one)).await, done(1, 0));
    let entries =
        async || rows(&*store, "cy").await.iter().map(|row| row.entry.to_string()).collect::<Vec<_>>();
    assert_eq!(entries().await, ["e2", "e1"]);
    let withdrawn = store.withdraw_references(&name("1"), &name("s")).await;
    assert_eq!((withdrawn, entries().await), (Ok(2), vec!["e1".to_owned()]));
    assert_eq!(store.withdraw_references(&name("1"), &name("s")).await, Ok(0));
    assert_eq!(
        add(&*store, "1", &[reference("s", "e2", "cy", "bob", 9)]).await,
        done(1, 0),
        "it may say anew"
    );
    drop(store);
    assert_eq!(rows(&*place.open().await, "cy").await.len(), 2);
}

pub async fn publishers_who_differ_are_disputed<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let (true_one, false_one) = (reference("s", "e", "cy", "ann", 5), reference("s", "e", "cy", "bob", 5));
    let disputed = async || {
        let rows = rows(&*store, "cy").await;
        rows.iter().map(|row| (row.actor.to_string(), row.disputed)).collect::<Vec<_>>()
    };
    let both = |ann: bool, bob: bool| vec![("ann".to_owned(), ann), ("bob".to_owned(), bob)];
    add(&*store, "1", std::slice::from_ref(&true_one)).await;
    assert_eq!(disputed().await, [("ann".to_owned(), false)]);
    add(&*store, "2", std::slice::from_ref(&false_one)).await;
    assert_eq!(disputed().await, both(true, true), "nobody is believed for having come first");
    let verdict = |actor: &str, recipients: &[&str]| Verdict {
        actor: name(actor),
        at: Millis::new(5),
        recipients: recipients.iter().map(|recipient| name(recipient)).collect(),
    };
    let say = async |verdict| store.set_verdict(&name("s"), &name("e"), verdict).await.expect("works");
    say(Some(verdict("ann", &["di", "cy", "cy"]))).await;
    assert_eq!(disputed().await, both(false, true));
    add(&*store, "3", std::slice::from_ref(&false_one)).await;
    add(&*store, "4", std::slice::from_ref(&true_one)).await;
    assert_eq!(disputed().await, both(false, true), "it counts for what comes later");
    assert_eq!(store.check().await, Ok(Vec::new()));
    say(Some(verdict("ann", &["di"]))).await;
    assert_eq!(disputed().await, both(true, true), "whom the marker does not name");
    say(Some(verdict("bob", &["cy"]))).await;
    assert_eq!(disputed().await, both(true, false), "a later one replaces it");
    say(None).await;
    assert_eq!(disputed().await, both(true, true));
    for publisher in ["2", "3"] {
        store.withdraw_references(&name(publisher), &name("s")).await.expect("works");
    }
    assert_eq!(disputed().await, [("ann".to_owned(), false)], "who is alone is not disputed");
    say(Some(verdict("bob", &["cy"]))).await;
    assert_eq!(disputed().await, [("ann".to_owned(), true)], "unless a marker says otherwise");
    assert_eq!(store.check().await, Ok(Vec::new()));
}

pub async fn publishers_at_once_are_settled<B: Backend>() {
    let place = B::fresh().await;
    let store: Arc<dyn Store> = place.open().await.into();
    let other = place.open_again(&store).await;
    let tasks: Vec<_> = (0..6)
        .map(|task| {
            let store = Arc::clone(if task % 2 == 0 { &store } else { &other });
            tokio::spawn(async move {
                let mut said: Vec<_> = (0..20)
                    .map(|n| {
                        reference("s", &n.to_string(), "cy", if task == n % 6 { "bob" } else { "ann" }, n)
                    })
                    .collect();
                if task % 2 == 0 {
                    said.reverse();
                }
                for some in said.chunks(4) {
                    assert_eq!(add(&*store, &task.to_string(), some).await, done(4, 0));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("nobody waits for another in a circle");
    }
    let all = published(&*store).await;
    assert!(all.len() == 120 && all.iter().all(|one| one.disputed), "{all:?}");
    assert_eq!(store.check().await, Ok(Vec::new()));
}

/// What is published, in few lines.
#[derive(Default)]
pub struct Claims {
    said: BTreeMap<(SessionId, EntryId, AccountName, AccountId), (AccountName, Millis)>,
    verdicts: BTreeMap<(SessionId, EntryId), Verdict>,
}

impl Claims {
    fn add(&mut self, publisher: &str, references: &[SessionReference]) -> Option<Added> {
        let mut said = self.said.clone();
        for SessionReference { session, entry, recipient, actor, at } in references.iter().cloned() {
            let contents = (actor, at);
            let kept =
                said.entry((session, entry, recipient, name(publisher))).or_insert_with(|| contents.clone());
            if *kept != contents {
                return None;
            }
        }
        let added = said.len() - self.said.len();
        self.said = said;
        Some(done(added, references.len() - added))
    }

    pub fn published(&self) -> Vec<Published> {
        let published = self.said.iter().map(|((session, entry, recipient, publisher), (actor, at))| {
            let disputed = match self.verdicts.get(&(session.clone(), entry.clone())) {
                Some(verdict) => {
                    (&verdict.actor, &verdict.at) != (actor, at) || !verdict.recipients.contains(recipient)
                }
                None => self.said.iter().any(|((s, e, r, _), contents)| {
                    (s, e, r) == (session, entry, recipient) && *contents != (actor.clone(), *at)
                }),
            };
            let (session, entry, recipient) = (session.clone(), entry.clone(), recipient.clone());
            let reference = SessionReference { session, entry, recipient, actor: actor.clone(), at: *at };
            Published { publisher: publisher.clone(), reference, disputed }
        });
        published.collect()
    }
}

/// The whole inbox of a person, newest first.
fn naive_inbox(messages: &[MentionRow], published: &[Published], query: &InboxQuery) -> Vec<InboxRow> {
    let Person { keys, names } = &query.recipient;
    let mut by_item: BTreeMap<_, Vec<&MentionRow>> = BTreeMap::new();
    for row in messages.iter().filter(|row| keys.contains(&row.recipient) && !keys.contains(&row.actor)) {
        by_item.entry(row.item).or_default().push(row);
    }
    let rows = by_item.into_values().map(|rows| {
        let by_rank = |row: &&&MentionRow| (row.why == Why::AddedByEdit, row.at, row.recipient);
        let first = *rows.iter().min_by_key(by_rank).expect("there is one");
        let is_named = rows.iter().any(|row| !row.retracted && !row.deleted);
        let (retracted, deleted) = (first.retracted && !is_named, first.deleted && !is_named);
        InboxRow::Message(MentionRow { retracted, deleted, ..first.clone() })
    });
    let mut sessions: BTreeMap<_, SessionRow> = BTreeMap::new();
    for Published { reference, disputed, .. } in published {
        let SessionReference { session, entry, recipient, actor, at } = reference.clone();
        if names.contains(&recipient) && !names.contains(&actor) {
            let what = (session.clone(), entry.clone(), actor.clone(), at);
            let disputed = *disputed;
            let row = SessionRow { recipient, session, entry, actor, at, disputed };
            let kept = sessions.entry(what).or_insert_with(|| row.clone());
            kept.disputed &= disputed;
            kept.recipient = row.recipient.min(kept.recipient.clone());
        }
    }
    let mut rows: Vec<InboxRow> = rows.chain(sessions.into_values().map(InboxRow::Session)).collect();
    rows.retain(|row| is_asked_for(row, query));
    rows.sort_by_key(InboxRow::place);
    rows
}

fn is_asked_for(row: &InboxRow, query: &InboxQuery) -> bool {
    let from = query.from.as_ref();
    let (at, is_of_source, is_from) = match row {
        InboxRow::Message(row) => (
            row.at.as_secs() as i64 * 1000,
            query.source != Source::Session,
            from.is_none_or(|from| from.keys.contains(&row.actor)),
        ),
        InboxRow::Session(row) => (
            row.at.get(),
            query.source != Source::Message,
            from.is_none_or(|from| from.names.contains(&row.actor)),
        ),
    };
    let is_in_time =
        query.since.is_none_or(|since| at >= since.get()) && query.until.is_none_or(|until| at < until.get());
    is_of_source && is_from && is_in_time
}

const NAMES: [&str; 4] = ["github:ann", "github:bob", "github:cy", "github:di"];
const ENTRIES: [&str; 3] = ["e1", "e2", "e3"];
const SESSIONS: [&str; 2] = ["s1", "s2"];

fn any_time(random: &mut Random) -> i64 {
    100_000 + random.below(30) as i64 * 1000 + *random.pick(&[0, 0, 0, 500, 999])
}

fn any_references(random: &mut Random) -> Vec<SessionReference> {
    let count = 1 + random.below(5);
    let one = |random: &mut Random| {
        let (session, entry) = (*random.pick(&SESSIONS), *random.pick(&ENTRIES));
        let at = if random.one_in(3) { any_time(random) } else { 110_000 };
        reference(session, entry, random.pick::<&str>(&NAMES), random.pick::<&str>(&NAMES[..3]), at)
    };
    (0..count).map(|_| one(random)).collect()
}

fn any_person(random: &mut Random) -> Person {
    let keys = (0..random.below(4)).map(|_| key(1 + random.below(6) as u8)).collect();
    let names = (0..random.below(3)).map(|_| name(random.pick::<&str>(&NAMES))).collect();
    Person { keys, names }
}

fn any_query(random: &mut Random) -> InboxQuery {
    let one_of = |random: &mut Random| random.one_in(3).then(|| Millis::new(any_time(random)));
    InboxQuery {
        reader: Reader::Server,
        source: *random.pick(&[Source::All, Source::All, Source::Message, Source::Session]),
        since: one_of(random),
        until: one_of(random),
        from: random.one_in(3).then(|| any_person(random)),
        ..InboxQuery::newest(any_person(random), 1000)
    }
}

/// Publishes, withdraws and judges at random, in the store and in the model.
pub async fn tell(store: &dyn Store, claims: &mut Claims, random: &mut Random) {
    let publisher = ["1", "2", "3"][random.below(3)];
    let (session, entry) = (*random.pick(&SESSIONS), *random.pick(&ENTRIES));
    match random.below(8) {
        0 => {
            let mut gone = 0;
            claims.said.retain(|(s, _, _, p), _| {
                let stays = s.as_str() != session || p.as_str() != publisher;
                gone += usize::from(!stays);
                stays
            });
            let withdrawn = store.withdraw_references(&name(publisher), &name(session)).await;
            assert_eq!(withdrawn, Ok(gone));
        }
        1 => {
            let verdict = random.one_in(2).then(|| Verdict {
                actor: name(random.pick::<&str>(&NAMES[..3])),
                at: Millis::new(110_000),
                recipients: (0..1 + random.below(3)).map(|_| name(random.pick::<&str>(&NAMES))).collect(),
            });
            let key = (name(session), name(entry));
            store.set_verdict(&key.0, &key.1, verdict.clone()).await.expect("works");
            match verdict {
                Some(verdict) => claims.verdicts.insert(key, verdict),
                None => claims.verdicts.remove(&key),
            };
        }
        _ => {
            let references = any_references(random);
            match (add(store, publisher, &references).await, claims.add(publisher, &references)) {
                (added, Some(expected)) => assert_eq!(added, expected),
                (Added::Conflict(pair), None) => {
                    let [one, other] = *pair;
                    assert_ne!((&one.actor, one.at), (&other.actor, other.at));
                    assert!(references.contains(&other), "the second is one that was given");
                    assert_eq!(
                        (one.session, one.entry, one.recipient),
                        (other.session, other.entry, other.recipient)
                    );
                }
                (added, None) => panic!("{added:?} of {references:?}"),
            }
        }
    }
}

pub async fn inboxes_are_those_of_a_naive_reading<B: Backend>() {
    let mut random = Random::seeded();
    for run in 0..runs(4) {
        let place = B::fresh().await;
        let store = place.open().await;
        let mut naive = Naive::default();
        let mut claims = Claims::default();
        let events = history(&mut random);
        store.append(events.iter().cloned().map(Entry::from).collect()).await.expect("works");
        for event in &events {
            naive.append(event);
        }
        for _ in 0..40 {
            tell(&*store, &mut claims, &mut random).await;
        }
        assert_eq!(published(&*store).await, claims.published(), "run {run}");
        assert_eq!(store.check().await, Ok(Vec::new()), "run {run}");
        for _ in 0..25 {
            let query = any_query(&mut random);
            let expected = naive_inbox(&naive.rows(), &claims.published(), &query);
            let walked = walk(&*store, &query, &mut random).await;
            assert_eq!(walked, expected, "run {run}: {query:?}");
        }
        for step in 0..4 {
            let query = any_query(&mut random);
            let places = |naive: &Naive, claims: &Claims| -> BTreeSet<InboxCursor> {
                naive_inbox(&naive.rows(), &claims.published(), &query).iter().map(InboxRow::place).collect()
            };
            let mut stayed = places(&naive, &claims);
            let mut seen: Vec<InboxCursor> = Vec::new();
            let mut page_of = query.clone();
            loop {
                page_of.limit = 1 + random.below(4);
                let page = store.inbox(&page_of).await.expect("works");
                seen.extend(page.rows.iter().map(InboxRow::place));
                tell(&*store, &mut claims, &mut random).await;
                let named = [p(1 + random.below(6) as u8), p(1 + random.below(6) as u8)];
                let text = format!("{step} {}", seen.len());
                let more = event(1 + random.below(6) as u8, 9, 100 + random.below(30) as u64, &named, &text);
                naive.append(&more);
                store.append(vec![more.into()]).await.expect("works");
                // As a server hands it out and gets it back.
                let Some(next) = page.next else { break };
                page_of.after = Some(next.to_string().parse().expect("a cursor"));
                let now = places(&naive, &claims);
                stayed.retain(|place| now.contains(place));
            }
            assert!(seen.is_sorted_by(|one, next| one < next), "run {run}: each place once, in order");
            let seen: BTreeSet<_> = seen.into_iter().collect();
            assert!(stayed.is_subset(&seen), "run {run}: {query:?}");
        }
    }
}

/// All pages of a query, of random sizes.
async fn walk(store: &dyn Store, query: &InboxQuery, random: &mut Random) -> Vec<InboxRow> {
    let mut query = query.clone();
    let mut walked = Vec::new();
    loop {
        query.limit = 1 + random.below(9);
        let page = store.inbox(&query).await.expect("works");
        assert!(page.rows.len() == query.limit || page.next.is_none());
        walked.extend(page.rows);
        let Some(next) = page.next else { return walked };
        query.after = Some(next);
    }
}
