//! What the names in a published text stand for: its tags say who may be meant (H-1 to H-9).
//!
//! Body text alone authorises nobody. Every alias of every tagged identity competes, with the names
//! of known identities that are not tagged; a name is bound only where one candidate remains.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::context::{Context, Contexts};
use crate::draft::Binding;
use crate::form::form;
use crate::id::{Id, Key};
use crate::index::LabelIndex;
use crate::label::{matchable, trim};
use crate::offset::Span;
use crate::reading::Place;
use crate::scan::{Layer, Scan};
use crate::wire::{RangeHint, Reference, Tag, has_snapshot, once, recipient};

mod qualified;
mod resolved;

pub use resolved::ResolvedNames;

/// The names an identity goes by (H-2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// The display name.
    pub display_name: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The NIP-05 handle, `local@domain`.
    pub nip05: Option<String>,
}

/// Known profiles: those of the tagged identities, and of the community, whose names block (H-4).
pub type Profiles = BTreeMap<Key, Profile>;

impl Profile {
    /// The aliases (H-2): display name, name, local part of the handle; trimmed, equal ones once.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        let handle = self.nip05.as_deref().and_then(|nip05| nip05.split_once('@'));
        let handle = handle.map(|(local, _)| trim(local)).filter(|&l| l != "_");
        let names = [&self.display_name, &self.name].map(|name| name.as_deref().map(trim));
        let mut seen: SmallVec<[String; 3]> = SmallVec::new();
        let aliases = names.into_iter().chain([handle]).flatten();
        aliases.filter(move |alias| {
            let form = form(alias);
            let is_new = !alias.is_empty() && !seen.contains(&form);
            if is_new {
                seen.push(form);
            }
            is_new
        })
    }
}

/// The identities a message may name (H-1), in tag order, each once. The order means nothing.
pub fn identity_keys(tags: &[Tag]) -> Vec<Key> {
    if has_snapshot(tags) {
        let references = tags.iter().filter_map(|tag| Reference::of(tag));
        return once(references.filter_map(Reference::named));
    }
    let of_tag = |tag: &Tag| recipient(tag).or_else(|| Reference::of(tag).map(Reference::key));
    once(tags.iter().filter_map(of_tag))
}

/// A published text with everything its names could mean.
#[derive(Clone, Debug)]
pub struct History {
    tagged: Vec<Key>,
    /// Every label that competes, once for each form.
    labels: Vec<Label>,
    /// Labels in the order of `names` (H-5).
    order: Vec<usize>,
    occurrences: Vec<Found>,
}

/// A label of the competition.
#[derive(Clone, Debug)]
struct Label {
    form: String,
    /// The first spelling, by the order of H-5.
    spelling: String,
    /// The tagged identities it could mean.
    keys: SmallVec<[Key; 1]>,
    /// The one that remains (H-6).
    bound: Option<Key>,
    /// The identity a qualified label spells out; it is an alias of that one where it wins (H-3).
    qualifies: Option<Qualifies>,
    owns: bool,
}

#[derive(Clone, Debug)]
struct Qualifies {
    key: Key,
    base: String,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    span: Span,
    place: Place,
    label: usize,
}

/// A range of a published text that a known name owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryOccurrence<'h> {
    /// The range, the sign included.
    pub span: Span,
    /// Where it stands.
    pub place: Place,
    /// The name, in its first spelling (H-5).
    pub label: &'h str,
    /// Whom it is bound to. A renderer leaves an unbound range as literal text (H-7).
    pub key: Option<Key>,
}

/// A message opened for editing (H-8).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// Each bound name that owns text, in text order.
    pub refs: Vec<Binding>,
    /// Identities without such a name, in tag order. The order means nothing.
    pub unresolved: Vec<Key>,
}

#[derive(Default)]
struct Competition {
    labels: Vec<Label>,
    by_form: HashMap<String, usize>,
    index: LabelIndex,
    /// The label of each slot.
    slots: Vec<usize>,
}

