//! What becomes of every sign of a text, and what of it a sender should be told (D-7, D-8).

use std::cell::OnceCell;
use std::collections::HashSet;

use serde::Serialize;
use smallvec::SmallVec;

use crate::boundary::{NameToken, is_joined, left_is_fine, name_token, right_is_fine, same_script};
use crate::chars::{Class, class, is_letter};
use crate::context::Context;
use crate::draft::Claim;
use crate::id::Id;
use crate::index::Slot;
use crate::offset::Span;
use crate::reading::{Holders, Occurrence, Place, Reading};
use crate::scan::{Candidate, Layer, candidates};

/// What becomes of one sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It names one identity, or a persona that the send prepares.
    Bound,
    /// It names several identities.
    Ambiguous,
    /// It names outsiders only (E-4).
    NotEligible,
    /// It names somebody whose paste check expired or was refused (P-11).
    Expired,
    /// It stands for old references of an edited message only.
    Unresolved,
    /// A name follows that nobody bears.
    Unknown,
    /// The first part of a path follows.
    Path,
    /// What stands before it refuses a mention (G-11).
    Glued,
    /// A known name follows and runs on into the next word or mention.
    RunOn,
    /// A backslash takes its meaning.
    Escaped,
    /// It is code.
    Code,
    /// It is part of an address.
    Link,
    /// It is part of a link reference definition.
    Hidden,
    /// It stands in a quote.
    Quote,
    /// It is inside another label, or inside a range that no label may have (G-16).
    Inside,
    /// No name follows.
    Bare,
    /// Not the sign, but one that looks like it (`＠`, `﹫`).
    WideSign,
}

/// A reason to tell the sender something (D-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Several identities bear the name; the send stops.
    AmbiguousLabel,
    /// Only outsiders bear the name.
    NotEligible,
    /// The check of a pasted name did not come in time, or refused it.
    PasteExpired,
    /// The name only keeps old references.
    UnresolvedReference,
    /// Nobody bears the name.
    UnknownName,
    /// A known name runs on; a space behind it would end it.
    RunOn,
    /// A known name, but a word or path stands right before its sign.
    Glued,
    /// A name inside a link reference definition, which nobody sees.
    HiddenText,
    /// A name that stands in a quote only.
    Quoted,
    /// A chosen name that stands in code only.
    InCode,
    /// A known name inside an address.
    InLink,
    /// A sign that only looks like `@`.
    WideSign,
}

/// One sign, its fate, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The sign and the name that was read behind it.
    pub span: Span,
    /// What becomes of it.
    pub fate: Fate,
    /// The identities concerned, sorted.
    pub keys: SmallVec<[Id; 1]>,
    /// What the sender should be told, if anything.
    pub code: Option<Code>,
}

/// What a sender should be told about a name (D-7). It never stops a send by itself (D-9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The reason.
    pub code: Code,
    /// The sign and the name.
    pub span: Span,
    /// The text after the sign.
    pub name: String,
    /// The identities concerned, sorted; only for names that are ambiguous, not eligible or run on.
    pub keys: Option<Vec<Id>>,
}

impl Reading<'_> {
    /// The fate of each sign, in text order; a wide sign only where the sender should be told.
    pub fn explain(&self) -> impl Iterator<Item = Explained> + '_ {
        let bytes = self.text.as_bytes();
        let mut next = self.first_sign.unwrap_or(bytes.len());
        let mut explainer = Explainer::new(self);
        std::iter::from_fn(move || {
            // U+FF20 and U+FE6B both begin with the byte EF.
            while let Some(at) = memchr::memchr2(b'@', 0xef, &bytes[next..]) {
                let sign = next + at;
                next = sign + 1;
                if bytes[sign] == b'@' {
                    return Some(explainer.sign(sign));
                }
                if self.text[sign..].starts_with(['\u{ff20}', '\u{fe6b}'])
                    && let Some(told) = explainer.wide_sign(sign)
                {
                    return Some(told);
                }
            }
            None
        })
    }

    /// What a sender should be told, in text order (D-7).
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let told = self.explain().filter_map(|sign| Some((sign.code?, sign)));
        told.map(|(code, sign)| {
            let literal = sign.span.of(self.text);
            let name = literal.chars().next().map_or("", |c| &literal[c.len_utf8()..]);
            let has_keys = matches!(code, Code::AmbiguousLabel | Code::NotEligible | Code::RunOn);
            Diagnostic {
                code,
                span: sign.span,
                name: name.to_owned(),
                keys: has_keys.then(|| sign.keys.into_vec()),
            }
        })
        .collect()
    }
}

