//! The engine's speed beside its peers, printed as the tables of `RECORD.md`.

#![allow(missing_docs, unreachable_pub)]

mod harness;

use std::collections::HashSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use daachorse::{DoubleArrayAhoCorasickBuilder, MatchKind as DaachorseKind};
use harness::{Numbers, compare, way};
use vocative::rank::{Entry, Group, Ranker, RowKind};
use vocative::{Contexts, Draft, Id, Key, Member, Roster, Scope, Standing};

const SIZE: usize = 10_000;

fn main() {
    // `cargo test --benches` calls a bench with `--test`: nothing is to be timed then.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    scans();
    without_signs();
    short_message();
    whole_resolve();
    roster_updates();
    ranking();
}

fn names(count: usize) -> Vec<String> {
    const FIRST: &[&str] =
        &["Ada", "Grace", "Linus", "Radia", "Alan", "Barbara", "Edsger", "Frances", "Ken", "Margaret"];
    const PARTS: &[&str] =
        &["ber", "lo", "man", "sen", "ko", "ri", "ta", "wick", "ham", "ov", "stein", "ley", "ara", "mi"];
    let mut numbers = Numbers::new(7);
    let mut seen = HashSet::new();
    let mut names = Vec::new();
    while names.len() < count {
        let mut name = format!("{} ", numbers.pick(FIRST));
        for _ in 0..2 + numbers.below(4) {
            name.push_str(numbers.pick(PARTS));
        }
        if seen.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// About [`SIZE`] bytes of prose with `mentions` mentions of these names.
fn prose(names: &[String], mentions: usize) -> String {
    const WORDS: &[&str] =
        &["the", "build", "is", "green", "again", "after", "that", "change", "please", "look", "at", "it"];
    let mut numbers = Numbers::new(11);
    let mut text = String::new();
    let mut named = 0;
    while text.len() < SIZE {
        if named < mentions && named * SIZE <= text.len() * mentions {
            text.push('@');
            text.push_str(numbers.pick(names));
            named += 1;
        } else {
            text.push_str(numbers.pick(WORDS));
        }
        text.push_str(match numbers.below(12) {
            0 => ", ",
            1 => ". ",
            2 if numbers.below(6) == 0 => "\n\n",
            _ => " ",
        });
    }
    text
}

fn roster(names: &[String]) -> Roster {
    let mut roster = Roster::new();
    for (number, name) in (0_u32..).zip(names) {
        roster.add(member(name, number)).expect("a short name");
    }
    roster
}

fn member(name: &str, number: u32) -> Member {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Member { name: name.to_owned(), id: Id::Nostr(Key::from_bytes(bytes)), standing: Standing::Member }
}

fn scans() {
    for count in [10, 1_000, 10_000, 100_000] {
        let names = names(count);
        let roster = roster(&names);
        let draft = Draft::new();
        let patterns: Vec<String> = names.iter().map(|name| format!("@{name}")).collect();
        let automaton = |kind| {
            let mut builder = AhoCorasick::builder();
            builder
                .match_kind(MatchKind::LeftmostLongest)
                .kind(kind)
                .build(&patterns)
                .expect("a small automaton")
        };
        let fastest = automaton(None);
        let contiguous = automaton(Some(AhoCorasickKind::ContiguousNFA));
        let double_array = DoubleArrayAhoCorasickBuilder::new()
            .match_kind(DaachorseKind::LeftmostLongest)
            .build::<_, _, u32>(&patterns)
            .expect("a small automaton");
        let alternation = (count <= 10_000).then(|| {
            let mut escaped: Vec<String> = patterns.iter().map(|pattern| regex::escape(pattern)).collect();
            escaped.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
            regex::RegexBuilder::new(&escaped.join("|"))
                .size_limit(1 << 30)
                .build()
                .expect("a small expression")
        });
        for (density, mentions) in [("sparse, 18 mentions", 18), ("dense, 165 mentions", 165)] {
            let text = prose(&names, mentions);
            let contexts = Contexts::of(&text);
            let mut ways = vec![
                way("aho-corasick, automatic (raw ASCII)", || fastest.find_iter(&text).count()),
                way("aho-corasick, contiguous (raw ASCII)", || contiguous.find_iter(&text).count()),
                way("daachorse (raw ASCII)", || double_array.leftmost_find_iter(&text).count()),
                way("vocative: folding, boundaries, guards, ownership", || {
                    Scope::new(&roster, &draft).spans(&text, &contexts).count()
                }),
            ];
            if let Some(alternation) = &alternation {
                ways.push(way("regex alternation (raw ASCII)", || alternation.find_iter(&text).count()));
            }
            if count <= 1_000 {
                ways.push(way("a loop over the labels (raw ASCII)", || {
                    patterns.iter().map(|pattern| text.matches(pattern.as_str()).count()).sum()
                }));
            }
            compare(
                &format!("Scan of {} bytes, {count} labels, {density}", text.len()),
                text.len(),
                &mut ways,
            );
        }
    }
}

fn without_signs() {
    let names = names(10_000);
    let roster = roster(&names);
    let draft = Draft::new();
    let text = prose(&names, 0);
    compare(
        "The whole call on text without a sign, 10000 labels",
        text.len(),
        &mut [
            way("memchr", || memchr::memchr_iter(b'@', text.as_bytes()).count()),
            way("vocative: occurrences, recipients, diagnostics", || {
                let reading = Scope::new(&roster, &draft).read(&text);
                reading.recipients().map_or(0, |found| found.keys.len()) + reading.diagnostics().len()
            }),
        ],
    );
}

fn short_message() {
    let names = names(10_000);
    let roster = roster(&names);
    let draft = Draft::new();
    let mut text = prose(&names, 165);
    text.truncate(300);
    compare(
        "A message of 300 bytes, 10000 labels",
        text.len(),
        &mut [
            way("contexts", || Contexts::of(&text).ranges().count()),
            way("the whole call: contexts, ownership, recipients, diagnostics", || {
                let reading = Scope::new(&roster, &draft).read(&text);
                reading.recipients().map_or(0, |found| found.keys.len()) + reading.diagnostics().len()
            }),
        ],
    );
}

fn whole_resolve() {
    let names = names(10_000);
    let roster = roster(&names);
    let draft = Draft::new();
    for (kind, extra) in
        [("plain prose", ""), ("Markdown", "> `code` [link](https://x.example) *and* text\n\n")]
    {
        for mentions in [18, 165] {
            let text = format!("{extra}{}", prose(&names, mentions));
            compare(
                &format!(
                    "A whole resolve of {} bytes of {kind}, {mentions} mentions, 10000 labels",
                    text.len()
                ),
                text.len(),
                &mut [
                    way("contexts, ownership, recipients, diagnostics", || {
                        let reading = Scope::new(&roster, &draft).read(&text);
                        reading.recipients().map_or(0, |found| found.keys.len()) + reading.diagnostics().len()
                    }),
                    way("of which contexts", || Contexts::of(&text).ranges().count()),
                ],
            );
        }
    }
}

fn roster_updates() {
    for count in [10_000, 100_000] {
        let names = names(count);
        let mut changed = roster(&names);
        let mut number = 0_u32;
        compare(
            &format!("One label added and removed again, {count} labels"),
            0,
            &mut [way("vocative: roster", || {
                number += 1;
                let row =
                    changed.add(member(&format!("Zuse Konrad {number}"), number)).expect("a short name");
                changed.remove(row);
                1
            })],
        );
    }
    let names = names(100_000);
    compare(
        "A roster of 100000 labels from nothing",
        0,
        &mut [way("vocative: roster", || roster(&names).len())],
    );
}

fn ranking() {
    for count in [1_000, 10_000, 100_000] {
        let names = names(count);
        let ranker: Ranker = names
            .iter()
            .map(|name| Entry {
                group: Group::of(RowKind::Identity, true, false, false),
                names: [name, "", ""],
                key: None,
            })
            .collect();
        for query in ["a", "ada", "grace lo", "stein"] {
            compare(
                &format!("Ranking {count} names, query `{query}`"),
                0,
                &mut [
                    way("vocative: forms, words, marks, groups", || ranker.rank(query).len()),
                    way("a loop: lower case and substring, unranked", || {
                        names.iter().filter(|name| name.to_lowercase().contains(query)).count()
                    }),
                ],
            );
        }
    }
}
