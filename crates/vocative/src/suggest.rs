//! The rows of the picker (S-4) and its decisions (S-5, S-6).
//!
//! The caller brings what it knows of people, agents, personas and teams; nothing is fetched here.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::form::form;
use crate::id::Id;
use crate::known::Known;
use crate::label::trim;
use crate::present::{abbreviated, has_bidi_controls};
use crate::rank::{Entry, Group, Ranker, RowKind};
use crate::trigger::space_may_commit;

/// Somebody or something that could be suggested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Candidate {
    /// The name, as people see it.
    pub name: String,
    /// Who it is; a persona and a team are nobody yet.
    pub id: Option<Id>,
    /// Whether it is an agent.
    pub is_agent: bool,
    /// Whether it belongs to this channel.
    pub is_member: bool,
    /// Whether it is a team.
    pub is_team: bool,
    /// The persona it is, or that the agent embodies.
    pub persona: Option<String>,
    /// The name of the persona that the agent embodies.
    pub persona_name: Option<String>,
    /// The secondary label: a handle.
    pub handle: Option<String>,
    /// The name of an agent's owner.
    pub owner: Option<String>,
    /// Whether it was found by user search, which is shown only with a query.
    pub is_search: bool,
    /// Archived identities are not suggested.
    pub is_archived: bool,
    /// Nor are those that must not be mentioned.
    pub is_hidden: bool,
}

impl Candidate {
    fn kind(&self) -> RowKind {
        match (&self.id, &self.persona) {
            _ if self.is_team => RowKind::Team,
            (None, Some(_)) => RowKind::Persona,
            _ => RowKind::Identity,
        }
    }

    fn key_text(&self) -> Option<String> {
        let id = self.id.as_ref()?;
        Some(
            id.key()
                .map_or_else(|| id.to_string(), |key| key.to_string()),
        )
    }

    /// Adds what another row of the same identity knows.
    fn merge(&mut self, other: Self) {
        self.is_agent |= other.is_agent;
        self.is_member |= other.is_member;
        self.is_archived |= other.is_archived;
        self.is_hidden |= other.is_hidden;
        self.is_search &= other.is_search;
        self.persona = self.persona.take().or(other.persona);
        self.persona_name = self.persona_name.take().or(other.persona_name);
        self.handle = self.handle.take().or(other.handle);
        self.owner = self.owner.take().or(other.owner);
    }
}

/// One row of the picker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What it is about.
    pub candidate: Candidate,
    /// What it is a row for.
    pub kind: RowKind,
    /// Where it stands in the order (S-5).
    pub group: Group,
    /// Its accessible name: no two namesakes have the same (S-4).
    pub accessible_name: String,
    /// Another name looks like this one (UTS 39).
    pub is_confusable: bool,
    /// The name holds direction controls.
    pub has_bidi_controls: bool,
    /// The abbreviated key, where a flag asks to show it.
    pub shown_key: Option<String>,
}

/// The rows of one picker, folded once and ranked for each query.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    rows: Vec<Row>,
    ranker: Ranker,
}

impl Suggestions {
    /// The rows of these candidates, in source order (S-4).
    ///
    /// An identity that comes several times is one row, at its first place, under its first name.
    pub fn new(candidates: Vec<Candidate>) -> Self {
        let candidates = one_row_each(candidates);
        let accessible = accessible_names(&candidates);
        let confusable = confusable_forms(&candidates);
        let rows = candidates.into_iter().zip(accessible);
        let rows: Vec<Row> = rows
            .map(|(candidate, accessible_name)| {
                let is_confusable = confusable.contains(&form(trim(&candidate.name)));
                let has_bidi_controls = has_bidi_controls(&candidate.name);
                let key = candidate
                    .key_text()
                    .filter(|_| is_confusable || has_bidi_controls);
                let kind = candidate.kind();
                Row {
                    kind,
                    group: Group::of(
                        kind,
                        candidate.is_member,
                        candidate.is_agent,
                        candidate.persona.is_some(),
                    ),
                    accessible_name,
                    is_confusable,
                    has_bidi_controls,
                    shown_key: key.as_deref().map(abbreviated),
                    candidate,
                }
            })
            .collect();
        let entries = rows.iter().map(|row| {
            let of = |name: &'_ Option<String>| name.as_deref().unwrap_or_default().to_owned();
            (
                row,
                of(&row.candidate.persona_name),
                of(&row.candidate.handle),
            )
        });
        let entries: Vec<_> = entries.collect();
        let ranker = entries.iter().map(|(row, persona, handle)| Entry {
            group: row.group,
            names: [&row.candidate.name, persona, handle],
            key: row.candidate.id.as_ref().and_then(Id::key),
        });
        let ranker = ranker.collect();
        Self { rows, ranker }
    }

