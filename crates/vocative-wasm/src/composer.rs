//! One editor's draft: its bindings, its readings, its picker and its sends.

use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use vocative::caret::CaretSettlement;
use vocative::trigger::Insertion as Inserted;
use vocative::{Claim, Context, Contexts, Draft, Known, PasteFences, Recipients, Scope};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{Answer, Positions, error, id, key, read, read_all, write, write_all, write_some};
use crate::engine::{Held, Shared, Suggestion};
use crate::highlight::{self, MentionKind};
use crate::values::{Ambiguous, Diagnostic, Place, Ref, diagnostics, texts};

/// What one editor adds to an engine's names: choices, pastes under check, the caret's settlement.
///
/// It holds no text: every question brings the text it asks about, so that text and answers cannot
/// drift apart.
#[wasm_bindgen]
pub struct Composer {
    pub(crate) held: Rc<Held>,
    pub(crate) draft: RefCell<Draft>,
    pub(crate) fences: RefCell<PasteFences>,
    pub(crate) caret: RefCell<CaretSettlement>,
    /// Counts changes of what this composer adds.
    pub(crate) own_revision: RefCell<u32>,
}

impl Composer {
    pub(crate) fn over(held: Rc<Held>) -> Self {
        Self {
            held,
            draft: RefCell::default(),
            fences: RefCell::default(),
            caret: RefCell::default(),
            own_revision: RefCell::default(),
        }
    }

    pub(crate) fn touch(&self) {
        let mut revision = self.own_revision.borrow_mut();
        *revision = revision.wrapping_add(1);
    }

    /// Calls `ask` with everything that competes in this composer's texts: names, choices, and pasted
    /// labels that are not bound (P-11).
    pub(crate) fn with_scope<T>(&self, ask: impl FnOnce(Scope<'_>, &Shared) -> T) -> T {
        let (shared, draft) = (self.held.get(), self.draft.borrow());
        let fences = self.fences.borrow();
        let mut unbound = fences.unbound().peekable();
        if unbound.peek().is_none() {
            return ask(Scope::new(&shared.roster, &draft), &shared);
        }
        let mut whole: Draft = draft.clone();
        for (label, claim) in unbound {
            whole.push(label, claim);
        }
        ask(Scope::new(&shared.roster, &whole), &shared)
    }

    /// The same for one block's text, channels among the labels.
    pub(crate) fn with_known<T>(&self, ask: impl FnOnce(&Known<'_>) -> T) -> T {
        self.with_scope(|scope, shared| ask(&Known::from(scope).with_channels(&shared.channels)))
    }
}

/// A range of a text that begins at a sign and is owned by one or more equal labels.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Occurrence {
    /// Where the sign stands.
    pub start: usize,
    /// Where the label ends.
    pub end: usize,
    /// The label as it stands in the text.
    pub label: String,
    /// What it stands for.
    #[tsify(type = "MentionKind")]
    pub kind: String,
    /// Where it stands.
    pub place: Place,
    /// Those it names, or where it names nobody the outsiders that own it.
    #[tsify(type = "Id[]")]
    pub ids: Vec<String>,
}

/// Whom a text names.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Reading {
    /// The occurrences, in text order.
    pub occurrences: Vec<Occurrence>,
    /// What the sender should be told, in text order (D-7).
    pub diagnostics: Vec<Diagnostic>,
    /// To be notified, each once; empty while a name is ambiguous.
    #[tsify(type = "Id[]")]
    pub notify: Vec<String>,
    /// Named in quotes only: silent references (E-6).
    #[tsify(type = "Id[]")]
    pub references: Vec<String>,
    /// The first name that stops a send (A-1, P-11).
    #[tsify(optional)]
    pub ambiguous: Option<Ambiguous>,
}

/// One sign and its fate.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct Explained {
    /// Where the sign stands.
    pub start: usize,
    /// Where the name that was read behind it ends.
    pub end: usize,
    /// What becomes of it.
    #[tsify(type = "Fate")]
    pub fate: vocative::Fate,
    /// The identities concerned, sorted.
    #[tsify(type = "Id[]")]
    pub ids: Vec<String>,
    /// What the sender should be told, if anything.
    #[tsify(optional, type = "DiagnosticCode")]
    pub code: Option<vocative::Code>,
}

/// What a message sends, beside its text.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Outgoing {
    /// To be notified: explicit recipients too.
    #[tsify(type = "Id[]")]
    pub notify: Vec<String>,
    /// Referred to without a notice.
    #[tsify(type = "Id[]")]
    pub references: Vec<String>,
    /// Personas that the send has to prepare.
    pub personas: Vec<String>,
    /// What the sender should be told (D-9: nothing of it stops the send).
    pub diagnostics: Vec<Diagnostic>,
    /// The name that stops the send. Where it is set, nothing may be published.
    #[tsify(optional)]
    pub ambiguous: Option<Ambiguous>,
}

