use proptest::prelude::*;

use super::*;
use crate::draft::{Claim, Draft};
use crate::history::tests::{expand, key};
use crate::reading::{Place, Scope};
use crate::roster::Roster;

fn id(byte: &str) -> Id {
    Id::Nostr(key(byte))
}

fn draft(bindings: &[(&str, &str)]) -> Draft {
    let mut draft = Draft::new();
    for (label, byte) in bindings {
        draft.push(&expand(label), Claim::Selected(id(byte)));
    }
    draft
}

/// A draft's text and bindings with an audience, as a composer holds them.
struct Composer {
    text: String,
    draft: Draft,
    roster: Roster,
    audience: Audience,
}

impl Composer {
    fn new(text: &str, bindings: &[(&str, &str)], addressed: &[&str]) -> Self {
        let mut audience = Audience::new();
        let ids: Vec<Id> = addressed.iter().map(|byte| id(byte)).collect();
        assert!(audience.promote(audience.revision(), &ids));
        let mut composer =
            Self { text: expand(text), draft: draft(bindings), roster: Roster::new(), audience };
        composer.on(|audience, reading| {
            audience.draft_replaced(reading);
            Change::default()
        });
        composer
    }

    fn on(&mut self, event: impl FnOnce(&mut Audience, &Reading<'_>) -> Change) -> Change {
        let reading = Scope::new(&self.roster, &self.draft).read(&self.text);
        let change = event(&mut self.audience, &reading);
        self.text = change.apply(&self.text);
        for binding in &change.bindings {
            self.draft.bind(&binding.label, binding.id.clone());
        }
        change
    }

    fn add(&mut self, byte: &str, label: &str) -> Change {
        self.on(|audience, reading| audience.add(&id(byte), &expand(label), reading))
    }

    fn remove(&mut self, byte: &str) -> Change {
        self.on(|audience, reading| audience.remove(&id(byte), reading))
    }

    fn restore(&mut self, labels: &[(&str, &str)]) -> Change {
        let reserved: Vec<Binding> =
            labels.iter().map(|(label, byte)| Binding { label: expand(label), id: id(byte) }).collect();
        self.on(|audience, reading| audience.restore(reading, &reserved))
    }

    fn type_text(&mut self, text: &str) -> Vec<Id> {
        self.text = expand(text);
        let reading = Scope::new(&self.roster, &self.draft).read(&self.text);
        self.audience.text_changed(&reading)
    }

    fn recipients(&self) -> Vec<Id> {
        let reading = Scope::new(&self.roster, &self.draft).read(&self.text);
        reading.recipients().unwrap().keys
    }

    fn sent_to(&self) -> Vec<Id> {
        self.audience.send_audience(&self.recipients())
    }
}

const TWINS: &[(&str, &str)] = &[("rosa", "a1"), ("rosa (<9c>)", "9c")];
const ADAS: &[(&str, &str)] = &[("Ada", "a1"), ("Ada (<9c>)", "9c")];

#[test]
fn adding_a_namesake_audience_001() {
    let mut composer = Composer::new("@rosa existing", &TWINS[..1], &[]);
    let change = composer.add("9c", "rosa (<9c>)");
    assert_eq!(composer.text, expand("@rosa (<9c>) @rosa existing"));
    assert_eq!(composer.recipients(), [id("a1"), id("9c")]);
    assert_eq!(composer.audience.generated_prefix(), expand("@rosa (<9c>) "));
    assert_eq!(change.caret, CaretMove::Stays);
    assert_eq!(composer.audience.strip(&composer.text), "@rosa existing");
    // The label is there: nothing is put there twice.
    composer.add("9c", "ROSA (<9c>)");
    assert_eq!(composer.text, expand("@rosa (<9c>) @rosa existing"));
}

#[test]
fn removing_a_namesake_audience_003() {
    let mut composer = Composer::new("@rosa (<9c>) @rosa existing", TWINS, &["9c"]);
    composer.remove("9c");
    assert_eq!(composer.text, "@rosa existing");
    assert_eq!(composer.sent_to(), [id("a1")]);
    assert!(composer.audience.is_excluded(&id("9c")));
}

#[test]
fn restoring_into_an_empty_draft_audience_004() {
    let mut composer = Composer::new("", TWINS, &["9c"]);
    let change = composer.restore(&[("rosa (<9c>)", "9c")]);
    assert_eq!(composer.text, expand("@rosa (<9c>) "));
    assert_eq!(change.caret, CaretMove::End);
    // A second time nothing is missing.
    assert_eq!(composer.restore(&[("rosa (<9c>)", "9c")]), Change::default());
}

#[test]
fn toggling_off_keeps_the_other_name_audience_006() {
    let mut composer = Composer::new("@Ada @Ada (<9c>) hello", ADAS, &["a1", "9c"]);
    composer.remove("a1");
    assert_eq!(composer.text, expand("@Ada (<9c>) hello"));
    assert_eq!(composer.sent_to(), [id("9c")]);
}

#[test]
fn unpinning_keeps_the_text_audience_007() {
    let mut composer = Composer::new("@Ada @Ada (<9c>) hello", ADAS, &["a1", "9c"]);
    composer.audience.unpin(&id("a1"));
    assert_eq!(composer.recipients(), [id("a1"), id("9c")]);
    assert_eq!(composer.audience.addressed().collect::<Vec<_>>(), [&id("9c")]);
    // A written name still counts (W-7).
    assert_eq!(composer.sent_to(), [id("a1"), id("9c")]);
}

#[test]
fn removing_a_renamed_identity_audience_009() {
    let mut composer = Composer::new("@Former Ada hello", &[], &["a1"]);
    composer.draft.push("Former Ada", Claim::Fallback(id("a1")));
    composer.remove("a1");
    assert_eq!(composer.text, "hello");
}

#[test]
fn losing_one_of_two_places_audience_010() {
    let mut composer = Composer::new("@Ada one @Ada two", &ADAS[..1], &["a1"]);
    assert_eq!(composer.type_text("@Ada two"), []);
    assert_eq!(composer.type_text("`@Ada` two"), [id("a1")]);
    // Told once; writing the name again is a mention, not an address (W-9).
    assert_eq!(composer.type_text("two"), []);
    assert_eq!(composer.type_text("@Ada two"), []);
    assert!(composer.audience.is_excluded(&id("a1")));
    assert_eq!(composer.sent_to(), [id("a1")]);
}

#[test]
fn presence_is_ownership() {
    // W-3: a longer label of another key keeps nobody.
    let mut composer = Composer::new("@Ada hi", ADAS, &["a1", "9c"]);
    assert_eq!(composer.type_text("@Ada (<9c>) hi"), [id("a1")]);
    // One that was never seen is not gone, and one that is not addressed is nobody's loss.
    let mut composer = Composer::new("@Ada hi", ADAS, &["9c"]);
    assert_eq!(composer.type_text(""), []);
    // An emptied composer excludes nobody.
    let mut composer = Composer::new("@Ada hi", ADAS, &["a1"]);
    composer.text.clear();
    composer.on(|audience, reading| {
        audience.draft_replaced(reading);
        Change::default()
    });
    assert_eq!(composer.type_text("next"), []);
    assert_eq!(composer.sent_to(), [id("a1")]);
}

#[test]
fn what_removal_deletes() {
    for (text, bindings, left) in [
        ("@Ada", ADAS, ""),
        ("@Ada  hi", ADAS, " hi"),
        ("@Ada\u{a0}hi", ADAS, "hi"),
        ("@Ada, hi", ADAS, ", hi"),
        ("@Ada\nhi", ADAS, "\nhi"),
        (" @Ada hi", ADAS, " @Ada hi"),
        ("hi @Ada", ADAS, "hi @Ada"),
        ("@Ada (<9c>) @Ada hi", ADAS, "@Ada (<9c>) @Ada hi"),
        ("@Ada @Ada hi", ADAS, "@Ada hi"),
        // A joint goes where the next name would be lost without it.
        ("@Ada/@Bo hi", &[("Ada", "a1"), ("Bo", "15")], "@Bo hi"),
        // Nothing goes where the next name would become a quote.
        ("@Ada > @Bo hi", &[("Ada", "a1"), ("Bo", "15")], "@Ada > @Bo hi"),
        // A tie is not this key's alone.
        ("@Ada hi", &[("Ada", "a1"), ("ada", "9c")], "@Ada hi"),
    ] {
        let mut composer = Composer::new(text, bindings, &["a1"]);
        composer.remove("a1");
        assert_eq!(composer.text, expand(left), "{text}");
        assert!(composer.audience.is_excluded(&id("a1")));
    }
}

#[test]
fn restoring_prepends_what_is_missing() {
    let mut composer = Composer::new("hello", ADAS, &["a1", "9c"]);
    let change = composer.restore(&[("Ada", "a1"), ("Ada (<9c>)", "9c"), ("Eve", "66")]);
    assert_eq!(composer.text, expand("@Ada @Ada (<9c>) hello"));
    assert_eq!(change.caret, CaretMove::Stays);
    assert_eq!(composer.audience.generated_prefix(), expand("@Ada @Ada (<9c>) "));
    // Deleting one of them by hand forgets where it came from.
    assert_eq!(composer.type_text("@Ada (<9c>) hello"), [id("a1")]);
    assert_eq!(composer.audience.strip(&composer.text), "hello");
    // W-5: an exact ref under another label wins.
    let mut composer = Composer::new("@Former hello", &[("Former", "a1")], &["a1"]);
    assert_eq!(composer.restore(&[("Ada", "a1")]), Change::default());
    // An excluded key is not restored; adding includes it again.
    let mut composer = Composer::new("hello", ADAS, &["a1"]);
    composer.audience.unpin(&id("a1"));
    assert_eq!(composer.restore(&[("Ada", "a1")]), Change::default());
    composer.add("a1", "Ada");
    assert_eq!(composer.text, "@Ada hello");
    assert_eq!(composer.sent_to(), [id("a1")]);
}

#[test]
fn a_prefix_changes_no_other_name() {
    for (text, expected) in [
        ("hi @Bo", "@Ada hi @Bo"),
        ("> hi", "@Ada > hi"),
        // The quoted name and the one in code would be notified behind the prefix.
        ("> @Bo said", "@Ada \n\n> @Bo said"),
        // Nothing is told apart where nobody is named.
        ("```\ncode\n```", "@Ada ```\ncode\n```"),
        ("```\n@Bo\n```", "@Ada \n\n```\n@Bo\n```"),
        ("    @Bo", "@Ada \n\n    @Bo"),
        // A bracketed key would make it a longer name.
        ("(<9c>) hi", "@Ada \n\n(<9c>) hi"),
    ] {
        let mut composer = Composer::new(text, &[("Bo", "15")], &[]);
        composer.add("a1", "Ada");
        assert_eq!(composer.text, expand(expected));
        let stripped = composer.audience.strip(&composer.text);
        assert_eq!(stripped, expand(text));
    }
}

#[test]
fn an_older_promotion_is_dropped() {
    let mut audience = Audience::new();
    let began = audience.revision();
    audience.unpin(&id("a1"));
    assert!(!audience.promote(began, &[id("a1")]));
    assert!(audience.promote(audience.revision(), &[id("9c")]));
    assert_eq!(audience.addressed().collect::<Vec<_>>(), [&id("9c")]);
}

#[test]
fn scopes_are_bounded() {
    let mut audiences = Audiences::new();
    let scope =
        |n: usize| AudienceScope { owner: key("a1"), channel: n.to_string(), composer: "main".into() };
    audiences.of(&scope(0)).unpin(&id("9c"));
    for n in 1..=300 {
        audiences.of(&scope(n));
        audiences.of(&scope(0));
    }
    assert_eq!(audiences.len(), 200);
    assert!(audiences.get(&scope(0)).is_some_and(|audience| audience.is_excluded(&id("9c"))));
    assert!(audiences.get(&scope(101)).is_none() && audiences.get(&scope(102)).is_some());
}

#[test]
fn stripping() {
    for (content, prefix, left) in [
        ("@Ada @Ada hi", "@Ada ", "@Ada hi"),
        ("@Ada\u{a0}hi", "@Ada ", "@Ada\u{a0}hi"),
        ("@ada hi", "@Ada ", "@ada hi"),
        ("@Adam", "@Ada ", "@Adam"),
        (" @Ada hi", "@Ada ", " @Ada hi"),
        ("@Ada @Bo", "@Ada @Bo ", ""),
        ("", "", ""),
        ("hi", "", "hi"),
    ] {
        assert_eq!(strip_prefix(content, prefix), left, "{content}");
    }
}

#[test]
fn the_tray_hides_whom_the_body_names() {
    let names = ResolvedNames::new([("Ada", key("a1")), ("Bo", key("9c"))], ["Ada King"]);
    let addressed = [key("a1"), key("9c"), key("a1")];
    for (body, visible) in [
        ("@Ada hi", vec![key("9c")]),
        ("> @Ada\n\nhi", vec![key("a1"), key("9c")]),
        ("`@Ada` @Ada King @BO", vec![key("a1")]),
        ("@Ada/@Bo", vec![]),
    ] {
        assert_eq!(tray(body, &addressed, &names), visible, "{body}");
    }
}

proptest! {
    /// W-7: exclusion concerns automatic addressing only.
    #[test]
    fn exclusion_never_removes_an_explicit_recipient(
        explicit in prop::collection::vec(0_u8..6, 0..6),
        addressed in prop::collection::vec(0_u8..6, 0..6),
        excluded in prop::collection::hash_set(0_u8..6, 0..6),
    ) {
        let ids = |bytes: &[u8]| -> Vec<Id> {
            bytes.iter().map(|&byte| Id::Nostr(Key::from_bytes([byte; 32]))).collect()
        };
        let merged = merge_recipients(
            &ids(&explicit),
            &ids(&addressed),
            &ids(&excluded.iter().copied().collect::<Vec<_>>()).into_iter().collect(),
        );
        let unique: HashSet<&Id> = merged.iter().collect();
        prop_assert_eq!(unique.len(), merged.len());
        for byte in 0..6_u8 {
            let wanted = explicit.contains(&byte)
                || addressed.contains(&byte) && !excluded.contains(&byte);
            prop_assert_eq!(merged.contains(&ids(&[byte])[0]), wanted);
        }
    }

    /// W-4, W-5: removal and restoring leave every other key's names in their places.
    #[test]
    fn other_names_are_untouched(
        words in prop::collection::vec(0_usize..10, 0..9),
        restores in any::<bool>(),
    ) {
        let pieces = [
            "@Ada", " ", "@Ada (<9c>)", "@Bo", "/", "> ", "\n", "    ", "`", " x ",
        ];
        let text: String = words.iter().map(|&at| pieces[at]).collect();
        let bindings = [("Ada", "a1"), ("Ada (<9c>)", "9c"), ("Bo", "15")];
        let mut composer = Composer::new(&text, &bindings, &["a1"]);
        let others = |composer: &Composer| -> Vec<(Place, String, Vec<Id>)> {
            let reading = Scope::new(&composer.roster, &composer.draft).read(&composer.text);
            let all = reading.occurrences().iter();
            let others = all.filter(|occurrence| !occurrence.owners.keys.contains(&id("a1")));
            others
                .map(|o| (o.place, o.span.of(&composer.text).to_owned(), o.owners.keys.to_vec()))
                .collect()
        };
        let before = (others(&composer), composer.text.clone());
        if restores {
            composer.restore(&[("Ada", "a1")]);
            prop_assert!(composer.text.ends_with(&before.1));
            prop_assert_eq!(others(&composer), before.0);
            let missing = !before.1.contains("@Ada") && !composer.audience.generated().is_empty();
            prop_assert!(!missing || composer.recipients().contains(&id("a1")));
        } else {
            composer.remove("a1");
            prop_assert!(before.1.ends_with(&composer.text));
            prop_assert_eq!(others(&composer), before.0);
        }
    }
}