impl Competition {
    /// The label equal to `spelling`, made where it is new.
    fn label(&mut self, spelling: &str) -> usize {
        let form = form(spelling);
        if let Some(&at) = self.by_form.get(&form) {
            return at;
        }
        let at = self.labels.len();
        // A label that can never match (G-9) is still an alias; it owns nothing.
        if matches!(matchable(spelling), Ok(Some(_))) {
            let slot = self.index.insert(&form);
            debug_assert_eq!(slot.0 as usize, self.slots.len());
            self.slots.push(at);
        }
        self.labels.push(Label {
            form: form.clone(),
            spelling: spelling.to_owned(),
            keys: SmallVec::new(),
            bound: None,
            qualifies: None,
            owns: false,
        });
        self.by_form.insert(form, at);
        at
    }
}

impl History {
    /// Reads a published text with its tags. `profiles` may hold more identities than the tagged
    /// ones: the names of the others compete and bind nobody (H-4).
    pub fn read(tags: &[Tag], profiles: &Profiles, content: &str) -> Self {
        let tagged = identity_keys(tags);
        let mut sorted = tagged.clone();
        sorted.sort_unstable();
        let mut competition = Competition::default();
        let mut aliases: Vec<Vec<usize>> = Vec::with_capacity(sorted.len());
        for key in &sorted {
            let names = profiles.get(key).into_iter().flat_map(Profile::aliases);
            let names: Vec<usize> = names.map(|name| competition.label(name)).collect();
            for &at in &names {
                competition.labels[at].keys.push(*key);
            }
            aliases.push(names);
        }
        let others = profiles.iter().filter(|(key, _)| sorted.binary_search(key).is_err());
        let blockers: Vec<usize> =
            others.flat_map(|(_, profile)| profile.aliases()).map(|name| competition.label(name)).collect();
        for found in qualified::candidates(content, &sorted, profiles) {
            let at = competition.label(found.literal);
            let (key, base) = (found.key, form(found.base));
            competition.labels[at].qualifies = Some(Qualifies { key, base });
        }
        let occurrences = competition.compete(content);
        let Competition { mut labels, .. } = competition;

        // A qualified label is an alias where it wins, spelled as it first stands there.
        for found in &occurrences {
            let label = &mut labels[found.label];
            let is_first = !std::mem::replace(&mut label.owns, true);
            let Some(key) = label.qualifies.as_ref().map(|q| q.key).filter(|_| is_first) else {
                continue;
            };
            if label.keys.is_empty() {
                found.span.of(content)[1..].clone_into(&mut label.spelling);
            }
            if !label.keys.contains(&key) {
                label.keys.push(key);
                let of_key = sorted.binary_search(&key).expect("only tagged keys qualify");
                aliases[of_key].push(found.label);
            }
        }
        bind(&mut labels);
        let mut seen = HashSet::new();
        let owners = blockers.into_iter().filter(|&at| labels[at].owns);
        let order = aliases.into_iter().flatten().chain(owners);
        let order = order.filter(|at| seen.insert(*at)).collect();
        Self { tagged, labels, order, occurrences }
    }

    /// Every known name in the order of H-5; none where no tagged identity has a name.
    pub fn names(&self) -> Option<Vec<&str>> {
        let names = self.order.iter().map(|&at| self.labels[at].spelling.as_str());
        self.has_alias().then(|| names.collect())
    }

    /// The names that stand for one identity, by their form (H-5, H-6); none where no tagged
    /// identity has a name. An empty map means that all are unbound.
    pub fn by_name(&self) -> Option<BTreeMap<&str, Key>> {
        let bound = self.labels.iter();
        let bound = bound.filter_map(|label| Some((label.form.as_str(), label.bound?)));
        self.has_alias().then(|| bound.collect())
    }

    fn has_alias(&self) -> bool {
        self.labels.iter().any(|label| !label.keys.is_empty())
    }

