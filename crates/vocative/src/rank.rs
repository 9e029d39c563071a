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
        self.rows.push(Row { group: entry.group, forms_end: self.forms.len(), plain_end: self.plain.len() });
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
        let mut plain_hits = plain_finder.as_ref().map(|finder| finder.find_iter(&self.plain).peekable());
        // A name without marks is its own plain form. Where the query has none either, its hits are
        // among those of the forms.
        let mut unmarked_hits = plain_finder
            .as_ref()
            .filter(|_| query.has_marks)
            .map(|finder| finder.find_iter(&self.forms).peekable());
        let mut key_hits = query.is_key.then(|| finder.find_iter(&self.keys).peekable());
        for (number, row) in self.rows.iter().enumerate() {
            let mut best: Option<Score> = None;
            let mut offer = |score| best = Some(best.map_or(score, |best: Score| best.min(score)));
            while let Some(at) = hits.next_if(|&at| at < row.forms_end) {
                if let Some(score) = query.judge(&self.forms, at) {
                    offer(score);
                }
            }
            for (hits, end) in [(&mut plain_hits, row.plain_end), (&mut unmarked_hits, row.forms_end)] {
                let Some(hits) = hits else { continue };
                while hits.next_if(|&at| at < end).is_some() {
                    offer(Score::Part);
                }
            }
            if let Some(hits) = &mut key_hits {
                let start = number * (Key::DIGITS + 1);
                while let Some(at) = hits.next_if(|&at| at <= start + Key::DIGITS) {
                    offer(if at == start + 1 { Score::KeyPrefix } else { Score::KeyPart });
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
            // The query itself: the form of a ligature may be hex digits that nobody has typed.
            is_key: query.len() >= limits::KEY_QUERY && query.bytes().all(|b| b.is_ascii_hexdigit()),
            form,
        }
    }

    /// The score of the form found at `at`.
    fn judge(&self, forms: &[u8], at: usize) -> Option<Score> {
        let end = at + self.form.len();
        let ends_name = forms.get(end).is_none_or(|&byte| byte == BREAK);
        if forms[at - 1] == BREAK {
            return Some(if ends_name { Score::Equal } else { Score::Prefix });
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
#[path = "rank_tests.rs"]
mod tests;