    /// All rows, in source order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows for a query, best first, at most 50 (S-5). Found by search only: not without a query.
    pub fn rank(&self, query: &str) -> impl Iterator<Item = &Row> {
        let ranked = self.ranker.rank_where(query, |row| {
            !query.is_empty() || !self.rows[row].candidate.is_search
        });
        ranked.into_iter().map(|row| &self.rows[row])
    }

    /// The row that Space commits: the only one whose name is exactly the query, when no known label
    /// goes on with a space (S-6). Of namesakes none is guessed.
    pub fn on_space(&self, query: &str, known: &Known<'_>) -> Option<&Row> {
        if query.is_empty() || !space_may_commit(query, known) {
            return None;
        }
        let query = form(query);
        let mut exact = self
            .rows
            .iter()
            .filter(|row| form(trim(&row.candidate.name)) == query);
        let only = exact.next()?;
        exact.next().is_none().then_some(only)
    }
}

/// One candidate for each identity, without those that are not to be suggested (S-4).
fn one_row_each(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut places: HashMap<Id, usize> = HashMap::new();
    let mut rows: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let place = candidate
            .id
            .clone()
            .map(|id| *places.entry(id).or_insert(rows.len()));
        match place.and_then(|place| rows.get_mut(place)) {
            Some(row) => row.merge(candidate),
            None => rows.push(candidate),
        }
    }
    let embodied: HashSet<String> = rows
        .iter()
        .filter(|row| row.is_agent && row.kind() == RowKind::Identity)
        .filter_map(|row| row.persona.clone())
        .collect();
    rows.retain(|row| {
        let is_embodied = row.kind() == RowKind::Persona
            && row.persona.as_ref().is_some_and(|p| embodied.contains(p));
        !row.is_archived && !row.is_hidden && !is_embodied
    });
    rows
}

/// A name for each row by which it differs from its namesakes: handle, owner, abbreviated key, whole
/// key, and for what has none of these its number (S-4).
fn accessible_names(rows: &[Candidate]) -> Vec<String> {
    let forms: Vec<String> = rows.iter().map(|row| form(trim(&row.name))).collect();
    let mut namesakes: HashMap<&str, Vec<usize>> = HashMap::new();
    for (row, form) in forms.iter().enumerate() {
        namesakes.entry(form).or_default().push(row);
    }
    let mut names: Vec<String> = rows.iter().map(|row| trim(&row.name).to_owned()).collect();
    for same in namesakes.into_values().filter(|same| same.len() > 1) {
        let told: Vec<[Option<String>; 4]> =
            same.iter().map(|&row| told_apart_by(&rows[row])).collect();
        // A piece tells a row apart only where no namesake has an equal one.
        let mut counts: HashMap<String, usize> = HashMap::new();
        for piece in told.iter().flatten().flatten() {
            *counts.entry(form(piece)).or_default() += 1;
        }
        let mut used: HashSet<String> = HashSet::new();
        for (number, (&row, pieces)) in (1..).zip(same.iter().zip(told)) {
            let unique = pieces
                .into_iter()
                .flatten()
                .find(|piece| counts.get(&form(piece)) == Some(&1));
            let mut piece = unique.unwrap_or_else(|| number.to_string());
            while !used.insert(form(&piece)) {
                piece.push_str(" 2");
            }
            names[row] = format!("{}, {piece}", names[row]);
        }
    }
    names
}

