//! A text read against everything that competes in it: who owns what, and whom that names (E, A).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;

use crate::context::{Context, Contexts};
use crate::draft::{Binding, Claim, Draft};
use crate::id::Id;
use crate::index::Slot;
use crate::label::{qualified, trim};
use crate::offset::Span;
use crate::roster::{Roster, Standing};
use crate::scan::{Accepted, Layer, Owners, Scan};

/// Everything that competes in a text: the channel's names and the draft's own labels (O-4).
#[derive(Clone, Copy)]
pub struct Scope<'s> {
    /// Members and outsiders.
    pub roster: &'s Roster,
    /// Selections, personas and competing labels.
    pub draft: &'s Draft,
    /// Whether a typed name of a member reaches it; a caller may turn that off (E-7).
    pub typed_names: bool,
}

/// Where an occurrence stands (O-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the writer's own words.
    Prose,
    /// In a block quote: it never notifies (E-6).
    Quote,
}

/// A range of a text that begins at a sign and is owned by one or more equal labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The range, the sign included.
    pub span: Span,
    /// Where it stands.
    pub place: Place,
    /// Who owns it.
    pub owners: Arc<Holders>,
}

/// Those an occurrence's label stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// Identities it names, each once, in the order of E-5. Several are ambiguous.
    pub keys: SmallVec<[Id; 1]>,
    /// The place of each key in the order of E-5.
    orders: SmallVec<[Order; 1]>,
    /// Outsiders: they own the text and are named by nothing (E-4).
    pub outsiders: SmallVec<[Id; 1]>,
    /// Whether a persona owns it.
    pub has_persona: bool,
    /// Whether a competing label of an edit owns it.
    pub is_competing: bool,
    /// Whether a label owns it whose paste check expired or was refused.
    pub is_expired: bool,
    /// Whether a selection is among the owners.
    pub is_selected: bool,
}

/// Selections in the order of the map, then members in roster order (E-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Selected(usize),
    Member(u64),
    /// The owner of a borrowed qualifier: only ever a candidate.
    Borrowed,
}

impl Holders {
    /// Takes the identities in, each once. A name may have thousands of bearers.
    fn name(&mut self, mut named: SmallVec<[(Order, Id); 1]>) {
        if named.len() > 1 {
            named.sort_unstable_by(|(a, a_id), (b, b_id)| (a_id, a).cmp(&(b_id, b)));
            named.dedup_by(|later, first| later.1 == first.1);
            named.sort_unstable();
        }
        (self.orders, self.keys) = named.into_iter().unzip();
    }
}

/// A name that several identities bear: everything stops until the writer chooses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`@{label}` names {} identities; choose one with the mention picker", candidates.len())]
pub struct Ambiguous {
    /// The literal after the sign, as it stands in the text.
    pub label: String,
    /// Where it stands.
    pub span: Span,
    /// All identities it could mean, sorted.
    pub candidates: Vec<Id>,
}

impl Ambiguous {
    /// The stable code of this error.
    pub const CODE: &'static str = "ambiguous_label";
}

/// Whom a text names (E).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipients {
    /// To be notified, each once.
    pub keys: Vec<Id>,
    /// Named in quotes only: silent references (E-6).
    pub references: Vec<Id>,
}

impl Recipients {
    /// Makes the sender's own identity a reference (E-8).
    #[must_use]
    pub fn without_sender(mut self, sender: &Id) -> Self {
        if let Some(at) = self.keys.iter().position(|id| id == sender) {
            let own = self.keys.remove(at);
            if !self.references.contains(&own) {
                self.references.push(own);
            }
        }
        self
    }

    /// Adds recipients that were named beside the text (E-7); each key stays once.
    #[must_use]
    pub fn with_explicit(mut self, explicit: &[Id]) -> Self {
        for id in explicit {
            if !self.keys.contains(id) {
                self.keys.push(id.clone());
            }
            self.references.retain(|reference| reference != id);
        }
        self
    }
}

/// One reading of a text.
pub struct Reading<'s> {
    pub(crate) text: &'s str,
    pub(crate) scope: Scope<'s>,
    pub(crate) contexts: Contexts,
    pub(crate) accepted: Vec<Accepted>,
    /// The first place where a sign or one that looks like it may stand; none: nothing to see.
    pub(crate) first_sign: Option<usize>,
    occurrences: Vec<Occurrence>,
}

