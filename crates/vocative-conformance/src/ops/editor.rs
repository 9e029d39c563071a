//! Operations of the editor: caret, picker, ranking. `text` is one block's plain text.

use serde::Deserialize;
use serde_json::json;
use vocative::caret::Block;
use vocative::rank::{Entry, Group, Ranker, RowKind};
use vocative::trigger::{Insertion, trigger};
use vocative::{ByteOffset, Known, Labels, Span, Utf16Map};

use super::Answer;

/// A position as the cases count it.
fn at(map: &Utf16Map<'_>, units: usize) -> Result<ByteOffset, String> {
    map.to_bytes(units).ok_or_else(|| format!("{units} is no position of the text"))
}

fn span(map: &Utf16Map<'_>, from: usize, to: usize) -> Result<Span, String> {
    let (start, end) = (at(map, from)?, at(map, to)?);
    if start <= end { Ok(Span { start, end }) } else { Err(format!("{from} is behind {to}")) }
}

#[derive(Deserialize)]
pub(crate) struct CaretAfterSeparator {
    text: String,
    pos: usize,
    #[serde(default)]
    names: Vec<String>,
}

pub(crate) fn caret_after_separator(given: CaretAfterSeparator) -> Answer {
    let names: Labels = given.names.iter().collect();
    let map = Utf16Map::new(&given.text);
    let pos = at(&map, given.pos)?;
    let behind = Block::new(&given.text, &Known::from(&names)).after_separator(pos);
    Ok(json!({ "pos": map.to_utf16(behind.unwrap_or(pos)) }))
}

#[derive(Deserialize)]
pub(crate) struct CaretInput {
    text: String,
    from: usize,
    to: usize,
    typed: String,
    settling: bool,
    #[serde(default)]
    names: Vec<String>,
}

pub(crate) fn caret_input(given: CaretInput) -> Answer {
    let names: Labels = given.names.iter().collect();
    let map = Utf16Map::new(&given.text);
    let range = span(&map, given.from, given.to)?;
    let block = Block::new(&given.text, &Known::from(&names));
    let redirect = block
        .redirect(range, &given.typed)
        .filter(|_| given.settling)
        .map(|redirect| json!({ "at": map.to_utf16(redirect.at), "text": redirect.text }));
    Ok(json!({ "redirect": redirect }))
}

#[derive(Deserialize)]
pub(crate) struct CaretArrowLeft {
    text: String,
    caret: usize,
    #[serde(default)]
    names: Vec<String>,
}

pub(crate) fn caret_arrow_left(given: CaretArrowLeft) -> Answer {
    let names: Labels = given.names.iter().collect();
    let map = Utf16Map::new(&given.text);
    let block = Block::new(&given.text, &Known::from(&names));
    let caret = block.step_back(at(&map, given.caret)?);
    Ok(json!({ "caret": caret.map(|caret| map.to_utf16(caret)) }))
}

#[derive(Deserialize)]
pub(crate) struct Trigger {
    text: String,
    cursor: usize,
    #[serde(default)]
    known_lower: Vec<String>,
}

pub(crate) fn open_picker(given: Trigger) -> Answer {
    let known: Labels = given.known_lower.iter().collect();
    let map = Utf16Map::new(&given.text);
    let found = trigger(&given.text, at(&map, given.cursor)?, &Known::from(&known));
    let found = found.map(|found| json!({ "query": found.query, "start": map.to_utf16(found.span.start) }));
    Ok(json!({ "trigger": found }))
}

#[derive(Deserialize)]
pub(crate) struct InsertPick {
    text: String,
    from: usize,
    to: usize,
    label: String,
    #[serde(default)]
    labels: Vec<String>,
}

pub(crate) fn insert_pick(given: InsertPick) -> Answer {
    let labels: Labels = given.labels.iter().collect();
    let range = span(&Utf16Map::new(&given.text), given.from, given.to)?;
    let insertion = Insertion::new(&given.text, range, &given.label, &Known::from(&labels));
    let text = insertion.apply(&given.text);
    let caret = Utf16Map::new(&text).to_utf16(insertion.caret);
    Ok(json!({ "text": text, "caret": caret }))
}

#[derive(Deserialize)]
pub(crate) struct Rank {
    query: String,
    candidates: Vec<Candidate>,
}

#[derive(Deserialize)]
struct Candidate {
    id: String,
    kind: Kind,
    #[serde(default)]
    is_agent: bool,
    #[serde(default)]
    is_member: bool,
    name: String,
    key: Option<String>,
    secondary: Option<String>,
    persona_name: Option<String>,
    persona_backed: Option<bool>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Identity,
    Persona,
    Team,
}

pub(crate) fn rank(given: Rank) -> Answer {
    let entries = given.candidates.iter().map(|candidate| {
        let kind = match candidate.kind {
            Kind::Identity => RowKind::Identity,
            Kind::Persona => RowKind::Persona,
            Kind::Team => RowKind::Team,
        };
        let backed = candidate.persona_backed.unwrap_or_default();
        Entry {
            group: Group::of(kind, candidate.is_member, candidate.is_agent, backed),
            names: [
                &candidate.name,
                candidate.persona_name.as_deref().unwrap_or_default(),
                candidate.secondary.as_deref().unwrap_or_default(),
            ],
            key: candidate.key.as_deref().and_then(|key| key.parse().ok()),
        }
    });
    let ranker: Ranker = entries.collect();
    let order = ranker.rank(&given.query).into_iter();
    let order = order.map(|row| given.candidates[row].id.as_str());
    Ok(json!({ "order": order.collect::<Vec<_>>() }))
}
