//! The three fences round a pasted identity (P-5 to P-9, P-11).
//!
//! A pasted label is bound only after its identity has been vouched for, and that answer may come
//! late. Whether it may still write is decided here: the pasted text must still stand (occurrence),
//! nothing newer may have claimed the label (generation), and the answer must be positive (trust;
//! asking is the caller's).

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::chars::is_zs;
use crate::context::Contexts;
use crate::draft::{Binding, Claim, Draft};
use crate::form::form;
use crate::id::Id;
use crate::label::trim;
use crate::limits;
use crate::offset::Span;
use crate::reading::{Ambiguous, Place, Reading, Scope};
use crate::roster::Roster;

/// An identity that came with pasted text. Nothing vouches for it yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastedRecord {
    /// The label it claims.
    pub label: String,
    /// Whom it claims to be.
    pub id: Id,
}

/// A question whether a pasted identity may be trusted (P-10); answered by [`PasteFences::verdict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CheckId(u64);

/// The paste fences of one composer.
#[derive(Clone, Debug, Default)]
pub struct PasteFences {
    checks: Vec<Check>,
    /// The newest claim of each label, by its form (P-6).
    newest: HashMap<String, u64>,
    /// Counts claims.
    generation: u64,
    next_check: u64,
}

#[derive(Clone, Debug)]
struct Check {
    id: CheckId,
    record: PastedRecord,
    form: String,
    generation: u64,
    state: State,
    /// Where the pasted text still stands, in bytes of the whole text; a range that died is gone.
    ranges: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No answer yet.
    Open,
    /// Answered, and the binding was written or a fence kept it out.
    Closed,
    /// Answered: not vouched for.
    Refused,
    /// Waited for too long.
    Expired,
}

impl PasteFences {
    /// Fences without a paste.
    pub fn new() -> Self {
        Self::default()
    }

    /// Retires the pastes that still verify this label: some explicit act has claimed it (P-6).
    pub fn claim(&mut self, label: &str) {
        self.claim_form(form(trim(label)));
    }

    fn claim_form(&mut self, form: String) -> u64 {
        self.generation += 1;
        self.newest.insert(form, self.generation);
        if self.newest.len() > limits::CLAIMS {
            let oldest = self.newest.iter().min_by_key(|(_, generation)| **generation);
            if let Some(form) = oldest.map(|(form, _)| form.clone()) {
                self.newest.remove(&form);
            }
        }
        self.generation
    }

    /// Retires everything: the composer was cleared (P-6).
    pub fn clear(&mut self) {
        self.checks.clear();
        self.newest.clear();
    }

    /// Maps the tracked ranges through a change: `span` of `before` was replaced by `inserted` (P-8).
    pub fn edited(&mut self, before: &str, span: Span, inserted: &str) {
        let (from, to) = (span.start.get(), span.end.get());
        let is_respacing = is_respacing(span.of(before), inserted);
        for check in &mut self.checks {
            check.ranges.retain_mut(|range| {
                if is_respacing {
                    range.0 = respaced(before, from, inserted, range.0);
                    range.1 = respaced(before, from, inserted, range.1);
                    return true;
                }
                let touches_inside = from < range.1 && to > range.0;
                if touches_inside && from < to {
                    return false;
                }
                let shift = |at: usize| at - (to - from) + inserted.len();
                if to <= range.0 {
                    *range = (shift(range.0), shift(range.1));
                } else if touches_inside {
                    range.1 = shift(range.1);
                }
                true
            });
        }
    }

