//! The order of suggestions (S-5): groups, then scores, then the order they came in. Nothing fuzzy.
//!
//! Names are folded once, into one piece of memory that a query is searched for in. A query
//! allocates a handful of buffers, whatever the number of names.

use memchr::memmem;
use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

use crate::chars::{is_mark, is_space, is_unspaced};
use crate::form::form;
use crate::id::Key;
use crate::label::trim;
use crate::limits;

/// Who comes first (S-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Members of the channel.
    Members,
    /// Personas, teams, agents that embody a persona.
    Made,
    /// Other people.
    People,
    /// Other agents.
    Agents,
}

const GROUPS: usize = 4;

/// What a suggestion is a row for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// A person or an agent.
    Identity,
    /// A persona, without key yet.
    Persona,
    /// A team: several at once.
    Team,
}

impl Group {
    /// The group of a row (S-5).
    pub fn of(kind: RowKind, is_member: bool, is_agent: bool, is_persona_backed: bool) -> Self {
        match kind {
            _ if is_member => Self::Members,
            RowKind::Persona | RowKind::Team => Self::Made,
            RowKind::Identity if is_agent && is_persona_backed => Self::Made,
            RowKind::Identity if is_agent => Self::Agents,
            RowKind::Identity => Self::People,
        }
    }
}

/// How well a row answers a query (S-5), best first. The numbers are the rule's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Score {
    Equal = 0,
    Prefix = 1,
    Word = 2,
    Part = 3,
    KeyPrefix = 4,
    KeyPart = 5,
}

const SCORES: usize = 6;

/// What is searched of one row.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'e> {
    /// Its group.
    pub group: Group,
    /// Name, persona name and secondary label; those that are absent are empty.
    pub names: [&'e str; 3],
    /// Its key.
    pub key: Option<Key>,
}

/// Rows that are ready to be ranked. A row's number is its place in source order.
#[derive(Clone, Debug, Default)]
pub struct Ranker {
    rows: Vec<Row>,
    /// The forms of all names, each behind a [`BREAK`].
    forms: Vec<u8>,
    /// The forms without marks of the rows that have some, each behind a [`BREAK`].
    plain: Vec<u8>,
    /// The digits of all keys, each behind a [`BREAK`]; a row without key has as many of these.
    keys: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Row {
    group: Group,
    forms_end: usize,
    plain_end: usize,
}

/// Separates names; no byte of UTF-8.
const BREAK: u8 = 0xff;

impl<'e> FromIterator<Entry<'e>> for Ranker {
    fn from_iter<I: IntoIterator<Item = Entry<'e>>>(entries: I) -> Self {
        let mut ranker = Self::default();
        for entry in entries {
            ranker.push(entry);
        }
        ranker
    }
}

