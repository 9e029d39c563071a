//! Found by what an event names: the same as found by trying every filter.

use std::collections::BTreeSet;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use vocative::Key;
use vocative_store::{Event, EventId, Filter, Timestamp};

use super::{Handle, Subscriptions};

fn byte() -> impl Strategy<Value = u8> {
    0..4_u8
}

fn letter() -> impl Strategy<Value = char> {
    prop_oneof![Just('h'), Just('p'), Just('e')]
}

fn value() -> impl Strategy<Value = String> {
    byte().prop_map(|n| n.to_string())
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![Just("red"), Just("Blue"), Just("green red"), Just("")].prop_map(str::to_owned)
}

prop_compose! {
    fn event()(
        id in byte(), key in byte(), at in byte(), kind in 9..11_u32,
        tags in vec((letter(), value()), 0..4), content in word(),
    ) -> Event {
        Event {
            id: EventId::from_bytes([id; 32]),
            key: Key::from_bytes([key; 32]),
            created_at: Timestamp::from_secs(at.into()),
            kind,
            tags: tags.into_iter().map(|(name, value)| vec![name.to_string(), value]).collect(),
            content,
            sig: [0; 64],
        }
    }
}

prop_compose! {
    fn filter()(
        ids in option::weighted(0.2, vec(byte(), 0..3)), authors in option::weighted(0.3, vec(byte(), 0..3)),
        kinds in option::weighted(0.4, vec(9..11_u32, 0..3)),
        tags in btree_map(letter(), vec(value(), 0..3), 0..3),
        since in option::weighted(0.2, byte()), until in option::weighted(0.2, byte()),
        search in option::weighted(0.2, word()),
    ) -> Filter {
        let time = |at: u8| Timestamp::from_secs(at.into());
        Filter {
            ids: ids.map(|ids| ids.into_iter().map(|n| EventId::from_bytes([n; 32])).collect()),
            authors: authors.map(|keys| keys.into_iter().map(|n| Key::from_bytes([n; 32])).collect()),
            kinds, tags, since: since.map(time), until: until.map(time), search, limit: None,
        }
    }
}

/// What happens to the subscriptions of a node.
#[derive(Clone, Debug)]
enum Step {
    Open(Vec<Filter>),
    Close(prop::sample::Index),
    Event(Event),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => vec(filter(), 1..3).prop_map(Step::Open),
        1 => any::<prop::sample::Index>().prop_map(Step::Close),
        4 => event().prop_map(Step::Event),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn those_found_are_those_that_trying_every_filter_finds(steps in vec(step(), 1..40)) {
        let mut index = Subscriptions::default();
        let mut all: Vec<(Handle, usize, Vec<Filter>)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Open(filters) => {
                    let handle = index.add(&filters, number);
                    all.push((handle, number, filters));
                }
                Step::Close(which) if !all.is_empty() => {
                    let (handle, number, _) = all.swap_remove(which.index(all.len()));
                    prop_assert_eq!(index.remove(handle), Some(number));
                }
                Step::Close(_) => {}
                Step::Event(event) => {
                    let mut found = Vec::new();
                    index.each_wanting(&event, |number| found.push(*number));
                    let wanting = all.iter().filter(|(_, _, filters)| filters.iter().any(|f| f.matches(&event)));
                    let expected: BTreeSet<usize> = wanting.map(|(_, number, _)| *number).collect();
                    prop_assert_eq!(found.len(), expected.len(), "each once");
                    prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
                }
            }
            prop_assert_eq!(index.len(), all.len());
        }
        for (handle, ..) in all {
            index.remove(handle);
        }
        prop_assert!(index.by_name.is_empty(), "nothing is left behind");
    }
}
