//! Binds an exact occurrence of `@Label` in a text to one exact identity, and never guesses.
//!
//! A mention is plain text: `@` and a label. Identity lives beside the text, in bindings while a
//! message is written and in tags once it is published. This crate says which label owns which
//! range of a text, which identity a label stands for, and what to tell the sender about every name
//! that reaches nobody. It does no I/O, reads no clock, and keeps its state in values.
//!
//! ```
//! use vocative::{Draft, Id, Member, Roster, Scope, Standing};
//!
//! let mut roster = Roster::new();
//! let ada: Id = "github:ada".parse()?;
//! roster.add(Member { name: "Ada King".into(), id: ada.clone(), standing: Standing::Member })?;
//!
//! // What the writer has chosen in the picker; nothing here, so names count as typed.
//! let draft = Draft::new();
//! let reading = Scope::new(&roster, &draft).read("(@ada king) and @Zed");
//!
//! assert_eq!(reading.recipients()?.keys, [ada]);
//! let told = &reading.diagnostics()[0];
//! assert_eq!((told.code, told.name.as_str()), (vocative::Code::UnknownName, "Zed"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Begin with [`Scope::read`]. Rule numbers such as `G-11` are those of the specification of
//! mentions; `ARCHITECTURE.md` says which module holds which.

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod boundary;
mod chars;
mod html_text;
mod html_tokens;
mod index;
#[cfg(test)]
mod naive;
mod scan;

pub mod audience;
pub mod caret;
pub mod clipboard;
pub mod context;
pub mod draft;
pub mod edit;
pub mod explain;
pub mod form;
pub mod forward;
pub mod history;
pub mod id;
pub mod known;
pub mod label;
pub mod limits;
pub mod markdown;
pub mod offset;
pub mod paste;
pub mod paste_html;
pub mod present;
pub mod rank;
pub mod reading;
pub mod reserve;
pub mod roster;
pub mod suggest;
pub mod trigger;
pub mod wire;

pub use audience::{Audience, AudienceScope, Audiences};
pub use context::{Context, Contexts};
pub use draft::{Binding, Claim, Draft};
pub use explain::{Code, Diagnostic, Explained, Fate};
pub use form::form;
pub use history::{History, Profile, Profiles, ResolvedNames};
pub use id::{Id, IdError, Key, Login};
pub use known::{Known, Labels};
pub use label::LabelError;
pub use offset::{ByteOffset, Span, Utf16Map};
pub use paste::{CheckId, PasteFences, PastedRecord};
pub use reading::{Ambiguous, Occurrence, Place, Reading, Recipients, Scope, has_signs};
pub use reserve::{reserve, reserve_all};
pub use roster::{Member, Roster, RowId, Standing};
pub use wire::{MentionTags, Tag, WireError};
