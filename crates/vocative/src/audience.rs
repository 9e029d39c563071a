//! Automatic addressing: identities that every message of a composer is addressed to (W).
//!
//! An [`Audience`] is a value. It is told what happened, answers what to do to the draft, and never
//! reserves a label by itself: the caller does that by R-1 and passes the result in. Whether a key
//! is present is decided by ownership, so a label of the same name never stands for it.

use std::collections::HashSet;

use crate::draft::Binding;
use crate::form::form;
use crate::history::ResolvedNames;
use crate::id::{Id, Key};
use crate::label::trim;
use crate::limits;
use crate::offset::Span;
use crate::reading::Reading;

mod place;
mod scopes;

pub use scopes::{AudienceScope, Audiences};

/// A change of a draft's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// What is replaced; empty for an insertion.
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}

/// Where the caret goes when a change has been made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaretMove {
    /// It stays where it is in the writer's own words, however they were shifted.
    #[default]
    Stays,
    /// To the end of the draft.
    End,
}

/// What to do to a draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The edit of the text, if any.
    pub edit: Option<TextEdit>,
    /// Labels to bind in the draft.
    pub bindings: Vec<Binding>,
    /// What becomes of the caret.
    pub caret: CaretMove,
}

impl Change {
    /// The text after the change.
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(edit) = &self.edit {
            text.replace_range(edit.span.bytes(), &edit.text);
        }
        text
    }
}

/// Counts the explicit changes of an audience (W-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AudienceRevision(u64);

/// Text that was put into a draft without being typed (W-2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Whom it addresses.
    pub id: Id,
    /// The sign, the label and one space; then a blank line where the draft begins with a block whose
    /// meaning would change behind other text.
    pub prefix: String,
}

/// The automatic addressing of one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience {
    /// In the order of adding.
    addressed: Vec<Id>,
    excluded: HashSet<Id>,
    revision: AudienceRevision,
    /// In text order, the last one added first.
    generated: Vec<Generated>,
    /// Keys that owned text when the draft was last looked at.
    present: HashSet<Id>,
}

impl Audience {
    /// An audience of nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everyone who is addressed and not excluded, in the order of adding.
    pub fn addressed(&self) -> impl Iterator<Item = &Id> {
        let addressed = self.addressed.iter();
        addressed.filter(|id| !self.excluded.contains(*id))
    }

    /// Whether a key was excluded.
    pub fn is_excluded(&self, id: &Id) -> bool {
        self.excluded.contains(id)
    }

    /// The number of explicit changes, to be remembered by an asynchronous promotion (W-1).
    pub fn revision(&self) -> AudienceRevision {
        self.revision
    }

    /// Adds an identity (W-2). `label` was reserved for it by R-1; where the draft refers to it under
    /// that label already, its text stays as it is.
    pub fn add(&mut self, id: &Id, label: &str, reading: &Reading<'_>) -> Change {
        self.include(id);
        self.touch();
        let mut refs = reading.refs().into_iter();
        let is_there = refs.any(|binding| binding.id == *id && is_equal(&binding.label, label));
        let wanted = Binding { label: label.to_owned(), id: id.clone() };
        if is_there {
            self.look(reading);
            return Change { bindings: vec![wanted], ..Change::default() };
        }
        self.prepend(reading, vec![wanted])
    }

    /// Takes the answer of an asynchronous promotion that began at `since` (W-1). An older one is
    /// dropped: false.
    pub fn promote(&mut self, since: AudienceRevision, ids: &[Id]) -> bool {
        if since != self.revision {
            return false;
        }
        for id in ids {
            self.include(id);
        }
        self.touch();
        true
    }

    /// The draft's text has changed (W-3): an addressed key that owned text and owns none now is
    /// excluded. Returns those.
    pub fn text_changed(&mut self, reading: &Reading<'_>) -> Vec<Id> {
        let now = present(reading);
        let gone = self
            .addressed
            .iter()
            .filter(|id| self.present.contains(*id) && !now.contains(*id) && !self.excluded.contains(*id));
        let gone: Vec<Id> = gone.cloned().collect();
        self.generated.retain(|generated| now.contains(&generated.id));
        self.present = now;
        if !gone.is_empty() {
            self.excluded.extend(gone.iter().cloned());
            self.touch();
        }
        gone
    }

    /// The composer was emptied by a send, or shows another draft: nobody is excluded for it.
    pub fn draft_replaced(&mut self, reading: &Reading<'_>) {
        self.generated.clear();
        self.look(reading);
    }

    /// Excludes a key and takes its mention at the very start with it (W-4), if that is the key's
    /// alone and every other name keeps its text and its owner.
    pub fn remove(&mut self, id: &Id, reading: &Reading<'_>) -> Change {
        self.unpin(id);
        let edit = place::leading_mention(id, reading);
        if edit.is_some() {
            self.generated.retain(|generated| generated.id != *id);
        }
        let change = Change { edit, ..Change::default() };
        let text = change.apply(reading.text);
        self.look(&reading.scope.read(&text));
        change
    }

