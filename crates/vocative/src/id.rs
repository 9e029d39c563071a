//! Identities: what a label may be bound to.
//!
//! An identity is compared whole and never by a part of it. This module knows nothing of names:
//! which label stands for which identity is decided in [`crate::draft`] and [`crate::history`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A public key of the community: 32 bytes, written as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

/// A GitHub login in lower case: 1 to 100 of `[a-z0-9_-]`.
///
/// The grammar is wider than today's sign-up form, since enterprise accounts hold `_` and old
/// accounts may end in `-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Login(Box<str>);

/// An identity on either surface.
///
/// Written as `nostr:<64 hex>` or `github:<login>`; [`Id::from_str`] also reads a bare key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// A GitHub account, of the session surface.
    Github(Login),
    /// A key, of the community surface.
    Nostr(Key),
}

/// Why a text is no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not 64 hex digits.
    #[error("a key is 64 hex digits")]
    BadKey,
    /// Not a login.
    #[error("a login is 1 to 100 letters, digits, hyphens or underscores")]
    BadLogin,
    /// Neither `nostr:` nor `github:` nor a bare key.
    #[error("an identity is `nostr:` and 64 hex digits, or `github:` and a login")]
    BadId,
}

impl Key {
    /// Digits of a key.
    pub const DIGITS: usize = 64;

    /// The key with these bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for Key {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let digits = text.as_bytes();
        if digits.len() != Self::DIGITS {
            return Err(IdError::BadKey);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

fn hex_digit(digit: u8) -> Result<u8, IdError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        b'A'..=b'F' => Ok(digit - b'A' + 10),
        _ => Err(IdError::BadKey),
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; Self::DIGITS];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&text).expect("hex digits are ASCII"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Login {
    /// The login, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Login {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let fits = (1..=100).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if fits { Ok(Self(text.to_ascii_lowercase().into())) } else { Err(IdError::BadLogin) }
    }
}

impl fmt::Display for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Key> for Id {
    fn from(key: Key) -> Self {
        Self::Nostr(key)
    }
}

impl Id {
    /// The key, where the identity is one of the community.
    pub fn key(&self) -> Option<Key> {
        match self {
            Self::Nostr(key) => Some(*key),
            Self::Github(_) => None,
        }
    }
}

impl FromStr for Id {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if let Some(login) = text.strip_prefix("github:") {
            Ok(Self::Github(login.parse()?))
        } else if let Some(key) = text.strip_prefix("nostr:") {
            Ok(Self::Nostr(key.parse()?))
        } else {
            text.parse().map(Self::Nostr).map_err(|_| IdError::BadId)
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nostr(key) => write!(f, "nostr:{key}"),
            Self::Github(login) => write!(f, "github:{login}"),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! serde_as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

serde_as_text!(Key, Login, Id);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_in_any_case_and_written_in_lower_case() {
        let key = "AB".repeat(32);
        assert_eq!(key.parse::<Key>().unwrap().to_string(), key.to_lowercase());
        let id: Id = "github:GSZep".parse().unwrap();
        assert_eq!(id.to_string(), "github:gszep");
        assert_eq!("github:".parse::<Id>(), Err(IdError::BadLogin));
        assert_eq!("alice".parse::<Id>(), Err(IdError::BadId));
        assert_eq!("x".repeat(64).parse::<Key>(), Err(IdError::BadKey));
    }
}
