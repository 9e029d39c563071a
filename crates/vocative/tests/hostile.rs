//! Input made to hurt: each gets a correct answer or a clear error, in time that grows with its size.
//!
//! Nothing is timed here. An answer that took quadratic time would not come before the test runner
//! ends the test.

use vocative::markdown::structure;
use vocative::{Claim, Context, Contexts, Draft, Fate, Id, Key, LabelError, Member, Roster, Scope, Standing};

const MIB: usize = 1 << 20;

fn member(name: impl Into<String>, number: u32) -> Member {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Member { name: name.into(), id: Id::Nostr(Key::from_bytes(bytes)), standing: Standing::Member }
}

/// Reads a text in every way and returns the number of occurrences and of diagnostics.
fn read(text: &str, roster: &Roster) -> (usize, usize) {
    let draft = Draft::new();
    let reading = Scope::new(roster, &draft).read(text);
    let _ = reading.recipients();
    (reading.occurrences().len(), reading.diagnostics().len())
}

#[test]
fn nul_characters_are_characters() {
    let roster: Roster = [member("A\0da", 1), member("Ada", 2)].into_iter().collect();
    let draft = Draft::new();
    let reading = Scope::new(&roster, &draft).read("\0@A\0da @Ada\0@Ada");
    assert_eq!(reading.occurrences().len(), 3);
}

#[test]
fn sixty_four_mebibytes_of_signs() {
    let text = "@".repeat(64 * MIB);
    let roster: Roster = [member("Ada", 1), member("@", 2), member("@@@@", 3)].into_iter().collect();
    let draft = Draft::new();
    let reading = Scope::new(&roster, &draft).read(&text);
    let spans: Vec<_> = reading.occurrences().iter().map(|occurrence| occurrence.span.bytes()).collect();
    assert_eq!(spans.first(), Some(&(0..5)));
    assert_eq!(spans.len(), 1, "a sign before a sign refuses the others");
    assert_eq!(reading.explain().count(), 64 * MIB);
}

#[test]
fn eight_mebibytes_of_mentions() {
    let text = "@Ada ".repeat(8 * MIB / 5);
    let roster: Roster = [member("Ada", 1), member("Ada Ada", 2)].into_iter().collect();
    assert_eq!(read(&text, &roster), (8 * MIB / 5, 0));
}

#[test]
fn ten_thousand_nested_brackets() {
    for (open, close) in
        [("[", "]"), ("![", "]"), ("(", ")"), ("<", ">"), ("*", "*"), ("`", "`"), ("[a](", ")")]
    {
        let text = format!("{} @Ada {}", open.repeat(10_000), close.repeat(10_000));
        let roster: Roster = [member("Ada", 1)].into_iter().collect();
        let (occurrences, _) = read(&text, &roster);
        assert!(occurrences <= 1, "{open}");
        assert!(!structure(&text).is_empty());
    }
}

#[test]
fn ten_thousand_nested_quotes_and_lists() {
    let roster: Roster = [member("Ada", 1)].into_iter().collect();
    let quotes = format!("{}@Ada\n\n@Ada", "> ".repeat(10_000));
    let draft = Draft::new();
    let reading = Scope::new(&roster, &draft).read(&quotes);
    let places: Vec<_> = reading.occurrences().iter().map(|occurrence| occurrence.place).collect();
    assert_eq!(places, [vocative::Place::Quote, vocative::Place::Prose]);
    let mixed = format!("{}@Ada", "- > ".repeat(5_000));
    assert_eq!(read(&mixed, &roster).0, 1);
    assert_eq!(structure(&quotes).len() % 2, 0);
}

#[test]
fn a_label_of_one_mebibyte_is_refused() {
    let mut roster = Roster::new();
    let error = roster.add(member("x".repeat(MIB), 1)).unwrap_err();
    assert_eq!((error, error.code()), (LabelError::TooLong, "label_too_long"));
    assert!(error.to_string().contains("shorten"));
    assert!(roster.is_empty());
    // A draft keeps a binding whatever its label is; it owns nothing.
    let mut draft = Draft::new();
    draft.push(&"x".repeat(MIB), Claim::Persona);
    let text = format!("@{}", "x".repeat(MIB));
    assert_eq!(Scope::new(&roster, &draft).read(&text).occurrences().len(), 0);
}

