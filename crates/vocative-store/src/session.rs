//! References to mentions in sessions (sections 4 and 5): who named whom in which entry, and when, as
//! accounts publish it. No text, and no word on whether it is true: a reference is a claim.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::value::BadValue;

/// A text without control characters, of at most `$max` bytes, that names something.
macro_rules! name {
    ($($(#[$says:meta])+ $name:ident, $max:literal;)+) => {$(
        $(#[$says])+
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadValue;

            fn from_str(text: &str) -> Result<Self, BadValue> {
                let fits = (1..=$max).contains(&text.len()) && !text.chars().any(char::is_control);
                if fits { Ok(Self(text.into())) } else { Err(BadValue::Name) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    )+};
}

name! {
    /// Under which whoever publishes references is kept, chosen by the server. 1 to 128 bytes.
    AccountId, 128;
    /// Under which an account is addressed, such as `github:ann`. One that was renamed has several.
    /// 1 to 128 bytes.
    AccountName, 128;
    /// The id of a session, which its file says. 1 to 128 bytes.
    SessionId, 128;
    /// The id of an entry within its session. 1 to 128 bytes.
    EntryId, 128;
}

/// Milliseconds since 1970, as a session says them; negative before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(i64);

impl Millis {
    /// So many milliseconds since 1970.
    pub const fn new(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The first full second that is not before this.
    pub(crate) const fn secs_from(self) -> i64 {
        self.0.div_euclid(1000) + if self.0.rem_euclid(1000) > 0 { 1 } else { 0 }
    }
}

/// That an entry of a session names someone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionReference {
    /// The session of the entry.
    pub session: SessionId,
    /// The entry.
    pub entry: EntryId,
    /// Who is named.
    pub recipient: AccountName,
    /// Who wrote it.
    pub actor: AccountName,
    /// When.
    pub at: Millis,
}

/// A reference as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// Who published it.
    pub publisher: AccountId,
    /// What it says.
    pub reference: SessionReference,
    /// A verdict says something else or, where there is none, another publisher does.
    pub disputed: bool,
}

/// What the markers in a stored session say of one of its entries: whom it names, by whom, and when. A
/// reference that says the same of a recipient is settled, every other to the entry is disputed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Who wrote the entry.
    pub actor: AccountName,
    /// When.
    pub at: Millis,
    /// Whom it names, at least one.
    pub recipients: Vec<AccountName>,
}

/// What became of references that were published together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// All of them are stored and durable.
    Done {
        /// So many were not there.
        added: usize,
        /// So many the publisher had published already.
        unchanged: usize,
    },
    /// None of them is stored: two of the publisher's own differ in actor or time. First what is stored
    /// or was named first.
    Conflict(Box<[SessionReference; 2]>),
}

/// Each reference once, in the order of what they are about; two that contradict each other if any do.
pub(crate) fn distinct(
    references: Vec<SessionReference>,
) -> Result<Vec<SessionReference>, Box<[SessionReference; 2]>> {
    let mut distinct: BTreeMap<_, SessionReference> = BTreeMap::new();
    for reference in references {
        let SessionReference { session, entry, recipient, .. } = reference.clone();
        let first = distinct.entry((session, entry, recipient)).or_insert_with(|| reference.clone());
        if *first != reference {
            return Err(Box::new([first.clone(), reference]));
        }
    }
    Ok(distinct.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::{AccountName, Millis};

    #[test]
    fn seconds_are_rounded_up() {
        let table = [(0, 0), (1, 1), (999, 1), (1000, 1), (1001, 2), (-1, 0), (-1000, -1), (-1001, -1)];
        for (millis, secs) in table {
            assert_eq!(Millis::new(millis).secs_from(), secs, "{millis}");
        }
        assert_eq!(Millis::new(i64::MAX).secs_from(), i64::MAX / 1000 + 1);
    }

    #[test]
    fn names_are_short_and_printable() {
        let long = "x".repeat(129);
        for (text, fits) in [("github:ann", true), ("", false), ("a\0", false), (&long, false)] {
            assert_eq!(text.parse::<AccountName>().is_ok(), fits, "{text:?}");
        }
    }
}