    /// A paste: `span` of `before` was replaced by `inserted`, which carried `records`.
    ///
    /// Only records whose label owns a range of the inserted text go on (P-5); each of these claims
    /// its label (P-6), its text is tracked (P-7), and its identity is to be checked.
    pub fn pasted(
        &mut self,
        before: &str,
        span: Span,
        inserted: &str,
        records: &[PastedRecord],
    ) -> Vec<(CheckId, PastedRecord)> {
        self.edited(before, span, inserted);
        let mut labels = Draft::new();
        for record in records {
            labels.push(&record.label, Claim::Competing);
        }
        let nobody = Roster::new();
        let reading = Scope::new(&nobody, &labels).read(inserted);
        let start = span.start.get();
        let owned: Vec<(String, (usize, usize))> = reading
            .occurrences()
            .iter()
            .map(|occurrence| {
                let range = occurrence.span.bytes();
                (form(&occurrence.span.of(inserted)[1..]), (start + range.start, start + range.end))
            })
            .collect();
        let mut checks: Vec<Check> = Vec::new();
        let mut tracked = 0;
        for record in records {
            let form = form(trim(&record.label));
            let Some((_, first)) = owned.iter().find(|(owner, _)| *owner == form) else {
                continue;
            };
            let generation = self.claim_form(form.clone());
            let ranges = if tracked < limits::RANGES_PER_PASTE { vec![*first] } else { Vec::new() };
            tracked += ranges.len();
            let id = CheckId(self.next_check);
            self.next_check += 1;
            checks.push(Check { id, record: record.clone(), form, generation, state: State::Open, ranges });
        }
        for (owner, range) in owned {
            let sharers =
                checks.iter_mut().filter(|check| check.form == owner && !check.ranges.contains(&range));
            for check in sharers {
                if tracked < limits::RANGES_PER_PASTE {
                    check.ranges.push(range);
                    tracked += 1;
                }
            }
        }
        let asked = checks.iter().map(|check| (check.id, check.record.clone())).collect();
        self.checks.extend(checks);
        asked
    }

    /// The checks that wait for an answer.
    pub fn open(&self) -> impl Iterator<Item = (CheckId, &PastedRecord)> {
        let open = self.checks.iter().filter(|check| check.state == State::Open);
        open.map(|check| (check.id, &check.record))
    }

    /// The answer to a check. Writes and returns the binding if all fences let it (P-9); `text` is
    /// the whole text as it is now. An answer to a check that is no longer open changes nothing.
    pub fn verdict(
        &mut self,
        check: CheckId,
        is_vouched: bool,
        text: &str,
        roster: &Roster,
        draft: &mut Draft,
    ) -> Option<Binding> {
        let at = self.checks.iter().position(|other| other.id == check && other.state == State::Open)?;
        if !is_vouched {
            self.checks[at].state = State::Refused;
            return None;
        }
        let binds = self.is_newest(&self.checks[at]) && self.stands(at, text, roster, draft);
        let check = &mut self.checks[at];
        check.state = State::Closed;
        if !binds {
            return None;
        }
        let PastedRecord { label, id } = check.record.clone();
        let label = trim(&label).to_owned();
        draft.bind(&label, id.clone());
        draft.make_room(text);
        Some(Binding { label, id })
    }

    /// The check has waited too long (P-11). Returns its label if its text still stands: the sender
    /// is told `paste_expired`.
    pub fn expire(&mut self, check: CheckId, text: &str, roster: &Roster, draft: &Draft) -> Option<String> {
        let at = self.checks.iter().position(|other| other.id == check && other.state == State::Open)?;
        let stands = self.stands(at, text, roster, draft);
        self.checks[at].state = State::Expired;
        stands.then(|| trim(&self.checks[at].record.label).to_owned())
    }

    /// Undo or redo has brought pasted text back without its range, so its check expires (P-8).
    /// Returns its label if that owns a range of the text.
    pub fn recreated(
        &mut self,
        check: CheckId,
        text: &str,
        roster: &Roster,
        draft: &Draft,
    ) -> Option<String> {
        let at = self.checks.iter().position(|other| other.id == check && other.state == State::Open)?;
        self.checks[at].ranges.clear();
        let draft = self.with_open_labels(draft);
        let reading = Scope::new(roster, &draft).read(text);
        let form = self.checks[at].form.clone();
        let stands =
            reading.occurrences().iter().any(|occurrence| literal_form(&reading, occurrence.span) == form);
        self.checks[at].state = State::Expired;
        stands.then(|| trim(&self.checks[at].record.label).to_owned())
    }