impl<'s> Scope<'s> {
    /// The names of a channel and the labels of a draft.
    pub fn new(roster: &'s Roster, draft: &'s Draft) -> Self {
        Self { roster, draft, typed_names: true }
    }

    pub(crate) fn layers(self) -> [Layer<'s>; 2] {
        [Layer::mentions(self.draft.index()), Layer::mentions(self.roster.index())]
    }

    /// Reads a Markdown text.
    pub fn read(self, text: &'s str) -> Reading<'s> {
        match first_sign(text) {
            None => self.without_signs(text),
            Some(first) => self.read_from(text, Contexts::of(text), first),
        }
    }

    /// Reads a text whose contexts are known.
    pub fn read_in(self, text: &'s str, contexts: Contexts) -> Reading<'s> {
        match first_sign(text) {
            None => self.without_signs(text),
            Some(first) => self.read_from(text, contexts, first),
        }
    }

    /// The ranges that labels own, without asking whom they mean.
    pub fn spans(self, text: &'s str, contexts: &'s Contexts) -> impl Iterator<Item = Span> + 's {
        let accepted = Scan::new(text, contexts, self.layers());
        accepted.filter(|range| !range.owners.is_empty()).map(|range| Span::at(range.start, range.end))
    }

    /// Without a sign nothing can be named, and contexts need not be known.
    fn without_signs(self, text: &'s str) -> Reading<'s> {
        let contexts = Contexts::all_prose();
        Reading {
            text,
            scope: self,
            contexts,
            accepted: Vec::new(),
            first_sign: None,
            occurrences: Vec::new(),
        }
    }

    fn read_from(self, text: &'s str, contexts: Contexts, first: usize) -> Reading<'s> {
        let accepted: Vec<Accepted> = Scan::new(text, &contexts, self.layers()).collect();
        // Equal labels stand for the same identities wherever they occur.
        let mut known: HashMap<(u8, Slot), Arc<Holders>> = HashMap::new();
        let owned = accepted.iter().filter_map(|accepted| Some((accepted, *accepted.owners.first()?)));
        let occurrences = owned
            .map(|(accepted, label)| Occurrence {
                span: Span::at(accepted.start, accepted.end),
                place: if accepted.context == Context::Quote { Place::Quote } else { Place::Prose },
                owners: known.entry(label).or_insert_with(|| self.holders(&accepted.owners).into()).clone(),
            })
            .collect();
        Reading { text, scope: self, contexts, accepted, first_sign: Some(first), occurrences }
    }

    /// Whom the labels of one form stand for (E-1, E-3, E-4, A-4).
    pub(crate) fn holders(self, owners: &Owners) -> Holders {
        let mut holders = Holders::default();
        let mut named: SmallVec<[(Order, Id); 1]> = SmallVec::new();
        let mut fallbacks: SmallVec<[(Order, Id); 1]> = SmallVec::new();
        let mut outsiders: SmallVec<[Id; 1]> = SmallVec::new();
        for &(_, slot) in owners.iter().filter(|owner| owner.0 == 0) {
            for at in self.draft.slot(slot) {
                match self.draft.claim(at).1 {
                    Claim::Selected(id) => {
                        holders.is_selected = true;
                        named.push((Order::Selected(at), id.clone()));
                    }
                    Claim::Fallback(id) => fallbacks.push((Order::Selected(at), id.clone())),
                    Claim::Persona => holders.has_persona = true,
                    Claim::Competing => holders.is_competing = true,
                    Claim::Expired => holders.is_expired = true,
                    Claim::Outsider(id) => outsiders.push(id.clone()),
                }
            }
        }
        if !holders.is_selected && !holders.has_persona {
            holders.is_selected = !fallbacks.is_empty();
            named = fallbacks;
        }
        if holders.is_selected || holders.has_persona {
            holders.name(named);
            return holders;
        }
        for &(_, slot) in owners.iter().filter(|owner| owner.0 == 1) {
            for bearer in self.roster.rows_at(slot) {
                let member = bearer.member;
                if member.standing == Standing::Outsider || !self.typed_names {
                    outsiders.push(member.id.clone());
                    continue;
                }
                named.push((Order::Member(bearer.order), member.id.clone()));
                let lender = self.lender(bearer.is_qualified, &member.name, &member.id);
                named.extend(lender.map(|lender| (Order::Borrowed, lender)));
            }
        }
        outsiders.sort_unstable();
        outsiders.dedup();
        holders.outsiders = outsiders;
        holders.name(named);
        holders
    }

    /// The known identity whose qualifier a typed member's name spells out.
    fn lender(self, is_qualified: bool, name: &str, id: &Id) -> Option<Id> {
        let key = is_qualified.then(|| qualified(trim(name)))??.key;
        let lender = Id::Nostr(key);
        let is_given = || self.roster.knows(&lender) || self.draft.knows(&lender);
        (lender != *id && is_given()).then_some(lender)
    }
}

/// Whether a text could name anyone, or hold anything that a sender is told: without a sign, or one that
/// looks like it, no name need be known to read it.
pub fn has_signs(text: &str) -> bool {
    first_sign(text).is_some()
}

/// The first `@`, or byte that may begin a sign that looks like it (U+FF20, U+FE6B).
fn first_sign(text: &str) -> Option<usize> {
    memchr::memchr2(b'@', 0xef, text.as_bytes())
}

impl Reading<'_> {
    /// The occurrences, in text order.
    pub fn occurrences(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// The contexts the text was read in.
    pub fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// The first ambiguous name in the writer's own words.
    pub fn ambiguous(&self) -> Option<Ambiguous> {
        let occurrence = self.in_place(Place::Prose).find(|occurrence| occurrence.owners.keys.len() > 1)?;
        let mut candidates = occurrence.owners.keys.to_vec();
        candidates.sort();
        let literal = occurrence.span.of(self.text);
        Some(Ambiguous { label: literal[1..].to_owned(), span: occurrence.span, candidates })
    }

    /// Whom the text names (E-3 to E-6).
    ///
    /// # Errors
    /// The first ambiguous name.
    pub fn recipients(&self) -> Result<Recipients, Ambiguous> {
        if let Some(ambiguous) = self.ambiguous() {
            return Err(ambiguous);
        }
        let keys = self.single_keys(Place::Prose);
        let mut references = self.single_keys(Place::Quote);
        if !references.is_empty() {
            let keys: HashSet<&Id> = keys.iter().collect();
            references.retain(|id| !keys.contains(id));
        }
        Ok(Recipients { keys, references })
    }

    /// The identities named alone by some occurrence in `place`, in the order of E-5.
    fn single_keys(&self, place: Place) -> Vec<Id> {
        let mut named: Vec<(&Id, Order)> = self
            .in_place(place)
            .filter(|occurrence| occurrence.owners.keys.len() == 1)
            .map(|occurrence| (&occurrence.owners.keys[0], occurrence.owners.orders[0]))
            .collect();
        named.sort_unstable();
        named.dedup_by_key(|(id, _)| *id);
        named.sort_unstable_by_key(|(_, order)| *order);
        named.into_iter().map(|(id, _)| id.clone()).collect()
    }

    fn in_place(&self, place: Place) -> impl Iterator<Item = &Occurrence> {
        self.occurrences.iter().filter(move |occurrence| occurrence.place == place)
    }

    /// The claims of the draft that own a range, in the order of the map; ties stay (D-1).
    pub fn live_claims(&self) -> Vec<(&str, &Claim)> {
        let draft = self.scope.draft;
        let owners = self.accepted.iter().flat_map(|accepted| &accepted.owners);
        let slots = owners.filter(|(layer, _)| *layer == 0).map(|(_, slot)| *slot);
        let mut live: Vec<usize> = slots.flat_map(|slot| draft.slot(slot)).collect();
        live.sort_unstable();
        live.dedup();
        live.into_iter().map(|at| draft.claim(at)).collect()
    }

    /// The exact bindings to keep with the draft: fallback refs, then selections, whose label owns
    /// a range (D-1). A selection or persona of an equal label beats a fallback ref (D-3).
    pub fn refs(&self) -> Vec<Binding> {
        let draft = self.scope.draft;
        let is_beaten = |label: &str| {
            let mut equal = draft.claims_of(label);
            equal.any(|(_, claim)| matches!(claim, Claim::Selected(_) | Claim::Persona))
        };
        let live = self.live_claims();
        let fallbacks = live.iter().filter_map(|&(label, claim)| match claim {
            Claim::Fallback(id) if !is_beaten(label) => Some((label, id)),
            _ => None,
        });
        let selections = live.iter().filter_map(|&(label, claim)| match claim {
            Claim::Selected(id) => Some((label, id)),
            _ => None,
        });
        let refs = fallbacks.chain(selections);
        refs.map(|(label, id)| Binding { label: label.to_owned(), id: id.clone() }).collect()
    }

    /// The persona labels to keep with the draft (D-2).
    pub fn live_personas(&self) -> Vec<String> {
        let live = self.live_claims().into_iter();
        live.filter(|(_, claim)| matches!(claim, Claim::Persona)).map(|(label, _)| label.to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Member};

    const A: Id = Id::Nostr(Key::from_bytes([0xa1; 32]));
    const B: Id = Id::Nostr(Key::from_bytes([0x9c; 32]));
    const C: Id = Id::Nostr(Key::from_bytes([0x15; 32]));

    /// Selections, members and outsiders of a text; and whom it names, or all it could mean.
    type Row<'r> =
        (&'r str, &'r [(&'r str, Id)], &'r [(&'r str, Id)], &'r [(&'r str, Id)], Result<&'r [Id], &'r [Id]>);

    #[test]
    fn whom_a_text_names() {
        let scout = format!("Scout ({})", A.key().unwrap());
        let (typed, second) = (format!("@{scout}"), format!("{scout} 2"));
        let rows: &[Row<'_>] = &[
            ("@Ada", &[("Ada", A), ("Ada", A)], &[], &[], Ok(&[A])),
            ("@Ada", &[("Ada", A), ("ADA", B)], &[], &[], Err(&[B, A])),
            ("@Ada", &[], &[("Ada", B)], &[("Ada", A)], Ok(&[B])),
            ("@Bo @Ada @Cy", &[("Cy", C), ("X", A)], &[("Ada", A), ("Bo", B)], &[], Ok(&[C, A, B])),
            ("@Bo @Bob", &[("Ada", A)], &[("Bo", B), ("Bob", A)], &[], Ok(&[B, A])),
            ("@Ada @Bob @Bo", &[("Ada", A)], &[("Bo", B), ("Bob", A)], &[], Ok(&[A, B])),
            (&typed, &[], &[(&scout, B)], &[], Ok(&[B])),
            (&typed, &[], &[(&scout, B)], &[("Z", A)], Err(&[B, A])),
            (&typed, &[("Q", A)], &[(&scout, B)], &[], Err(&[B, A])),
            (&typed, &[(&scout, B)], &[(&scout, B), ("Z", A)], &[], Ok(&[B])),
            (&typed, &[], &[("Z", A)], &[(&scout, B)], Ok(&[])),
            (&typed, &[], &[(&scout, A)], &[("Z", A)], Ok(&[A])),
            (&typed, &[], &[(&scout, B), (&scout, C), ("Z", A)], &[], Err(&[C, B, A])),
            (&typed, &[], &[(&second, B), ("Z", A)], &[], Ok(&[])),
        ];
        for (text, selected, members, outsiders, expected) in rows {
            let mut draft = Draft::new();
            for (label, id) in *selected {
                draft.push(label, Claim::Selected(id.clone()));
            }
            let as_rows = |rows: &[(&str, Id)], standing| -> Vec<Member> {
                let row = |(name, id): &(&str, Id)| Member { name: (*name).into(), id: id.clone(), standing };
                rows.iter().map(row).collect()
            };
            let rows = [as_rows(members, Standing::Member), as_rows(outsiders, Standing::Outsider)];
            let roster: Roster = rows.concat().into_iter().collect();
            let answer = Scope::new(&roster, &draft).read(text).recipients();
            let named = answer.as_ref().map(|found| &found.keys[..]).map_err(|error| &error.candidates[..]);
            assert_eq!(named, *expected, "{text} {selected:?} {members:?} {outsiders:?}");
        }
    }
}
