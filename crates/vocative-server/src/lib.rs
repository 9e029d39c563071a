//! A community's relay: signed events in, exact delivery out, over any store.
//!
//! It speaks the Nostr protocol (NIP-01 and the others of section 1) and decides who may write and who
//! may read. It has no rule of its own about mentions: the engine checks their tags. Section numbers in
//! the documentation are those of the specification of the server.

mod api;
pub mod bus;
#[doc(hidden)]
pub mod fuzzing;
mod inbox;
mod listener;
pub mod people;
mod rebuild;
mod relay;
mod sending;
mod server;
mod sessions;
pub mod settings;

pub use relay::community;
pub use server::{Server, StartError};
pub use sessions::objects::BadObjects;

/// A public key as people write it: `npub1…` or 64 hex digits.
pub(crate) fn public_key(text: &str) -> Option<vocative::Key> {
    let key = nostr::key::PublicKey::parse(text).ok()?;
    // Not every 32 bytes are a key.
    key.xonly().ok()?;
    Some(vocative::Key::from_bytes(key.to_bytes()))
}

/// Sets what encrypts connections to other services; the libraries that open them choose none.
pub(crate) fn provide_tls() {
    // An error: another part of the program has set one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
