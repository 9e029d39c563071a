//! Mention tags of others, before they are stored (T-2, T-3, T-5).

use super::{MENTION, Reference, SNAPSHOT, Tag, kinds, name};
use crate::id::Key;
use crate::limits;

/// Why the mention tags of an event are not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTags {
    /// More `p` than one event may have (T-5), duplicates counted.
    #[error("{count} `p` tags, at most {max} are allowed", max = limits::RECIPIENTS)]
    TooManyRecipients {
        /// How many there are.
        count: usize,
    },
    /// More `mention` than one event may have (T-5), duplicates counted.
    #[error("{count} `mention` tags, at most {max} are allowed", max = limits::REFERENCES)]
    TooManyReferences {
        /// How many there are.
        count: usize,
    },
    /// A `p` tag whose second element is no key in lower case (T-2).
    #[error("tag {index}: a `p` tag holds a key, 64 hex digits in lower case")]
    BadRecipient {
        /// Which tag, counted from 0.
        index: usize,
    },
    /// A `mention` tag of another shape than the two of T-2.
    #[error("tag {index}: a `mention` tag is [\"mention\", key] or [\"mention\", key, \"agent-address\"]")]
    BadReference {
        /// Which tag, counted from 0.
        index: usize,
    },
    /// The marker on something else than an edit, or with further elements (T-3).
    #[error("tag {index}: [\"{SNAPSHOT}\"] stands alone, and on edits only")]
    BadSnapshot {
        /// Which tag, counted from 0.
        index: usize,
    },
}

impl BadTags {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooManyRecipients { .. } => "too_many_recipients",
            Self::TooManyReferences { .. } => "too_many_references",
            Self::BadRecipient { .. } => "bad_recipient",
            Self::BadReference { .. } => "bad_reference",
            Self::BadSnapshot { .. } => "bad_snapshot",
        }
    }
}

/// Checks the mention tags of an event of this kind, as they are: nothing is added, cut or repaired.
/// Events that carry no mentions are not looked at.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(kind: u32, tags: &[Tag]) -> Result<(), BadTags> {
    use kinds::{EDIT, FORUM_COMMENT, FORUM_POST, MESSAGE, STREAM_MESSAGE};
    if ![MESSAGE, STREAM_MESSAGE, EDIT, FORUM_POST, FORUM_COMMENT].contains(&kind) {
        return Ok(());
    }
    let count = |wanted: &str| tags.iter().filter(|tag| name(tag) == wanted).count();
    let (recipients, references) = (count("p"), count(MENTION));
    if recipients > limits::RECIPIENTS {
        return Err(BadTags::TooManyRecipients { count: recipients });
    }
    if references > limits::REFERENCES {
        return Err(BadTags::TooManyReferences { count: references });
    }
    for (index, tag) in tags.iter().enumerate() {
        match name(tag) {
            "p" if !tag.get(1).is_some_and(|key| is_key(key)) => return Err(BadTags::BadRecipient { index }),
            MENTION if Reference::of(tag).is_none() || !is_key(&tag[1]) => {
                return Err(BadTags::BadReference { index });
            }
            SNAPSHOT if kind != EDIT || tag.len() != 1 => return Err(BadTags::BadSnapshot { index }),
            _ => {}
        }
    }
    Ok(())
}

/// Keys are written lower case.
fn is_key(text: &str) -> bool {
    text.parse::<Key>().is_ok() && !text.bytes().any(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::{BadTags, check};
    use crate::limits;
    use crate::wire::{SNAPSHOT, Tag, kinds};

    fn tag(parts: &[&str]) -> Tag {
        parts.iter().map(|part| (*part).to_owned()).collect()
    }

    #[test]
    fn only_the_shapes_of_the_rules_are_accepted() {
        let key = "ab".repeat(32);
        let upper = key.to_uppercase();
        let table: [(u32, &[&str], Option<&str>); 16] = [
            (kinds::MESSAGE, &["p", &key], None),
            (kinds::MESSAGE, &["p", &key, "", "reply"], None),
            (kinds::MESSAGE, &["p", &upper], Some("bad_recipient")),
            (kinds::MESSAGE, &["p"], Some("bad_recipient")),
            (kinds::MESSAGE, &["p", "ann"], Some("bad_recipient")),
            (kinds::MESSAGE, &["mention", &key], None),
            (kinds::STREAM_MESSAGE, &["mention", &key, "agent-address"], None),
            (kinds::FORUM_POST, &["mention", &key, "other"], Some("bad_reference")),
            (kinds::FORUM_COMMENT, &["mention", &key, "agent-address", ""], Some("bad_reference")),
            (kinds::EDIT, &["mention", &upper], Some("bad_reference")),
            (kinds::EDIT, &["mention"], Some("bad_reference")),
            (kinds::EDIT, &[SNAPSHOT], None),
            (kinds::EDIT, &[SNAPSHOT, "1"], Some("bad_snapshot")),
            (kinds::MESSAGE, &[SNAPSHOT], Some("bad_snapshot")),
            (kinds::MESSAGE, &[], None),
            (kinds::MEMBERS, &["p", "ann"], None),
        ];
        for (kind, parts, expected) in table {
            let code = check(kind, &[tag(parts)]).err().map(|error| error.code());
            assert_eq!(code, expected, "{kind} {parts:?}");
        }
    }

    #[test]
    fn duplicates_count() {
        let key = "ab".repeat(32);
        let many = |name: &str, count: usize| vec![tag(&[name, &key]); count];
        assert_eq!(check(kinds::MESSAGE, &many("p", limits::RECIPIENTS)), Ok(()));
        assert_eq!(check(kinds::MESSAGE, &many("mention", limits::REFERENCES)), Ok(()));
        let (count, over) = (limits::RECIPIENTS + 1, limits::REFERENCES + 1);
        assert_eq!(check(kinds::EDIT, &many("p", count)), Err(BadTags::TooManyRecipients { count }));
        let expected = Err(BadTags::TooManyReferences { count: over });
        assert_eq!(check(kinds::EDIT, &many("mention", over)), expected);
    }
}
