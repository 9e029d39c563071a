//! Short ways to write events, and to ask.

use sha2::{Digest, Sha256};
use vocative::Key;
use vocative_store::{
    Change, Channel, ChannelId, ChannelKind, Entry, Event, EventId, ExportCursor, Filter, Member, MentionRow,
    Outcome, Reader, Record, Store, Timestamp,
};

pub fn key(n: u8) -> Key {
    Key::from_bytes([n; 32])
}

pub fn channel_id(name: &str) -> ChannelId {
    name.parse().expect("a channel name")
}

/// An event whose id is a digest of what it says, as a real one's is. Tags are written `"p 0202…"`.
pub fn event(author: u8, kind: u32, at: u64, tags: &[String], content: &str) -> Event {
    let tags: Vec<Vec<String>> = tags.iter().map(|tag| tag.split(' ').map(str::to_owned).collect()).collect();
    let said = format!("{author} {kind} {at} {tags:?} {content}");
    let id = EventId::from_bytes(Sha256::digest(said.as_bytes()).into());
    let (key, created_at, content) = (key(author), Timestamp::from_secs(at), content.to_owned());
    Event { id, key, created_at, kind, tags, content, sig: [7; 64] }
}

pub fn p(n: u8) -> String {
    format!("p {}", key(n))
}

pub fn e(target: &Event) -> String {
    format!("e {}", target.id)
}

pub fn h(channel: &str) -> String {
    format!("h {channel}")
}

pub async fn append(store: &dyn Store, event: &Event) -> Outcome {
    let outcomes = store.append(vec![event.clone().into()]).await.expect("the store works");
    outcomes.into_iter().next().expect("one outcome for one event")
}

pub async fn append_stored(store: &dyn Store, event: &Event) {
    let outcome = append(store, event).await;
    assert!(matches!(outcome, Outcome::Stored(_)), "{outcome:?} for {event:?}");
}

/// Makes a channel with members, by an event of its own.
pub async fn make_channel(store: &dyn Store, name: &str, is_private: bool, members: &[u8]) {
    let id = channel_id(name);
    let channel = if is_private {
        Channel::private(id.clone(), ChannelKind::Stream)
    } else {
        Channel::open(id.clone(), ChannelKind::Stream)
    };
    let mut changes = vec![Change::SetChannel(channel)];
    for n in members {
        let member = Member { key: key(*n), roles: Default::default() };
        changes.push(Change::SetMember(id.clone(), member));
    }
    let event = event(1, 9007, 1, &[h(name)], "");
    let outcomes =
        store.append(vec![Entry { changes, ..Entry::from(event) }]).await.expect("the store works");
    assert!(matches!(outcomes[0], Outcome::Stored(_)));
}

pub async fn query(store: &dyn Store, reader: &Reader, filter: &Filter) -> Vec<EventId> {
    let events = store.query(reader, filter).await.expect("the store works");
    events.into_iter().map(|event| event.id).collect()
}

/// Everything that an export yields.
pub async fn export(store: &dyn Store) -> Vec<Record> {
    let mut all = Vec::new();
    let mut cursor = Some(ExportCursor::START);
    while let Some(at) = cursor {
        let page = store.export(&at, 7).await.expect("the store works");
        all.extend(page.records);
        cursor = page.next;
    }
    all
}

pub async fn mention_rows(store: &dyn Store) -> Vec<MentionRow> {
    let records = export(store).await.into_iter();
    let rows = records.filter_map(|record| match record {
        Record::Mention(row) => Some(row),
        _ => None,
    });
    let mut rows: Vec<MentionRow> = rows.collect();
    rows.sort_unstable_by_key(|row| (row.item, row.recipient));
    rows
}

pub fn stored(outcomes: &[Outcome]) -> Vec<bool> {
    outcomes.iter().map(|outcome| matches!(outcome, Outcome::Stored(_))).collect()
}
