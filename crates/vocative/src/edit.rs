//! Edits of a published message: whom a replacement body refers to, and which edit counts (X).
//!
//! A replacement is read with what the writer chooses now; the body it replaces is read with its own
//! tags only. Historical identities that nothing resolves stay references while their old label
//! still stands, and are never bound.

use std::collections::{HashMap, HashSet};

use crate::draft::{Binding, Claim, Draft};
use crate::explain::Diagnostic;
use crate::form::form;
use crate::history::{History, Opened, Profiles, identity_keys};
use crate::id::{Id, Key};
use crate::reading::{Ambiguous, Reading, Scope};
use crate::roster::Roster;
use crate::wire::{MentionTags, Publication, Reference, SNAPSHOT, Tag, WireError};
use crate::wire::{has_snapshot, name, once, recipient};

/// A message as it was published: an original, or the latest edit laid over it.
#[derive(Clone, Copy, Debug)]
pub struct Published<'m> {
    /// The body.
    pub body: &'m str,
    /// The tags.
    pub tags: &'m [Tag],
    /// The profiles of those it may name, and of the community as far as it is known (H-4).
    pub profiles: &'m Profiles,
}

impl Published<'_> {
    /// What the names in the body stand for.
    pub fn history(&self) -> History {
        History::read(self.tags, self.profiles, self.body)
    }
}

/// A replacement that is about to be saved.
#[derive(Clone, Copy)]
pub struct Replacement<'r> {
    /// The new body.
    pub body: &'r str,
    /// The selections and personas of the composer. Fallback refs are not read: the message is
    /// opened again from its tags, so that they cannot be stale.
    pub draft: &'r Draft,
    /// The channel's names.
    pub roster: &'r Roster,
    /// Who saves it.
    pub sender: Key,
    /// Whether a typed name of a member reaches it; a caller may turn that off (E-7).
    pub typed_names: bool,
    /// Recipients named beside the text, whom it need not name (E-7).
    pub explicit: &'r [Id],
}

/// What saving a replacement publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Submission {
    /// Everyone the new body refers to, each once: the list behind the marker.
    pub references: Vec<Key>,
    /// Those to be revalidated and tagged `p`, each once.
    pub notify: Vec<Key>,
    /// The bindings of the new body, to restore when a refusal comes back.
    pub refs: Vec<Binding>,
    /// What the sender should be told about the names of the new body (D-7).
    pub diagnostics: Vec<Diagnostic>,
}

impl Submission {
    /// The mention tags of the edit event.
    ///
    /// # Errors
    /// More recipients or references than an event may have (T-5).
    pub fn tags(&self) -> Result<MentionTags, WireError> {
        MentionTags::new(Publication::Edit, &self.notify, Some(&self.references), &[])
    }

    /// Who was newly added, for the notice that nothing rings and that a new message or a forward
    /// would notify. `before` are the tags the message had.
    pub fn newly_added(&self, before: &[Tag]) -> Vec<Key> {
        let known: HashSet<Key> = identity_keys(before).into_iter().collect();
        let added = self.notify.iter().copied();
        added.filter(|key| !known.contains(key)).collect()
    }
}

/// Reads a replacement of a published message.
///
/// # Errors
/// The first ambiguous name of the new body; nothing has been cleared then.
pub fn submit(original: Published<'_>, replacement: Replacement<'_>) -> Result<Submission, Ambiguous> {
    let history = original.history();
    let opened = history.open();
    let old_labels = OldLabels::new(&history, &opened.unresolved);
    let draft = compose(&opened, replacement.draft, &old_labels);
    let typed_names = replacement.typed_names;
    let scope = Scope { roster: replacement.roster, draft: &draft, typed_names };
    let reading = scope.read(replacement.body);
    let extracted = reading.recipients()?.with_explicit(replacement.explicit);

    let refs = reading.refs();
    let is_unchanged =
        original.body == replacement.body && refs == opened.refs && reading.live_personas().is_empty();
    let standing = old_labels.standing(&reading, replacement.draft);
    let kept = opened
        .unresolved
        .iter()
        .copied()
        .filter(|key| if old_labels.has(key) { standing.contains(key) } else { is_unchanged });

    let mut audience: HashSet<Key> = HashSet::new();
    if opened.unresolved.is_empty() {
        audience.extend(keys(opened.refs.iter().map(|binding| &binding.id)));
    }
    audience.insert(replacement.sender);
    let notify = once(keys(&extracted.keys).filter(|key| !audience.contains(key)));
    let references = keys(refs.iter().map(|binding| &binding.id))
        .chain(kept)
        .chain(notify.iter().copied())
        .chain(keys(&extracted.references))
        .chain(keys(replacement.explicit));
    Ok(Submission { references: once(references), notify, refs, diagnostics: reading.diagnostics() })
}

fn keys<'i>(ids: impl IntoIterator<Item = &'i Id>) -> impl Iterator<Item = Key> {
    ids.into_iter().filter_map(Id::key)
}

/// The labels by which unresolved identities stood in the original.
struct OldLabels {
    /// By form: a spelling, and everyone it could have meant.
    by_form: HashMap<String, (String, Vec<Key>)>,
    bearers: HashSet<Key>,
}

impl OldLabels {
    fn new(history: &History, unresolved: &[Key]) -> Self {
        let owning = history.owning_labels();
        let mut by_form: HashMap<String, (String, Vec<Key>)> = HashMap::new();
        let mut bearers = HashSet::new();
        for key in unresolved {
            for label in owning.get(key).into_iter().flatten() {
                let old = by_form.entry(form(label)).or_default();
                if old.1.is_empty() {
                    (*label).clone_into(&mut old.0);
                }
                old.1.push(*key);
                bearers.insert(*key);
            }
        }
        Self { by_form, bearers }
    }

