use super::*;
use crate::history::tests::{expand, key, profiles, tags};
use crate::roster::{Member, Standing};

pub(super) const SELF: &str = "0f";

pub(super) fn short(keys: &[Key]) -> String {
    let short = keys.iter().map(|key| key.to_string()[..2].to_owned());
    short.collect::<Vec<_>>().join(" ")
}

fn id(byte: &str) -> Id {
    Id::Nostr(key(byte))
}

pub(super) fn roster(members: &[(&str, &str)]) -> Roster {
    let rows = members.iter().map(|(name, byte)| Member {
        name: (*name).to_owned(),
        id: id(byte),
        standing: Standing::Member,
    });
    rows.collect()
}

fn draft(selected: &[(&str, &str)], personas: &[&str]) -> Draft {
    let mut draft = Draft::new();
    for (label, byte) in selected {
        draft.push(&expand(label), Claim::Selected(id(byte)));
    }
    for label in personas {
        draft.push(label, Claim::Persona);
    }
    draft
}

type Pairs<'p> = &'p [(&'p str, &'p str)];

struct Edit<'e> {
    tags: &'e str,
    names: Pairs<'e>,
    from: &'e str,
    to: &'e str,
    selected: Pairs<'e>,
    personas: &'e [&'e str],
    members: Pairs<'e>,
    outsiders: Pairs<'e>,
}

impl Edit<'_> {
    fn roster(&self) -> Roster {
        let mut roster = roster(self.members);
        for (name, byte) in self.outsiders {
            let outsider = Member { name: (*name).to_owned(), id: id(byte), standing: Standing::Outsider };
            roster.add(outsider).unwrap();
        }
        roster
    }

    /// `references; notify`, or the candidates of the ambiguous name.
    fn save(&self) -> String {
        let (from, to) = (expand(self.from), expand(self.to));
        let original = Published { body: &from, tags: &tags(self.tags), profiles: &profiles(self.names) };
        let replacement = Replacement {
            body: &to,
            draft: &draft(self.selected, self.personas),
            roster: &self.roster(),
            sender: key(SELF),
            typed_names: true,
            explicit: &[],
        };
        match submit(original, replacement) {
            Ok(saved) => format!("{}; {}", short(&saved.references), short(&saved.notify)),
            Err(error) => {
                let keys: Vec<Key> = keys(&error.candidates).collect();
                format!("{} is {}", error.label, short(&keys))
            }
        }
    }
}

