//! Pasted identities: what a clipboard claims, and the fences of one composer (P).

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use vocative::paste_html::Pasted;
use vocative::{CheckId, PastedRecord};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{Answer, Positions, id, key, read_all, write, write_all, write_some};
use crate::composer::Composer;
use crate::values::{Record, Ref};

/// A question whether a pasted identity may be trusted (P-10). Answer it with `Composer.verdict`.
#[derive(Clone, Debug, Serialize, Deserialize, Tsify)]
pub struct Check {
    /// By which it is answered.
    pub check: f64,
    /// The label it claims.
    pub label: String,
    /// Whom it claims to be.
    #[tsify(type = "Id")]
    pub id: String,
    /// Whether its text still stands where it was pasted.
    pub stands: bool,
}

/// What a pasted HTML holds.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct PastedHtml {
    /// What its marker says of the flavour to insert, if it has one (P-2): with `markdown` the plain
    /// flavour is inserted as text.
    #[tsify(optional, type = "\"markdown\" | \"rich\"")]
    pub kind: Option<String>,
    /// The identities it claims.
    pub records: Vec<Record>,
    /// The HTML to insert: whole chips as text, no identity attributes, no scripts (P-3).
    pub html: String,
    /// The text of that HTML, spaces and lines as people see them.
    pub text: String,
}

/// Reads the HTML flavour of a clipboard. It is untrusted: what it claims is to be checked.
#[wasm_bindgen(js_name = readClipboard)]
pub fn read_clipboard(html: &str) -> Answer<Ts<PastedHtml>> {
    let Pasted { kind, records, html, text } = Pasted::read(html);
    let records = records.into_iter().map(|record| Record {
        label: record.label,
        key: record.key.to_string(),
        kind: record.kind.as_str().to_owned(),
    });
    let kind = kind.map(|kind| kind.as_str().to_owned());
    write(&PastedHtml { kind, records: records.collect(), html, text })
}

/// Whether a key's own names vouch for a label (P-10).
#[wasm_bindgen(js_name = isVouched)]
pub fn is_vouched(
    label: &str,
    aliases: Vec<String>,
    #[wasm_bindgen(unchecked_param_type = "Key")] of: &str,
) -> Answer<bool> {
    Ok(vocative::clipboard::is_vouched(label, &aliases, key(of)?))
}

/// Numbers of checks stay far below 2^53.
fn number(check: CheckId) -> f64 {
    check.number() as f64
}

fn check_of(number: f64) -> CheckId {
    CheckId::from(number as u64)
}

#[wasm_bindgen]
impl Composer {
    /// A paste: a range of `before` was replaced by `inserted`, which carried `records` (P-5 to P-7).
    /// Returns the identities to be checked.
    pub fn pasted(
        &self,
        before: &str,
        from: usize,
        to: usize,
        inserted: &str,
        records: Vec<Ts<Record>>,
    ) -> Answer<Vec<Ts<Check>>> {
        let span = Positions::of(before).span(from, to)?;
        let records = read_all(&records)?.into_iter().map(|record| {
            Ok(PastedRecord { label: record.label, id: vocative::Id::Nostr(key(&record.key)?) })
        });
        let records = records.collect::<Answer<Vec<_>>>()?;
        let asked = self.fences.borrow_mut().pasted(before, span, inserted, &records);
        self.touch();
        let asked = asked.into_iter().map(|(check, record)| Check {
            check: number(check),
            label: record.label,
            id: record.id.to_string(),
            stands: self.fences.borrow().has_range(check),
        });
        write_all(asked)
    }

    /// Maps the tracked ranges through a change (P-8): a range of `before` was replaced by `inserted`.
    pub fn edited(&self, before: &str, from: usize, to: usize, inserted: &str) -> Answer<()> {
        let span = Positions::of(before).span(from, to)?;
        self.fences.borrow_mut().edited(before, span, inserted);
        Ok(())
    }

    /// Whether pasted text is tracked, so that changes must be told to `edited`.
    #[wasm_bindgen(getter, js_name = isTrackingPastes)]
    pub fn is_tracking_pastes(&self) -> bool {
        self.fences.borrow().is_tracking()
    }

    /// The checks that wait for an answer.
    #[wasm_bindgen(js_name = openChecks)]
    pub fn open_checks(&self) -> Answer<Vec<Ts<Check>>> {
        let fences = self.fences.borrow();
        let open = fences.open().map(|(check, record)| Check {
            check: number(check),
            label: record.label.clone(),
            id: record.id.to_string(),
            stands: fences.has_range(check),
        });
        write_all(open)
    }

    /// The answer to a check. Binds, and returns what it bound, if all fences let it (P-9). `text` is
    /// the whole text as it is now.
    pub fn verdict(&self, check: f64, vouched: bool, text: &str) -> Answer<Option<Ts<Ref>>> {
        let bound = {
            let shared = self.held.get();
            let (mut fences, mut draft) = (self.fences.borrow_mut(), self.draft.borrow_mut());
            let bound = fences.verdict(check_of(check), vouched, text, &shared.roster, &mut draft);
            bound.map(|bound| Ref {
                is_agent: shared.agents.contains(&bound.id),
                id: bound.id.to_string(),
                label: bound.label,
            })
        };
        self.touch();
        write_some(bound)
    }

    /// The check has waited too long (P-11). Returns its label where the sender is to be told.
    pub fn expire(&self, check: f64, text: &str) -> Option<String> {
        let (shared, draft) = (self.held.get(), self.draft.borrow());
        let told = self.fences.borrow_mut().expire(check_of(check), text, &shared.roster, &draft);
        self.touch();
        told
    }

    /// Undo or redo has brought pasted text back without its range, so its check expires (P-8).
    pub fn recreated(&self, check: f64, text: &str) -> Option<String> {
        let (shared, draft) = (self.held.get(), self.draft.borrow());
        let told = self.fences.borrow_mut().recreated(check_of(check), text, &shared.roster, &draft);
        self.touch();
        told
    }

    /// Retires the pastes that still verify this label: an explicit act has claimed it (P-6).
    pub fn claim(&self, label: &str) {
        self.fences.borrow_mut().claim(label);
        self.touch();
    }

    /// Binds a label that an explicit act has reserved: a resolved insert, a send-time persona.
    pub fn bind(
        &self,
        label: &str,
        #[wasm_bindgen(unchecked_param_type = "Id")] of: &str,
        text: &str,
    ) -> Answer<()> {
        let of = id(of)?;
        self.fences.borrow_mut().claim(label);
        let mut draft = self.draft.borrow_mut();
        draft.bind(label, of);
        draft.make_room(text);
        drop(draft);
        self.touch();
        Ok(())
    }
}
