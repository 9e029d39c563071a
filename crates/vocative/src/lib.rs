//! Binds an exact occurrence of `@Label` in a text to one exact identity, and never guesses.

mod boundary;
mod chars;
mod index;

pub mod context;
pub mod form;
pub mod id;
pub mod markdown;
pub mod offset;

pub use context::{Context, Contexts};
pub use form::form;
pub use id::{Id, IdError, Key, Login};
pub use offset::{ByteOffset, Span, Utf16Map};