    /// The pasted labels that must go on competing in a send, each without standing for anybody:
    /// expired ones, and those of identities nobody vouched for, which are outsiders.
    pub fn unbound(&self) -> impl Iterator<Item = (&str, Claim)> {
        let left = self.checks.iter().filter_map(|check| {
            let claim = match check.state {
                State::Expired => Claim::Expired,
                State::Refused => Claim::Outsider(check.record.id.clone()),
                State::Open | State::Closed => return None,
            };
            Some((check.record.label.as_str(), claim))
        });
        left
    }

    /// The first name of a text that a send must stop at: one that is ambiguous by itself, or
    /// one whose pasted text still stands, expired or refused, while another identity owns its
    /// label (P-11). Pasted text never goes to a namesake.
    pub fn ambiguous(&self, reading: &Reading<'_>) -> Option<Ambiguous> {
        let doubted: Vec<&Check> = self
            .checks
            .iter()
            .filter(|check| matches!(check.state, State::Expired | State::Refused) && self.is_newest(check))
            .filter(|check| {
                let mut occurrences = reading.occurrences().iter();
                occurrences.any(|occurrence| {
                    let range = occurrence.span.bytes();
                    occurrence.place == Place::Prose
                        && check.ranges.contains(&(range.start, range.end))
                        && literal_form(reading, occurrence.span) == check.form
                })
            })
            .collect();
        let mut in_prose = reading.occurrences().iter().filter(|occurrence| occurrence.place == Place::Prose);
        in_prose.find_map(|occurrence| {
            let own = literal_form(reading, occurrence.span);
            let mut candidates = occurrence.owners.keys.to_vec();
            if !candidates.is_empty() {
                candidates.extend(
                    doubted.iter().filter(|check| check.form == own).map(|check| check.record.id.clone()),
                );
            }
            candidates.sort();
            candidates.dedup();
            let label = occurrence.span.of(reading.text)[1..].to_owned();
            (candidates.len() > 1).then_some(Ambiguous { label, span: occurrence.span, candidates })
        })
    }

    fn is_newest(&self, check: &Check) -> bool {
        self.newest.get(&check.form) == Some(&check.generation)
    }

    /// Whether the label of a check wins a range that is exactly one of its live ranges (P-9).
    fn stands(&self, at: usize, text: &str, roster: &Roster, draft: &Draft) -> bool {
        let check = &self.checks[at];
        if check.ranges.is_empty() {
            return false;
        }
        let mut draft = self.with_open_labels(draft);
        draft.push(&check.record.label, Claim::Competing);
        let reading = Scope::new(roster, &draft).read_in(text, Contexts::of(text));
        reading.occurrences().iter().any(|occurrence| {
            let range = occurrence.span.bytes();
            check.ranges.contains(&(range.start, range.end))
                && literal_form(&reading, occurrence.span) == check.form
        })
    }

    /// The draft with the labels of all pending records: check open, claim newest.
    fn with_open_labels(&self, draft: &Draft) -> Draft {
        let mut draft = draft.clone();
        let pending = self.checks.iter().filter(|check| check.state == State::Open && self.is_newest(check));
        for check in pending {
            draft.push(&check.record.label, Claim::Competing);
        }
        draft
    }
}

fn literal_form(reading: &Reading<'_>, span: Span) -> String {
    form(&span.of(reading.text)[1..])
}

/// Whether a change only writes spaces as other spaces, as browsers do beside inline marks (P-8).
fn is_respacing(removed: &str, inserted: &str) -> bool {
    !removed.is_empty()
        && removed.chars().all(is_zs)
        && inserted.chars().all(is_zs)
        && removed.chars().count() == inserted.chars().count()
}

/// Where a position stands after the spaces from `from` on were written as those of `inserted`.
fn respaced(before: &str, from: usize, inserted: &str, at: usize) -> usize {
    if at <= from {
        return at;
    }
    let spaces = before[from..at].chars().zip(inserted.chars());
    let (old, new) = spaces.fold((0, 0), |(old, new), (a, b)| (old + a.len_utf8(), new + b.len_utf8()));
    at - old + new
}
