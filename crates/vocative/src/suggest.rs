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
        Some(id.key().map_or_else(|| id.to_string(), |key| key.to_string()))
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
                let key = candidate.key_text().filter(|_| is_confusable || has_bidi_controls);
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
            (row, of(&row.candidate.persona_name), of(&row.candidate.handle))
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
        let ranked =
            self.ranker.rank_where(query, |row| !query.is_empty() || !self.rows[row].candidate.is_search);
        ranked.into_iter().map(|row| &self.rows[row])
    }

    /// The row that Space commits: the only one whose name is exactly the query, when no known label
    /// goes on with a space (S-6). Of namesakes none is guessed.
    pub fn on_space(&self, query: &str, known: &Known<'_>) -> Option<&Row> {
        if query.is_empty() || !space_may_commit(query, known) {
            return None;
        }
        let query = form(query);
        let mut exact = self.rows.iter().filter(|row| form(trim(&row.candidate.name)) == query);
        let only = exact.next()?;
        exact.next().is_none().then_some(only)
    }
}

/// One candidate for each identity, without those that are not to be suggested (S-4).
fn one_row_each(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut places: HashMap<Id, usize> = HashMap::new();
    let mut rows: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let place = candidate.id.clone().map(|id| *places.entry(id).or_insert(rows.len()));
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
        let is_embodied =
            row.kind() == RowKind::Persona && row.persona.as_ref().is_some_and(|p| embodied.contains(p));
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
        let told: Vec<[Option<String>; 4]> = same.iter().map(|&row| told_apart_by(&rows[row])).collect();
        // A piece tells a row apart only where no namesake has an equal one.
        let mut counts: HashMap<String, usize> = HashMap::new();
        for piece in told.iter().flatten().flatten() {
            *counts.entry(form(piece)).or_default() += 1;
        }
        let mut used: HashSet<String> = HashSet::new();
        for (number, (&row, pieces)) in (1..).zip(same.iter().zip(told)) {
            let unique = pieces.into_iter().flatten().find(|piece| counts.get(&form(piece)) == Some(&1));
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
#[path = "suggest_tests.rs"]
mod tests;
