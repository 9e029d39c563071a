//! Ownership: which label owns which range of a text (O-1 to O-5, G-12, G-15, G-16).
//!
//! One pass over the signs. What a label means is not asked here.

use smallvec::SmallVec;

use crate::boundary::{is_joined, left_is_fine, right_is_fine};
use crate::context::{Context, Contexts};
use crate::index::{LabelIndex, Slot};
use crate::label::guard_end;

/// Labels that compete behind one sign.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'i> {
    pub(crate) sign: u8,
    pub(crate) index: &'i LabelIndex,
}

impl<'i> Layer<'i> {
    pub(crate) fn mentions(index: &'i LabelIndex) -> Self {
        Self { sign: b'@', index }
    }
}

/// Labels of one form: their slots, each with the number of its layer.
pub(crate) type Owners = SmallVec<[(u8, Slot); 2]>;

/// A range that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) context: Context,
    /// Nobody, where a longer literal guards the range (G-16).
    pub(crate) owners: Owners,
}

/// A label that matches at a sign (G-10): where it ends, and who bears it.
pub(crate) struct Candidate {
    pub(crate) end: usize,
    pub(crate) owners: Owners,
}

/// The labels that match behind the sign at `sign`, shortest first.
pub(crate) fn candidates(text: &str, sign: usize, layers: &[Layer<'_>]) -> SmallVec<[Candidate; 4]> {
    let mut found: SmallVec<[Candidate; 4]> = SmallVec::new();
    let first = sign + text[sign..].chars().next().map_or(0, char::len_utf8);
    let byte = text.as_bytes()[sign];
    for (number, layer) in (0_u8..).zip(layers) {
        // The wide signs of D-7 are read as if they were `@`.
        if layer.sign != byte && byte.is_ascii() {
            continue;
        }
        layer.index.matches(&text[first..], |length, slot| {
            let end = first + length;
            match found.iter().rposition(|candidate| candidate.end <= end) {
                Some(at) if found[at].end == end => found[at].owners.push((number, slot)),
                at => {
                    let owners = smallvec::smallvec![(number, slot)];
                    found.insert(at.map_or(0, |at| at + 1), Candidate { end, owners });
                }
            }
        });
    }
    found
}

/// Walks the signs of a text from left to right, taking accepted ranges whole (O-3).
pub(crate) struct Scan<'t, 'i> {
    text: &'t str,
    contexts: &'t Contexts,
    layers: SmallVec<[Layer<'i>; 2]>,
    signs: (u8, u8),
    /// The end of the last accepted range.
    accepted: Option<usize>,
    next: usize,
}

impl<'t, 'i> Scan<'t, 'i> {
    pub(crate) fn new(
        text: &'t str,
        contexts: &'t Contexts,
        layers: impl Into<SmallVec<[Layer<'i>; 2]>>,
    ) -> Self {
        let layers = layers.into();
        let first = layers.first().map_or(b'@', |layer| layer.sign);
        let second = layers.iter().map(|layer| layer.sign).find(|&sign| sign != first).unwrap_or(first);
        Self { text, contexts, layers, signs: (first, second), accepted: None, next: 0 }
    }

    /// Whether a mention may begin at `sign` (G-11, G-12).
    fn begins(&self, sign: usize) -> bool {
        left_is_fine(self.text, sign) || self.accepted.is_some_and(|end| is_joined(self.text, end, sign))
    }

    /// The range at `sign`, if its labels or a guard take it (O-1, O-2, G-15, G-16).
    fn at(&self, sign: usize, context: Context) -> Option<Accepted> {
        let mut guarded = 0;
        let mut owned: Option<Candidate> = None;
        for candidate in candidates(self.text, sign, &self.layers) {
            if !right_is_fine(self.text, sign, candidate.end) || self.contexts.has_code(sign, candidate.end) {
                continue;
            }
            match guard_end(self.text, sign, candidate.end) {
                Some(end) => guarded = guarded.max(end),
                None => owned = Some(candidate),
            }
        }
        match owned {
            Some(Candidate { end, owners }) if end >= guarded => {
                Some(Accepted { start: sign, end, context, owners })
            }
            _ if guarded > 0 => Some(Accepted { start: sign, end: guarded, context, owners: Owners::new() }),
            _ => None,
        }
    }
}

impl Iterator for Scan<'_, '_> {
    type Item = Accepted;

    fn next(&mut self) -> Option<Accepted> {
        loop {
            let rest = &self.text.as_bytes()[self.next..];
            let sign = match self.signs {
                (only, other) if only == other => memchr::memchr(only, rest),
                (first, second) => memchr::memchr2(first, second, rest),
            };
            let sign = self.next + sign?;
            self.next = sign + 1;
            if !self.begins(sign) {
                continue;
            }
            let context = self.contexts.at(sign);
            if !matches!(context, Context::Prose | Context::Quote) {
                continue;
            }
            if let Some(accepted) = self.at(sign, context) {
                self.accepted = Some(accepted.end);
                self.next = accepted.end;
                return Some(accepted);
            }
        }
    }
}
