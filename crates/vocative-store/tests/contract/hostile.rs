//! Texts that are meant to be taken for something else.

use std::collections::BTreeSet;

use vocative_store::{Event, Filter, Matcher, Reader, Tried};

use super::Backend;
use super::events::{append_stored, channel_id, event, make_channel, query};
use super::random::{Random, runs};

/// Of SQL, of its patterns and placeholders, of FTS5's language, of JSON, of arrays, and of this store.
const PARTS: [&str; 30] = [
    "'",
    "''",
    "\"",
    "`",
    "\\",
    "%",
    "_",
    "--",
    ";",
    "/*",
    "*/",
    "$1",
    "?1",
    "{}",
    "{touched}",
    "NULL",
    "') OR 1=1",
    "'; DROP TABLE events; --",
    "word",
    "OR",
    "NOT",
    "NEAR(",
    "*",
    "^",
    "words:",
    "\u{1}",
    "é",
    "🦀",
    "\u{202e}",
    "\n",
];

fn text(random: &mut Random) -> String {
    (0..random.below(4)).map(|_| *random.pick(&PARTS)).collect::<Vec<_>>().join(if random.one_in(2) {
        " "
    } else {
        ""
    })
}

/// A filter finds what trying each event finds, whatever the texts are.
pub async fn no_text_becomes_sql<B: Backend>() {
    let place = B::fresh().await;
    let store = place.open().await;
    let mut random = Random::seeded();
    let texts: Vec<String> = (0..60).map(|_| text(&mut random)).collect();
    // Each once: a channel is made once.
    let names: BTreeSet<&String> =
        texts.iter().filter(|name| name.parse::<vocative_store::ChannelId>().is_ok()).collect();
    let names: Vec<&String> = names.into_iter().take(8).collect();
    for name in &names {
        make_channel(&*store, name, false, &[1]).await;
        assert_eq!(store.may_read(&Reader::anonymous(), &channel_id(name)).await, Ok(true), "{name:?}");
    }
    let mut events: Vec<Event> = Vec::new();
    for n in 0..60 {
        let mut made = event(1, 9, 100 + n, &[], random.pick::<String>(&texts));
        made.tags =
            (0..3).map(|_| vec!["t".to_owned(), random.pick(&texts).clone(), text(&mut random)]).collect();
        if !names.is_empty() {
            made.tags.push(vec!["h".to_owned(), (*random.pick(&names)).clone()]);
        }
        append_stored(&*store, &made).await;
        events.push(made);
    }
    events.reverse();
    for _ in 0..runs(300) {
        let mut filter = Filter { kinds: Some(vec![9]), ..Filter::default() };
        for name in ['t', 'h', 'x'] {
            if random.one_in(3) {
                let values: Vec<String> =
                    (0..=random.below(3)).map(|_| random.pick(&texts).clone()).collect();
                filter = filter.tag(name, values);
            }
        }
        filter.search = random.one_in(3).then(|| random.pick(&texts).clone());
        let matcher = Matcher::new(&filter);
        let tried = events.iter().filter(|event| matcher.matches(&Tried::new(event)));
        let expected: Vec<_> = tried.map(|event| event.id).collect();
        assert_eq!(query(&*store, &Reader::anonymous(), &filter).await, expected, "{filter:?}");
        let count = store.count(&Reader::anonymous(), std::slice::from_ref(&filter)).await;
        assert_eq!(count, Ok(expected.len() as u64), "{filter:?}");
    }
    assert_eq!(store.check().await, Ok(Vec::new()));
}
