//! The rules of ownership written down once more, as slowly as they read, and held against the scan.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::boundary::{is_joined, left_is_fine, right_is_fine};
use crate::chars::is_continuing;
use crate::context::{Context, Contexts};
use crate::draft::{Claim, Draft};
use crate::form::form;
use crate::label::{guard_end, matchable};
use crate::roster::{Member, Roster, Standing};
use crate::scan::Scan;
use crate::{Id, Key, Scope};

/// Accepted ranges with the labels that own them: every label tried at every sign and every end.
fn naive(text: &str, labels: &[String]) -> Vec<(usize, usize, BTreeSet<String>)> {
    let contexts = Contexts::of(text);
    let mut accepted: Vec<(usize, usize, BTreeSet<String>)> = Vec::new();
    for (sign, _) in text.match_indices('@') {
        let last = accepted.last().map(|range| range.1);
        if last.is_some_and(|end| sign < end)
            || !(left_is_fine(text, sign) || last.is_some_and(|end| is_joined(text, end, sign)))
            || !matches!(contexts.at(sign), Context::Prose | Context::Quote)
        {
            continue;
        }
        let (mut best, mut owners) = (0, BTreeSet::new());
        for label in labels {
            let Ok(Some(trimmed)) = matchable(label) else {
                continue;
            };
            for end in (sign + 1..=text.len()).filter(|&end| text.is_char_boundary(end)) {
                let is_match = form(&text[sign + 1..end]) == form(trimmed)
                    && !text[end..].chars().next().is_some_and(is_continuing)
                    && right_is_fine(text, sign, end)
                    && (sign..end).all(|at| contexts.at(at) != Context::Code);
                if !is_match {
                    continue;
                }
                let guard = guard_end(text, sign, end);
                let reach = guard.unwrap_or(end);
                if reach > best {
                    (best, owners) = (reach, BTreeSet::new());
                }
                if reach == best && guard.is_none() {
                    owners.insert(label.clone());
                }
            }
        }
        if best > 0 {
            accepted.push((sign, best, owners));
        }
    }
    accepted
}

/// The same ranges by the scan, with the labels spread over a roster and a draft.
fn scanned(text: &str, labels: &[String]) -> Vec<(usize, usize, BTreeSet<String>)> {
    let mut roster = Roster::new();
    let mut draft = Draft::new();
    for (number, label) in (0_u8..).zip(labels) {
        if number % 2 == 0 {
            let id = Id::Nostr(Key::from_bytes([number; 32]));
            let _ = roster.add(Member { name: label.clone(), id, standing: Standing::Member });
        } else {
            draft.push(label, Claim::Competing);
        }
    }
    let contexts = Contexts::of(text);
    let layers = Scope::new(&roster, &draft).layers();
    let ranges = Scan::new(text, &contexts, layers).map(|accepted| {
        let names = accepted.owners.iter().flat_map(|&(layer, slot)| -> Vec<String> {
            match layer {
                0 => draft.slot(slot).map(|at| draft.claim(at).0.to_owned()).collect(),
                _ => roster.rows_at(slot).map(|row| row.member.name.clone()).collect(),
            }
        });
        (accepted.start, accepted.end, names.collect())
    });
    ranges.collect()
}

/// Pieces that the rules tell apart.
const PIECES: &[&str] = &[
    "@",
    "@",
    "@a",
    "a",
    "A",
    "b",
    "ab",
    "Ada",
    " ",
    " ",
    "\u{a0}",
    "\n",
    "`",
    "> ",
    "/",
    "\\",
    ".",
    "..",
    "_",
    "-",
    "'s",
    "'",
    "é",
    "e\u{301}",
    "ß",
    "ss",
    "太",
    "郎",
    "さ",
    "サ",
    "ー",
    "가",
    "\u{1100}\u{1161}",
    "한",
    "\u{200d}",
    "😀",
    "\u{fe0f}",
    "(",
    ")",
    "[",
    "](u)",
    "2",
    " 2",
    "\u{200c}",
    "\u{ad}",
    "·",
    "ﾞ",
    "https://x/",
    "İ",
    "    ",
    "\u{20e3}",
    "1",
    ",",
    "#",
    "<",
    "ǰ",
    "ΐ",
    "\u{345}",
];

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(PIECES).prop_map(str::to_owned);
    prop_oneof![40 => piece, 1 => Just(format!(" ({})", "9c".repeat(32)))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// No fast path of the scan changes an answer.
    #[test]
    fn the_scan_agrees_with_the_naive_reading(
        text in prop::collection::vec(pieces(), 0..14),
        labels in prop::collection::vec(prop::collection::vec(pieces(), 1..4), 0..6),
    ) {
        let labels: Vec<String> = labels.into_iter().map(|label| label.concat()).collect();
        let text = text.concat();
        prop_assert_eq!(scanned(&text, &labels), naive(&text, &labels), "{:?} {:?}", text, labels);
    }

    /// The same, with labels that are pieces of the text, so that most signs have candidates.
    #[test]
    fn the_scan_agrees_on_labels_taken_from_the_text(
        text in prop::collection::vec(pieces(), 1..14),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..6), 0..6),
    ) {
        let labels: Vec<String> = cuts
            .iter()
            .map(|(at, length)| {
                let from = at.index(text.len());
                text[from..text.len().min(from + length)].concat().trim_start_matches('@').to_owned()
            })
            .collect();
        let text = format!("@{}", text.concat());
        prop_assert_eq!(scanned(&text, &labels), naive(&text, &labels), "{:?} {:?}", text, labels);
    }
}
