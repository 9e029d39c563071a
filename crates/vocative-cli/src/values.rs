//! Values of arguments that several commands share.

use nostr::key::PublicKey;
use vocative::{Id, Key, Login};
use vocative_pi::Timestamp;

/// Reads `github:HANDLE`.
pub(crate) fn person(text: &str) -> Result<Login, String> {
    match text.parse::<Id>() {
        Ok(Id::Github(login)) => Ok(login),
        Ok(Id::Nostr(_)) => Err("people in sessions are known as github:HANDLE".into()),
        Err(_) => {
            let handle = text.trim_start_matches('@');
            Err(match handle.parse::<Login>() {
                Ok(login) => format!("write github:{login}"),
                Err(error) => format!("not an identity: {error}"),
            })
        }
    }
}

/// Reads `github:HANDLE`, or a public key as npub1… or 64 hex digits.
pub(crate) fn anyone(text: &str) -> Result<Id, String> {
    match text.strip_prefix("npub1").map(|_| PublicKey::parse(text)) {
        Some(Ok(key)) => Ok(Id::Nostr(Key::from_bytes(key.to_bytes()))),
        Some(Err(_)) => Err("not a public key: npub1… is misspelt".into()),
        None if text.starts_with("github:") || text.starts_with("nostr:") || text.len() == Key::DIGITS => {
            text.parse().map_err(|error| format!("not an identity: {error}"))
        }
        None => person(text).map(Id::Github),
    }
}

/// Reads a date or an instant, in UTC.
pub(crate) fn instant(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_loose(text)
        .ok_or_else(|| "write a date or an instant in UTC, as 2026-11-30 or 2026-11-30T17:55:58.276Z".into())
}
