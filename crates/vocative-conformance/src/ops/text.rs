//! Operations that read one text: ownership, extraction, drafts.

use serde::Deserialize;
use serde_json::json;
use vocative::{Claim, Draft, Id, Roster, Scope, Utf16Map};

use super::Answer;
use super::given::{self, GivenMember, Pair, Ref};

#[derive(Deserialize)]
pub(crate) struct LabelOffsets {
    text: String,
    label: String,
}

pub(crate) fn label_offsets(given: LabelOffsets) -> Answer {
    let draft = given::draft(&[], &[given.label], &[]);
    let roster = Roster::new();
    let reading = Scope::new(&roster, &draft).read(&given.text);
    let map = Utf16Map::new(&given.text);
    let starts = reading.occurrences().iter().map(|occurrence| map.to_utf16(occurrence.span.start));
    Ok(json!({ "offsets": starts.collect::<Vec<_>>() }))
}

#[derive(Deserialize)]
pub(crate) struct Occurrences {
    text: String,
    labels: Vec<String>,
}

pub(crate) fn occurrences(given: Occurrences) -> Answer {
    let draft = given::draft(&[], &given.labels, &[]);
    let roster = Roster::new();
    let reading = Scope::new(&roster, &draft).read(&given.text);
    let map = Utf16Map::new(&given.text);
    let drawn = reading.occurrences().iter().map(|occurrence| {
        let owners = draft.claims_of(&occurrence.span.of(&given.text)[1..]).map(|(label, _)| label);
        json!({
            "start": map.to_utf16(occurrence.span.start),
            "end": map.to_utf16(occurrence.span.end),
            "labels": owners.collect::<Vec<_>>(),
            "context": occurrence.place,
        })
    });
    Ok(json!({ "occurrences": drawn.collect::<Vec<_>>() }))
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(crate) struct Extract {
    text: String,
    selected: Vec<Pair>,
    members: Vec<GivenMember>,
    personas: Vec<String>,
    competing: Vec<String>,
}

pub(crate) fn extract(given: Extract) -> Answer {
    let draft = given::draft(&given.selected, &given.personas, &given.competing);
    let roster = given::roster(given.members);
    match Scope::new(&roster, &draft).read(&given.text).recipients() {
        Err(error) => Ok(given::ambiguous(&error)),
        Ok(recipients) => {
            let mut answer = json!({ "keys": given::keys(&recipients.keys) });
            if !recipients.references.is_empty() {
                answer["references"] = given::keys(&recipients.references).into();
            }
            Ok(answer)
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct DraftRefs {
    text: String,
    selected: Vec<Pair>,
    personas: Vec<String>,
    members: Vec<GivenMember>,
    fallback: Vec<Ref>,
    competing: Vec<String>,
    agent_labels: Vec<String>,
}

pub(crate) fn draft_refs(given: DraftRefs) -> Answer {
    let mut draft = Draft::new();
    for fallback in &given.fallback {
        draft.push(&fallback.label, Claim::Fallback(Id::Nostr(fallback.key)));
    }
    for (label, claim) in given::draft(&given.selected, &given.personas, &given.competing).claims() {
        draft.push(label, claim.clone());
    }
    let roster = given::roster(given.members);
    let reading = Scope::new(&roster, &draft).read(&given.text);
    let is_agent = |label: &str, key| {
        let same = |other: &String| vocative::form(other) == vocative::form(label);
        let was = |fallback: &Ref| fallback.label == label && fallback.key == key && fallback.is_agent;
        given.agent_labels.iter().any(same) || given.fallback.iter().any(was)
    };
    let refs: Vec<Ref> = reading
        .refs()
        .into_iter()
        .filter_map(|binding| Some((binding.id.key()?, binding.label)))
        .map(|(key, label)| Ref { is_agent: is_agent(&label, key), label, key })
        .collect();
    let personas = reading.live_personas();
    let mut answer = json!({ "refs": refs });
    if !personas.is_empty() {
        answer["personas"] = personas.into();
    }
    Ok(answer)
}

#[derive(Deserialize)]
pub(crate) struct EvictBindings {
    text: String,
    bindings: Vec<Pair>,
    limit: usize,
}

pub(crate) fn evict_bindings(given: EvictBindings) -> Answer {
    let mut draft = given::draft(&given.bindings, &[], &[]);
    draft.evict(&given.text, given.limit);
    let left = draft.bindings().map(|(label, id)| (label, given::key(id)));
    Ok(json!({ "bindings": left.collect::<Vec<_>>() }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Diagnose {
    #[serde(flatten)]
    extract: Extract,
    expired: Vec<String>,
}

pub(crate) fn diagnose(given: Diagnose) -> Answer {
    let Diagnose { extract, expired } = given;
    let mut draft = given::draft(&extract.selected, &extract.personas, &extract.competing);
    for label in &expired {
        draft.push(label, Claim::Expired);
    }
    let roster = given::roster(extract.members);
    let map = Utf16Map::new(&extract.text);
    let told = Scope::new(&roster, &draft).read(&extract.text).diagnostics();
    let told = told.into_iter().map(|diagnostic| {
        let mut row = json!({
            "code": diagnostic.code,
            "start": map.to_utf16(diagnostic.span.start),
            "end": map.to_utf16(diagnostic.span.end),
            "name": diagnostic.name,
        });
        if let Some(keys) = diagnostic.keys {
            row["keys"] = given::keys(&keys).into();
        }
        row
    });
    Ok(json!({ "diagnostics": told.collect::<Vec<_>>() }))
}
