//! The constants that a surface keeps itself (N).

use serde::Serialize;
use tsify::{Ts, Tsify};
use vocative::limits;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{Answer, write};

/// What a surface has to keep by itself, since the engine has no clock and no store.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// How long a send waits for pending paste checks, in milliseconds (N-1).
    pub pending_check_ms: f64,
    /// How many drafts are kept (N-7).
    pub drafts: usize,
    /// How long the picker waits for more keys, in milliseconds (N-8).
    pub picker_debounce_ms: f64,
    /// How long a cached profile is fresh, in milliseconds (N-11).
    pub fresh_profile_ms: f64,
    /// The largest body, in UTF-8 bytes (N-15).
    pub body_bytes: usize,
}

/// The constants.
#[wasm_bindgen(js_name = limits)]
pub fn all() -> Answer<Ts<Limits>> {
    write(&Limits {
        pending_check_ms: limits::PENDING_MENTION_BINDING_TIMEOUT_MS as f64,
        drafts: limits::DRAFTS,
        picker_debounce_ms: limits::PICKER_DEBOUNCE_MS as f64,
        fresh_profile_ms: limits::FRESH_PROFILE_MS as f64,
        body_bytes: limits::BODY,
    })
}
