//! A community's relay: signed events in, exact delivery out, over any store.
//!
//! It speaks the Nostr protocol (NIP-01 and the others of section 1) and decides who may write and who
//! may read. It has no rule of its own about mentions: the engine checks their tags. Section numbers in
//! the documentation are those of the specification of the server.

pub mod bus;
pub mod settings;
