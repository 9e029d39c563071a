use proptest::prelude::*;

use super::*;

/// `<9c>` in a text or tag is the key of that byte, 32 times.
pub(crate) fn expand(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        out += &rest[..at];
        if rest.as_bytes().get(at + 3) == Some(&b'>') {
            out += &rest[at + 1..at + 3].repeat(32);
            rest = &rest[at + 4..];
        } else {
            out.push('<');
            rest = &rest[at + 1..];
        }
    }
    out + rest
}

pub(crate) fn key(byte: &str) -> Key {
    byte.repeat(32).parse().unwrap()
}

/// Tags written as `p a1, mention 9c agent-address`.
pub(crate) fn tags(written: &str) -> Vec<Tag> {
    let one = |tag: &str| {
        let parts = tag.trim().split(' ').enumerate();
        let full = parts.map(|(at, part)| match part {
            key if at == 1 && key.len() == 2 => key.repeat(32),
            "-" => String::new(),
            other => other.to_owned(),
        });
        full.collect()
    };
    written.split(',').map(one).collect()
}

/// Display names by key.
pub(crate) fn profiles(names: &[(&str, &str)]) -> Profiles {
    let profiles = names.iter().map(|(byte, name)| {
        let display_name = Some(expand(name));
        let profile = Profile { display_name, ..Profile::default() };
        (key(byte), profile)
    });
    profiles.collect()
}

fn short(key: Key) -> String {
    key.to_string()[..2].to_owned()
}

#[test]
fn identity_keys_of_tags() {
    for (written, expected) in [
        ("p A1, p a1, mention 9c", "a1 9c"),
        ("p a1 - reply, p 9c - mention, p", "9c"),
        ("p a1 - reply, p a1", "a1"),
        ("mention a1 agent-address, mention 9c other", "a1"),
        ("mention a1 agent-address x", ""),
        ("p junk, mention junk, q a1", ""),
        ("p a1, mention 9c, buzz:mention-snapshot", "9c"),
        ("buzz:mention-snapshot, mention 9c agent-address", ""),
        ("mention-range a1 0 4", ""),
    ] {
        let keys = identity_keys(&tags(written)).into_iter().map(short);
        let keys: Vec<String> = keys.collect();
        assert_eq!(keys.join(" "), expected, "{written}");
    }
}

#[test]
fn aliases_of_a_profile() {
    for (names, expected) in [
        ([" Ada ", "ADA", "ada@x"], vec!["Ada"]),
        (["Ada", "Grace", " g @x@y"], vec!["Ada", "Grace", "g"]),
        (["", "\u{feff}", "_@x"], vec![]),
        (["", "", "@x"], vec![]),
        (["", "", "handle"], vec![]),
        (["Straße", "STRASSE", "strasse@x"], vec!["Straße"]),
    ] {
        let [display_name, name, nip05] = names.map(|name| Some(name.to_owned()));
        let profile = Profile { display_name, name, nip05 };
        assert_eq!(profile.aliases().collect::<Vec<_>>(), expected);
    }
}

