//! Laws of the engine, on random texts and labels.
//!
//! Random characters are drawn from those that Unicode 14 assigns, so that every crate's tables
//! know them: case folding is that of Unicode 16, all other properties those of Unicode 18.

use proptest::prelude::*;
use vocative::{
    Claim, Contexts, Draft, Fate, Id, Key, Member, Place, Recipients, Roster, Scope, Standing, Utf16Map,
    form, reserve,
};

fn id(number: u8) -> Id {
    Id::Nostr(Key::from_bytes([number; 32]))
}

fn member(name: &str, number: u8) -> Member {
    Member { name: name.into(), id: id(number), standing: Standing::Member }
}

fn roster(names: &[String]) -> Roster {
    (0_u8..).zip(names).map(|(number, name)| member(name, number)).collect()
}

/// Pieces that the rules tell apart, between words.
const PIECES: &[&str] = &[
    " ",
    " ",
    "\n",
    "\n\n",
    "> ",
    "`",
    "```\n",
    "/",
    "\\",
    ".",
    "..",
    "_",
    "-",
    "'s",
    ",",
    ":",
    "(",
    ")",
    "[",
    "](u)",
    "*",
    "é",
    "e\u{301}",
    "太郎",
    "さん",
    "ー",
    "😀",
    "\u{200d}",
    "\u{a0}",
    "https://x/",
    "<b>",
    "    ",
    "ß",
    "İ",
    "@",
    "@",
    "＠",
    "[a]: ",
    "\u{2028}",
    "\r\n",
];

fn name() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "Ada", "ADA", "King", "Zoë", "太郎", "O'Neil", "dee_", "Straße", "ops@hq", "李", "a.b",
    ]);
    prop::collection::vec(words, 1..3).prop_map(|words| words.join(" "))
}

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(name(), 0..6)
}

/// A text of names, signs and pieces.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => name().prop_map(|name| format!("@{name}")),
        1 => name(),
        6 => prop::sample::select(PIECES).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

/// Any text of characters that Unicode 14 assigns, mostly from the first planes.
fn any_text() -> impl Strategy<Value = String> {
    "[ -~\n\t@@@À-ʯͰ-ͷΑ-Ρа-яא-ת؀-؄ก-ฺᄀ-ᇿ〃-〟ァ-ヿ一-三가-깋\u{ff01}-\u{ff9f}😀-😏\u{1f3fb}\u{200b}-\u{200f}\u{300}-\u{33f}]{0,40}"
}

fn spans(text: &str, roster: &Roster, draft: &Draft) -> Vec<std::ops::Range<usize>> {
    let reading = Scope::new(roster, draft).read(text);
    reading.occurrences().iter().map(|occurrence| occurrence.span.bytes()).collect()
}

