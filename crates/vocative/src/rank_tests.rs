//! Rankings against the rule, case by case and as a law.

use proptest::prelude::*;

use super::*;

fn entry(name: &str) -> Entry<'_> {
    Entry { group: Group::Members, names: [name, "", ""], key: None }
}

fn ranked(query: &str, names: &[&str]) -> String {
    let ranker: Ranker = names.iter().map(|name| entry(name)).collect();
    let ranked = ranker.rank(query).into_iter().map(|row| names[row]);
    ranked.collect::<Vec<_>>().join("|")
}

#[test]
fn scores() {
    for (query, names, expected) in [
        ("ada", &["x adam", "x ada", "Adam", "ADA", "xada"][..], "ADA|Adam|x ada|x adam"),
        ("ad", &["x-ada", "x_ad", "x.ad"], "x_ad|x-ada"),
        ("x ad", &["x ada", "y x ada"], "x ada"),
        ("a a", &["b a a a", "a a a"], "a a a"),
        ("太", &["山太郎", "太郎", "x 太"], "太郎|x 太|山太郎"),
        ("jose", &["ana jos\u{e9}", "Jos\u{e9}", "josef"], "josef|Jos\u{e9}"),
        ("jos\u{e9}", &["Jose", "Jos\u{e9}", "x"], "Jos\u{e9}|Jose"),
        ("i", &["İpek"], "İpek"),
        ("\u{301}", &["a", "\u{e9}"], ""),
        ("", &["b", "a"], "b|a"),
        ("ada ", &["Ada", "Ada K"], "Ada K"),
        ("\u{e9}", &["e", "E\u{301}a", "xe", "Ea"], "E\u{301}a|e|Ea"),
        ("太x", &["山太x", "太xy"], "太xy|山太x"),
        ("ー", &["サーバー"], "サーバー"),
        (" ada", &["Ada"], ""),
        ("k", &["Ada\u{a0}K", "a\u{2028}kx", "\u{212a}x"], "\u{212a}x|Ada\u{a0}K|a\u{2028}kx"),
    ] {
        assert_eq!(ranked(query, names), expected, "{query}");
    }
}

#[test]
fn keys() {
    let keys =
        ["00".repeat(30) + "abab", "abab".to_owned() + &"11".repeat(30), "22".repeat(32), "ff".repeat(32)];
    let ranker: Ranker = keys
        .iter()
        .map(|key| Entry { key: key.parse().ok(), ..entry("Zed") })
        .chain([entry("abab")])
        .collect();
    for (query, expected) in [
        ("ABAB", vec![4, 1, 0]),
        ("aba", vec![4]),
        ("0abab", vec![0]),
        ("abag", vec![]),
        ("2222", vec![2]),
        ("ﬀﬀ", vec![]),
    ] {
        assert_eq!(ranker.rank(query), expected, "{query}");
    }
}

#[test]
fn groups_come_first_and_fifty_are_kept() {
    let of = |group| Entry { group, ..entry("Ada") };
    let ranker: Ranker =
        [Group::Agents, Group::People, Group::Made, Group::Members].into_iter().map(of).collect();
    assert_eq!(ranker.rank("a"), [3, 2, 1, 0]);
    let many: Ranker = (0..120).map(|_| of(Group::People)).chain([of(Group::Members)]).collect();
    let expected: Vec<_> = [120].into_iter().chain(0..49).collect();
    assert_eq!(many.rank("ada"), expected);
    assert_eq!(many.rank_where("ada", |row| row % 2 == 1).len(), 50);
}

#[test]
fn group_of_a_row() {
    for (kind, is_member, is_agent, backed, expected) in [
        (RowKind::Identity, true, true, true, Group::Members),
        (RowKind::Persona, false, false, false, Group::Made),
        (RowKind::Team, false, false, false, Group::Made),
        (RowKind::Identity, false, true, true, Group::Made),
        (RowKind::Identity, false, true, false, Group::Agents),
        (RowKind::Identity, false, false, false, Group::People),
    ] {
        assert_eq!(Group::of(kind, is_member, is_agent, backed), expected);
    }
}

/// The rule word by word, for one name.
fn naive(query: &str, name: &str) -> Option<u8> {
    let (query, name) = (form(query), form(trim(name)));
    if query.is_empty() || name == query {
        return Some(0);
    }
    if name.is_empty() {
        return None;
    }
    let words: Vec<&str> = name.split(is_split).collect();
    let (bare, plain) = (without_marks(&query), without_marks(&name));
    if name.starts_with(&query) {
        Some(1)
    } else if words.contains(&query.as_str()) {
        Some(2)
    } else if words.iter().any(|word| word.starts_with(&query))
        || query.contains(is_unspaced) && name.contains(&query)
        || !bare.is_empty() && plain.starts_with(&bare)
    {
        Some(3)
    } else {
        None
    }
}

proptest! {
    /// Ranking is the naive score of each row, sorted stably.
    #[test]
    fn agrees_with_the_rule(
        query in "[aAe\u{301}é太郎 _-]{0,3}",
        names in prop::collection::vec("[aAe\u{301}é太郎 _-]{0,6}", 0..12),
    ) {
        let ranker: Ranker = names.iter().map(|name| entry(name)).collect();
        let scores = names.iter().map(|name| naive(&query, name));
        let mut expected: Vec<_> = scores.enumerate().filter_map(|(row, score)| Some((score?, row))).collect();
        expected.sort();
        let expected: Vec<_> = expected.into_iter().map(|(_, row)| row).collect();
        prop_assert_eq!(ranker.rank(&query), expected);
    }
}