/// Tags, names, body; then `names`, and each occurrence with the key it is bound to.
#[test]
fn what_names_stand_for() {
    type Names<'n> = &'n [(&'n str, &'n str)];
    let ada2: Names<'_> = &[("a1", "Ada"), ("9c", "ada")];
    let ada3: Names<'_> = &[("a1", "Ada"), ("9c", "Ada"), ("15", "Ada")];
    for (written, names, body, expected_names, expected) in [
        // H-5: ascending keys, first spelling, whatever the order of the tags.
        ("p a1, p 9c", ada2, "@ADA", "ada", "@ADA"),
        // H-6: a qualified place of its own takes a key out of the bare label.
        ("p a1, p 9c", ada2, "@Ada @Ada (<9c>)", "ada|Ada (<9c>)", "@Ada=a1|@Ada (<9c>)=9c"),
        (
            "p a1, p 9c",
            ada2,
            "@Ada @ada\u{a0}(<9C>) 2",
            "ada|ada\u{a0}(<9C>) 2",
            "@Ada=a1|@ada\u{a0}(<9C>) 2=9c",
        ),
        // Both have one: nobody is left for the bare label.
        (
            "p a1, p 9c",
            ada2,
            "@Ada @Ada (<9c>) @Ada (<a1>)",
            "ada|Ada (<9c>)|Ada (<a1>)",
            "@Ada|@Ada (<9c>)=9c|@Ada (<a1>)=a1",
        ),
        // Two are left.
        ("p a1, p 9c, p 15", ada3, "@Ada @Ada (<9c>)", "Ada|Ada (<9c>)", "@Ada|@Ada (<9c>)=9c"),
        // Another base takes nobody out.
        ("p a1, p 9c", ada2, "@Ada @Ad (<9c>)", "ada|Ad (<9c>)", "@Ada|@Ad (<9c>)=9c"),
        // A qualified place that is not the key's alone takes nobody out.
        (
            "p a1, p 9c, p 15",
            &[("a1", "Ada"), ("9c", "Ada"), ("15", "Ada (<9c>)")],
            "@Ada @Ada (<9c>)",
            "Ada (<9c>)|Ada",
            "@Ada|@Ada (<9c>)",
        ),
        // Nor does one in code, or one that loses its place.
        ("p a1, p 9c", ada2, "@Ada `@Ada (<9c>)`", "ada", "@Ada"),
        ("p a1, p 9c", ada2, "@Ada x@Ada (<9c>)", "ada", "@Ada"),
        // In a quote it counts.
        ("p a1, p 9c", ada2, "> @Ada (<9c>)\n\n@Ada", "ada|Ada (<9c>)", "@Ada (<9c>)=9c|@Ada=a1"),
        // H-3: only tagged keys, one space, no outer spaces, no sign unless an alias.
        ("p a1", &[], "@Ada (<9c>)", "", ""),
        ("p 9c", &[], "@Ada  (<9c>) @ Ada (<9c>) @Ada(<9c>)", "", ""),
        ("p 9c", &[], "@Ada (<9c>) 02 @Ada (<9c>) 2nd", "Ada (<9c>)", "@Ada (<9c>)=9c|@Ada (<9c>)=9c"),
        (
            "p 9c",
            &[],
            "@Old, Ada\u{3000}King! (<9c>)",
            "Old, Ada\u{3000}King! (<9c>)",
            "@Old, Ada\u{3000}King! (<9c>)=9c",
        ),
        ("p 9c", &[], "@Ada\n(<9c>) @A\nda (<9c>)", "", ""),
        ("p 9c", &[], "hi @ops@hq (<9c>)", "", ""),
        ("p 9c", &[("9c", "ops@hq")], "@x @OPS@hq (<9c>) 3", "ops@hq|OPS@hq (<9c>) 3", "@OPS@hq (<9c>) 3=9c"),
        ("p 9c, p a1", &[("a1", "ops@hq")], "@ops@hq (<9c>)", "ops@hq", ""),
        ("p 9c, p a1", &[], "@Ada (<9c>) (<a1>)", "Ada (<9c>) (<a1>)", "@Ada (<9c>) (<a1>)=a1"),
        // An alias equal to a qualified candidate of its own key stays once, in its spelling.
        ("p 9c", &[("9c", "ADA (<9c>)")], "@Ada (<9c>)", "ADA (<9c>)", "@Ada (<9c>)=9c"),
        // H-4: names of others own their text and bind nobody; a tie is the tagged key's.
        (
            "p a1",
            &[("a1", "Scout"), ("9c", "Scout Team"), ("15", "Scout")],
            "@Scout Team @scout",
            "Scout|Scout Team",
            "@Scout Team|@scout=a1",
        ),
        ("p a1", &[("9c", "Grace")], "@Grace", "", "@Grace"),
        (
            "p a1",
            &[("a1", "Ada"), ("9c", "Zoe"), ("15", "Bob"), ("77", "Eve")],
            "@Zoe @Bob",
            "Ada|Bob|Zoe",
            "@Zoe|@Bob",
        ),
        // A name that another's qualifier is: the literal is the tagged key's, and its alone (H-6).
        (
            "p a1, p 9c",
            &[("a1", "Ada"), ("9c", "Ada"), ("15", "Ada (<9c>)")],
            "@Ada @Ada (<9c>)",
            "Ada|Ada (<9c>)",
            "@Ada=a1|@Ada (<9c>)=9c",
        ),
        // With the marker an annotated address and a `p` only block.
        (
            "p a1, mention 9c agent-address, mention 15, buzz:mention-snapshot",
            &[("a1", "Ada"), ("9c", "Bo"), ("15", "Cy")],
            "@Ada @Bo @Cy",
            "Cy|Bo|Ada",
            "@Ada|@Bo|@Cy=15",
        ),
        ("p a1 - reply", &[("a1", "Ada")], "@Ada", "", "@Ada"),
        // Labels that can never match are aliases all the same.
        ("p a1", &[("a1", "A\nda")], "@A\nda", "A\nda", ""),
    ] {
        let (body, profiles) = (expand(body), profiles(names));
        let history = History::read(&tags(written), &profiles, &body);
        let listed = history.names().unwrap_or_default().join("|");
        assert_eq!(listed, expand(expected_names), "names of {body}");
        let drawn: Vec<String> = history
            .occurrences()
            .map(|found| {
                let literal = found.span.of(&body);
                found.key.map_or_else(|| literal.to_owned(), |key| format!("{literal}={}", short(key)))
            })
            .collect();
        assert_eq!(drawn.join("|"), expand(expected), "occurrences of {body}");
        for (label, key) in history.by_name().unwrap_or_default() {
            assert!(history.identity_keys().contains(&key), "{label} binds an untagged key");
        }
    }
}