struct Explainer<'r, 's> {
    reading: &'r Reading<'s>,
    layers: [Layer<'s>; 2],
    /// The next accepted range, and the next occurrence among them.
    next_accepted: usize,
    next_occurrence: usize,
    /// The identities with a prose occurrence; asked for by quotes only.
    named: OnceCell<HashSet<&'r Id>>,
    /// The draft's labels with a prose occurrence; asked for by code only.
    labels: OnceCell<HashSet<Slot>>,
}

impl<'r, 's> Explainer<'r, 's> {
    fn new(reading: &'r Reading<'s>) -> Self {
        Self {
            reading,
            layers: reading.scope.layers(),
            next_accepted: 0,
            next_occurrence: 0,
            named: OnceCell::new(),
            labels: OnceCell::new(),
        }
    }

    /// Whether an identity has a prose occurrence.
    fn is_named(&self, id: &Id) -> bool {
        let in_prose =
            || self.reading.occurrences().iter().filter(|occurrence| occurrence.place == Place::Prose);
        let named = || in_prose().flat_map(|occurrence| &occurrence.owners.keys).collect();
        self.named.get_or_init(named).contains(id)
    }

    /// Whether a label of the draft has a prose occurrence.
    fn is_written(&self, label: Slot) -> bool {
        let in_prose = || self.reading.accepted.iter().filter(|accepted| accepted.context == Context::Prose);
        let owners = || in_prose().flat_map(|accepted| &accepted.owners);
        let labels = || owners().filter(|(layer, _)| *layer == 0).map(|(_, slot)| *slot).collect();
        self.labels.get_or_init(labels).contains(&label)
    }

    fn sign(&mut self, sign: usize) -> Explained {
        let accepted = &self.reading.accepted;
        while accepted.get(self.next_accepted).is_some_and(|range| range.end <= sign) {
            self.next_occurrence += usize::from(!accepted[self.next_accepted].owners.is_empty());
            self.next_accepted += 1;
        }
        match accepted.get(self.next_accepted) {
            Some(range) if range.start == sign && range.owners.is_empty() => {
                let code = (range.context == Context::Prose).then_some(Code::UnknownName);
                let fate = if code.is_some() { Fate::Unknown } else { Fate::Quote };
                explained(sign, range.end, fate, code)
            }
            Some(range) if range.start == sign => {
                self.occurrence(&self.reading.occurrences()[self.next_occurrence])
            }
            Some(range) if range.start < sign => explained(sign, sign + 1, Fate::Inside, None),
            _ => match self.reading.contexts.at(sign) {
                Context::Prose => self.prose(sign),
                Context::Quote => explained(sign, sign + 1, Fate::Quote, None),
                Context::Code => self.code(sign),
                Context::Link => self.link(sign),
                Context::Hidden => self.hidden(sign),
            },
        }
    }

    fn occurrence(&self, occurrence: &Occurrence) -> Explained {
        let owners = &occurrence.owners;
        let (fate, code) = match occurrence.place {
            Place::Quote => {
                let only_here = !owners.keys.is_empty() && !owners.keys.iter().any(|id| self.is_named(id));
                (Fate::Quote, only_here.then_some(Code::Quoted))
            }
            Place::Prose => match fate_of(owners) {
                Fate::Ambiguous => (Fate::Ambiguous, Some(Code::AmbiguousLabel)),
                Fate::Expired => (Fate::Expired, Some(Code::PasteExpired)),
                Fate::NotEligible => (Fate::NotEligible, Some(Code::NotEligible)),
                Fate::Unresolved => (Fate::Unresolved, Some(Code::UnresolvedReference)),
                fate => (fate, None),
            },
        };
        let keys = if fate == Fate::NotEligible { &owners.outsiders } else { &owners.keys };
        let mut keys = keys.clone();
        keys.sort();
        Explained { span: occurrence.span, fate, keys, code }
    }

