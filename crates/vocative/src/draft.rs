//! A draft's own labels: what its writer has chosen, and what else competes in its text (E-1, D).

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::form::form;
use crate::id::Id;
use crate::index::{LabelIndex, Slot};
use crate::label::matchable;
use crate::limits;

/// An exact choice: a label, and the identity it stands for whatever its name becomes (E-2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The label as it was reserved.
    pub label: String,
    /// Whom it names.
    pub id: Id,
}

/// What a label of a draft stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Chosen: an exact identity.
    Selected(Id),
    /// A persona, without identity until the send prepares it.
    Persona,
    /// Restored from the message that is edited; an equal selection or persona beats it (D-3).
    Fallback(Id),
    /// An old label of an edited message: it owns its text, stands for nobody, suppresses nobody.
    Competing,
    /// A pasted label whose check expired (P-11): like [`Claim::Competing`], and told.
    Expired,
    /// A pasted label whose identity nobody vouched for: the sender has named it, so it is an
    /// outsider of this draft (E-4).
    Outsider(Id),
}

/// The labels of one draft. Text is not part of it: every question brings the text it asks about.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    claims: Vec<(String, Claim)>,
    index: LabelIndex,
    /// The claims of each label, by the slot of its form.
    bearers: Vec<SmallVec<[u32; 1]>>,
}

impl Draft {
    /// A draft without labels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a claim beside those the label has.
    ///
    /// Labels that can never match (G-9) are kept, since a binding is never dropped for its name.
    pub fn push(&mut self, label: &str, claim: Claim) {
        let at = u32::try_from(self.claims.len()).expect("fewer than 2^32 claims");
        self.claims.push((label.to_owned(), claim));
        let Ok(Some(label)) = matchable(label) else {
            return;
        };
        let slot = self.index.insert(&form(label)).0 as usize;
        if self.bearers.len() <= slot {
            self.bearers.resize_with(slot + 1, SmallVec::new);
        }
        self.bearers[slot].push(at);
    }

    /// Binds a label to an identity. A selection of an equal label keeps its spelling and place and
    /// takes the new identity.
    pub fn bind(&mut self, label: &str, id: Id) {
        let bound = self.at(label).find(|&at| matches!(self.claims[at].1, Claim::Selected(_)));
        match bound {
            Some(at) => self.claims[at].1 = Claim::Selected(id),
            None => self.push(label, Claim::Selected(id)),
        }
    }

    /// Keeps the claims that `keep` wants.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &Claim) -> bool) {
        let claims = std::mem::take(self).claims;
        for (label, claim) in claims {
            if keep(&label, &claim) {
                self.push(&label, claim);
            }
        }
    }

    /// All claims, in the order of the map.
    pub fn claims(&self) -> impl Iterator<Item = (&str, &Claim)> {
        self.claims.iter().map(|(label, claim)| (label.as_str(), claim))
    }

    /// The claims of labels equal to `label`.
    pub fn claims_of(&self, label: &str) -> impl Iterator<Item = (&str, &Claim)> {
        self.at(label).map(|at| (self.claims[at].0.as_str(), &self.claims[at].1))
    }

    /// The chosen labels, in the order of the map.
    pub fn bindings(&self) -> impl Iterator<Item = (&str, &Id)> {
        self.claims().filter_map(|(label, claim)| match claim {
            Claim::Selected(id) => Some((label, id)),
            _ => None,
        })
    }

    /// Whether some label stands or stood for this identity.
    pub(crate) fn knows(&self, id: &Id) -> bool {
        self.claims.iter().any(|(_, claim)| match claim {
            Claim::Selected(other) | Claim::Fallback(other) | Claim::Outsider(other) => other == id,
            Claim::Persona | Claim::Competing | Claim::Expired => false,
        })
    }

    /// Drops the oldest bindings that own nothing in the text until `limit` are left (D-4). A
    /// binding that owns text is never dropped, so more may stay.
    pub fn evict(&mut self, text: &str, limit: usize) {
        self.evict_some(text, limit, |claim| matches!(claim, Claim::Selected(_)));
    }

    /// [`Draft::evict`] for the persona map.
    pub fn evict_personas(&mut self, text: &str, limit: usize) {
        self.evict_some(text, limit, |claim| matches!(claim, Claim::Persona));
    }

    /// Both maps at the limit of the product (N-6).
    pub fn make_room(&mut self, text: &str) {
        self.evict(text, limits::BINDINGS);
        self.evict_personas(text, limits::BINDINGS);
    }

    fn evict_some(&mut self, text: &str, limit: usize, kind: impl Fn(&Claim) -> bool) {
        let count = self.claims.iter().filter(|(_, claim)| kind(claim)).count();
        let mut excess = count.saturating_sub(limit);
        if excess == 0 {
            return;
        }
        let mut live = self.live(text).into_iter();
        self.retain(|_, claim| {
            let is_live = live.next().unwrap_or(true);
            let drops = excess > 0 && !is_live && kind(claim);
            excess -= usize::from(drops);
            !drops
        });
    }

    /// For each claim, whether its label owns a range of the text when the draft's labels compete.
    fn live(&self, text: &str) -> Vec<bool> {
        let contexts = crate::Contexts::of(text);
        let mut live = vec![false; self.claims.len()];
        for accepted in
            crate::scan::Scan::new(text, &contexts, [crate::scan::Layer::mentions(&self.index)].as_slice())
        {
            for (_, slot) in accepted.owners {
                for at in self.slot(slot) {
                    live[at] = true;
                }
            }
        }
        live
    }

    fn at(&self, label: &str) -> impl Iterator<Item = usize> + use<> {
        let slot = matchable(label).ok().flatten().and_then(|label| self.index.get(&form(label)));
        let bearers = slot.map(|slot| self.bearers[slot.0 as usize].clone()).unwrap_or_default();
        bearers.into_iter().map(|at| at as usize)
    }

    pub(crate) fn index(&self) -> &LabelIndex {
        &self.index
    }

    /// The claims at a slot, by their place in the map.
    pub(crate) fn slot(&self, slot: Slot) -> impl Iterator<Item = usize> + '_ {
        self.bearers[slot.0 as usize].iter().map(|&at| at as usize)
    }

    pub(crate) fn claim(&self, at: usize) -> (&str, &Claim) {
        (&self.claims[at].0, &self.claims[at].1)
    }
}