#[test]
fn opening_takes_each_name_once_and_text_order() {
    let known = profiles(&[("a1", "Ada"), ("9c", "Grace"), ("15", "Linus")]);
    let body = "> @GRACE\n\n@ada `@Linus` @Grace";
    let opened = History::read(&tags("p 15, p a1, p 9c"), &known, body).open();
    let refs: Vec<&str> = opened.refs.iter().map(|binding| &*binding.label).collect();
    assert_eq!(refs, ["Grace", "Ada"]);
    assert_eq!(opened.unresolved, [key("15")]);
}

#[test]
fn hints_are_accepted_where_history_says_the_same() {
    let body = "é @Ada @Ada";
    let known = profiles(&[("a1", "Ada")]);
    let all = "p a1, mention-range a1 8 12, mention-range A1 3 7, mention-range a1 3 7, \
               mention-range a1 03 7, mention-range a1 +3 7, mention-range a1 3 7 x, \
               mention-range 9c 3 7, mention-range a1 3 99999999999999999999999";
    let tags = tags(all);
    let accepted = History::read(&tags, &known, body).accepted_ranges(&tags);
    let accepted: Vec<_> = accepted.iter().map(|hint| (hint.start, hint.end)).collect();
    assert_eq!(accepted, [(3, 7), (8, 12)]);
}

#[test]
fn order_by_text_wants_one_key_for_a_label() {
    let (a, b) = (key("a1"), key("9c"));
    for (bindings, names, text, expected) in [
        (vec![("Ada", a), ("ADA", b)], vec![], "@ada", vec![]),
        (vec![("Ada", a), ("ADA", a)], vec![], "@ada", vec![a]),
        (vec![("Ada", a), ("Bo", b)], vec!["ada"], "`@Bo` > @Bo @Ada", vec![b, a]),
        (vec![("Ada", a)], vec!["Ada King"], "@Ada King", vec![]),
    ] {
        let names = ResolvedNames::new(bindings, names);
        assert_eq!(names.order_by_text(text), expected, "{text}");
    }
}

/// Two hundred namesakes and a body full of their name, and one of bracketed keys.
#[test]
fn hostile_bodies_take_linear_work() {
    let written: Vec<String> = (0..200).map(|n| format!("p {n:02x}")).collect();
    let tags = tags(&written.join(","));
    let named: Vec<(Key, Profile)> = identity_keys(&tags)
        .into_iter()
        .map(|key| {
            let display_name = Some("a@".repeat(200));
            let name = Some("a".to_owned());
            let profile = Profile { display_name, name, nip05: None };
            (key, profile)
        })
        .collect();
    let named: Profiles = named.into_iter().collect();
    let body = "@a ".repeat(300_000);
    let history = History::read(&tags, &named, &body);
    assert_eq!(history.open().refs.len(), 0);
    let body = expand("@@@@@@@@@@@@@@@@a (<01>) 22222222").repeat(8_000);
    assert!(History::read(&tags, &named, &body).names().is_some());
}

proptest! {
    /// H-7: the order of the tags says nothing, and nobody is bound without a tag.
    #[test]
    fn tag_order_is_irrelevant(
        words in prop::collection::vec(0_usize..12, 0..10),
        mut chosen in prop::collection::vec(0_usize..4, 0..6),
        names in prop::collection::vec(0_usize..5, 4),
    ) {
        let keys = ["a1", "9c", "15", "0f"];
        let pool = ["Ada", "ada king", "Crew @Ada", "Ada (<9c>)", "King"];
        let pieces = [
            "@Ada", " ", " @Ada King", " (<9c>)", " (<a1>) 2", " @Crew @Ada", "> ", "\n", "/", "`",
            " @Ada (<9c>)", "@King",
        ];
        let body = expand(&words.iter().map(|&at| pieces[at]).collect::<String>());
        let names: Vec<(&str, &str)> = keys.into_iter().zip(names.iter().map(|&at| pool[at])).collect();
        let known = profiles(&names);
        let tags = |chosen: &[usize]| -> Vec<Tag> {
            chosen.iter().map(|&at| vec!["p".to_owned(), keys[at].repeat(32)]).collect()
        };
        let one = History::read(&tags(&chosen), &known, &body);
        chosen.reverse();
        let other = History::read(&tags(&chosen), &known, &body);
        prop_assert_eq!(one.names(), other.names());
        prop_assert_eq!(one.by_name(), other.by_name());
        prop_assert_eq!(one.open().refs, other.open().refs);
        for key in one.by_name().unwrap_or_default().values() {
            prop_assert!(one.identity_keys().contains(key));
        }
        // Resolved names say the same of the body as the history they come from.
        let ordered = ResolvedNames::from(&one).order_by_text(&body);
        let bound = once(one.occurrences().filter_map(|found| found.key));
        prop_assert_eq!(ordered, bound);
    }
}