fn recipients(text: &str, roster: &Roster) -> Option<Recipients> {
    Scope::new(roster, &Draft::new()).read(text).recipients().ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn ownership_is_a_partition(text in text(), names in names()) {
        let roster = roster(&names);
        let spans = spans(&text, &roster, &Draft::new());
        let mut end = 0;
        for span in spans {
            prop_assert!(end <= span.start && span.start < span.end && span.end <= text.len());
            prop_assert!(text[span.clone()].starts_with('@'));
            let literal = form(&text[span.start + 1..span.end]);
            prop_assert!(names.iter().any(|name| form(name) == literal), "{}", literal);
            end = span.end;
        }
    }

    #[test]
    fn every_sign_has_one_fate_in_text_order(text in text(), names in names()) {
        let roster = roster(&names);
        let draft = Draft::new();
        let reading = Scope::new(&roster, &draft).read(&text);
        let explained = reading.explain();
        let signs: Vec<usize> = text.match_indices('@').map(|(at, _)| at).collect();
        let told = explained.filter(|sign| sign.fate != Fate::WideSign);
        prop_assert_eq!(told.map(|sign| sign.span.start.get()).collect::<Vec<_>>(), signs);
    }

    /// No silent loss: a name in the writer's own words that reaches nobody is told.
    #[test]
    fn a_name_that_reaches_nobody_is_told(text in text(), names in names()) {
        let roster = roster(&names);
        let draft = Draft::new();
        for sign in Scope::new(&roster, &draft).read(&text).explain() {
            match sign.fate {
                Fate::Ambiguous | Fate::NotEligible | Fate::Expired | Fate::Unknown | Fate::RunOn | Fate::WideSign => {
                    prop_assert!(sign.code.is_some(), "{:?}", sign);
                }
                Fate::Bound => prop_assert!(sign.code.is_none() && sign.keys.len() == 1, "{:?}", sign),
                _ => {}
            }
        }
    }

    #[test]
    fn diagnostics_are_what_explain_tells(text in text(), names in names()) {
        let roster = roster(&names);
        let draft = Draft::new();
        let reading = Scope::new(&roster, &draft).read(&text);
        let told: Vec<_> = reading.explain().filter_map(|sign| Some((sign.code?, sign.span))).collect();
        let diagnostics: Vec<_> = reading.diagnostics().into_iter().map(|found| (found.code, found.span)).collect();
        prop_assert_eq!(told, diagnostics);
    }

    #[test]
    fn joined_mentions_are_both_named(connector in prop::sample::select(vec!["/", "+", "-", ".", "_", "'", "·", "\\_"])) {
        let roster = roster(&["Ada".into(), "Grace King".into()]);
        let text = format!("@Ada{connector}@Grace King");
        prop_assert_eq!(recipients(&text, &roster).map(|found| found.keys.len()), Some(2), "{}", text);
    }

    #[test]
    fn equal_spellings_name_the_same(names in names(), at in any::<prop::sample::Index>()) {
        prop_assume!(!names.is_empty());
        let roster = roster(&names);
        let name = &names[at.index(names.len())];
        let plain = recipients(&format!("hi @{name}!"), &roster);
        for spelled in [name.to_uppercase(), name.to_lowercase(), name.replace(' ', "\u{a0}"), name.replace('ë', "e\u{308}")] {
            if form(&spelled) == form(name) {
                prop_assert_eq!(&recipients(&format!("hi @{spelled}!"), &roster), &plain, "{}", spelled);
            }
        }
    }

    #[test]
    fn code_names_nobody(text in text(), names in names()) {
        let fence = "~".repeat(40);
        let roster = roster(&names);
        let fenced = format!("{fence}\n{text}\n{fence}");
        prop_assert_eq!(spans(&fenced, &roster, &Draft::new()), Vec::new());
    }

    #[test]
    fn a_quote_notifies_nobody(text in text(), names in names()) {
        let roster = roster(&names);
        let lines = text.split(['\n', '\r']).map(|line| format!("> {line}"));
        let quoted = lines.collect::<Vec<_>>().join("\n");
        let reading = Scope::new(&roster, &Draft::new()).read(&quoted).occurrences().to_vec();
        prop_assert!(reading.iter().all(|occurrence| occurrence.place == Place::Quote), "{}", quoted);
        prop_assert_eq!(recipients(&quoted, &roster).map(|found| found.keys), Some(Vec::new()));
    }

    #[test]
    fn an_outsider_never_adds_a_recipient(text in text(), names in names(), outsider in name()) {
        let before = recipients(&text, &roster(&names));
        let mut roster = roster(&names);
        roster.add(Member { standing: Standing::Outsider, ..member(&outsider, 200) }).unwrap();
        if let (Some(before), Some(after)) = (before, recipients(&text, &roster)) {
            prop_assert!(after.keys.iter().all(|key| before.keys.contains(key)));
            prop_assert!(!after.keys.contains(&id(200)));
        }
    }

    #[test]
    fn roster_order_never_decides(text in text(), names in names()) {
        let forward = roster(&names);
        let rows: Vec<Member> = (0_u8..).zip(&names).map(|(number, name)| member(name, number)).collect();
        let backward: Roster = rows.into_iter().rev().collect();
        let sorted = |found: Option<Recipients>| found.map(|found| {
            let (mut keys, mut references) = (found.keys, found.references);
            keys.sort();
            references.sort();
            (keys, references)
        });
        prop_assert_eq!(sorted(recipients(&text, &forward)), sorted(recipients(&text, &backward)));
    }

    #[test]
    fn a_member_who_comes_and_goes_changes_nothing(text in text(), names in names(), guest in name()) {
        let mut changed = roster(&names);
        let before = spans(&text, &changed, &Draft::new());
        let row = changed.add(member(&guest, 99)).unwrap();
        changed.rename(row, "Somebody Else").unwrap();
        changed.remove(row);
        prop_assert_eq!(spans(&text, &changed, &Draft::new()), before);
    }

    #[test]
    fn a_namesake_moves_no_range(text in text(), names in names()) {
        let once = roster(&names);
        let twice = roster(&[names.clone(), names].concat());
        prop_assert_eq!(spans(&text, &once, &Draft::new()), spans(&text, &twice, &Draft::new()));
    }

    #[test]
    fn ambiguity_names_every_candidate(text in text(), names in names()) {
        let roster = roster(&[names.clone(), names].concat());
        let draft = Draft::new();
        let reading = Scope::new(&roster, &draft).read(&text);
        let prose = reading.occurrences().iter().find(|occurrence| occurrence.place == Place::Prose);
        match (prose, reading.recipients()) {
            (Some(first), Err(error)) => {
                prop_assert_eq!(error.span, first.span);
                prop_assert!(error.candidates.len() >= 2 && error.candidates.is_sorted());
                let bearers = roster.bearers(&error.label).filter(|member| !error.candidates.contains(&member.id));
                prop_assert_eq!(bearers.count(), 0);
            }
            (Some(_), Ok(_)) => prop_assert!(false, "two of each name cannot be told apart"),
            (None, found) => prop_assert!(found.is_ok()),
        }
    }

    #[test]
    fn reserving_is_idempotent_and_injective(
        names in names(),
        choices in prop::collection::vec((name(), 100_u8..104), 1..6),
        text in text(),
    ) {
        let roster = roster(&names);
        let mut draft = Draft::new();
        for (name, number) in &choices {
            let label = reserve(Scope::new(&roster, &draft), name, &id(*number), Some(&text));
            draft.bind(&label, id(*number));
            prop_assert_eq!(&reserve(Scope::new(&roster, &draft), name, &id(*number), Some(&text)), &label);
            let holders: Vec<_> = draft.claims_of(&label).collect();
            prop_assert_eq!(holders.len(), 1, "{} stands for one identity", label);
            prop_assert_eq!(holders[0].1, &Claim::Selected(id(*number)));
        }
    }

    #[test]
    fn a_binding_that_owns_text_is_never_evicted(text in text(), names in names(), limit in 0_usize..4) {
        let mut draft = Draft::new();
        for (number, name) in (0_u8..).zip(&names) {
            draft.bind(name, id(number));
        }
        let nobody = Roster::new();
        let live = Scope::new(&nobody, &draft).read(&text).refs();
        let before = draft.bindings().count();
        draft.evict(&text, limit);
        prop_assert_eq!(Scope::new(&nobody, &draft).read(&text).refs(), live);
        prop_assert!(draft.bindings().count() <= before && draft.bindings().count() >= before.min(limit));
    }

    #[test]
    fn contexts_are_sorted_disjoint_and_on_boundaries(text in text()) {
        let mut end = 0;
        for (range, _) in Contexts::of(&text).ranges() {
            prop_assert!(end <= range.start && range.start < range.end && range.end <= text.len());
            prop_assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end));
            end = range.end;
        }
    }

    #[test]
    fn positions_convert_both_ways(text in any_text()) {
        let map = Utf16Map::new(&text);
        for (at, _) in text.char_indices() {
            let offset = vocative::ByteOffset::new(&text, at).unwrap();
            let units = map.to_utf16(offset);
            prop_assert_eq!(units, text[..at].encode_utf16().count());
            prop_assert_eq!(map.to_bytes(units), Some(offset));
        }
    }

    #[test]
    fn the_form_is_stable(text in any_text()) {
        let once = form(&text);
        prop_assert_eq!(form(&once), once.clone());
        prop_assert_eq!(form(&text.replace(' ', "\u{3000}")), once);
    }

    #[test]
    fn any_text_can_be_read(text in any_text(), names in prop::collection::vec(any_text(), 0..4)) {
        let roster = roster(&names);
        let draft = Draft::new();
        let reading = Scope::new(&roster, &draft).read(&text);
        let _ = (reading.recipients(), reading.diagnostics(), vocative::markdown::structure(&text));
    }
}