    fn has(&self, key: &Key) -> bool {
        self.bearers.contains(key)
    }

    /// Those with an old label that still owns text and that no current choice supersedes.
    fn standing(&self, reading: &Reading<'_>, current: &Draft) -> HashSet<Key> {
        let is_superseded = |label: &str| {
            let mut equal = current.claims_of(label);
            equal.any(|(_, claim)| matches!(claim, Claim::Selected(_) | Claim::Persona))
        };
        let live = reading.live_claims().into_iter();
        let live = live.filter(|(label, claim)| matches!(claim, Claim::Competing) && !is_superseded(label));
        live.filter_map(|(label, _)| self.by_form.get(&form(label)))
            .flat_map(|(_, keys)| keys.iter().copied())
            .collect()
    }
}

/// The labels that compete in the new body: the selected map of X-1, personas, old labels.
fn compose(opened: &Opened, current: &Draft, old_labels: &OldLabels) -> Draft {
    let mut draft = Draft::new();
    for binding in &opened.refs {
        let mut equal = current.claims_of(&binding.label);
        let is_chosen = equal.any(|(_, claim)| matches!(claim, Claim::Selected(_)));
        let mut equal = current.claims_of(&binding.label);
        let is_persona = equal.any(|(_, claim)| matches!(claim, Claim::Persona));
        // A persona of that label beats a restored identity (D-3).
        if is_chosen || !is_persona {
            draft.bind(&binding.label, binding.id.clone());
        }
    }
    for (label, claim) in current.claims() {
        match claim {
            Claim::Selected(id) => draft.bind(label, id.clone()),
            Claim::Fallback(_) => {}
            Claim::Persona | Claim::Competing | Claim::Expired | Claim::Outsider(_) => {
                draft.push(label, claim.clone());
            }
        }
    }
    let mut old: Vec<&str> = old_labels.by_form.values().map(|old| &*old.0).collect();
    old.sort_unstable();
    for label in old {
        draft.push(label, Claim::Competing);
    }
    draft
}

/// Whom an edit added: those of `edited` that `original` does not hold, without the sender.
pub fn added_on_edit(original: &[Key], edited: &[Key], sender: Key) -> Vec<Key> {
    let known: HashSet<Key> = original.iter().copied().chain([sender]).collect();
    once(edited.iter().copied().filter(|key| !known.contains(key)))
}

/// The tags of a message with an edit laid over it.
pub fn overlay(original: &[Tag], edit: &[Tag]) -> Vec<Tag> {
    let of_edit = |wanted: &'static str| edit.iter().filter(move |tag| name(tag) == wanted);
    let replaces_emoji = of_edit("emoji").next().is_some();
    let replaces_references = has_snapshot(edit);
    let is_authored = |tag: &Tag| name(tag) == "mention" && tag.len() == 2;
    let stays = |tag: &&Tag| match name(tag) {
        "imeta" => false,
        "emoji" => !replaces_emoji,
        SNAPSHOT => !replaces_references,
        _ => !(replaces_references && is_authored(tag)),
    };
    let mut tags: Vec<Tag> = original.iter().filter(stays).cloned().collect();
    let mut notified: HashSet<Key> = tags.iter().filter_map(|tag| recipient(tag)).collect();
    tags.extend(of_edit("imeta").cloned());
    tags.extend(of_edit("emoji").cloned());
    let is_new = |tag: &&Tag| recipient(tag).is_some_and(|key| notified.insert(key));
    tags.extend(edit.iter().filter(is_new).cloned());
    if replaces_references {
        tags.push(vec![SNAPSHOT.to_owned()]);
        let references = edit.iter().filter_map(|tag| Reference::of(tag));
        let authored = references.filter_map(Reference::named);
        tags.extend(authored.map(|key| Reference::Named(key).to_tag()));
    }
    tags
}

/// An edit event, as far as its rank depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EditEvent<'e> {
    /// Its id, lower-case hex.
    pub id: &'e str,
    /// Who signed it.
    pub author: Key,
    /// When, in seconds, as the event says.
    pub created_at: u64,
}

/// The place of the edit that counts: the latest by the author of the message, or by the
/// owner of the agent that wrote it; at equal times the one with the lower id.
pub fn counting<'e>(
    author: Key,
    agent_owner: Option<Key>,
    edits: impl IntoIterator<Item = EditEvent<'e>>,
) -> Option<usize> {
    allowed(author, agent_owner, edits).max_by_key(|(_, edit)| edit.rank()).map(|(at, _)| at)
}

/// The places of all edits that have counted or count, the one that counts last.
pub fn versions<'e>(
    author: Key,
    agent_owner: Option<Key>,
    edits: impl IntoIterator<Item = EditEvent<'e>>,
) -> Vec<usize> {
    let mut versions: Vec<_> = allowed(author, agent_owner, edits).collect();
    versions.sort_by_key(|(_, edit)| edit.rank());
    versions.into_iter().map(|(at, _)| at).collect()
}

fn allowed<'e>(
    author: Key,
    agent_owner: Option<Key>,
    edits: impl IntoIterator<Item = EditEvent<'e>>,
) -> impl Iterator<Item = (usize, EditEvent<'e>)> {
    let edits = edits.into_iter().enumerate();
    edits.filter(move |(_, edit)| edit.author == author || Some(edit.author) == agent_owner)
}

impl<'e> EditEvent<'e> {
    /// Of two edits the one with the greater rank counts.
    pub fn rank(&self) -> (u64, std::cmp::Reverse<&'e str>) {
        (self.created_at, std::cmp::Reverse(self.id))
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