/// A draft as it is stored (D-2). Text is stored beside it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Tsify)]
#[serde(default)]
pub struct SavedDraft {
    /// The exact bindings whose labels own text.
    pub refs: Vec<Ref>,
    /// The personas likewise.
    pub personas: Vec<String>,
    /// Pasted labels without a verdict: on reload their checks are expired.
    pub expired: Vec<String>,
}

/// What the picker is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct Trigger {
    /// The text between the sign and the caret.
    pub query: String,
    /// Where the sign stands: what a choice replaces begins here and ends at the caret.
    pub start: usize,
    /// The caret.
    pub end: usize,
}

/// What a choice does to a block's text (S-7): one closed step of the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct Insertion {
    /// Where what is replaced begins.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// What stands there afterwards.
    pub text: String,
    /// Where the caret stands in the new text.
    pub caret: usize,
}

#[wasm_bindgen]
impl Composer {
    /// Changes whenever a label may own other text than before.
    #[wasm_bindgen(getter)]
    pub fn revision(&self) -> f64 {
        f64::from(self.held.revision()) + f64::from(*self.own_revision.borrow())
    }

    /// The owned ranges of a Markdown text, channels among them (G-20).
    #[wasm_bindgen(unchecked_return_type = "Highlights")]
    pub fn highlight(&self, text: &str) -> Vec<u32> {
        self.with_scope(|scope, shared| highlight::highlights(text, &scope.read(text), scope, shared))
    }

    /// The owned ranges of one block's plain text, whose editor knows by itself what is code:
    /// `code` holds two numbers for each range of it.
    #[wasm_bindgen(js_name = highlightBlock, unchecked_return_type = "Highlights")]
    pub fn highlight_block(
        &self,
        text: &str,
        code: Option<Vec<u32>>,
        is_quote: Option<bool>,
    ) -> Answer<Vec<u32>> {
        let contexts =
            block_contexts(text, code.as_deref().unwrap_or_default(), is_quote.unwrap_or_default())?;
        Ok(self.with_scope(|scope, shared| {
            highlight::highlights(text, &scope.read_in(text, contexts), scope, shared)
        }))
    }

    /// What is not prose in a Markdown text (G-17).
    #[wasm_bindgen(unchecked_return_type = "ContextRanges")]
    pub fn contexts(&self, text: &str) -> Vec<u32> {
        highlight::context_ranges(text)
    }

    /// Whom a Markdown text names, and what to tell its writer.
    pub fn read(&self, text: &str) -> Answer<Ts<Reading>> {
        let answer = self.with_scope(|scope, shared| {
            let (reading, positions) = (scope.read(text), Positions::of(text));
            let ambiguous = self.fences.borrow().ambiguous(&reading);
            let recipients = if ambiguous.is_some() { Recipients::default() } else { named(&reading) };
            let occurrences = reading.occurrences().iter().map(|found| {
                let (start, end) = positions.range(found.span);
                Occurrence {
                    start,
                    end,
                    label: found.span.of(text)[1..].to_owned(),
                    kind: MentionKind::of(&found.owners, shared).name().to_owned(),
                    place: found.place.into(),
                    ids: texts(highlight::ids(&found.owners)),
                }
            });
            Reading {
                occurrences: occurrences.collect(),
                diagnostics: diagnostics(&reading, &positions),
                notify: texts(&recipients.keys),
                references: texts(&recipients.references),
                ambiguous: ambiguous.map(|error| Ambiguous::of(&error, &positions)),
            }
        });
        write(&answer)
    }

    /// The fate of every sign, in text order.
    pub fn explain(&self, text: &str) -> Answer<Vec<Ts<Explained>>> {
        self.with_scope(|scope, _| {
            let (reading, positions) = (scope.read(text), Positions::of(text));
            let explained = reading.explain().map(|sign| {
                let (start, end) = positions.range(sign.span);
                Explained { start, end, fate: sign.fate, ids: texts(&sign.keys), code: sign.code }
            });
            write_all(explained)
        })
    }