    /// Excludes a key; the text stays (W-4).
    pub fn unpin(&mut self, id: &Id) {
        self.excluded.insert(id.clone());
        self.touch();
    }

    /// The addressed keys that no label in the draft is bound to (W-5). The caller reserves a label
    /// for each, one after the other, and passes them to [`Audience::restore`].
    pub fn missing(&self, reading: &Reading<'_>) -> Vec<Id> {
        let present = present(reading);
        let missing = self.addressed().filter(|id| !present.contains(*id));
        missing.cloned().collect()
    }

    /// Puts the missing labels at the start of the draft (W-5). Any exact ref in the text wins over
    /// the label given here, and nothing is inserted for it.
    pub fn restore(&mut self, reading: &Reading<'_>, reserved: &[Binding]) -> Change {
        let missing: HashSet<Id> = self.missing(reading).into_iter().collect();
        let mut seen = HashSet::new();
        let wanted = reserved.iter();
        let wanted = wanted.filter(|binding| missing.contains(&binding.id));
        let wanted: Vec<Binding> =
            wanted.filter(|binding| seen.insert(binding.id.clone())).cloned().collect();
        if wanted.is_empty() {
            self.look(reading);
            return Change::default();
        }
        self.prepend(reading, wanted)
    }

    /// What was put before the writer's own words (W-6).
    pub fn generated_prefix(&self) -> String {
        let prefixes = self.generated.iter();
        prefixes.map(|generated| generated.prefix.as_str()).collect()
    }

    /// Where each piece of generated text came from, in text order.
    pub fn generated(&self) -> &[Generated] {
        &self.generated
    }

    /// The writer's own words (W-6).
    pub fn strip<'t>(&self, text: &'t str) -> &'t str {
        strip_prefix(text, &self.generated_prefix())
    }

    /// Whom a send is addressed to (W-7).
    pub fn send_audience(&self, explicit: &[Id]) -> Vec<Id> {
        merge_recipients(explicit, &self.addressed, &self.excluded)
    }

    fn include(&mut self, id: &Id) {
        self.excluded.remove(id);
        if !self.addressed.contains(id) {
            self.addressed.push(id.clone());
        }
    }

    fn touch(&mut self) {
        self.revision.0 += 1;
    }

    fn look(&mut self, reading: &Reading<'_>) {
        self.present = present(reading);
    }

    /// Puts `@LABEL ` for each binding at the very start, and remembers that it was generated.
    fn prepend(&mut self, reading: &Reading<'_>, bindings: Vec<Binding>) -> Change {
        let mut generated: Vec<Generated> = bindings
            .iter()
            .map(|binding| Generated {
                id: binding.id.clone(),
                prefix: format!("@{} ", trim(&binding.label)),
            })
            .collect();
        let text = place::prefix(reading, &bindings, &mut generated);
        let caret = if reading.text.is_empty() { CaretMove::End } else { CaretMove::Stays };
        self.generated.splice(0..0, generated);
        self.generated.truncate(limits::BINDINGS);
        // What is inserted was never seen gone, and what stood there stands still.
        self.look(reading);
        self.present.extend(bindings.iter().map(|b| b.id.clone()));
        Change { edit: Some(TextEdit { span: Span::at(0, 0), text }), bindings, caret }
    }
}

fn is_equal(a: &str, b: &str) -> bool {
    form(trim(a)) == form(trim(b))
}

/// Everyone to whom an owning label is bound (W-3).
fn present(reading: &Reading<'_>) -> HashSet<Id> {
    let occurrences = reading.occurrences().iter();
    let bound = occurrences.filter(|occurrence| occurrence.owners.is_selected);
    bound.flat_map(|occurrence| occurrence.owners.keys.iter().cloned()).collect()
}

/// The recipients of a send (W-7): the explicit ones, then the audience without those excluded, each
/// once. Exclusion never removes an explicit recipient.
pub fn merge_recipients(explicit: &[Id], addressed: &[Id], excluded: &HashSet<Id>) -> Vec<Id> {
    let addressed = addressed.iter().filter(|id| !excluded.contains(*id));
    let mut seen = HashSet::new();
    let all = explicit.iter().chain(addressed);
    all.filter(|id| seen.insert(*id)).cloned().collect()
}

/// The text without a generated prefix (W-6): where it begins with exactly that, or is that without
/// its last space. Authored duplicates stay.
pub fn strip_prefix<'t>(content: &'t str, prefix: &str) -> &'t str {
    if prefix.strip_suffix(' ').is_some_and(|bare| content == bare) {
        return "";
    }
    content.strip_prefix(prefix).unwrap_or(content)
}

/// The addressed keys that the tray of a published message shows (W-8): those the body does not name
/// in the writer's own words.
pub fn tray(body: &str, addressed: &[Key], names: &ResolvedNames) -> Vec<Key> {
    let named = names.in_prose(body);
    let shown = addressed.iter().copied();
    crate::wire::once(shown.filter(|key| !named.contains(key)))
}

#[cfg(test)]
mod tests;
