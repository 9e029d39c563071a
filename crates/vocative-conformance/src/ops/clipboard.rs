//! Operations on the clipboard.

use serde::Deserialize;
use serde_json::json;
use vocative::Key;
use vocative::clipboard::{self, CopyKind, Record};
use vocative::paste_html::Pasted;
use vocative::present::{ChipMatch, Kind};

use super::Answer;
use super::given::Ref;

#[derive(Deserialize)]
pub(crate) struct ClipBuild {
    text: String,
    identities: Vec<Identity>,
    #[serde(default)]
    kind: String,
}

/// A [`Ref`] whose key may be malformed.
#[derive(Deserialize)]
struct Identity {
    label: String,
    key: String,
    #[serde(default)]
    is_agent: bool,
}

fn kind(is_agent: bool) -> Kind {
    if is_agent { Kind::Agent } else { Kind::Human }
}

pub(crate) fn clip_build(given: ClipBuild) -> Answer {
    let records = given.identities.into_iter().filter_map(|identity| {
        Some(Record { key: identity.key.parse().ok()?, label: identity.label, kind: kind(identity.is_agent) })
    });
    let records: Vec<_> = records.collect();
    let copy = CopyKind::from_marker(&given.kind).unwrap_or_default();
    Ok(json!({ "html": clipboard::build(&given.text, &records, &[], copy) }))
}

#[derive(Deserialize)]
pub(crate) struct ClipParse {
    html: String,
}

pub(crate) fn clip_parse(given: ClipParse) -> Answer {
    let records = Pasted::read(&given.html).records.into_iter();
    let records = records.map(|record| Ref {
        label: record.label,
        key: record.key,
        is_agent: record.kind == Kind::Agent,
    });
    Ok(json!({ "records": records.collect::<Vec<_>>() }))
}

#[derive(Deserialize)]
pub(crate) struct ClipVisible {
    records: Vec<Ref>,
    text: String,
}

pub(crate) fn clip_visible(given: ClipVisible) -> Answer {
    let records = given.records.into_iter().map(|record| Record {
        label: record.label,
        key: record.key,
        kind: kind(record.is_agent),
    });
    let records: Vec<_> = records.collect();
    let shown = clipboard::visible(&records, &given.text);
    let labels = records.iter().zip(shown).filter(|(_, ranges)| !ranges.is_empty());
    let labels = labels.map(|(record, _)| record.label.as_str());
    Ok(json!({ "labels": labels.collect::<Vec<_>>() }))
}

#[derive(Deserialize)]
pub(crate) struct LabelTrust {
    label: String,
    aliases: Vec<String>,
    key: Key,
}

pub(crate) fn label_trust(given: LabelTrust) -> Answer {
    let trusted = clipboard::is_vouched(&given.label, &given.aliases, given.key);
    Ok(json!({ "trusted": trusted }))
}

#[derive(Deserialize)]
pub(crate) struct ChipText {
    text: String,
    label: String,
    sigil: char,
    #[serde(default)]
    key: String,
}

pub(crate) fn chip_match(given: ChipText) -> Answer {
    let key = given.key.parse().ok();
    let found = ChipMatch::of(&given.text, &given.label, given.sigil, key);
    Ok(json!({ "match": found }))
}
