//! The engine for JavaScript.
//!
//! Bindings only: every decision is [`vocative`]'s, and this crate holds no rule. An [`Engine`] keeps a
//! channel's names, so that no call carries the roster; a [`Composer`] keeps what one editor's draft
//! adds to them. Values are typed by `tsify`; positions are UTF-16 units, as JavaScript counts.
//! Highlighting, which runs with every key, answers in one flat array of numbers.
#![allow(unsafe_code, reason = "`wasm_bindgen` and `tsify` expand to it; none is written here")]

pub mod border;
pub mod caret;
pub mod composer;
#[cfg(feature = "conformance")]
pub mod conformance;
pub mod engine;
pub mod highlight;
pub mod limits;
pub mod message;
pub mod paste;
pub mod present;
pub mod values;

pub use composer::Composer;
pub use engine::Engine;