    fn prose(&self, sign: usize) -> Explained {
        let text = self.reading.text;
        if !self.begins(sign) {
            if text[..sign].ends_with('\\') {
                return explained(sign, sign + 1, Fate::Escaped, None);
            }
            return match self.longest_fine(sign) {
                Some(label) => self.with_keys(sign, &label, Fate::Glued, Code::Glued),
                None => explained(sign, sign + 1, Fate::Glued, None),
            };
        }
        let token = name_token(text, sign + 1);
        let name = self.name(sign, token);
        // A label that matches here and has not taken its range is refused on its right side.
        if let Some(label) = self.given(sign).pop() {
            let next = text[label.end..].chars().next();
            let touches = |c| c == '@' || is_letter(c) && same_script(text, sign, label.end, label.end);
            // The first part of a path gives no diagnostic, even where it begins with a label (D-8).
            let is_part = matches!(name, Name::Path(end) if label.end < end);
            if token == NameToken::None || next.is_some_and(touches) && !is_part {
                return self.with_keys(sign, &label, Fate::RunOn, Code::RunOn);
            }
        }
        match name {
            Name::None => explained(sign, sign + 1, Fate::Bare, None),
            Name::Path(end) => explained(sign, end, Fate::Path, None),
            Name::Unknown(end) => explained(sign, end, Fate::Unknown, Some(Code::UnknownName)),
        }
    }

    fn code(&self, sign: usize) -> Explained {
        let text = self.reading.text;
        let is_selected = |candidate: &Candidate| self.selected(candidate).is_some();
        let mut chosen =
            if self.begins(sign) { candidates(text, sign, &self.layers) } else { SmallVec::new() };
        chosen.retain(|candidate| is_selected(candidate) && right_is_fine(text, sign, candidate.end));
        let longest =
            chosen.pop().filter(|label| !self.selected(label).is_some_and(|slot| self.is_written(slot)));
        match longest {
            Some(label) => self.with_keys(sign, &label, Fate::Code, Code::InCode),
            None => explained(sign, sign + 1, Fate::Code, None),
        }
    }

    fn link(&self, sign: usize) -> Explained {
        let before = self.reading.text[..sign].chars().next_back();
        let is_address = before.is_some_and(|c| matches!(c, '/' | '=' | ':') || class(c) == Class::Token);
        let label = if is_address { None } else { self.longest_fine(sign) };
        match label {
            Some(label) => self.with_keys(sign, &label, Fate::Link, Code::InLink),
            None => explained(sign, sign + 1, Fate::Link, None),
        }
    }

    fn hidden(&self, sign: usize) -> Explained {
        let token = name_token(self.reading.text, sign + 1);
        match self.name(sign, token) {
            Name::Unknown(end) if self.begins(sign) => {
                explained(sign, end, Fate::Hidden, Some(Code::HiddenText))
            }
            _ => explained(sign, sign + 1, Fate::Hidden, None),
        }
    }

    fn wide_sign(&self, sign: usize) -> Option<Explained> {
        let text = self.reading.text;
        let accepted = &self.reading.accepted;
        let after = accepted.partition_point(|range| range.end <= sign);
        let is_inside = accepted.get(after).is_some_and(|range| range.start < sign);
        if is_inside || self.reading.contexts.at(sign) != Context::Prose || !self.begins(sign) {
            return None;
        }
        if let Some(label) = self.longest_fine(sign) {
            return Some(self.with_keys(sign, &label, Fate::WideSign, Code::WideSign));
        }
        let start = sign + '\u{ff20}'.len_utf8();
        match self.name(sign, name_token(text, start)) {
            Name::Unknown(end) => Some(explained(sign, end, Fate::WideSign, Some(Code::WideSign))),
            _ => None,
        }
    }

    /// Whether a mention may begin at `sign` (G-11, G-12).
    fn begins(&self, sign: usize) -> bool {
        let text = self.reading.text;
        let accepted = &self.reading.accepted;
        let last = || accepted[..accepted.partition_point(|range| range.end <= sign)].last();
        left_is_fine(text, sign) || last().is_some_and(|range| is_joined(text, range.end, sign))
    }

    /// A name token as a name, or as the first part of a path that is no given label (D-8).
    fn name(&self, sign: usize, token: NameToken) -> Name {
        match token {
            NameToken::None => Name::None,
            NameToken::Name(end) => Name::Unknown(end),
            NameToken::Path(end) => {
                let mut labels = candidates(self.reading.text, sign, &self.layers).into_iter();
                if labels.any(|label| label.end == end) { Name::Unknown(end) } else { Name::Path(end) }
            }
        }
    }

