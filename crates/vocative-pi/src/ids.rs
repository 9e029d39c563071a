//! Session and entry ids as evidence may use them (section 4.1).

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The id of a session: what its header says, never its file's name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

/// The id of an entry, unique only within its session: 1 to 128 of `[A-Za-z0-9._-]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(Box<str>);

/// Whether evidence can use the id (section 4.1).
fn fits_evidence(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=128).contains(&text.len()) && text.bytes().all(fits)
}

impl SessionId {
    /// The id, if it follows Pi's rule for headers (section 1.1).
    pub fn from_header(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let fits = bytes.first()?.is_ascii_alphanumeric()
            && bytes.last()?.is_ascii_alphanumeric()
            && bytes.iter().all(inner);
        fits.then(|| Self(text.into()))
    }

    /// The id, if evidence can use it (section 4.1).
    pub fn from_evidence(text: &str) -> Option<Self> {
        fits_evidence(text).then(|| Self(text.into()))
    }
}

impl EntryId {
    /// The id, if evidence can use it (section 4.1).
    pub fn from_evidence(text: &str) -> Option<Self> {
        fits_evidence(text).then(|| Self(text.into()))
    }
}

macro_rules! text_of {
    ($($name:ident),*) => {$(
        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}

text_of!(SessionId, EntryId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_id_begins_and_ends_with_a_letter_or_digit() {
        let cases = [
            ("s1", true, true),
            ("a", true, true),
            ("01a22d99-4350-72cb-8a87-fc8352a30c93", true, true),
            ("a.b_c-d", true, true),
            ("-a", false, true),
            ("a.", false, true),
            ("", false, false),
            ("a/b", false, false),
            ("é", false, false),
            (&"x".repeat(128), true, true),
            (&"x".repeat(129), true, false),
        ];
        for (text, header, evidence) in cases {
            assert_eq!(SessionId::from_header(text).is_some(), header, "{text}");
            assert_eq!(SessionId::from_evidence(text).is_some(), evidence, "{text}");
            assert_eq!(EntryId::from_evidence(text).is_some(), evidence, "{text}");
        }
    }
}
