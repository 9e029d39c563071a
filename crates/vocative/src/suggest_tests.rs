//! Tables of candidates and the rows they give.

use super::*;
use crate::id::Key;
use crate::known::Labels;

fn candidate(name: &str, byte: u8) -> Candidate {
    Candidate {
        name: name.into(),
        id: Some(Key::from_bytes([byte; 32]).into()),
        is_member: true,
        ..Candidate::default()
    }
}

fn names(suggestions: &Suggestions, query: &str) -> Vec<String> {
    suggestions.rank(query).map(|row| row.candidate.name.clone()).collect()
}

#[test]
fn one_row_for_each_identity() {
    let found = Candidate { is_search: true, is_member: false, ..candidate("Found", 3) };
    let persona = |name: &str| Candidate { id: None, persona: Some(name.into()), ..candidate(name, 0) };
    let suggestions = Suggestions::new(vec![
        Candidate { is_member: false, ..candidate("Ada", 1) },
        Candidate { is_archived: true, ..candidate("Old", 2) },
        Candidate { is_hidden: true, ..candidate("Hidden", 4) },
        found.clone(),
        Candidate { handle: Some("ada@x".into()), ..candidate("Ada again", 1) },
        Candidate { is_agent: true, persona: Some("Fizz".into()), ..candidate("Fizzy", 5) },
        persona("Fizz"),
        persona("Buzz"),
        candidate("Old too", 2),
    ]);
    let mut all = names(&suggestions, "");
    all.sort();
    assert_eq!(all, ["Ada", "Buzz", "Fizzy"]);
    assert_eq!(names(&suggestions, "fo"), ["Found"]);
    assert_eq!(names(&suggestions, "ada@"), ["Ada"]);
    assert_eq!(suggestions.rows()[0].group, Group::Members);
    assert_eq!(suggestions.rows()[3].kind, RowKind::Persona);
}

#[test]
fn namesakes_are_told_apart() {
    let with = |byte, handle: &str, owner: &str| Candidate {
        handle: Some(handle.into()).filter(|text: &String| !text.is_empty()),
        owner: Some(owner.into()).filter(|text: &String| !text.is_empty()),
        ..candidate("Ada", byte)
    };
    let rows = vec![
        with(1, "ada@x", ""),
        with(2, "same@x", "Bob"),
        with(3, "same@x", ""),
        Candidate { name: "ADA".into(), id: None, persona: Some("p".into()), ..Candidate::default() },
        Candidate { name: "Ada".into(), id: None, persona: Some("q".into()), ..Candidate::default() },
        candidate("Grace", 9),
    ];
    let suggestions = Suggestions::new(rows);
    let names: Vec<_> = suggestions.rows().iter().map(|row| row.accessible_name.as_str()).collect();
    assert_eq!(names, ["Ada, ada@x", "Ada, Bob", "Ada, 03030303…0303", "ADA, 4", "Ada, 5", "Grace"]);
}

#[test]
fn names_that_deceive_are_flagged() {
    let rows = vec![
        candidate("Mark", 1),
        candidate("M\u{430}rk", 2),
        candidate("\u{430}da", 3),
        candidate("Ada", 4),
        candidate("a\u{202e}b", 5),
        candidate("Grace", 6),
        candidate("GRACE", 7),
    ];
    let suggestions = Suggestions::new(rows);
    let flags: Vec<_> =
        suggestions.rows().iter().map(|row| (row.is_confusable, row.has_bidi_controls)).collect();
    let looks = (true, false);
    assert_eq!(flags, [looks, looks, looks, looks, (false, true), (false, false), (false, false)]);
    assert_eq!(suggestions.rows()[4].shown_key.as_deref(), Some("05050505…0505"));
    assert_eq!(suggestions.rows()[5].shown_key, None);
}

#[test]
fn space_commits_one_exact_name() {
    let suggestions = Suggestions::new(vec![
        candidate("Ada", 1),
        candidate("Bob", 2),
        candidate("bob", 3),
        candidate("Ann", 4),
    ]);
    let labels: Labels = ["ada", "bob", "ann", "ann lee"].into_iter().collect();
    let known = Known::from(&labels);
    let commits = |query| suggestions.on_space(query, &known).map(|row| row.candidate.name.as_str());
    assert_eq!(commits("ADA"), Some("Ada"));
    for query in ["ad", "bob", "ann", ""] {
        assert_eq!(commits(query), None, "{query}");
    }
}
