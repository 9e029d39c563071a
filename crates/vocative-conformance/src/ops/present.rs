//! Operations on what is shown: labels, chips, highlighting.

use serde::Deserialize;
use serde_json::json;
use vocative::{Contexts, Known, Labels, present};

use super::Answer;

#[derive(Deserialize)]
pub(crate) struct TruncateKey {
    key: String,
}

pub(crate) fn truncate_key(given: TruncateKey) -> Answer {
    Ok(json!({ "text": present::abbreviated(&given.key) }))
}

#[derive(Deserialize)]
pub(crate) struct DisplayLabel {
    label: String,
    #[serde(default)]
    key: String,
}

pub(crate) fn display_label(given: DisplayLabel) -> Answer {
    let text = present::shown_label(&given.label, given.key.parse().ok());
    Ok(json!({ "text": text }))
}

#[derive(Deserialize)]
pub(crate) struct CapChip {
    label: String,
}

pub(crate) fn cap_chip(given: CapChip) -> Answer {
    Ok(json!({ "text": present::capped(&given.label) }))
}

#[derive(Deserialize)]
pub(crate) struct Matches {
    text: String,
    names: Vec<String>,
    #[serde(default)]
    channels: Vec<String>,
}

pub(crate) fn matches(given: Matches) -> Answer {
    let names: Labels = given.names.iter().collect();
    let channels: Labels = given.channels.iter().collect();
    let known = Known::from(&names).with_channels(&channels);
    let found = known.occurrences(&given.text, &Contexts::of(&given.text));
    let literals = found.into_iter().map(|span| span.of(&given.text));
    Ok(json!({ "matches": literals.collect::<Vec<_>>() }))
}
