//! Operations on what a writer chooses and pastes: reservation and the paste fences.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use vocative::{CheckId, Draft, Id, Key, PasteFences, PastedRecord, Roster, Scope, Span, Utf16Map};

use super::Answer;
use super::given::{self, GivenMember, Pair};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Around {
    bindings: Vec<Pair>,
    personas: Vec<String>,
    members: Vec<GivenMember>,
    text: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ReserveLabel {
    name: String,
    key: Key,
    #[serde(flatten)]
    around: Around,
}

pub(crate) fn reserve_label(given: ReserveLabel) -> Answer {
    let Around { bindings, personas, members, text } = given.around;
    let (roster, draft) = (given::roster(members), given::draft(&bindings, &personas, &[]));
    let scope = Scope::new(&roster, &draft);
    Ok(json!({ "label": vocative::reserve(scope, &given.name, &Id::Nostr(given.key), text.as_deref()) }))
}

#[derive(Deserialize)]
pub(crate) struct ReserveLabels {
    selections: Vec<Selection>,
    #[serde(flatten)]
    around: Around,
}

#[derive(Deserialize)]
struct Selection {
    name: String,
    #[serde(default)]
    key: Option<Key>,
}

pub(crate) fn reserve_labels(given: ReserveLabels) -> Answer {
    let Around { bindings, personas, members, text } = given.around;
    let (roster, draft) = (given::roster(members), given::draft(&bindings, &personas, &[]));
    let choices = given.selections.iter().map(|choice| (choice.name.as_str(), choice.key.map(Id::Nostr)));
    let labels = vocative::reserve_all(Scope::new(&roster, &draft), choices, text.as_deref());
    Ok(json!({ "labels": labels }))
}

#[derive(Deserialize)]
pub(crate) struct PasteFence {
    start: String,
    #[serde(default)]
    bindings: Vec<Pair>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    Paste { id: String, label: String, key: Key, text: String, at: usize },
    Insert { at: usize, text: String },
    Replace { from: usize, to: usize, text: String },
    Pick { label: String, key: Key },
    Claim(String),
    Clear(bool),
    Verdict { id: String, vouched: bool },
    Expire { id: String },
}

/// A composer: its text, its bindings and its fences.
struct Composer {
    text: String,
    draft: Draft,
    fences: PasteFences,
    checks: HashMap<String, CheckId>,
    expired: Vec<Value>,
}

impl Composer {
    fn span(&self, from: usize, to: usize) -> Result<Span, String> {
        let map = Utf16Map::new(&self.text);
        let bytes = |units| map.to_bytes(units).map(vocative::ByteOffset::get);
        let range = bytes(from).zip(bytes(to)).map(|(from, to)| from..to);
        range.and_then(|range| Span::new(&self.text, range)).ok_or(format!("no range {from}..{to}"))
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        let nobody = Roster::new();
        match step {
            Step::Paste { id, label, key, text, at } => {
                let span = self.span(at, at)?;
                let record = PastedRecord { label, id: Id::Nostr(key) };
                let checks = self.fences.pasted(&self.text, span, &text, &[record]);
                self.checks.extend(checks.first().map(|(check, _)| (id, *check)));
                self.text.insert_str(span.start.get(), &text);
            }
            Step::Insert { at, text } => self.replace(at, at, &text)?,
            Step::Replace { from, to, text } => self.replace(from, to, &text)?,
            Step::Pick { label, key } => {
                let id = Id::Nostr(key);
                let reserved = vocative::reserve(Scope::new(&nobody, &self.draft), &label, &id, None);
                self.fences.claim(&label);
                self.fences.claim(&reserved);
                self.draft.bind(&reserved, id);
            }
            Step::Claim(label) => self.fences.claim(&label),
            Step::Clear(true) => self.fences.clear(),
            Step::Clear(false) => {}
            Step::Verdict { id, vouched } => {
                if let Some(check) = self.checks.get(&id) {
                    self.fences.verdict(*check, vouched, &self.text, &nobody, &mut self.draft);
                }
            }
            Step::Expire { id } => {
                if let Some(check) = self.checks.get(&id) {
                    let told = self.fences.expire(*check, &self.text, &nobody, &self.draft);
                    self.expired.extend(told.map(|label| json!({ "code": "paste_expired", "label": label })));
                }
            }
        }
        Ok(())
    }

    fn replace(&mut self, from: usize, to: usize, text: &str) -> Result<(), String> {
        let span = self.span(from, to)?;
        self.fences.edited(&self.text, span, text);
        self.text.replace_range(span.bytes(), text);
        Ok(())
    }
}

pub(crate) fn paste_fence(given: PasteFence) -> Answer {
    let mut composer = Composer {
        text: given.start,
        draft: given::draft(&given.bindings, &[], &[]),
        fences: PasteFences::new(),
        checks: HashMap::new(),
        expired: Vec::new(),
    };
    for step in given.steps {
        composer.step(step)?;
    }
    let Composer { text, draft, fences, expired, .. } = composer;
    let bindings: Map<String, Value> =
        draft.bindings().map(|(label, id)| (label.to_owned(), given::key(id).into())).collect();
    let mut answer = json!({ "text": text, "bindings": bindings, "keys": [] });
    if !expired.is_empty() {
        answer["diagnostics"] = expired.into();
    }
    let mut sent: Draft = draft;
    for (label, claim) in fences.unbound() {
        sent.push(label, claim);
    }
    let nobody = Roster::new();
    let reading = Scope::new(&nobody, &sent).read(&text);
    match fences.ambiguous(&reading) {
        Some(error) => {
            let fields = given::ambiguous(&error);
            for (name, value) in fields.as_object().into_iter().flatten() {
                answer[name] = value.clone();
            }
        }
        None => {
            let recipients = reading.recipients().map_err(|error| error.to_string())?;
            answer["keys"] = given::keys(&recipients.keys).into();
        }
    }
    Ok(answer)
}
