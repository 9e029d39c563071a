//! Binds an exact occurrence of `@Label` in a text to one exact identity, and never guesses.

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
pub use reading::{Ambiguous, Occurrence, Place, Reading, Recipients, Scope};
pub use reserve::{reserve, reserve_all};
pub use roster::{Member, Roster, RowId, Standing};
pub use wire::{MentionTags, Tag, WireError};