#[test]
fn a_million_labels() {
    let mut roster = Roster::new();
    for number in 0..1_000_000 {
        roster.add(member(format!("Member {number:06}"), number)).unwrap();
    }
    assert_eq!(roster.len(), 1_000_000);
    assert_eq!(read("@Member 000000 @member 999999, @Member 1000000 @Member 12345", &roster), (2, 2));
}

#[test]
fn labels_that_repeat_the_text() {
    let line = "@x ".repeat(170);
    let mut roster = Roster::new();
    for words in 1..170 {
        // Each label begins like the text and ends in a word that the text does not have.
        roster.add(member(format!("{}y", &line[1..words * 3]), words as u32)).unwrap();
    }
    let text = "@x ".repeat(MIB);
    assert_eq!(read(&text, &roster), (0, MIB));
    roster.add(member(&line[1..], 500)).unwrap();
    assert_eq!(read(&text, &roster).0, MIB / 170);
}

#[test]
fn twenty_thousand_namesakes_named_a_hundred_thousand_times() {
    let mut roster: Roster = (0..20_000).map(|number| member("Ada", number)).collect();
    let text = "@Ada ".repeat(100_000);
    let draft = Draft::new();
    let reading = Scope::new(&roster, &draft).read(&text);
    assert_eq!(reading.occurrences().len(), 100_000);
    assert_eq!(reading.recipients().unwrap_err().candidates.len(), 20_000);
    for number in 0..20_000 {
        roster.add(Member { standing: Standing::Outsider, ..member("Bo", number) }).unwrap();
    }
    let reading = Scope::new(&roster, &draft).read("@Bo");
    assert_eq!(reading.diagnostics()[0].keys.as_ref().map(Vec::len), Some(20_000));
}

#[test]
fn marks_without_end() {
    let roster: Roster = [member("a", 1), member("a\u{301}", 2)].into_iter().collect();
    let text = format!("@a{} @a", "\u{301}".repeat(MIB));
    assert_eq!(read(&text, &roster).0, 1);
    let text = format!("{}@a", "\u{301}".repeat(MIB));
    assert_eq!(read(&text, &roster).0, 0, "marks without a base refuse a mention");
    let text = format!("@a{}@a", "\u{ad}".repeat(MIB));
    assert_eq!(read(&text, &roster).0, 1);
}

#[test]
fn runs_of_connectors_and_backslashes() {
    let roster: Roster = [member("a", 1), member("a_", 2)].into_iter().collect();
    for unit in ["_", ".", "\\", "\\_", "'", "・"] {
        let run = unit.repeat(MIB / unit.len());
        let _ = read(&format!("@a{run}@a{run}@a"), &roster);
        let _ = read(&format!("{run}@a {run}@a"), &roster);
        let many = format!("@a{unit}").repeat(MIB / 8);
        let _ = read(&many, &roster);
    }
}

#[test]
fn addresses_and_definitions_without_end() {
    let roster: Roster = [member("Ada", 1)].into_iter().collect();
    for unit in [
        "https://",
        "www.",
        "mailto:",
        "a://b,",
        "[a]: /u\n",
        "[a](",
        "![x][",
        "<a:",
        "`",
        "``` ",
        "\\`",
        "&#64;",
    ] {
        let text = format!("{}@Ada", unit.repeat(MIB / unit.len()));
        let _ = read(&text, &roster);
        let _ = Contexts::of(&text);
    }
    let text = format!("https://{}@Ada", "a".repeat(8 * MIB));
    let draft = Draft::new();
    let reading = Scope::new(&roster, &draft).read(&text);
    let explained: Vec<_> = reading.explain().collect();
    assert_eq!(explained[0].fate, Fate::Link);
    assert_eq!(Contexts::of(&text).at(text.len() - 4), Context::Link);
}