    /// The identities the message may name (H-1), in tag order.
    pub fn identity_keys(&self) -> &[Key] {
        &self.tagged
    }

    /// The ranges that known names own, in text order, bound or not.
    pub fn occurrences(&self) -> impl Iterator<Item = HistoryOccurrence<'_>> {
        self.occurrences.iter().map(|found| {
            let label = &self.labels[found.label];
            HistoryOccurrence {
                span: found.span,
                place: found.place,
                label: &label.spelling,
                key: label.bound,
            }
        })
    }

    /// Opens the message for editing (H-8).
    pub fn open(&self) -> Opened {
        let mut seen = HashSet::new();
        let mut resolved = HashSet::new();
        let mut refs = Vec::new();
        for found in &self.occurrences {
            let label = &self.labels[found.label];
            if let Some(key) = label.bound.filter(|_| seen.insert(found.label)) {
                resolved.insert(key);
                refs.push(Binding { label: label.spelling.clone(), id: Id::Nostr(key) });
            }
        }
        let unresolved = self.tagged.iter().copied();
        let unresolved = unresolved.filter(|key| !resolved.contains(key)).collect();
        Opened { refs, unresolved }
    }

    /// The labels of `key` that own text, unbound ones included, for each of `keys`.
    pub(crate) fn owning_labels(&self) -> HashMap<Key, Vec<&str>> {
        let mut owning: HashMap<Key, Vec<&str>> = HashMap::new();
        for label in self.labels.iter().filter(|label| label.owns) {
            for key in &label.keys {
                owning.entry(*key).or_default().push(&label.spelling);
            }
        }
        owning
    }

    /// The range hints among the tags that say what this reading says too (T-9), by start.
    pub fn accepted_ranges(&self, tags: &[Tag]) -> Vec<RangeHint> {
        let bound = self.occurrences();
        let bound = bound.filter_map(|found| Some(RangeHint::new(found.key?, found.span)));
        let bound: HashSet<RangeHint> = bound.collect();
        let hints = tags.iter().filter_map(|tag| RangeHint::of(tag));
        let mut accepted: Vec<RangeHint> = hints.filter(|hint| bound.contains(hint)).collect();
        accepted.sort_unstable();
        accepted.dedup();
        accepted
    }
}

impl Competition {
    fn compete(&self, content: &str) -> Vec<Found> {
        // Without a sign or a label nothing can be owned, and contexts need not be known.
        if self.index.is_empty() || memchr::memchr(b'@', content.as_bytes()).is_none() {
            return Vec::new();
        }
        let contexts = Contexts::of(content);
        let layers = [Layer::mentions(&self.index)];
        let owned = Scan::new(content, &contexts, layers.as_slice());
        owned
            .filter_map(|accepted| {
                let (_, slot) = accepted.owners.first()?;
                Some(Found {
                    span: Span::at(accepted.start, accepted.end),
                    place: if accepted.context == Context::Quote { Place::Quote } else { Place::Prose },
                    label: self.slots[slot.0 as usize],
                })
            })
            .collect()
    }
}

/// Leaves one candidate where H-6 does.
fn bind(labels: &mut [Label]) {
    let qualified = labels.iter().filter(|label| label.owns);
    let qualified = qualified.filter_map(|label| match (&label.qualifies, &*label.keys) {
        (Some(qualifies), [key]) if *key == qualifies.key => Some((qualifies.base.clone(), *key)),
        _ => None,
    });
    let qualified: HashSet<(String, Key)> = qualified.collect();
    for label in labels {
        label.bound = match &*label.keys {
            [] => None,
            [only] => Some(*only),
            several => {
                let mut probe = (label.form.clone(), several[0]);
                let mut left = several.iter().filter(|key| {
                    probe.1 = **key;
                    !qualified.contains(&probe)
                });
                let first = left.next().copied();
                first.filter(|_| left.next().is_none())
            }
        };
    }
}

#[cfg(test)]
pub(crate) mod tests;