impl Ranker {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn push(&mut self, entry: Entry<'_>) {
        let names = entry.names.map(trim);
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            let form = form(name);
            let plain = without_marks(&form);
            self.forms.push(BREAK);
            self.forms.extend_from_slice(form.as_bytes());
            if plain != form {
                self.plain.push(BREAK);
                self.plain.extend_from_slice(plain.as_bytes());
            }
        }
        self.keys.push(BREAK);
        match entry.key {
            Some(key) => self.keys.extend_from_slice(key.to_string().as_bytes()),
            None => self.keys.extend_from_slice(&[BREAK; Key::DIGITS]),
        }
        self.rows.push(Row {
            group: entry.group,
            forms_end: self.forms.len(),
            plain_end: self.plain.len(),
        });
    }

    /// The rows that answer `query`, best first, at most 50 (S-5, N-9).
    pub fn rank(&self, query: &str) -> Vec<usize> {
        self.rank_where(query, |_| true)
    }

    /// [`Ranker::rank`] over the rows that `wants` lets pass.
    pub fn rank_where(&self, query: &str, wants: impl Fn(usize) -> bool) -> Vec<usize> {
        // Rows come in source order, so a bucket for each group and score is in order by itself.
        let mut buckets: [[Vec<usize>; SCORES]; GROUPS] = Default::default();
        let mut best = 0;
        self.scores(&Query::new(query), |row, score| {
            let bucket = &mut buckets[self.rows[row].group as usize][score as usize];
            if bucket.len() < limits::SUGGESTIONS && wants(row) {
                bucket.push(row);
                let is_top = self.rows[row].group == Group::Members && score == Score::Equal;
                best += usize::from(is_top);
            }
            best < limits::SUGGESTIONS
        });
        let ranked = buckets.into_iter().flatten().flatten();
        ranked.take(limits::SUGGESTIONS).collect()
    }

    /// Calls `found` for each row with a score, in source order, until it has enough.
    fn scores(&self, query: &Query, mut found: impl FnMut(usize, Score) -> bool) {
        if query.form.is_empty() {
            let _ = (0..self.rows.len()).all(|row| found(row, Score::Equal));
            return;
        }
        let finder = memmem::Finder::new(query.form.as_bytes());
        let mut hits = finder.find_iter(&self.forms).peekable();
        let plain_finder = query.plain.as_deref().map(memmem::Finder::new);
        let mut plain_hits = plain_finder
            .as_ref()
            .map(|finder| finder.find_iter(&self.plain).peekable());
        // A name without marks is its own plain form. Where the query has none either, its hits are
        // among those of the forms.
        let mut unmarked_hits = plain_finder
            .as_ref()
            .filter(|_| query.has_marks)
            .map(|finder| finder.find_iter(&self.forms).peekable());
        let mut key_hits = query
            .is_key
            .then(|| finder.find_iter(&self.keys).peekable());
        for (number, row) in self.rows.iter().enumerate() {
            let mut best: Option<Score> = None;
            let mut offer = |score| best = Some(best.map_or(score, |best: Score| best.min(score)));
            while let Some(at) = hits.next_if(|&at| at < row.forms_end) {
                if let Some(score) = query.judge(&self.forms, at) {
                    offer(score);
                }
            }
            for (hits, end) in [
                (&mut plain_hits, row.plain_end),
                (&mut unmarked_hits, row.forms_end),
            ] {
                let Some(hits) = hits else { continue };
                while hits.next_if(|&at| at < end).is_some() {
                    offer(Score::Part);
                }
            }
            if let Some(hits) = &mut key_hits {
                let start = number * (Key::DIGITS + 1);
                while let Some(at) = hits.next_if(|&at| at <= start + Key::DIGITS) {
                    offer(if at == start + 1 {
                        Score::KeyPrefix
                    } else {
                        Score::KeyPart
                    });
                }
            }
            if let Some(score) = best
                && !found(number, score)
            {
                return;
            }
        }
    }
}

/// A query, folded once.
struct Query {
    form: String,
    /// A [`BREAK`] and the form without marks, unless that is empty.
    plain: Option<Vec<u8>>,
    has_marks: bool,
    /// It holds a space, `-` or `_`, so it is no piece of a word.
    splits: bool,
    /// It holds a character of G-3's scripts.
    is_unspaced: bool,
    /// Enough hex digits for a key (N-16).
    is_key: bool,
}

impl Query {
    fn new(query: &str) -> Self {
        let form = form(query);
        let bare = without_marks(&form);
        let mut plain = vec![BREAK];
        plain.extend_from_slice(bare.as_bytes());
        Self {
            plain: Some(plain).filter(|_| !bare.is_empty()),
            has_marks: bare != form,
            splits: form.contains(is_split),
            is_unspaced: form.contains(is_unspaced),
            is_key: form.len() >= limits::KEY_QUERY && form.bytes().all(|b| b.is_ascii_hexdigit()),
            form,
        }
    }

    /// The score of the form found at `at`.
    fn judge(&self, forms: &[u8], at: usize) -> Option<Score> {
        let end = at + self.form.len();
        let ends_name = forms.get(end).is_none_or(|&byte| byte == BREAK);
        if forms[at - 1] == BREAK {
            return Some(if ends_name {
                Score::Equal
            } else {
                Score::Prefix
            });
        }
        if !self.splits && last_char(&forms[..at]).is_some_and(is_split) {
            let ends_word = ends_name || first_char(&forms[end..]).is_some_and(is_split);
            return Some(if ends_word { Score::Word } else { Score::Part });
        }
        self.is_unspaced.then_some(Score::Part)
    }
}