#[test]
fn what_a_replacement_refers_to() {
    let none: Edit<'_> = Edit {
        tags: "p a1",
        names: &[("a1", "Ada")],
        from: "@Ada hi",
        to: "@Ada ho",
        selected: &[],
        personas: &[],
        members: &[],
        outsiders: &[],
    };
    let twins: Pairs<'_> = &[("a1", "Ada"), ("9c", "Ada")];
    for (edit, expected) in [
        (Edit { ..none }, "a1; "),
        // a choice of an equal label takes the place of the restored one.
        (Edit { selected: &[("ADA", "9c")], ..none }, "9c; 9c"),
        (
            Edit {
                tags: "p a1, p 15",
                names: &[("a1", "Ada"), ("15", "Bo")],
                from: "@Ada @Bo",
                to: "@Bo @Ada @Cy",
                selected: &[("Cy", "77"), ("Ada", "9c")],
                ..none
            },
            "9c 15 77; 9c 77",
        ),
        // D-3: a persona of that label beats the restored identity, a choice beats both.
        (Edit { personas: &["ada"], ..none }, "; "),
        (Edit { personas: &["ada"], selected: &[("Ada", "a1")], ..none }, "a1; "),
        // an old label stays while it owns text, quotes included.
        (Edit { tags: "p a1, p 9c", names: twins, ..none }, "a1 9c; "),
        (Edit { tags: "p 9c, p a1", names: twins, to: "> @ADA", ..none }, "9c a1; "),
        (Edit { tags: "p a1, p 9c", names: twins, to: "`@Ada` \\@Ada", ..none }, "; "),
        (
            Edit { tags: "p a1, p 9c", names: twins, to: "@Ada K", members: &[("Ada K", "15")], ..none },
            "15; 15",
        ),
        (Edit { tags: "p a1, p 9c", names: twins, personas: &["Ada"], ..none }, "; "),
        // A typed member of that label joins.
        (Edit { tags: "p a1, p 9c", names: twins, members: &[("ada", "a1")], ..none }, "a1 9c; a1"),
        // An old label may be a qualified one.
        (
            Edit {
                tags: "p a1, p 9c",
                names: &[("15", "x"), ("a1", "Ada (<9c>)")],
                from: "@Ada (<9c>)",
                to: "hi @Ada (<9c>)",
                ..none
            },
            "a1 9c; ",
        ),
        // without old labels only an unchanged edit keeps them.
        (Edit { names: &[], to: "@Ada hi", ..none }, "a1; "),
        (Edit { names: &[], ..none }, "; "),
        (Edit { names: &[], to: "@Ada hi", personas: &["Ada"], ..none }, "; "),
        (Edit { names: &[], to: "@Ada hi", personas: &["Bo"], ..none }, "a1; "),
        (Edit { names: &[], to: "@Ada hi", selected: &[("Ada", "9c")], ..none }, "9c; 9c"),
        (Edit { names: &[], to: "@Ada hi", selected: &[("Bo", "9c")], ..none }, "a1; "),
        (Edit { names: &[], to: "@Ada hi", members: &[("Ada", "9c")], ..none }, "a1 9c; 9c"),
        // where anything is unresolved, everyone is revalidated.
        (Edit { tags: "p a1, p 15", to: "@Ada hi", ..none }, "a1 15; a1"),
        // an ambiguous name stops; in a quote it does not.
        (Edit { to: "@Bo", members: &[("Bo", "15"), ("bo", "9c")], ..none }, "Bo is 15 9c"),
        (Edit { to: "> @Bo", members: &[("Bo", "15"), ("bo", "9c")], ..none }, "; "),
        // the sender is never notified; silent references come last.
        (Edit { to: "@Me @Ada", selected: &[("Me", SELF)], ..none }, "a1 0f; "),
        (Edit { to: "@Me @Ada", members: &[("Me", SELF)], ..none }, "a1; "),
        (Edit { to: "> @Me", members: &[("Me", SELF)], ..none }, "0f; "),
        (Edit { to: "> @Bo\n\n@Cy", members: &[("Bo", "15"), ("Cy", "77")], ..none }, "77 15; 77"),
        // E-4: an outsider's longer name takes the text of a restored one, an equal name does not.
        (Edit { to: "@Ada Lee", outsiders: &[("Ada Lee", "9c")], ..none }, "; "),
        (Edit { to: "@Ada", outsiders: &[("Ada", "9c")], ..none }, "a1; "),
        (Edit { tags: "p a1, p 9c", names: twins, outsiders: &[("Ada", "15")], ..none }, "a1 9c; "),
        // A longer choice takes the text of an old label.
        (
            Edit { tags: "p a1, p 9c", names: twins, to: "@Ada Lee", selected: &[("Ada Lee", "15")], ..none },
            "15; 15",
        ),
        // The replaced body is never read with what is chosen now.
        (Edit { tags: "q x", names: &[], to: "@Ada hi", members: &[("Ada", "9c")], ..none }, "9c; 9c"),
    ] {
        assert_eq!(edit.save(), expected, "{} -> {}", edit.from, edit.to);
    }
}

#[test]
fn what_an_edit_event_carries() {
    // flows-n06 and the report of edits that reached nobody: references, `p` and a notice.
    let original = Published { body: "please check", tags: &[], profiles: &Profiles::new() };
    let replacement = Replacement {
        body: "@Agent please check",
        draft: &Draft::new(),
        roster: &roster(&[("Agent", "a1")]),
        sender: key(SELF),
        typed_names: true,
        explicit: &[],
    };
    let saved = submit(original, replacement).unwrap();
    let written = saved.tags().unwrap().into_tags();
    assert_eq!(written, tags("p a1, mention a1, buzz:mention-snapshot"));
    assert_eq!(saved.newly_added(&[]), [key("a1")]);
    assert_eq!(saved.newly_added(&tags("p 15, mention a1")), []);
    assert_eq!(saved.newly_added(&tags("p a1 - reply")), [key("a1")]);
}