    /// What sending this text publishes (E). `sender` becomes a reference (E-8); `explicit` are
    /// recipients that were named beside the text (E-7). While a name is ambiguous there is none, and
    /// nothing in the composer changes.
    pub fn compose(
        &self,
        text: &str,
        #[wasm_bindgen(unchecked_param_type = "Id")] sender: &str,
        #[wasm_bindgen(unchecked_optional_param_type = "Id[]")] explicit: Option<Vec<String>>,
    ) -> Answer<Ts<Outgoing>> {
        let sender = id(sender)?;
        let explicit =
            explicit.unwrap_or_default().iter().map(|text| id(text)).collect::<Answer<Vec<_>>>()?;
        let outgoing = self.with_scope(|scope, _| {
            let (reading, positions) = (scope.read(text), Positions::of(text));
            let ambiguous = self.fences.borrow().ambiguous(&reading);
            let recipients = match ambiguous {
                Some(_) => Recipients::default(),
                None => named(&reading).with_explicit(&explicit).without_sender(&sender),
            };
            Outgoing {
                notify: texts(&recipients.keys),
                references: texts(&recipients.references),
                personas: reading.live_personas(),
                diagnostics: diagnostics(&reading, &positions),
                ambiguous: ambiguous.map(|error| Ambiguous::of(&error, &positions)),
            }
        });
        write(&outgoing)
    }

    /// The query that the caret stands behind, if the picker opens there (S-1, S-2). `text` is one
    /// block's; whether the caret stands in code the editor knows (S-3).
    pub fn trigger(&self, text: &str, caret: usize) -> Answer<Option<Ts<Trigger>>> {
        let positions = Positions::of(text);
        let caret = positions.bytes(caret)?;
        write_some(self.with_known(|known| {
            let found = vocative::trigger::trigger(text, caret, known)?;
            let (start, end) = positions.range(found.span);
            Some(Trigger { query: found.query.to_owned(), start, end })
        }))
    }

    /// What writing a mention of `label` over a range of one block's text does (S-7).
    pub fn insertion(&self, text: &str, from: usize, to: usize, label: &str) -> Answer<Ts<Insertion>> {
        let span = Positions::of(text).span(from, to)?;
        write(&self.with_known(|known| {
            let inserted = Inserted::new(text, span, label, known);
            let caret = Positions::of(&inserted.apply(text)).units(inserted.caret);
            Insertion { from, to, text: inserted.text, caret }
        }))
    }

    /// The row that Space commits: the only one whose name is exactly the query, where no known label
    /// goes on with a space (S-6).
    #[wasm_bindgen(js_name = onSpace)]
    pub fn on_space(&self, query: &str) -> Answer<Option<Ts<Suggestion>>> {
        let shared = self.held.get();
        write_some(self.with_known(|known| shared.suggestions.on_space(query, known).map(Suggestion::of)))
    }

    /// A choice in the picker: reserves a label for the identity, binds it, and retires the
    /// pastes that still verify it (P-6). `text` is the draft's without the query that the choice
    /// replaces.
    pub fn pick(
        &self,
        name: &str,
        #[wasm_bindgen(unchecked_param_type = "Id")] of: &str,
        text: &str,
    ) -> Answer<String> {
        let of = id(of)?;
        let label = self.with_scope(|scope, _| vocative::reserve(scope, name, &of, Some(text)));
        {
            let mut fences = self.fences.borrow_mut();
            fences.claim(name);
            fences.claim(&label);
            let mut draft = self.draft.borrow_mut();
            draft.bind(&label, of);
            draft.make_room(text);
        }
        self.touch();
        Ok(label)
    }

    /// A persona chosen in the picker: its label stands for nobody until the send prepares it.
    #[wasm_bindgen(js_name = pickPersona)]
    pub fn pick_persona(&self, name: &str, text: &str) -> String {
        let name = vocative::label::trim(name);
        self.fences.borrow_mut().claim(name);
        let mut draft = self.draft.borrow_mut();
        let is_there = draft.claims_of(name).any(|(_, claim)| *claim == Claim::Persona);
        if !is_there {
            draft.push(name, Claim::Persona);
        }
        draft.make_room(text);
        drop(draft);
        self.touch();
        name.to_owned()
    }

    /// The choices of this draft whatever its text, in the order of the map.
    pub fn bindings(&self) -> Answer<Vec<Ts<Ref>>> {
        let (draft, shared) = (self.draft.borrow(), self.held.get());
        let bindings = draft.bindings();
        write_all(bindings.map(|(label, id)| reference(label, id, &shared)))
    }

    /// The draft as it is stored (D-2).
    pub fn save(&self, text: &str) -> Answer<Ts<SavedDraft>> {
        let expired = {
            let fences = self.fences.borrow();
            fences.unbound().map(|(label, _)| label.to_owned()).collect()
        };
        write(&self.with_scope(|scope, shared| {
            let reading = scope.read(text);
            let refs = reading.refs();
            SavedDraft {
                refs: refs.iter().map(|found| reference(&found.label, &found.id, shared)).collect(),
                personas: reading.live_personas(),
                expired,
            }
        }))
    }