    /// The given labels that match at a sign without touching code, shortest first.
    fn given(&self, sign: usize) -> SmallVec<[Candidate; 4]> {
        let mut given = candidates(self.reading.text, sign, &self.layers);
        given.retain(|label| !self.reading.contexts.has_code(sign, label.end));
        given
    }

    /// The longest given label that matches at a sign with its right side fine.
    fn longest_fine(&self, sign: usize) -> Option<Candidate> {
        let mut given = self.given(sign);
        given.retain(|label| right_is_fine(self.reading.text, sign, label.end));
        given.pop()
    }

    /// The slot of a label of the draft that a selection is bound to.
    fn selected(&self, candidate: &Candidate) -> Option<Slot> {
        let draft = self.reading.scope.draft;
        let mut own = candidate.owners.iter().filter(|(layer, _)| *layer == 0).map(|(_, slot)| *slot);
        own.find(|slot| {
            let mut claims = draft.slot(*slot).map(|at| draft.claim(at).1);
            claims.any(|claim| matches!(claim, Claim::Selected(_) | Claim::Fallback(_)))
        })
    }

    fn with_keys(&self, sign: usize, label: &Candidate, fate: Fate, code: Code) -> Explained {
        let mut keys = self.reading.scope.holders(&label.owners).keys;
        keys.sort();
        Explained { keys, ..explained(sign, label.end, fate, Some(code)) }
    }
}

enum Name {
    None,
    Path(usize),
    Unknown(usize),
}

fn explained(sign: usize, end: usize, fate: Fate, code: Option<Code>) -> Explained {
    Explained { span: Span::at(sign, end), fate, keys: SmallVec::new(), code }
}

/// The fate of a name in the writer's own words, by those who bear it.
fn fate_of(owners: &Holders) -> Fate {
    match owners.keys.len() {
        1 => Fate::Bound,
        0 if owners.has_persona => Fate::Bound,
        0 if owners.is_expired => Fate::Expired,
        0 if !owners.outsiders.is_empty() => Fate::NotEligible,
        0 => Fate::Unresolved,
        _ => Fate::Ambiguous,
    }
}

#[cfg(test)]
mod tests {
    use super::Code::{self, *};
    use crate::{Claim, Draft, Id, Key, Member, Roster, Scope, Standing};

    /// Ada, Ada King, 太, 5 and - are members; what is told of each text, in order.
    #[test]
    fn what_a_sender_is_told() {
        let names = (0_u8..).zip(["Ada", "Ada King", "太", "5", "-"]);
        let roster: Roster = names
            .map(|(number, name)| Member {
                name: name.into(),
                id: Id::Nostr(Key::from_bytes([number; 32])),
                standing: Standing::Member,
            })
            .collect();
        let mut draft = Draft::new();
        draft.push("Chosen", Claim::Selected(Id::Nostr(Key::from_bytes([9; 32]))));
        let rows: &[(&str, &[(Code, &str)])] = &[
            ("@太郎 @太〇 @太2", &[(RunOn, "@太"), (UnknownName, "@太〇"), (UnknownName, "@太2")]),
            // A path gives nothing, even where it begins with a name.
            ("@太郎/x @太/x", &[(UnknownName, "@太")]),
            ("@-x @5/x @5x", &[(RunOn, "@-"), (RunOn, "@5"), (UnknownName, "@5x")]),
            ("x@Ada Kingx", &[(Glued, "@Ada")]),
            ("@@Ada \\@Ada", &[(Glued, "@Ada")]),
            ("[@Ada King]: @x/y", &[(HiddenText, "@Ada")]),
            ("`@Chosen`\n\n> @Chosen", &[(InCode, "@Chosen"), (Quoted, "@Chosen")]),
            ("`@Chosen` @chosen", &[]),
            ("[x](#@Ada) [x](=@Ada) [x](a@Ada)", &[(InLink, "@Ada")]),
            ("＠Ada King ＠zed/x ＠＠Ada's", &[(WideSign, "＠Ada King"), (WideSign, "＠Ada")]),
            ("> ＠Ada \n\n\\＠Ada", &[]),
        ];
        for (text, expected) in rows {
            let told = Scope::new(&roster, &draft).read(text).diagnostics();
            let told: Vec<_> = told.iter().map(|told| (told.code, told.span.of(text))).collect();
            assert_eq!(told, *expected, "{text}");
        }
    }
}
