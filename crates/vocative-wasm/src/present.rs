//! How a label is shown (V-1 to V-5).

use serde::Serialize;
use tsify::{Ts, Tsify};
use vocative::present;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{Answer, key, write};
use crate::values::kind;

/// The values of a read-only chip (V-4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Chip {
    /// What is seen after the sign (V-1, V-3).
    pub text: String,
    /// `title`, `aria-label` and `data-mention-label`: the full label.
    pub label: String,
    /// `data-mention-pubkey`, and whose profile opens.
    #[tsify(type = "Key")]
    pub key: String,
    /// `data-mention-kind`.
    #[tsify(type = "\"human\" | \"agent\"")]
    pub kind: String,
    /// Whether the name holds direction controls, so that it is drawn isolated (V-6).
    pub is_isolated: bool,
}

impl From<present::Chip> for Chip {
    fn from(chip: present::Chip) -> Self {
        Self {
            text: chip.text,
            label: chip.label,
            key: chip.key.to_string(),
            kind: chip.kind.as_str().to_owned(),
            is_isolated: chip.is_isolated,
        }
    }
}

/// The chip of a label bound to a key (V-4).
#[wasm_bindgen]
pub fn chip(
    label: &str,
    #[wasm_bindgen(unchecked_param_type = "Key")] of: &str,
    is_agent: bool,
) -> Answer<Ts<Chip>> {
    write(&Chip::from(present::Chip::new(label, key(of)?, kind(is_agent))))
}

/// The abbreviation of a key (V-2). For recognition only: never look it up.
#[wasm_bindgen(js_name = abbreviatedKey)]
pub fn abbreviated_key(of: &str) -> String {
    present::abbreviated(of)
}

/// The label as a chip shows it (V-1).
#[wasm_bindgen(js_name = shownLabel)]
pub fn shown_label(
    label: &str,
    #[wasm_bindgen(unchecked_optional_param_type = "Key")] of: Option<String>,
) -> Answer<String> {
    let of = of.as_deref().map(key).transpose()?;
    Ok(present::shown_label(label, of))
}

/// The label as long as a chip may be (V-3).
#[wasm_bindgen(js_name = cappedLabel)]
pub fn capped_label(label: &str) -> String {
    present::capped(label)
}

/// Whether a composer shows the label literally, with a visible sign and without icon (V-5).
#[wasm_bindgen(js_name = isFullKeyLabel)]
pub fn is_full_key_label(label: &str) -> bool {
    present::is_full_key_label(label)
}

/// Whether two labels are equal (G-7).
#[wasm_bindgen(js_name = labelsAreEqual)]
pub fn labels_are_equal(one: &str, other: &str) -> bool {
    vocative::form(vocative::label::trim(one)) == vocative::form(vocative::label::trim(other))
}
