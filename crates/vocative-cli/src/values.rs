//! Values of arguments that several commands share.

use vocative::{Id, Login};
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

/// Reads a date or an instant, in UTC.
pub(crate) fn instant(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_loose(text)
        .ok_or_else(|| "write a date or an instant in UTC, as 2026-11-30 or 2026-11-30T17:55:58.276Z".into())
}
