//! The border: positions in UTF-16, identities as text, errors with a stable code.

use js_sys::{Error, Reflect};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tsify::{Ts, Tsify};
use vocative::{ByteOffset, Id, Key, Span, Utf16Map};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** 64 hex digits: a public key of the community. */
export type Key = string;
/** An identity: `nostr:` and a key, or `github:` and a login. */
export type Id = `nostr:${string}` | `github:${string}`;
/** A tag of a Nostr event. */
export type Tag = string[];

/** What every function here throws for input it cannot take. */
export interface VocativeError extends Error {
  /** Stable: `bad_value`, `bad_offset`, `bad_id`, `bad_key`, `label_too_long`, `too_many_recipients`, … */
  code: string;
}
"#;

/// What a function answers, or a `VocativeError`.
pub type Answer<T> = Result<T, JsValue>;

/// An error with a stable code.
pub(crate) fn error(code: &str, message: &str) -> JsValue {
    let error = Error::new(message);
    // Setting a property of a new object cannot fail.
    let _ = Reflect::set(&error, &"code".into(), &code.into());
    error.into()
}

/// Reads an identity, or a bare key.
pub(crate) fn id(text: &str) -> Answer<Id> {
    text.parse().map_err(|problem: vocative::IdError| error("bad_id", &problem.to_string()))
}

/// Reads a key.
pub(crate) fn key(text: &str) -> Answer<Key> {
    text.parse().map_err(|problem: vocative::IdError| error("bad_key", &problem.to_string()))
}

/// Reads many keys.
pub(crate) fn keys(texts: &[String]) -> Answer<Vec<Key>> {
    texts.iter().map(|text| key(text)).collect()
}

/// Reads a value; one of another shape is the caller's mistake.
pub(crate) fn read<T: Tsify<JsType: Clone> + DeserializeOwned>(value: &Ts<T>) -> Answer<T> {
    value.to_rust().map_err(|problem| error("bad_value", &problem.to_string()))
}

/// Reads many values.
pub(crate) fn read_all<T: Tsify<JsType: Clone> + DeserializeOwned>(values: &[Ts<T>]) -> Answer<Vec<T>> {
    values.iter().map(read).collect()
}

/// Writes a value.
pub(crate) fn write<T: Tsify + Serialize>(value: &T) -> Answer<Ts<T>> {
    value.into_ts().map_err(|problem| error("bad_value", &problem.to_string()))
}

/// Writes many values.
pub(crate) fn write_all<T: Tsify + Serialize>(values: impl IntoIterator<Item = T>) -> Answer<Vec<Ts<T>>> {
    values.into_iter().map(|value| write(&value)).collect()
}

/// Writes a value, where there is one.
pub(crate) fn write_some<T: Tsify + Serialize>(value: Option<T>) -> Answer<Option<Ts<T>>> {
    value.map(|value| write(&value)).transpose()
}

/// Positions of one text, as JavaScript counts them.
pub(crate) struct Positions<'t> {
    text: &'t str,
    map: Utf16Map<'t>,
}

impl<'t> Positions<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { text, map: Utf16Map::new(text) }
    }

    pub(crate) fn bytes(&self, units: usize) -> Answer<ByteOffset> {
        self.map
            .to_bytes(units)
            .ok_or_else(|| error("bad_offset", &format!("{units} is no position of the text")))
    }

    pub(crate) fn span(&self, from: usize, to: usize) -> Answer<Span> {
        let range = self.bytes(from)?.get()..self.bytes(to)?.get();
        Span::new(self.text, range)
            .ok_or_else(|| error("bad_offset", &format!("{from}..{to} is no range of the text")))
    }

    pub(crate) fn units(&self, at: ByteOffset) -> usize {
        self.map.to_utf16(at)
    }

    /// A range found in bytes.
    pub(crate) fn range(&self, span: Span) -> (usize, usize) {
        (self.units(span.start), self.units(span.end))
    }
}
