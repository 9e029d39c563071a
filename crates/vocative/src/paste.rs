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

impl CheckId {
    /// The check as a number, to carry it over a border.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl From<u64> for CheckId {
    /// The check that has this number; where none has, every answer to it changes nothing.
    fn from(number: u64) -> Self {
        Self(number)
    }
}

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
        self.checks.retain(|check| check.state != State::Closed);
        self.checks.extend(checks);
        // A check whose claim has gone (N-2) could bind nothing any more.
        let surplus = self.checks.len().saturating_sub(limits::CLAIMS);
        self.checks.drain(..surplus);
        asked
    }

    /// The checks that wait for an answer.
    pub fn open(&self) -> impl Iterator<Item = (CheckId, &PastedRecord)> {
        let open = self.checks.iter().filter(|check| check.state == State::Open);
        open.map(|check| (check.id, &check.record))
    }

    /// Whether some paste is remembered, so that edits must be told to [`PasteFences::edited`].
    pub fn is_tracking(&self) -> bool {
        self.checks.iter().any(|check| !check.ranges.is_empty())
    }

    /// Whether the text of a check still stands where it was pasted.
    pub fn has_range(&self, check: CheckId) -> bool {
        self.checks.iter().any(|other| other.id == check && !other.ranges.is_empty())
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

    /// The check has waited too long (P-11). Returns its label if its text still stands and nothing
    /// newer has claimed it: the sender is told `paste_expired`.
    pub fn expire(&mut self, check: CheckId, text: &str, roster: &Roster, draft: &Draft) -> Option<String> {
        let at = self.checks.iter().position(|other| other.id == check && other.state == State::Open)?;
        let stands = self.is_newest(&self.checks[at]) && self.stands(at, text, roster, draft);
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
    /// expired ones, and those of identities nobody has vouched for, which are outsiders. While a
    /// check is open no shorter label may have its text.
    pub fn unbound(&self) -> impl Iterator<Item = (&str, Claim)> {
        self.checks.iter().filter_map(|check| {
            let claim = match check.state {
                State::Expired => Claim::Expired,
                State::Refused => Claim::Outsider(check.record.id.clone()),
                State::Open if self.is_newest(check) => Claim::Outsider(check.record.id.clone()),
                State::Open | State::Closed => return None,
            };
            Some((check.record.label.as_str(), claim))
        })
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
                    check.ranges.contains(&(range.start, range.end))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Member, Standing};

    fn id(number: u8) -> Id {
        Id::Nostr(Key::from_bytes([number; 32]))
    }

    fn record(label: &str, number: u8) -> PastedRecord {
        PastedRecord { label: label.into(), id: id(number) }
    }

    fn paste(fences: &mut PasteFences, inserted: &str, records: &[PastedRecord]) -> Vec<CheckId> {
        let nowhere = Span::default();
        fences.pasted("", nowhere, inserted, records).into_iter().map(|(check, _)| check).collect()
    }

    #[test]
    fn only_labels_that_own_pasted_text_are_asked_about() {
        let mut fences = PasteFences::new();
        let records = [record("Ada", 1), record("Ada King", 2), record("Bo", 3)];
        let checks = fences.pasted("", Span::default(), "@Ada King, `@Bo`", &records);
        assert_eq!(checks.iter().map(|(_, record)| record.label.as_str()).collect::<Vec<_>>(), ["Ada King"]);
    }

    #[test]
    fn of_many_occurrences_fifty_are_tracked_and_the_first_of_every_record_is() {
        let mut fences = PasteFences::new();
        let text = format!("{}@Bo", "@Ada ".repeat(80));
        paste(&mut fences, &text, &[record("Ada", 1), record("Bo", 2)]);
        let tracked: Vec<usize> = fences.checks.iter().map(|check| check.ranges.len()).collect();
        assert_eq!(tracked, [limits::RANGES_PER_PASTE - 1, 1]);
        assert_eq!(fences.checks[1].ranges, [(400, 403)]);
    }

    #[test]
    fn a_range_that_died_is_tracked_no_longer() {
        let mut fences = PasteFences::new();
        assert!(!fences.is_tracking());
        let checks = paste(&mut fences, "@Ada @Bo", &[record("Ada", 1), record("Bo", 2)]);
        fences.edited("@Ada @Bo", Span::at(0, 4), "");
        assert!(!fences.has_range(checks[0]) && fences.has_range(checks[1]) && fences.is_tracking());
        assert_eq!(CheckId::from(checks[1].number()), checks[1]);
        fences.edited(" @Bo", Span::at(1, 4), "");
        assert!(!fences.is_tracking());
    }

    #[test]
    fn an_answer_binds_once_and_only_while_open() {
        let (mut fences, nobody, mut draft) = (PasteFences::new(), Roster::new(), Draft::new());
        let check = paste(&mut fences, "@Ada", &[record("Ada", 1)])[0];
        assert!(fences.verdict(check, true, "@Ada", &nobody, &mut draft).is_some());
        assert!(fences.verdict(check, true, "@Ada", &nobody, &mut draft).is_none());
        let check = paste(&mut fences, "@Bo", &[record("Bo", 2)])[0];
        fences.clear();
        assert!(fences.verdict(check, true, "@Bo", &nobody, &mut draft).is_none());
        let check = paste(&mut fences, "@Cy", &[record("Cy", 3)])[0];
        assert_eq!(fences.expire(check, "@Cy", &nobody, &draft), Some("Cy".into()));
        assert!(
            fences.verdict(check, true, "@Cy", &nobody, &mut draft).is_none(),
            "a late answer binds nothing"
        );
    }

    #[test]
    fn redone_text_has_no_range() {
        let (mut fences, nobody, mut draft) = (PasteFences::new(), Roster::new(), Draft::new());
        let check = paste(&mut fences, "@Ada", &[record("Ada", 1)])[0];
        fences.edited("@Ada", Span::at(0, 4), "");
        fences.edited("", Span::at(0, 0), "@Ada");
        assert_eq!(fences.recreated(check, "@Ada", &nobody, &draft), Some("Ada".into()));
        assert!(fences.verdict(check, true, "@Ada", &nobody, &mut draft).is_none());
    }

    #[test]
    fn a_refused_name_never_goes_to_a_namesake() {
        let (mut fences, mut draft) = (PasteFences::new(), Draft::new());
        let namesake = Member { name: "Ada".into(), id: id(9), standing: Standing::Member };
        let roster: Roster = [namesake].into_iter().collect();
        let check = paste(&mut fences, "@Ada hi", &[record("Ada", 1)])[0];
        fences.verdict(check, false, "@Ada hi", &roster, &mut draft);
        let mut sent = draft.clone();
        for (label, claim) in fences.unbound() {
            sent.push(label, claim);
        }
        let reading = Scope::new(&roster, &sent).read("@Ada hi");
        let error = fences.ambiguous(&reading).expect("two identities are meant");
        assert_eq!((error.label.as_str(), error.candidates), ("Ada", vec![id(1), id(9)]));
        // Choosing the namesake is a later claim, and settles it.
        fences.claim("Ada");
        draft.bind("Ada", id(9));
        let reading = Scope::new(&roster, &draft).read("@Ada hi");
        assert_eq!(fences.ambiguous(&reading), None);
    }

    #[test]
    fn a_refused_label_still_owns_its_text() {
        let (mut fences, nobody, mut draft) = (PasteFences::new(), Roster::new(), Draft::new());
        draft.bind("Ada", id(9));
        let check = paste(&mut fences, "@Ada King hi", &[record("Ada King", 1)])[0];
        for is_answered in [false, true] {
            if is_answered {
                fences.verdict(check, false, "@Ada King hi", &nobody, &mut draft);
            }
            let mut sent = draft.clone();
            for (label, claim) in fences.unbound() {
                sent.push(label, claim);
            }
            let reading = Scope::new(&nobody, &sent).read("@Ada King hi");
            assert_eq!(reading.recipients().unwrap().keys, []);
            assert_eq!(reading.diagnostics()[0].code, crate::Code::NotEligible);
        }
    }

    #[test]
    fn a_check_that_something_newer_retired_expires_in_silence() {
        let (mut fences, nobody, mut draft) = (PasteFences::new(), Roster::new(), Draft::new());
        let check = paste(&mut fences, "@Ada hi", &[record("Ada", 1)])[0];
        fences.claim("ADA");
        draft.bind("Ada", id(9));
        assert_eq!(fences.expire(check, "@Ada hi", &nobody, &draft), None);
    }

    #[test]
    fn refused_text_in_a_quote_makes_its_name_ambiguous_too() {
        let (mut fences, nobody, mut draft) = (PasteFences::new(), Roster::new(), Draft::new());
        draft.bind("Ada", id(9));
        let check = paste(&mut fences, "> @Ada", &[record("Ada", 1)])[0];
        let text = "> @Ada\n\n@ada hi";
        fences.verdict(check, false, text, &nobody, &mut draft);
        let reading = Scope::new(&nobody, &draft).read(text);
        let error = fences.ambiguous(&reading).expect("two identities are meant");
        assert_eq!((error.label.as_str(), error.span.bytes()), ("ada", 8..12));
    }

    #[test]
    fn ranges_follow_spaces_written_otherwise_beside_and_inside_them() {
        for (place, inserted) in [(3, "\u{3000}"), (8, "\u{a0}"), (13, "\u{3000}")] {
            let (mut fences, nobody, mut draft) = (PasteFences::new(), Roster::new(), Draft::new());
            let mut text = "so, @Ada King hi".to_owned();
            let check = fences.pasted("so,  hi", Span::at(4, 4), "@Ada King", &[record("Ada King", 1)])[0].0;
            fences.edited(&text, Span::at(place, place + 1), inserted);
            text.replace_range(place..place + 1, inserted);
            assert!(fences.verdict(check, true, &text, &nobody, &mut draft).is_some(), "{text}");
        }
    }

    #[test]
    fn the_oldest_claims_go_and_bind_nothing() {
        let (mut fences, nobody, mut draft) = (PasteFences::new(), Roster::new(), Draft::new());
        let check = paste(&mut fences, "@Ada", &[record("Ada", 1)])[0];
        for number in 0..limits::CLAIMS {
            fences.claim(&format!("name {number}"));
        }
        assert!(fences.verdict(check, true, "@Ada", &nobody, &mut draft).is_none());
    }
}