    /// Takes a stored draft; what was here is gone.
    pub fn restore(&self, saved: Ts<SavedDraft>) -> Answer<()> {
        let saved = read(&saved)?;
        let mut fresh = Draft::new();
        for found in &saved.refs {
            fresh.bind(&found.label, id(&found.id)?);
        }
        for persona in &saved.personas {
            fresh.push(persona, Claim::Persona);
        }
        for label in &saved.expired {
            fresh.push(label, Claim::Expired);
        }
        self.replace(fresh);
        Ok(())
    }

    /// Takes the refs of a message that is opened for editing; an equal choice beats them (D-3).
    #[wasm_bindgen(js_name = openEdit)]
    pub fn open_edit(&self, refs: Vec<Ts<Ref>>) -> Answer<()> {
        let mut fresh = Draft::new();
        for found in &read_all(&refs)? {
            fresh.push(&found.label, Claim::Fallback(id(&found.id)?));
        }
        self.replace(fresh);
        Ok(())
    }

    /// Empties the composer: every choice is gone and every paste is retired (P-6).
    pub fn clear(&self) {
        self.replace(Draft::new());
    }

    fn replace(&self, fresh: Draft) {
        *self.draft.borrow_mut() = fresh;
        self.fences.borrow_mut().clear();
        *self.caret.borrow_mut() = CaretSettlement::new();
        self.touch();
    }

    /// The HTML flavour of a copied range of the text, none where it holds no mention that can be
    /// told: the browser copies by itself then (P-1).
    #[wasm_bindgen(js_name = copyHtml)]
    pub fn copy_html(
        &self,
        text: &str,
        from: usize,
        to: usize,
        #[wasm_bindgen(unchecked_param_type = "\"markdown\" | \"rich\"")] kind: &str,
    ) -> Answer<Option<String>> {
        let span = Positions::of(text).span(from, to)?;
        let kind = vocative::clipboard::CopyKind::from_marker(kind)
            .ok_or_else(|| error("bad_copy_kind", "a copy is `markdown` or `rich`"))?;
        Ok(self.with_scope(|scope, shared| {
            let reading = scope.read(text);
            let records = reading.occurrences().iter().flat_map(|found| {
                let label = &found.span.of(text)[1..];
                found.owners.keys.iter().filter_map(move |id| {
                    let kind = crate::values::kind(shared.agents.contains(id));
                    Some(vocative::clipboard::Record { label: label.to_owned(), key: id.key()?, kind })
                })
            });
            let records: Vec<_> = records.collect();
            vocative::clipboard::build(span.of(text), &records, &[], kind)
        }))
    }

    /// What saving a replacement of a published message publishes (X). The message's own tags say what
    /// its names meant; this composer says what the writer means now.
    #[wasm_bindgen(js_name = submitEdit)]
    pub fn submit_edit(
        &self,
        original: Ts<crate::message::Published>,
        text: &str,
        #[wasm_bindgen(unchecked_param_type = "Key")] sender: &str,
    ) -> Answer<Ts<crate::message::Submission>> {
        let (original, sender) = (read(&original)?, key(sender)?);
        write(&self.with_scope(|scope, shared| {
            let saved = match self.fences.borrow().ambiguous(&scope.read(text)) {
                Some(ambiguous) => Err(ambiguous),
                None => crate::message::submit(&original, text, scope, &shared.profiles, sender),
            };
            saved.unwrap_or_else(|ambiguous| crate::message::Submission {
                ambiguous: Some(Ambiguous::of(&ambiguous, &Positions::of(text))),
                ..crate::message::Submission::default()
            })
        }))
    }
}

fn named(reading: &vocative::Reading<'_>) -> Recipients {
    // The fences have asked for ambiguity before, and by more than the reading knows.
    reading.recipients().unwrap_or_default()
}

fn reference(label: &str, id: &vocative::Id, shared: &Shared) -> Ref {
    Ref { label: label.to_owned(), id: id.to_string(), is_agent: shared.agents.contains(id) }
}

/// The contexts of one block, as its editor knows them.
fn block_contexts(text: &str, code: &[u32], is_quote: bool) -> Answer<Contexts> {
    if code.is_empty() && !is_quote {
        return Ok(Contexts::all_prose());
    }
    let positions = Positions::of(text);
    let mut ranges = Vec::new();
    for pair in code.chunks_exact(2) {
        ranges.push((positions.span(pair[0] as usize, pair[1] as usize)?, Context::Code));
    }
    if is_quote {
        ranges.extend(vocative::Span::new(text, 0..text.len()).map(|whole| (whole, Context::Quote)));
    }
    Ok(Contexts::of_ranges(ranges))
}
