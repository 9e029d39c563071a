//! Mentions.
pub mod id;
pub use id::{Id, IdError, Key, Login};