/// What stands between the words of a name (S-5).
fn is_split(c: char) -> bool {
    is_space(c) || matches!(c, '-' | '_')
}

/// The form without its marks (S-5).
fn without_marks(form: &str) -> String {
    if form.is_ascii() {
        return form.to_owned();
    }
    form.nfd().filter(|&c| !is_mark(c)).nfc().collect()
}

fn last_char(bytes: &[u8]) -> Option<char> {
    if let Some(&byte) = bytes.last().filter(|byte| byte.is_ascii()) {
        return Some(char::from(byte));
    }
    let length = bytes.iter().rev().position(|byte| byte & 0xc0 != 0x80)? + 1;
    first_char(&bytes[bytes.len() - length..])
}

fn first_char(bytes: &[u8]) -> Option<char> {
    let longest = &bytes[..bytes.len().min(4)];
    longest.utf8_chunks().next()?.valid().chars().next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str) -> Entry<'_> {
        Entry {
            group: Group::Members,
            names: [name, "", ""],
            key: None,
        }
    }

    fn ranked(query: &str, names: &[&str]) -> String {
        let ranker: Ranker = names.iter().map(|name| entry(name)).collect();
        let ranked = ranker.rank(query).into_iter().map(|row| names[row]);
        ranked.collect::<Vec<_>>().join("|")
    }

    #[test]
    fn scores() {
        for (query, names, expected) in [
            (
                "ada",
                &["x adam", "x ada", "Adam", "ADA", "xada"][..],
                "ADA|Adam|x ada|x adam",
            ),
            ("ad", &["x-ada", "x_ad", "x.ad"], "x_ad|x-ada"),
            ("x ad", &["x ada", "y x ada"], "x ada"),
            ("a a", &["b a a a", "a a a"], "a a a"),
            ("太", &["山太郎", "太郎", "x 太"], "太郎|x 太|山太郎"),
            (
                "jose",
                &["ana jos\u{e9}", "Jos\u{e9}", "josef"],
                "josef|Jos\u{e9}",
            ),
            ("jos\u{e9}", &["Jose", "Jos\u{e9}", "x"], "Jos\u{e9}|Jose"),
            ("i", &["İpek"], "İpek"),
            ("\u{301}", &["a", "\u{e9}"], ""),
            ("", &["b", "a"], "b|a"),
            ("ada ", &["Ada", "Ada K"], "Ada K"),
            (
                "k",
                &["Ada\u{a0}K", "a\u{2028}kx", "\u{212a}x"],
                "\u{212a}x|Ada\u{a0}K|a\u{2028}kx",
            ),
        ] {
            assert_eq!(ranked(query, names), expected, "{query}");
        }
    }

    #[test]
    fn keys() {
        let keys = [
            "00".repeat(30) + "abab",
            "abab".to_owned() + &"11".repeat(30),
            "22".repeat(32),
        ];
        let ranker: Ranker = keys
            .iter()
            .map(|key| Entry {
                key: key.parse().ok(),
                ..entry("Zed")
            })
            .chain([entry("abab")])
            .collect();
        for (query, expected) in [
            ("ABAB", vec![3, 1, 0]),
            ("aba", vec![3]),
            ("0abab", vec![0]),
            ("abag", vec![]),
            ("2222", vec![2]),
        ] {
            assert_eq!(ranker.rank(query), expected, "{query}");
        }
    }

    #[test]
    fn groups_come_first_and_fifty_are_kept() {
        let of = |group| Entry {
            group,
            ..entry("Ada")
        };
        let ranker: Ranker = [Group::Agents, Group::People, Group::Made, Group::Members]
            .into_iter()
            .map(of)
            .collect();
        assert_eq!(ranker.rank("a"), [3, 2, 1, 0]);
        let many: Ranker = (0..120)
            .map(|_| of(Group::People))
            .chain([of(Group::Members)])
            .collect();
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
}
