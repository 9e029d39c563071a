//! A text read against labels that the input brings: lines before the first empty one are labels.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vocative::{Claim, Contexts, Draft, Id, Key, Member, Roster, Scope, Standing, Utf16Map};

fuzz_target!(|input: &str| {
    let (labels, text) = input.split_once("\n\n").unwrap_or(("Ada\nAda King", input));
    let mut roster = Roster::new();
    let mut draft = Draft::new();
    for (number, label) in (0_u8..).zip(labels.lines().take(40)) {
        let id = Id::Nostr(Key::from_bytes([number / 2; 32]));
        match number % 4 {
            0 => draft.push(label, Claim::Selected(id)),
            1 => draft.push(label, Claim::Persona),
            2 => drop(roster.add(Member { name: label.into(), id, standing: Standing::Outsider })),
            _ => drop(roster.add(Member { name: label.into(), id, standing: Standing::Member })),
        }
    }
    let reading = Scope::new(&roster, &draft).read(text);
    let map = Utf16Map::new(text);
    let mut end = 0;
    for occurrence in reading.occurrences() {
        let range = occurrence.span.bytes();
        assert!(end <= range.start && text[range.clone()].starts_with('@'));
        assert_eq!(map.to_bytes(map.to_utf16(occurrence.span.end)), Some(occurrence.span.end));
        end = range.end;
    }
    if let Err(error) = reading.recipients() {
        assert!(error.candidates.len() > 1);
    }
    let told = reading.diagnostics().len();
    assert!(told <= reading.explain().count());
    let _ = (reading.refs(), vocative::markdown::structure(text), Contexts::of(text).ranges().count());
});