#[test]
fn whom_a_caller_names_beside_the_text() {
    let (names, tags) = (profiles(&[("a1", "Ada")]), tags("p a1"));
    let original = Published { body: "@Ada hi", tags: &tags, profiles: &names };
    let roster = roster(&[("Ada", "a1"), ("Bo", "15")]);
    for (body, typed_names, explicit, expected) in [
        // E-7: it is tagged without being named; who had the message before is not notified again.
        ("@Ada ho", true, &["9c"][..], "a1 9c; 9c"),
        ("ho", true, &["9c", "a1"], "9c a1; 9c"),
        ("ho", true, &[SELF], "0f; "),
        ("> @Bo", true, &["15"], "15; 15"),
        // Names that were restored stay, typed ones address nobody where the caller turns them off.
        ("@Ada @Bo", true, &[], "a1 15; 15"),
        ("@Ada @Bo", false, &[], "a1; "),
        ("@Ada @Bo", false, &["15"], "a1 15; 15"),
    ] {
        let explicit: Vec<Id> = explicit.iter().map(|byte| id(byte)).collect();
        let (draft, sender) = (Draft::new(), key(SELF));
        let replacement =
            Replacement { body, draft: &draft, roster: &roster, sender, typed_names, explicit: &explicit };
        let saved = submit(original, replacement).unwrap();
        let found = format!("{}; {}", short(&saved.references), short(&saved.notify));
        assert_eq!(found, expected, "{body} {typed_names} {explicit:?}");
        let told: Vec<_> = saved.diagnostics.iter().map(|told| (told.code, told.name.as_str())).collect();
        let silent = body.contains("@Bo") && !body.starts_with('>') && !typed_names;
        assert_eq!(told.contains(&(crate::Code::NotEligible, "Bo")), silent, "{body} {told:?}");
    }
}

#[test]
fn added_keys() {
    let of = |bytes: &[&str]| bytes.iter().map(|byte| key(byte)).collect::<Vec<_>>();
    let (original, edited) = (of(&["a1"]), of(&["9c", "0f", "a1", "15", "9c"]));
    assert_eq!(added_on_edit(&original, &edited, key(SELF)), of(&["9c", "15"]));
}

#[test]
fn tags_under_an_overlay() {
    for (original, edit, expected) in [
        ("h c, imeta u, emoji x, p a1", "h d, title t", "h c, emoji x, p a1"),
        ("emoji x, imeta u", "emoji y, imeta v, imeta w", "imeta v, imeta w, emoji y"),
        ("p a1", "p A1, p 9c, p 9C, p junk, p", "p a1, p 9c"),
        // A reply address is no mention, so a mention added by the edit is still missing.
        ("p a1 - reply", "p a1", "p a1 - reply, p a1"),
        (
            "mention a1, mention 9c agent-address, buzz:mention-snapshot, p 15",
            "mention 77, mention 15 agent-address, buzz:mention-snapshot",
            "mention 9c agent-address, p 15, buzz:mention-snapshot, mention 77",
        ),
        ("mention a1, buzz:mention-snapshot", "mention 77", "mention a1, buzz:mention-snapshot"),
    ] {
        assert_eq!(overlay(&tags(original), &tags(edit)), tags(expected), "{original} + {edit}");
    }
}

#[test]
fn the_edit_that_counts() {
    let edit = |at: u64, by: &str, id: &'static str| EditEvent { id, author: key(by), created_at: at };
    let counts = |edits: &[EditEvent<'static>]| {
        counting(key("a1"), Some(key("0f")), edits.iter().copied()).map(|at| edits[at].id)
    };
    // edit_snapshot-037: a stranger's later edit is none.
    let three = [edit(1, "a1", "a"), edit(2, "a1", "b"), edit(3, "66", "c")];
    assert_eq!(counts(&three), Some("b"));
    // flows-n19: equal times.
    let equal = [edit(1, "a1", "ff"), edit(1, "0f", "00"), edit(1, "a1", "7f")];
    assert_eq!(counts(&equal), Some("00"));
    assert_eq!(counts(&[edit(1, "66", "a")]), None);
    let all = [edit(2, "a1", "a"), edit(1, "0f", "b"), edit(9, "66", "c"), edit(2, "a1", "0")];
    let versions = versions(key("a1"), Some(key("0f")), all);
    assert_eq!(versions.iter().map(|at| all[*at].id).collect::<Vec<_>>(), ["b", "a", "0"]);
    assert_eq!(counts(&all), Some("0"));
    let owner = [edit(1, "0f", "a")];
    assert_eq!(counting(key("a1"), None, owner), None);
}