fn told_apart_by(row: &Candidate) -> [Option<String>; 4] {
    let written = |piece: &Option<String>| {
        let piece = piece.as_deref().map(trim).filter(|piece| !piece.is_empty());
        piece.map(str::to_owned)
    };
    let key = row.key_text();
    let short = key.as_deref().map(abbreviated);
    // A short identity is its own abbreviation; counting it twice would make it look shared.
    let whole = key.filter(|key| short.as_ref() != Some(key));
    let owner = written(&row.owner).filter(|owner| written(&row.handle).as_ref() != Some(owner));
    [written(&row.handle), owner, short, whole]
}

/// The forms of names that look like another name (UTS 39), of whatever case.
fn confusable_forms(rows: &[Candidate]) -> HashSet<String> {
    let mut first: HashMap<String, String> = HashMap::new();
    let mut confusable = HashSet::new();
    for row in rows {
        let name = trim(&row.name);
        let form = form(name);
        for looks in [name, &form] {
            let skeleton: String = unicode_security::skeleton(looks).collect();
            let other = first.entry(skeleton).or_insert_with(|| form.clone());
            if *other != form {
                confusable.insert(other.clone());
                confusable.insert(form.clone());
            }
        }
    }
    confusable
}

#[cfg(test)]
mod tests {
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
        suggestions
            .rank(query)
            .map(|row| row.candidate.name.clone())
            .collect()
    }

    #[test]
    fn one_row_for_each_identity() {
        let found = Candidate {
            is_search: true,
            is_member: false,
            ..candidate("Found", 3)
        };
        let persona = |name: &str| Candidate {
            id: None,
            persona: Some(name.into()),
            ..candidate(name, 0)
        };
        let suggestions = Suggestions::new(vec![
            Candidate {
                is_member: false,
                ..candidate("Ada", 1)
            },
            Candidate {
                is_archived: true,
                ..candidate("Old", 2)
            },
            Candidate {
                is_hidden: true,
                ..candidate("Hidden", 4)
            },
            found.clone(),
            Candidate {
                handle: Some("ada@x".into()),
                ..candidate("Ada again", 1)
            },
            Candidate {
                is_agent: true,
                persona: Some("Fizz".into()),
                ..candidate("Fizzy", 5)
            },
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
            Candidate {
                name: "ADA".into(),
                id: None,
                persona: Some("p".into()),
                ..Candidate::default()
            },
            Candidate {
                name: "Ada".into(),
                id: None,
                persona: Some("q".into()),
                ..Candidate::default()
            },
            candidate("Grace", 9),
        ];
        let suggestions = Suggestions::new(rows);
        let names: Vec<_> = suggestions
            .rows()
            .iter()
            .map(|row| row.accessible_name.as_str())
            .collect();
        assert_eq!(
            names,
            [
                "Ada, ada@x",
                "Ada, Bob",
                "Ada, 03030303…0303",
                "ADA, 4",
                "Ada, 5",
                "Grace"
            ]
        );
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
        let flags: Vec<_> = suggestions
            .rows()
            .iter()
            .map(|row| (row.is_confusable, row.has_bidi_controls))
            .collect();
        let looks = (true, false);
        assert_eq!(
            flags,
            [
                looks,
                looks,
                looks,
                looks,
                (false, true),
                (false, false),
                (false, false)
            ]
        );
        assert_eq!(
            suggestions.rows()[4].shown_key.as_deref(),
            Some("05050505…0505")
        );
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
        let commits = |query| {
            suggestions
                .on_space(query, &known)
                .map(|row| row.candidate.name.as_str())
        };
        assert_eq!(commits("ADA"), Some("Ada"));
        for query in ["ad", "bob", "ann", ""] {
            assert_eq!(commits(query), None, "{query}");
        }
    }
}
